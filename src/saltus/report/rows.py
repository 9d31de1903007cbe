"""The rows that a report shows a model on, and what it says of them first: how well they are predicted."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.estimators.checks import check_inputs
from saltus.estimators.notes import ColumnNotes
from saltus.inspection.document import count, join_names, one_line, percent
from saltus.inspection.metrics import Score, check_rows, score_rows
from saltus.plots.importance import places_for_importance

HELD_OUT = "held-out rows"
Pair = tuple[ArrayLike, ArrayLike]
Checked = tuple[Floats, Floats]


@dataclass(frozen=True)
class Shown:
    """The rows of a report, as they were given and as they were checked; None where there are none."""

    X: ArrayLike | None
    name: str  # of X
    given: Pair | None
    test: Pair | None
    inputs: Floats | None  # of the held-out rows, or of the others
    fitted: Checked | None  # rows of the fit
    held_out: Checked | None

    @classmethod
    def of(
        cls,
        model: NetworkRegressor,
        X: ArrayLike | None,
        y: ArrayLike | None,
        X_test: ArrayLike | None,
        y_test: ArrayLike | None,
    ) -> "Shown":
        """Check rows, and say which they are."""
        test = None if X_test is None or y_test is None else (X_test, y_test)
        given = None if X is None or y is None else (X, y)
        name = "rows given" if given is None else name_rows(model, *given)
        checked = None if given is None else check_rows(model, *given)
        held_out = None if test is None else check_rows(model, *test)
        inputs = held_out[0] if held_out is not None else None if X is None else check_inputs(model, X)
        fitted = checked if name == "rows of the fit" or held_out is not None else None
        return cls(X, name, given, test, inputs, fitted, held_out)

    @property
    def rows(self) -> dict[str, Pair | None]:
        """All rows with outputs, by name."""
        return {HELD_OUT: self.test, self.name: self.given}

    @property
    def best(self) -> Pair | None:
        """The rows that say most about the model: held-out ones, where there are any."""
        return self.test or self.given

    @property
    def best_name(self) -> str:
        """What these are called."""
        if self.test is not None:
            return HELD_OUT
        return self.name if self.X is not None else "values of the training data"

    def for_importance(self, model: NetworkRegressor) -> tuple[Floats, Floats | None]:
        """Take rows, and what was observed there; places that are typical of the training data where there are none."""
        if self.held_out is not None:
            return self.held_out
        X, y = self.given or (self.X, None)
        return places_for_importance(model, X, y)


def name_rows(model: NetworkRegressor, X: ArrayLike, y: ArrayLike) -> str:
    """Tell the rows that a model was fitted to, by their number and ranges, from others."""
    notes, rows = model.data_notes_, check_rows(model, X, y)
    is_fit = len(rows[0]) == notes.n_rows and all(
        np.array_equal(part.min, each.min) and np.array_equal(part.max, each.max)
        for part, values in zip((notes.inputs, notes.outputs), rows, strict=True)
        for each in [ColumnNotes.of(part.names, values, np.ones(len(values)), part.levels)]
    )
    return "rows of the fit" if is_fit else "rows given"


def headline(model: NetworkRegressor, shown: Shown) -> str:
    """Say what is predicted, and how well, on held-out rows where there are any."""
    what = f"{join_names(model.data_notes_.output_names)} from {count(len(model.data_notes_.input_names), 'input')}"
    if shown.best is None:
        return f"{what}. No rows were given to judge the model by."
    checked = check_rows(model, *shown.best)
    scores = score_rows(model, *checked)
    if shown.test is not None:
        seen = "that the fit did not see"
    else:
        seen = "of the fit, where scores are too good" if shown.name == "rows of the fit" else "given"
    said = " ".join(_said_of(score) for score in scores)
    return f"{what}, on {count(len(checked[0]), 'row')} {seen}. {said}"


def footnote(model: NetworkRegressor, shown: Shown) -> str:
    """Say how well the training rows are predicted, after the held-out ones."""
    if shown.test is None or shown.given is None:
        return ""
    scores = score_rows(model, *check_rows(model, *shown.given))
    shares = join_names([percent(score.r_squared) for score in scores])
    return (
        f"On the {shown.name} the model predicts {shares} of the variance: a model always does better on the rows "
        f"that it was fitted to."
    )


def _said_of(score: Score) -> str:
    name = one_line(score.output)
    if np.isnan(score.r_squared):
        return f"{name} has the same value in all of these rows."
    if score.r_squared <= 0:
        return f"{name} is predicted no better than by its mean."
    return f"The typical error of {name} is {score.rmse:.3g}; {percent(score.r_squared)} of its variance is predicted."
