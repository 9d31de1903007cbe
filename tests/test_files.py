"""Model files bring back the same model to the last bit, and nothing else can be made of them."""

import copy
import dataclasses
import io
import json
import os
import pickle
import stat
import struct
import tracemalloc
import zipfile

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, FileError, Geometric, Radial
from saltus.container import _to_npy, _to_zip
from saltus.engine.network import Network
from saltus.files import _pack
from saltus.schema import SHAPES, check_types, conforms

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = ["width", "depth (m)", "größe"]


def make_data():
    rng = np.random.default_rng(7)
    X = rng.uniform(-2, 3, size=(60, 3))
    X[:, 2] = 1.5  # constant: fewer inputs vary than there are
    Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], np.abs(X[:, 0] - X[:, 1])], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


def with_names(X, Y):
    return pd.DataFrame(X, columns=NAMES), pd.DataFrame(Y, columns=["up", "down"])


class OwnSchedule:
    def temperature(self, iteration, n_iter):
        return np.ones(np.shape(iteration))


@pytest.fixture(scope="module")
def models():
    """Both regressors, with one output and two, with every kind of parameter."""
    X, Y = make_data()
    given = AnnealedRegressor(
        Radial("multiquadric", width=2),
        metric=[[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]],
        criterion=np.float64(3.5),
        schedule=Geometric(start=2, end=0.1),
        init=np.asfortranarray(X[:4], dtype=np.float32),
        random_state=np.random.RandomState(3),
        n_iter=np.int64(40),
        n_chains=1,
        combine="best",
    )
    with pytest.warns(saltus.regressors.DependentFeaturesWarning):
        return {
            "annealed": AnnealedRegressor(n_iter=400, n_chains=2, random_state=0).fit(*with_names(X, Y)),
            "annealed, given": given.fit(X, Y[:, 0]),
            "bayesian": BayesianRegressor(
                "gaussian", metric="learned", n_iter=300, n_draws=10, n_chains=2, random_state=1
            ).fit(*with_names(X, Y)),
            "bayesian, one output": BayesianRegressor(n_iter=300, n_draws=10, n_chains=2).fit(X, Y[:, 0]),
        }


@pytest.fixture(scope="module")
def content(models):
    """The bytes of a small file that has everything in it."""
    return _pack(models["annealed, given"])


every_model = pytest.mark.parametrize("name", ["annealed", "annealed, given", "bayesian", "bayesian, one output"])


def through_file(model, folder):
    model.save(folder / "model.saltus")
    return saltus.load(folder / "model.saltus")


def load_bytes(content, folder):
    path = folder / "changed.saltus"
    path.write_bytes(content)
    return saltus.load(path)


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
        with pytest.warns(saltus.regressors.DependentFeaturesWarning):
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
    assert_same(vars(through_file(mapped, tmp_path)), vars(models["annealed"]))


# What can be saved


def test_an_unfitted_model_is_not_saved(tmp_path):
    with pytest.raises(NotFittedError):
        AnnealedRegressor().save(tmp_path / "model.saltus")
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
        ("metric", np.array([["a"]])),
        ("init", pd.DataFrame([[0.0, 0.0, 0.0]])),
    ],
)
def test_a_parameter_that_no_file_can_hold_is_named(models, tmp_path, parameter, value):
    model = copy.deepcopy(models["annealed"]).set_params(**{parameter: value})
    with pytest.raises(FileError, match=f"{parameter} holds .* pickle" if parameter != "metric" else "metric"):
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
    monkeypatch.setattr("saltus.container.LARGEST_FILE", 30_000)
    with pytest.raises(FileError, match=r"cannot be saved: its file unpacks to \d+ bytes"):
        models["annealed"].save(tmp_path / "model.saltus")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", SHAPES, ids=lambda kind: kind.__name__)
def test_every_array_of_every_class_has_a_shape(kind):
    arrays = {name for name, hint in saltus.schema._hints(kind).items() if "ndarray" in str(hint)}
    assert arrays <= set(SHAPES[kind])


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


