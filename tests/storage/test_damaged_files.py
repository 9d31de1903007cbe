"""Nothing but a model can be made of a file, whatever is done to it, and what cannot be read is refused."""

import io
import json
import os
import pickle
import struct
import tracemalloc
import warnings
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, FileError, Product
from saltus.storage.container import _to_npy, _to_zip
from saltus.storage.files import _pack
from tests.mutations import Document
from tests.saved import NAMES, fit_models, make_data

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def models():
    return fit_models()


@pytest.fixture(scope="module")
def content(models):
    """The bytes of a small file that has everything in it."""
    return _pack(models["annealed, given"])


def load_bytes(content, folder):
    path = folder / "changed.saltus"
    path.write_bytes(content)
    return saltus.load(path)


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
    newer = edit(content, lambda document: document.update(format_version=4, saltus_version="9.1"))
    with pytest.raises(FileError, match=r"format 4, written by saltus 9\.1\. .* up to 3\. Install a newer saltus"):
        load_bytes(newer, tmp_path)


def test_a_format_of_development_versions_is_said_to_be_one(content, tmp_path):
    older = edit(content, lambda document: document.update(format_version=2, saltus_version="0.0"))
    with pytest.raises(FileError, match=r"format 2, written by saltus 0\.0, .* from 3 on\. Fit and save again"):
        load_bytes(older, tmp_path)


def test_messages_do_not_carry_what_a_terminal_would_obey(content, tmp_path):
    escape = "\x1b[2J" + "a" * 1000
    newer = edit(content, lambda document: document.update(format_version=4, saltus_version=escape))
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


def with_array(content, array, change):
    """Add an array, and let a document refer to it."""

    def add(document):
        document["arrays"].append([array.dtype.name, array.shape, "C"])
        change(document, {"array": len(document["arrays"]) - 1})

    name = f"{array.dtype.name}.npy"
    before = members_of(content).get(name)
    flat = array.ravel() if before is None else np.concatenate([np.load(io.BytesIO(before)), array.ravel()])
    return with_member(edit(content, add), name, _to_npy(flat))


