"""Files with a few things changed whose digests are right again, and children in which they are used.

As a program: ``python -m tests.mutations checkpoints 50000`` (or ``models``; then, if wanted, the first seed) says how
many were refused, how many gave the same answer, how many another finite one, and what else happened: nothing should.
"""

import io
import json
import os
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

import numpy as np

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, FileError, Product
from saltus.storage.checkpoints import write_checkpoint
from saltus.storage.container import _cut, _to_npy, _to_zip
from saltus.storage.encoding import NUMBERS, order_of

MIXED = ["gaussian", Product(("hinge", "bump")), "steps", "ridges", "waves"]
JUNK_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e300, -1e300, 1e-300, 1.0 + 1e-12, 0.5, 2.0, 1e10)
JUNK_INTEGERS = (-1, 0, 1, 2, 3, 7, 255, 10**6, 2**31, 2**53, 2**62, -(2**63), 2**63 - 1)
JUNK = (None, True, -1, 0, 1, 3, 10**9, 10**30, 1.5, -1e308, "", "float64", [], [[]], {}, {"part": 0}, {"array": 0})
JUNK += ({"tuple": []}, {"float": "nan"}, {"float": "-inf"}, {"scalar": ["int8", 3]}, {"dict": []}, {"names": ["a"]})


class Document:
    """The document and the arrays of a file. Mutable."""

    def __init__(self, content):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            self.document = json.loads(archive.read("model.json"))
            numbers = {
                name: np.load(io.BytesIO(archive.read(f"{name}.npy")))
                for name in NUMBERS
                if f"{name}.npy" in archive.namelist()
            }
        self.arrays = _cut(numbers, self.document["arrays"])

    def packed(self):
        """Write it, with a digest that is right."""
        described = [(array.dtype.name, array.shape, order_of(array) if array.size else "C") for array in self.arrays]
        members = {"model.json": json.dumps({**self.document, "arrays": described}).encode()}
        for name in NUMBERS:
            pairs = zip(self.arrays, described, strict=True)
            flat = [array.ravel(order) for array, (of, _, order) in pairs if of == name]
            if flat:
                members[f"{name}.npy"] = _to_npy(np.concatenate(flat))
        return _to_zip(members)

    def places(self):
        """List the places of values in what the document says of parts, parameters, attributes and chains."""
        return list(_places({name: value for name, value in self.document.items() if name != "arrays"}))


def _places(value, path=()):
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(item, (*path, key))


def mutated(content, seed):
    """Change one to three things of a file."""
    rng, file = np.random.default_rng(seed), Document(content)
    for _ in range(rng.integers(1, 4)):
        kinds = (change_number, change_number, change_array, change_shape, change_value, change_value, change_structure)
        kinds[rng.integers(len(kinds))](rng, file)
    return file.packed()


def change_number(rng, file):
    """Change one number of an array."""
    array = file.arrays[rng.integers(len(file.arrays))]
    if array.size:
        at = np.unravel_index(rng.integers(array.size), array.shape)
        array[at] = _other_number(rng, array.dtype, array[at])


def change_array(rng, file):
    """Change all numbers of an array alike."""
    number = rng.integers(len(file.arrays))
    array = file.arrays[number]
    if rng.random() < 0.2:
        names = [name for name in NUMBERS if name != array.dtype.name]
        with np.errstate(all="ignore"):
            file.arrays[number] = array.astype(names[rng.integers(len(names))])
    elif rng.random() < 0.5:
        array[...] = _other_number(rng, array.dtype, array.flat[0] if array.size else 0)
    else:
        array[...] = array.ravel()[rng.permutation(array.size)].reshape(array.shape)


def _other_number(rng, dtype, value):
    if dtype.kind == "b":
        return not value
    if dtype.kind == "f":
        near = (value * (1 + 1e-9), value + 0.01, -value, 10 * value)
        return (JUNK_FLOATS + near)[rng.integers(len(JUNK_FLOATS) + len(near))]
    bounds, near = np.iinfo(dtype), (int(value) + 1, int(value) - 1)
    chosen = (JUNK_INTEGERS + near)[rng.integers(len(JUNK_INTEGERS) + len(near))]
    return dtype.type(min(max(chosen, bounds.min), bounds.max))


def change_shape(rng, file):
    """Make an array shorter, longer, or turn it."""
    number = rng.integers(len(file.arrays))
    array = file.arrays[number]
    axis = rng.integers(max(array.ndim, 1))
    ways = (
        lambda: array[..., None],
        lambda: array.T.copy(),
        lambda: array.ravel(),
        lambda: np.zeros((0,) * array.ndim, array.dtype),
        lambda: array.take(range(array.shape[axis] - 1), axis),
        lambda: array.take([*range(array.shape[axis]), array.shape[axis] - 1], axis),
        lambda: array.take([], axis),
        lambda: array.repeat(2, axis),
    )
    if array.ndim and array.shape[axis]:
        file.arrays[number] = ways[rng.integers(len(ways))]()


def change_value(rng, file):
    """Put something else in a place of the document: of all values each is as probable."""
    places = file.places()
    *into, last = places[rng.integers(len(places))]
    place = file.document
    for key in into:
        place = place[key]
    value = place[last]
    if type(value) is int and rng.random() < 0.7:
        chosen = (value + 1, value - 1, *JUNK_INTEGERS, 2**127)
        place[last] = chosen[rng.integers(len(chosen))]
    elif type(value) is float and rng.random() < 0.7:
        place[last] = float(np.nan_to_num(_other_number(rng, np.dtype(np.float64), value)))
    else:
        place[last] = JUNK[rng.integers(len(JUNK))]


