"""Model files bring back the same model to the last bit, and are written whole or not at all."""

import copy
import dataclasses
import os
import pickle
import stat
import zipfile
from typing import Annotated, NotRequired, get_args, get_origin, get_type_hints

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, FileError, Radial
from saltus.engine.results.draws import Draws
from saltus.engine.results.network import Network
from saltus.families.terms import TermSet
from saltus.storage.files import _pack
from saltus.storage.schema import CLASSES, FITTED, check_types, conforms
from tests.saved import NAMES, fit_models, make_data

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def models():
    return fit_models()


class OwnFamily(Radial):
    """A family that the library does not know."""


class OwnSchedule:
    def temperature(self, iteration, n_iter):
        return np.ones(np.shape(iteration))


every_model = pytest.mark.parametrize("name", ["annealed", "annealed, given", "bayesian", "bayesian, one output"])


def through_file(model, folder):
    model.save(folder / "model.saltus")
    return saltus.load(folder / "model.saltus")


def assert_same(found, expected):
    """Compare values of any kind to the last bit, with their types."""
    assert type(found) is type(expected)
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.flags.writeable
        assert found.tolist() == expected.tolist() or found.tobytes() == expected.tobytes()
    elif dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            assert_same(getattr(found, field.name), getattr(expected, field.name))
    elif isinstance(expected, dict):
        assert list(found) == list(expected)
        assert_same(list(found.values()), list(expected.values()))
    elif isinstance(expected, list | tuple):
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    elif isinstance(expected, np.random.RandomState):
        assert_same(found.get_state(legacy=False), expected.get_state(legacy=False))
    else:
        assert repr(found) == repr(expected)


def predictions(model, X):
    yield model.predict(X)
    if isinstance(model, BayesianRegressor):
        yield model.predict(X, return_std=True)
        yield model.predict_interval(X, 0.8)
        yield model.sample_y(X, 3, random_state=5)
    else:
        yield [stage for chain in range(model.n_chains) for stage in model.staged_predict(X, chain)]


# What a file brings back


@every_model
def test_every_parameter_and_attribute_survives(models, name, tmp_path):
    loaded = through_file(models[name], tmp_path)
    assert type(loaded) is type(models[name])
    assert_same(loaded.get_params(), models[name].get_params())
    assert_same(dict(sorted(vars(loaded).items())), dict(sorted(vars(models[name]).items())))


@every_model
def test_predictions_are_the_same_to_the_last_bit(models, name, tmp_path):
    X, _ = make_data()
    X = pd.DataFrame(X, columns=NAMES) if hasattr(models[name], "feature_names_in_") else X
    loaded = through_file(models[name], tmp_path)
    assert_same(list(predictions(loaded, X)), list(predictions(models[name], X)))


@every_model
def test_the_way_arrays_lie_in_memory_survives(models, name, tmp_path):
    def orders(model):
        network = model.networks_[-1] if hasattr(model, "networks_") else model.map_estimate_
        arrays = [value for value in vars(network).values() if isinstance(value, np.ndarray) and min(value.shape) > 1]
        return [array.strides[0] < array.strides[-1] for array in arrays]

    assert orders(through_file(models[name], tmp_path)) == orders(models[name])


def test_a_random_state_goes_on_where_it_was(models, tmp_path):
    X, Y = make_data()
    model = models["annealed, given"]
    again, expected = through_file(model, tmp_path), copy.deepcopy(model)
    for refitted in (again, expected):
        with pytest.warns(saltus.estimators.DependentFeaturesWarning):
            refitted.fit(X, Y[:, 0])
    assert_same(again.result_, expected.result_)


def test_what_was_shared_stays_shared(models, tmp_path):
    loaded = through_file(models["annealed"], tmp_path)
    first, last = loaded.networks_[0], loaded.result_.chains[-1].snapshots[-1].network
    assert first.box is last.box
    assert first.means is last.means
    assert loaded.result_.chains[loaded.result_.best_chain].best.network is first or len(loaded.networks_) > 1
    predictive = through_file(models["bayesian"], tmp_path)._predictive
    assert np.shares_memory(predictive.draws[0].K, predictive.draws[1].K.base)