def test_a_small_file_that_grows_is_refused_before_it_has_grown(models, tmp_path):
    def refer(document, reference):
        document["parameters"]["init"] = reference

    content = _pack(models["annealed"])
    load_bytes(with_array(content, np.zeros((4, 3)), refer), tmp_path)
    large = with_array(content, np.zeros((1_500_000, 3)), refer)
    assert len(large) < 100_000
    tracemalloc.start()
    with pytest.raises(FileError, match=r"its \d+ bytes unpack to \d+"):
        load_bytes(large, tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize(
    ("kind", "field", "number"),
    [
        ("Network", "coefficients", np.nan),
        ("Network", "constant", np.inf),
        ("Network", "slope", 1e300),
        ("TermSet", "parameters", np.nan),
        ("TermSet", "parameters", 1.5),
        ("Box", "width", 0.0),
        ("Box", "width", 1e-300),
        ("Box", "lower", 1e9),
        ("OutputScale", "scale", -1.0),
        ("ColumnNotes", "std", -1.0),
    ],
)
def test_numbers_that_mean_nothing_are_refused(content, kind, field, number, tmp_path):
    file = Document(content)
    file.arrays[part_of(file.document, kind)[field]["array"]][...] = number
    with pytest.raises(FileError, match="is damaged"):
        load_bytes(file.packed(), tmp_path)


def test_a_file_that_is_packed_again_is_the_same_model(content, tmp_path):
    """Or those above would be refused for how they were packed."""
    assert _pack(load_bytes(Document(content).packed(), tmp_path)) == content


def test_what_nothing_refers_to_is_refused(content, tmp_path):
    unused_array = with_array(content, np.zeros(9), lambda document, reference: None)
    unused_part = edit(content, lambda document: document["parts"].append(document["parts"][0]))
    for changed in (unused_array, unused_part):
        with pytest.raises(FileError, match="nothing refers to 1 of its"):
            load_bytes(changed, tmp_path)


def test_a_change_that_fits_in_all_else_is_found_by_the_digest(content, tmp_path):
    members = members_of(content)
    numbers = np.load(io.BytesIO(members["float64.npy"]))
    numbers[-1] += 1.0
    document = members["model.json"].replace(b"multiquadric", b"gaussian")
    for change in ({"float64.npy": _to_npy(numbers)}, {"model.json": document}):
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for name, value in {**members, **change}.items():
                archive.writestr(name, value)
        with pytest.raises(FileError, match="it was changed after it was written"):
            load_bytes(stream.getvalue(), tmp_path)


@pytest.mark.parametrize("sizes", [{10**10: 1.0}, {0: 0.5, 1: 0.5}, {2: 1.0}, {}], ids=str)
def test_a_posterior_of_sizes_that_is_not_that_of_the_draws_is_refused(models, sizes, tmp_path):
    def change(document):
        document["attributes"]["posterior_k_"] = {"dict": [list(item) for item in sizes.items()]}

    with pytest.raises(FileError, match="BayesianRegressor counts"):
        load_bytes(edit(_pack(models["bayesian, one output"]), change), tmp_path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b"[" * 1_000_000,
        b'{"a":' * 100_000,
        b'{"format": "saltus model", "format_version": 3}',
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
    monkeypatch.setattr("saltus.storage.container.LARGEST_DOCUMENT", 1000)
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
    "a deep list": lambda d: d["parameters"].update(init=nest(1.0, 50)),
    "a deep list in a family": lambda d: part_of(d, "Radial").update(metric=nest(1.0, 50)),
    "a metric that does not exist": lambda d: part_of(d, "Radial").update(metric="city block"),
    "widths that do not exist": lambda d: part_of(d, "Radial").update(widths="many"),
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
    "a part of the wrong class": lambda d: part_of(d, "Network").update(box=part_of(d, "Network")["mixture"]),
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
    "a key twice": lambda d: part_of(d, "ChainResult")["best_by_n_terms"]["dict"].extend([[0, 1.0], [0, 2.0]]),
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


@pytest.fixture(scope="module")
def mixtures():
    X, Y = make_data()
    basis = ["gaussian", Product(("hinge", "bump")), "steps", "ridges", "waves"]
    options = {"n_iter": 800, "n_chains": 1, "init": "empty", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return (
            AnnealedRegressor(basis, **options).fit(X, Y[:, 0]),
            BayesianRegressor(basis, n_draws=5, **options).fit(X, Y[:, 0]),
        )


@pytest.mark.parametrize("number", [0, 1], ids=["annealed", "bayesian"])
def test_terms_with_other_choices_are_refused_or_are_terms(mixtures, number, tmp_path, rng):
    """Whatever whole number of a file is another, of a family, an input, a profile, a knot: it fails at once or not."""
    model, (X, _) = mixtures[number], make_data()
    content = _pack(model)
    flat = np.load(io.BytesIO(members_of(content)["int64.npy"]))
    n_refused = 0
    for at in rng.permutation(len(flat))[:150]:
        for value in (-1, 3, 2**62):
            changed = flat.copy()
            changed[at] += value
            try:
                other = load_bytes(with_member(content, "int64.npy", _to_npy(changed)), tmp_path)
            except FileError:
                n_refused += 1
            else:
                assert other.predict(X).shape == (len(X),)
    assert n_refused > 50


def test_knots_that_cannot_be_are_not_sound(mixtures):
    scale = mixtures[0].networks_[0].mixture.members[1].scale
    for n_knots in (0, 1, scale.knots.shape[1] + 1, -3):
        changed = replace(scale, n_knots=np.full_like(scale.n_knots, n_knots))
        assert scale.is_sound
        assert not changed.is_sound


def test_names_of_other_inputs_are_refused(models, tmp_path):
    changed = edit(_pack(models["bayesian"]), lambda d: d["attributes"]["feature_names_in_"]["names"].pop())
    with pytest.raises(FileError, match="BayesianRegressor has arrays that do not fit"):
        load_bytes(changed, tmp_path)


def test_a_box_of_other_inputs_is_refused(content, tmp_path):
    flipped = np.ones(3, dtype=bool)
    with pytest.raises(FileError, match=r"(Box|Network|FittedRadial) has arrays that do not fit"):
        load_bytes(with_member(content, "bool.npy", _to_npy(flipped)), tmp_path)


def test_a_file_without_a_parameter_gets_its_default(content, tmp_path):
    without = edit(content, lambda document: document["parameters"].pop("patience"))
    assert load_bytes(without, tmp_path).patience == AnnealedRegressor("gaussian").patience


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