def change_structure(rng, file):
    """Take something out, put it in twice, or exchange two things."""
    places = file.places()
    *into, last = places[rng.integers(len(places))]
    place = file.document
    for key in into:
        place = place[key]
    way = rng.integers(3)
    if way == 0:
        del place[last]
    elif way == 1 and isinstance(place, list):
        place.insert(last, place[last])
    else:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        other = keys[rng.integers(len(keys))]
        place[last], place[other] = place[other], place[last]


# What is changed


def data():
    """Make two inputs and an output."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(40, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(40)


def subjects():
    """Name unfitted models of both estimators, with chains that are saved in the middle."""
    options = {"n_chains": 2, "random_state": 0, "n_jobs": 1, "k_max": 5}
    sampled = {"n_iter": 5_100, "n_warmup": 5_000, "n_draws": 1_020, **options}
    return {
        "annealed": AnnealedRegressor("gaussian", n_iter=10_100, **options),
        "annealed mixture": AnnealedRegressor(MIXED, n_iter=10_050, init="empty", polish=False, **options),
        "annealed in rounds": AnnealedRegressor("gaussian", patience=1, **options),
        "sampled": BayesianRegressor("gaussian", **sampled),
        "sampled mixture": BayesianRegressor(MIXED, init="empty", **sampled),
    }


def checkpoints_of(model, X, y):
    """Fit a model; return all checkpoints that it writes."""
    written = []
    with patch("saltus.storage.checkpoints.write_checkpoint", lambda _, state: written.append(state)):
        model.fit(X, y, checkpoint="nowhere", checkpoint_every=0)
    return written


def halfway_checkpoint(model, X, y):
    """Fit a model; return the last checkpoint before one of its chains was through, as bytes."""
    written = checkpoints_of(model, X, y)
    halfway = [state for state in written if any(_is_halfway(chain) for chain in state.chains)]
    with tempfile.TemporaryDirectory() as folder:
        write_checkpoint(Path(folder) / "checkpoint", halfway[-1])
        return (Path(folder) / "checkpoint").read_bytes()


def _is_halfway(chain):
    return chain is not None and (getattr(chain, "halfway", None) is not None or getattr(chain, "done", 0) == 10_000)


def use_checkpoint(model, path):
    """Go on from a checkpoint, predict and describe."""
    X, y = data()
    model.fit(X, y, resume=path)
    return model.predict(X), len(model.summary())


def use_model(model, path):
    """Read a model, predict and describe."""
    X, _ = data()
    loaded = saltus.load(path)
    predicted = [loaded.predict(X)]
    if isinstance(loaded, BayesianRegressor):
        predicted += [*loaded.predict(X, return_std=True), *loaded.predict_interval(X[:5])]
        predicted += [loaded.sample_y(X[:5], 2, random_state=0).ravel()]
    else:
        predicted += [list(loaded.staged_predict(X[:5]))[-1][1]]
    return np.concatenate(predicted), len(loaded.summary())


USES = {"checkpoints": use_checkpoint, "models": use_model}


def outcome(use, model, path, expected):
    """Use a file; say what came of it."""
    try:
        predicted, _ = use(model, path)
    except FileError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]
    if predicted.shape != expected.shape:
        return f"the shape {predicted.shape}"
    if np.array_equal(predicted, expected):
        return "same"
    return "another finite answer" if np.isfinite(predicted).all() else "not finite"


def child(kind, folder, name, first, stop):
    """Use the files of some seeds, and print what came of each; what kills this process is not printed."""
    warnings.simplefilter("ignore")
    content, path = (Path(folder) / name).read_bytes(), str(Path(folder) / f"{name}.{os.getpid()}.changed")
    model, use = subjects()[name], USES[kind]
    expected, _ = use(model, str(Path(folder) / name))
    for seed in range(first, stop):
        print(seed, end=" ", flush=True)
        Path(path).write_bytes(mutated(content, seed))
        print(outcome(use, model, path, expected).replace("\n", " "), flush=True)
    Path(path).unlink(missing_ok=True)


def write_subjects(kind, folder, names):
    """Write the file of each subject that is to be changed."""
    X, y = data()
    for name in names:
        model = subjects()[name]
        if kind == "models":
            model.fit(X, y).save(folder / name)
        else:
            (folder / name).write_bytes(halfway_checkpoint(model, X, y))


def run_children(kind, folder, name, first, stop):
    """Use the files of some seeds in children, a new one after each that died; count what came of them."""
    found = Counter()
    while first < stop:
        arguments = ["-m", "tests.mutations", "child", kind, str(folder), name, str(first), str(stop)]
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        for line in lines:
            seed, _, what = line.partition(" ")
            if not what:
                what = f"died with {done.returncode}: {done.stderr[-300:]}"
            if what not in ("refused", "same", "another finite answer"):
                what = f"{name} {seed}: {what}"
            found[what] += 1
        if not lines:
            raise RuntimeError(done.stderr)
        first += len(lines)
    return found


def main(kind, n_files, first=0):
    """Change so many files in all, with seeds from the first on."""
    names = list(subjects())
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_subjects(kind, Path(folder), names)
        each = -(-n_files // len(names))
        for name in names:
            found = run_children(kind, folder, name, first, first + each)
            print(name, dict(found.most_common(40)), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "child":
        child(*sys.argv[2:5], int(sys.argv[5]), int(sys.argv[6]))
    else:
        main(sys.argv[1], *map(int, sys.argv[2:]))