@every_model
def test_equal_models_make_equal_files(models, name, tmp_path):
    assert _pack(through_file(models[name], tmp_path)) == _pack(models[name])


def test_a_model_that_was_fitted_before_makes_the_same_file(tmp_path):
    """Its attributes are then set in another order."""
    X, Y = make_data()
    once, again = (AnnealedRegressor("gaussian", n_iter=200, n_chains=1, random_state=0) for _ in range(2))
    again.fit(X[:, :2], Y)
    for model, name in ((once, "once"), (again, "again")):
        model.fit(X[:, :2], Y[:, 0]).save(tmp_path / name)
    assert (tmp_path / "again").read_bytes() == (tmp_path / "once").read_bytes()


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [(5, TypeError, "Got 5"), ("a\0b", ValueError, "none has a NUL character"), ("", ValueError, "none is empty")],
)
def test_what_is_no_path_is_said(models, path, error, said):
    for use in (models["annealed"].save, saltus.load):
        with pytest.raises(error, match=f"path must be the path of a file, .*{said}"):
            use(path)


def test_networks_of_one_function_make_equal_files(tmp_path):
    """Their arrays of one row and one column lie both ways in memory."""
    X = np.linspace(0, 1, 40)[:, None]
    model = saltus.AnnealedRegressor("gaussian", n_iter=200, k_max=1, n_chains=1, random_state=0).fit(
        X, np.exp(-10 * X[:, 0] ** 2)
    )
    assert model.n_terms_ == 1
    assert _pack(through_file(model, tmp_path)) == _pack(model)


@every_model
@pytest.mark.parametrize("way", ["pickle", "joblib", "deepcopy"])
def test_other_ways_to_copy_a_model_work(models, name, way, tmp_path):
    model = models[name]
    if way == "pickle":
        copied = pickle.loads(pickle.dumps(model))
    elif way == "joblib":
        joblib.dump(model, tmp_path / "model.joblib")
        copied = joblib.load(tmp_path / "model.joblib")
    else:
        copied = copy.deepcopy(model)
    assert_same(vars(copied), vars(model))


@every_model
def test_a_loaded_model_can_be_cloned_and_copied(models, name, tmp_path):
    loaded = through_file(models[name], tmp_path)
    assert_same(vars(copy.deepcopy(pickle.loads(pickle.dumps(loaded)))), vars(loaded))
    assert_same(clone(loaded).get_params(), models[name].get_params())


def test_a_model_that_joblib_mapped_into_memory_can_be_saved(models, tmp_path):
    joblib.dump(models["annealed"], tmp_path / "model.joblib")
    mapped = joblib.load(tmp_path / "model.joblib", mmap_mode="r")
    assert isinstance(mapped.centers_, np.memmap)
    loaded = through_file(mapped, tmp_path)
    assert_same(dict(sorted(vars(loaded).items())), dict(sorted(vars(models["annealed"]).items())))


# What can be saved


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        AnnealedRegressor("gaussian").save(tmp_path / "model.saltus")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_attribute_is_named(models, tmp_path):
    model = copy.deepcopy(models["annealed"])
    model.notes_ = "mine"
    with pytest.raises(FileError, match=r"notes_.*pickle"):
        model.save(tmp_path / "model.saltus")


def test_an_unknown_class_is_named(models, tmp_path):
    @dataclasses.dataclass
    class Stranger:
        value: int = 0

    model = copy.deepcopy(models["annealed"])
    model.data_notes_ = Stranger()
    with pytest.raises(FileError, match=r"data_notes_ holds an object of class .*Stranger"):
        model.save(tmp_path / "model.saltus")


