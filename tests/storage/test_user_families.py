"""Files of models with a family that a user wrote: its name and options are there, its code is not."""

import json
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest

import saltus
from saltus import AnnealedRegressor, EarlyEndWarning, FileError
from saltus.storage.user_families import find_family
from tests.equality import same
from tests.families.user.families import Constantly, Stairs, Turns

QUICK = {"n_iter": 300, "n_chains": 1, "init": "empty", "term_cost": 1, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.random((60, 3))
    return X, np.cos(6 * X[:, 0]) + 0.05 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def model(data):
    return AnnealedRegressor([Turns(1.5, 2), "hinges"], **QUICK).fit(*data)


@pytest.fixture
def path(model, tmp_path):
    model.save(tmp_path / "model.saltus")
    return tmp_path / "model.saltus"


def test_the_same_model_comes_back(model, path, data):
    again = saltus.load(path, families=(Stairs(), Turns(1.5, 2)))
    np.testing.assert_array_equal(again.predict(data[0]), model.predict(data[0]))
    assert again.basis == [Turns(1.5, 2), "hinges"]
    assert same(again._single_network, model._single_network)


def named_turns():
    @dataclass(frozen=True)
    class Other(Turns):
        """The same options under another name."""

    return Other(1.5, 2)


@pytest.mark.parametrize("families", [(), [Turns()], [Turns(1.5, 3)], [Constantly()], [named_turns()]], ids=repr)
def test_only_the_family_that_was_saved_will_do(path, families):
    with pytest.raises(FileError) as info:
        saltus.load(path, families=families)
    said = str(info.value)
    assert str(path) in said
    assert "has terms of Turns(fastest=1.5, max_inputs=2)" in said
    assert (f"Got families={families!r}" if families else "Got none") in said
    assert "saltus.load(path, families=[Turns(fastest=1.5, max_inputs=2)])" in said
    assert "damaged" not in said


@pytest.mark.parametrize("strange", [Turns, "Turns", None])
def test_what_is_no_family_is_refused(path, strange):
    with pytest.raises(TypeError, match="families must be families of your own"):
        saltus.load(path, families=[strange])


def test_a_file_holds_the_name_and_the_options_alone(path):
    with zipfile.ZipFile(path) as file:
        document = json.loads(file.read("model.json"))
    options = {"dict": [["fastest", 1.5], ["max_inputs", 2]]}
    assert document["parameters"]["basis"][0] == {"family": ["Turns", options]}


@pytest.mark.parametrize(
    ("name", "options"), [("os.system('x')", {}), (3, {}), ("Turns", {"a b": 1}), ("\x1b[31m", {}), ("Turns", {3: 1})]
)
def test_names_that_are_none_are_damage(name, options):
    with pytest.raises((ValueError, TypeError)) as info:
        find_family([Turns()], name, options)
    assert "has terms of" not in str(info.value)


def test_options_that_no_file_can_hold_are_named(data, tmp_path):
    @dataclass(frozen=True)
    class Odd(Turns):
        function: object = np.exp

    model = AnnealedRegressor(Odd(), **QUICK).fit(*data)
    with pytest.raises(FileError, match=r"basis holds an object of class .*, which no model file can"):
        model.save(tmp_path / "odd.saltus")


def test_a_checkpoint_is_read_with_the_family_of_the_fit(data, tmp_path):
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor([Turns(1.5, 2), "hinges"], **{**QUICK, "n_iter": 30_000})
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, callback=lambda progress: True)
    resumed = model.fit(*data, resume=path).predict(data[0])
    np.testing.assert_array_equal(resumed, model.fit(*data).predict(data[0]))
    with pytest.raises(FileError):
        AnnealedRegressor([Turns(1.6, 2), "hinges"], **{**QUICK, "n_iter": 30_000}).fit(*data, resume=path)