# What is not a model file


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def edit(content, change):
    """Change the document of a file; all checksums are right."""
    members = members_of(content)
    document = json.loads(members["model.json"])
    change(document)
    return _to_zip({**members, "model.json": json.dumps(document).encode()})


def with_member(content, name, value):
    return _to_zip({**members_of(content), name: value})


def part_of(document, kind):
    return next(values for name, values in document["parts"] if name == kind)


def test_nothing_is_touched_and_the_message_says_what_to_do(content, tmp_path):
    path = tmp_path / "half.saltus"
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileError, match=r"half\.saltus is damaged, or is no model file: .*\. Save the model again"):
        saltus.load(path)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [
        (path.name, content[: len(content) // 2])
    ]


def test_a_newer_format_is_said_to_be_one(content, tmp_path):
    newer = edit(content, lambda document: document.update(format_version=2, saltus_version="9.1"))
    with pytest.raises(FileError, match=r"format 2, written by saltus 9\.1\. .* up to 1\. Install a newer saltus"):
        load_bytes(newer, tmp_path)


def test_messages_do_not_carry_what_a_terminal_would_obey(content, tmp_path):
    escape = "\x1b[2J" + "a" * 1000
    newer = edit(content, lambda document: document.update(format_version=2, saltus_version=escape))
    for changed in (newer, edit(content, lambda document: part_of(document, "Box").update({escape: 1}))):
        with pytest.raises(FileError) as caught:
            load_bytes(changed, tmp_path)
        assert "[2Jaaa" in str(caught.value)
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 800


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes with names")
def test_what_is_not_a_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        saltus.load(tmp_path / "missing.saltus")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", "/dev/zero"):
        with pytest.raises(FileError, match="is not a file"):
            saltus.load(path)


class Bomb:
    """Pickled, it would leave a file behind when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


def test_a_pickle_in_an_array_is_not_read(content, tmp_path):
    trap = tmp_path / "trap"
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([Bomb(str(trap))]), allow_pickle=True)
    for name in ("float64.npy", "object.npy"):
        with pytest.raises(FileError):
            load_bytes(with_member(content, name, stream.getvalue()), tmp_path)
    with pytest.raises(FileError):
        load_bytes(pickle.dumps(Bomb(str(trap))), tmp_path)
    assert not trap.exists()


def lie_about_npy(header):
    """Give the numbers another header."""

    def lie(content):
        members = members_of(content)
        numbers = members["float64.npy"][128:]
        text = header.replace("SIZE", str(len(numbers) // 8)).encode().ljust(117) + b"\n"
        return with_member(content, "float64.npy", b"\x93NUMPY\1\0" + struct.pack("<H", 118) + text + numbers)

    return lie


def test_the_lies_would_pass_if_they_were_true(content, tmp_path):
    honest = lie_about_npy("{'descr': '<f8', 'fortran_order': False, 'shape': (SIZE,), }")(content)
    assert _pack(load_bytes(honest, tmp_path)) == content


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (SIZE, 1), }",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (SIZE,), }",
        "{'descr': '>f8', 'fortran_order': False, 'shape': (SIZE,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (SIZE,), }",
        "{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (SIZE,), }",
        "{'descr': '|V0', 'fortran_order': False, 'shape': (SIZE,), }",
        "__import__('os').mkdir('trap')",
        "[" * 100,
        "-" * 100 + "1",
    ],
)
def test_an_array_that_lies_about_itself_is_refused(content, header, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError):
        load_bytes(lie_about_npy(header)(content), tmp_path)
    assert not (tmp_path / "trap").exists()


def claim_sizes(content, **claims):
    """Let the zip's directory and the header of its last member say something else of it."""
    found = bytearray(content)
    at = content.rindex(b"PK\1\2")
    local = struct.unpack_from("<L", content, at + 42)[0]
    for name, value in claims.items():
        inside, before = {"method": ("H", (10, 8)), "packed": ("L", (20, 18)), "unpacked": ("L", (24, 22))}[name]
        struct.pack_into(f"<{inside}", found, at + before[0], value)
        struct.pack_into(f"<{inside}", found, local + before[1], value)
    return bytes(found)


def doubled_member(content):
    stream = io.BytesIO(content)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("model.json", members_of(content)["model.json"])
    return stream.getvalue()


def overruled_end(content):
    """Put the records of a large zip before the end: zipfile believes them."""
    count, size, start = struct.unpack("<HLL", content[-12:-2])
    record = struct.pack("<4sQHHLLQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, len(content) - 22, 1)
    return content[:-22] + record + locator + content[-22:]


def in_lzma(content):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_LZMA) as archive:
        for name, value in members_of(content).items():
            archive.writestr(name, value)
    return stream.getvalue()


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: b"PK",
        lambda content: content[:-1],
        lambda content: content + b"\0",
        lambda content: content[:-2] + b"\4\0text",
        lambda content: pickle.dumps({"a": 1}),
        lambda content: _to_zip({}),
        lambda content: _to_zip({"model.json": b"{}"}),
        lambda content: _to_zip({k: v for k, v in members_of(content).items() if k != "float64.npy"}),
        lambda content: with_member(content, "../../evil.npy", b""),
        lambda content: with_member(content, "/etc/evil", b""),
        lambda content: with_member(content, "uint64.npy", _to_npy(np.zeros(3, np.uint64))),
        doubled_member,
        overruled_end,
        in_lzma,
        lambda content: claim_sizes(content, unpacked=2**31),
        lambda content: claim_sizes(content, packed=2**31),
        lambda content: claim_sizes(content, unpacked=0),
        lambda content: claim_sizes(content, method=99),
        lambda content: claim_sizes(content, method=0),
    ],
)
def test_a_container_that_is_not_ours_is_refused(content, damage, tmp_path):
    damaged = damage(content)
    assert damaged != content
    with pytest.raises(FileError):
        load_bytes(damaged, tmp_path)