def test_a_known_class_in_the_wrong_place_is_named(models, tmp_path):
    model = copy.deepcopy(models["annealed"])
    model.result_ = model.data_notes_
    with pytest.raises(FileError, match=r"result_ is not .*AnnealResult.* but DataNotes"):
        model.save(tmp_path / "model.saltus")


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("schedule", OwnSchedule()),
        ("random_state", np.random.RandomState(np.random.PCG64(0))),
        ("basis", OwnFamily("gaussian")),
        ("init", pd.DataFrame([[0.0, 0.0, 0.0]])),
    ],
)
def test_a_parameter_that_no_file_can_hold_is_named(models, tmp_path, parameter, value):
    model = copy.deepcopy(models["annealed"]).set_params(**{parameter: value})
    with pytest.raises(FileError, match=f"{parameter} holds .* pickle"):
        model.save(tmp_path / "model.saltus")
    assert list(tmp_path.iterdir()) == []


def test_a_class_derived_by_the_user_is_not_saved_as_its_base(models, tmp_path):
    class Mine(AnnealedRegressor):
        pass

    model = Mine()
    vars(model).update(vars(models["annealed"]))
    with pytest.raises(FileError, match="Mine"):
        model.save(tmp_path / "model.saltus")


def test_a_model_that_is_too_large_is_not_saved(models, tmp_path, monkeypatch):
    path = tmp_path / "model.saltus"
    models["annealed"].save(path)
    with zipfile.ZipFile(path) as archive:
        unpacked = sum(member.file_size for member in archive.infolist())
    assert path.stat().st_size < unpacked
    path.unlink()
    monkeypatch.setattr("saltus.storage.container.LARGEST_FILE", unpacked - 1)
    with pytest.raises(FileError, match=rf"cannot be saved: its file unpacks to {unpacked} bytes"):
        models["annealed"].save(path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [*CLASSES, *FITTED.values()], ids=lambda kind: kind.__name__)
def test_every_array_of_every_class_says_its_axes(kind):
    for name, hint in get_type_hints(kind, include_extras=True).items():
        hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        assert "ndarray" not in str(hint) or get_origin(hint) is Annotated, name


def test_the_arrays_of_networks_and_draws_are_found():
    for kind, n_arrays in ((Network, 4), (TermSet, 4), (Draws, 12)):
        assert sum("ndarray" in str(hint) for hint in get_type_hints(kind).values()) >= n_arrays


# How it is written


def test_a_failure_leaves_the_old_file_and_nothing_else(models, tmp_path, monkeypatch):
    path = tmp_path / "model.saltus"
    path.write_bytes(b"old")

    def fail(*arguments):
        raise OSError("disk full")

    for step in ("fsync", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(os, step, fail)
            with pytest.raises(OSError, match="disk full"):
                models["annealed"].save(path)
        assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("model.saltus", b"old")]


def test_the_content_is_on_the_disk_before_it_takes_the_name(models, tmp_path, monkeypatch):
    steps = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda number: (steps.append("fsync"), fsync(number)))
    monkeypatch.setattr(os, "replace", lambda *names: (steps.append("replace"), replace(*names)))
    models["annealed"].save(tmp_path / "model.saltus")
    assert steps == ["fsync", "replace"]


def test_a_link_is_followed_and_the_usual_permissions_are_given(models, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder" / "model")
    models["annealed"].save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "plain").touch()
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("folder/model", "plain")]
    assert modes[0] == modes[1]


def test_a_folder_is_no_place_to_save_to(models, tmp_path):
    with pytest.raises(IsADirectoryError):
        models["annealed"].save(tmp_path)
    with pytest.raises(FileNotFoundError):
        models["annealed"].save(tmp_path / "missing" / "model.saltus")


# What the schema's types mean


def test_types_are_checked_as_the_language_means_them():
    assert conforms(1, float)
    assert conforms(np.float64(1), float)
    assert conforms(np.int64(1), int)
    assert not conforms(True, int)
    assert not conforms(1.0, int)
    assert conforms((1, 2), tuple[int, ...])
    assert not conforms([1, 2], tuple[int, ...])
    assert not conforms({"a": 1}, dict[int, int])
    with pytest.raises(TypeError, match="with color"):
        check_types(Network, {"color": 1})
