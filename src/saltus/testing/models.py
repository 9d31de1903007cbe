"""A small model with the family: it is fitted, described, saved and, where the family says how, exported."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from saltus._typing import Floats
from saltus.estimators import AnnealedRegressor
from saltus.families.user.family import UserFamily
from saltus.storage.container import FileError
from saltus.storage.files import load
from saltus.testing.columns import same
from saltus.testing.subject import Subject

# A short fit: whether it finds anything is no matter.
SHORT: dict[str, Any] = {"n_iter": 300, "n_chains": 1, "init": "empty", "term_cost": 1, "random_state": 0}


def check_model(subject: Subject) -> Iterator[str]:
    """Check that a model is fitted, predicts, describes itself and comes back from a file."""
    family, X = subject.family, subject.X
    y = np.sum([subject.column(term) for term in subject.terms[:2]], axis=0)
    y = y + 0.01 * max(np.std(y), 1e-3) * np.random.default_rng(0).standard_normal(len(y))
    try:
        model = AnnealedRegressor(family, **SHORT).fit(X, y)
        expected = model.predict(X)
        str(model.summary())
    except Exception as error:
        yield f"A model with {family!r} cannot be fitted: {type(error).__name__}: {error}"
        return
    if not np.isfinite(expected).all():
        yield f"A model with {family!r} predicts what is not finite. Make columns finite wherever inputs are."
    yield from _check_file(subject, model, expected)
    yield from _check_onnx(subject, model, expected)


def _check_file(subject: Subject, model: AnnealedRegressor, expected: Floats) -> Iterator[str]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.saltus"
        try:
            model.save(path)
            again = load(path, families=[subject.family]).predict(subject.X)
        except FileError as error:
            yield (
                f"A model with {subject.family!r} cannot be saved and read: {error} Options in a file are numbers, "
                f"text, None, and tuples of these."
            )
            return
    if not np.array_equal(again, expected):
        yield f"A model with {subject.family!r} predicts something else once it was saved. Keep all in its options."


def _check_onnx(subject: Subject, model: AnnealedRegressor, expected: Floats) -> Iterator[str]:
    """Check nodes that are given by the reference implementation of ONNX, where that is installed."""
    if type(subject.family).add_nodes is UserFamily.add_nodes or find_spec("onnx") is None:
        return
    from onnx.reference import ReferenceEvaluator

    try:
        (found,) = ReferenceEvaluator(model.to_onnx()).run(None, {"X": subject.X})
    except Exception as error:
        yield f"{subject.name}.add_nodes does not make a graph: {type(error).__name__}: {error}. Look at its nodes."
        return
    if not same(found, expected) and np.abs(found - expected).max() > 1e-6 * np.std(expected):
        yield (
            f"The nodes of {subject.name}.add_nodes predict something else than column, by up to "
            f"{np.abs(found - expected).max():.3g}. Make them agree."
        )