def test_a_long_list_of_members_is_refused_before_it_is_read(content, tmp_path):
    many = _to_zip({**members_of(content), **{f"{number}.npy": b"" for number in range(2000)}})
    with pytest.raises(FileError, match="too many members"):
        load_bytes(many, tmp_path)


def test_a_bomb_does_not_go_off(content, tmp_path):
    bomb = with_member(content, "uint64.npy", bytes(200_000_000))
    assert len(bomb) < 300_000
    tracemalloc.start()
    with pytest.raises(FileError):
        load_bytes(claim_sizes(bomb, unpacked=1000), tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b'{"format": "saltus model", "format_version": 1}',
        b'{"format": "saltus model", "format_version": ' + b"9" * 5000 + b"}",
        b'{"format": "saltus model", "format_version": NaN}',
    ],
    ids=lambda text: text[:20].decode(errors="replace"),
)
def test_a_document_that_is_not_ours_is_refused(content, text, tmp_path):
    with pytest.raises(FileError):
        load_bytes(with_member(content, "model.json", text), tmp_path)


def test_a_document_that_says_a_thing_twice_is_refused(content, tmp_path):
    document = members_of(content)["model.json"]
    twice = document.replace(b'"format": ', b'"format": "saltus model", "format": ', 1)
    assert json.loads(twice) == json.loads(document)
    with pytest.raises(FileError, match="a key comes twice"):
        load_bytes(with_member(content, "model.json", twice), tmp_path)


def test_a_document_that_is_too_large_is_refused(content, tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.container.LARGEST_DOCUMENT", 1000)
    with pytest.raises(FileError, match="too large"):
        load_bytes(content, tmp_path)


def nest(value, depth):
    return value if depth == 0 else nest([value], depth - 1)


def turn_slope(document):
    document["arrays"][part_of(document, "Network")["slope"]["array"]][1].reverse()


EDITS = {
    "another format": lambda d: d.update(format="pictures"),
    "version 0": lambda d: d.update(format_version=0),
    "a version in words": lambda d: d.update(format_version="one"),
    "a version that is true": lambda d: d.update(format_version=True),
    "an unknown regressor": lambda d: d.update(regressor="LinearRegression"),
    "a class of the library that is none of a model": lambda d: d["parts"].append(["Factor", {}]),
    "a class of Python": lambda d: d["parts"].append(["object", {}]),
    "an unknown kind of value": lambda d: d["parameters"].update(n_jobs={"eval": "1"}),
    "two kinds at once": lambda d: d["parameters"].update(n_jobs={"float": "nan", "part": 0}),
    "an unknown parameter": lambda d: d["parameters"].update(callback=1),
    "a parameter of the wrong type": lambda d: d["parameters"].update(n_chains="six"),
    "a parameter out of its range": lambda d: d["parameters"].update(split_scale=-1.0),
    "a part as a parameter": lambda d: d["parameters"].update(n_chains={"part": 0}),
    "a deep list": lambda d: d["parameters"].update(metric=nest(1.0, 50)),
    "a number that is a list": lambda d: d["parameters"].update(criterion={"scalar": ["float64", [1.0, 2.0]]}),
    "a number in words": lambda d: d["parameters"].update(criterion={"scalar": ["float64", "3.5"]}),
    "a number of an unknown type": lambda d: d["parameters"].update(criterion={"scalar": ["O", 1.0]}),
    "a number that is too large for its type": lambda d: d["parameters"].update(n_iter={"scalar": ["int8", 300]}),
    "a random state beyond its words": lambda d: d["parameters"]["random_state"]["RandomState"].__setitem__(1, 625),
    "a random state before its words": lambda d: d["parameters"]["random_state"]["RandomState"].__setitem__(1, -1),
    "a basis that does not exist": lambda d: part_of(d, "Radial").update(name="wavelet"),
    "a width below 0": lambda d: part_of(d, "Radial").update(width=-1.0),
    "an unknown field": lambda d: part_of(d, "Box").update(color=1),
    "a missing field": lambda d: part_of(d, "Box").pop("varies"),
    "a field of the wrong type": lambda d: part_of(d, "Snapshot").update(iteration="first"),
    "a truth value for a count": lambda d: part_of(d, "MoveCount").update(chosen=True),
    "a part of the wrong class": lambda d: part_of(d, "Network").update(box=part_of(d, "Network")["basis"]),
    "an array of the wrong type": lambda d: part_of(d, "Box").update(varies=part_of(d, "Box")["lower"]),
    "a later part": lambda d: part_of(d, "Network").update(box={"part": len(d["parts"]) - 1}),
    "a part of itself": lambda d: d["parts"].append(
        ["Snapshot", {"iteration": 0, "network": {"part": len(d["parts"])}}]
    ),
    "a part counted from the end": lambda d: d["attributes"]["result_"].update(
        part=d["attributes"]["result_"]["part"] - len(d["parts"])
    ),
    "an array that is not there": lambda d: part_of(d, "Network").update(slope={"array": 10**6}),
    "a shape that does not fit": turn_slope,
    "a negative shape": lambda d: d["arrays"][0].__setitem__(1, [-1, 3]),
    "a shape of everything": lambda d: d["arrays"][0].__setitem__(1, [-1]),
    "a shape of fractions": lambda d: d["arrays"][0].__setitem__(1, [1.5]),
    "a shape beyond the numbers": lambda d: d["arrays"][-1].__setitem__(1, [10**12]),
    "an array in no order": lambda d: d["arrays"][0].__setitem__(2, None),
    "an array of objects": lambda d: d["arrays"][0].__setitem__(0, "object"),
    "an unused number": lambda d: d["arrays"].pop(),
    "a missing attribute": lambda d: d["attributes"].pop("criterion_value_"),
    "an unknown attribute": lambda d: d["attributes"].update(__class__={"part": 0}),
    "a method for an attribute": lambda d: d["attributes"].update(predict=1),
    "another number of inputs": lambda d: d["attributes"].update(n_features_in_=4),
    "two outputs": lambda d: d["attributes"].update(_single_output=False),
    "no networks": lambda d: d["attributes"].update(networks_={"tuple": []}),
    "more networks than weights": lambda d: d["attributes"]["networks_"]["tuple"].append(
        d["attributes"]["networks_"]["tuple"][0]
    ),
    "a best chain that is not there": lambda d: part_of(d, "AnnealResult").update(best_chain=9),
    "a key twice": lambda d: part_of(d, "ChainResult")["best_by_n_bases"]["dict"].extend([[0, 1.0], [0, 2.0]]),
    "attributes that are a list": lambda d: d.update(attributes=[]),
}


@pytest.mark.parametrize("change", EDITS.values(), ids=EDITS)
def test_a_model_that_cannot_be_is_refused(content, change, tmp_path):
    changed = edit(content, change)
    with pytest.raises(FileError, match="is damaged, or is no model file"):
        load_bytes(changed, tmp_path)


def test_draws_that_do_not_add_up_are_refused(models, tmp_path):
    content = _pack(models["bayesian"])
    members = members_of(content)
    flat = np.load(io.BytesIO(members["int64.npy"]))
    n_refused = 0
    for at in range(len(flat)):
        for value in (-1, 3, 2**62):
            changed = flat.copy()
            changed[at] += value
            with pytest.raises(FileError):
                load_bytes(with_member(content, "int64.npy", _to_npy(changed)), tmp_path)
            n_refused += 1
    assert n_refused > 60


def test_a_box_of_other_inputs_is_refused(content, tmp_path):
    flipped = np.ones(3, dtype=bool)
    with pytest.raises(FileError, match=r"(Box|Network) has arrays that do not fit"):
        load_bytes(with_member(content, "bool.npy", _to_npy(flipped)), tmp_path)


def test_a_file_without_a_parameter_gets_its_default(content, tmp_path):
    without = edit(content, lambda document: document["parameters"].pop("patience"))
    assert load_bytes(without, tmp_path).patience == AnnealedRegressor().patience


# Whatever happens to the bytes


def test_any_flipped_or_missing_byte_is_found_or_harmless(content, tmp_path):
    rng = np.random.default_rng(11)
    directory = content.index(b"PK\1\2")  # from here on, and in the first bytes, there are no checksums
    where = [*rng.integers(len(content), size=100), *range(40), *range(directory, len(content), 2)]
    n_refused = 0
    for at in where:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        try:
            loaded = load_bytes(bytes(damaged), tmp_path)
        except FileError:
            n_refused += 1
        else:
            assert _pack(loaded) == content
    for length in rng.integers(len(content), size=40):
        with pytest.raises(FileError):
            load_bytes(content[:length], tmp_path)
    assert n_refused > len(where) // 3


JUNK = [None, True, -1, 0, 1, 3, 10**30, 1.5, "", "float64", [], [[]], {}, {"part": 0}, {"array": 0}, {"tuple": []}]


def paths_of(value, path=()):
    """Go through the places in a document."""
    yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from paths_of(item, (*path, key))


@pytest.mark.parametrize("name", ["annealed, given", "bayesian"])
def test_any_changed_document_is_refused_or_makes_a_model_that_predicts(models, name, tmp_path):
    X, _ = make_data()
    X = pd.DataFrame(X, columns=NAMES) if name == "bayesian" else X
    content = _pack(models[name])
    members = members_of(content)
    places = [path for path in paths_of(json.loads(members["model.json"])) if path]
    rng = np.random.default_rng(12)
    n_refused = 0
    for number in rng.integers(len(places), size=120):
        *into, last = places[number]
        document = json.loads(members["model.json"])
        place = document
        for key in into:
            place = place[key]
        place[last] = JUNK[rng.integers(len(JUNK))]
        changed = _to_zip({**members, "model.json": json.dumps(document).encode()})
        try:
            loaded = load_bytes(changed, tmp_path)
        except FileError:
            n_refused += 1
        else:
            with np.errstate(all="ignore"):
                assert loaded.predict(X).shape == models[name].predict(X).shape
    assert 60 < n_refused < 120


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
