"""How well a model predicts, in a table and in words."""

import numpy as np

from saltus._typing import Floats
from saltus.document import Cell, Section, Table, one_line, percent
from saltus.regressors import BayesianRegressor, Regressor
from saltus.scores import Score, check_rows, score_rows

# With fewer held-out rows than this, their scores are said to be uncertain.
FEW_ROWS = 20


def describe_scores(model: Regressor, rows_by_name: dict[str, tuple[Floats, Floats]]) -> str:
    """Score the model on each set of rows that is not empty; the last one is put in words."""
    lines: list[tuple[Cell, ...]] = []
    said: list[str] = []
    for name, (X, y) in rows_by_name.items():
        if len(X):
            scores = score_rows(model, *check_rows(model, X, y))
            lines += [
                (name, len(X), score.output, score.r_squared, score.rmse, percent(score.inside)) for score in scores
            ]
            said = [_in_words(score, spread, name) for score, spread in zip(scores, _spread(y), strict=True)]
            if len(X) < FEW_ROWS and name != "fitted":
                said.append(f"But {len(X)} rows are too few to be sure.")
    columns = [("rows", ""), ("number", "d"), ("output", ""), ("R2", ".4f"), ("RMSE", ".4g"), ("in 90 % band", ".1f")]
    if not isinstance(model, BayesianRegressor):
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    caption = "R2: the share of the variance that is predicted. RMSE: the typical error, in the units of the output."
    return Section("Scores", tuple(said), (Table(caption, columns, lines),)).to_text()


def _spread(y: Floats) -> list[float]:
    return np.std(y.reshape(len(y), -1), axis=0).tolist()


def _in_words(score: Score, spread: float, name: str) -> str:
    output = one_line(score.output)
    if np.isnan(score.r_squared):
        return f"{output} does not vary in the rows {name}."
    if score.r_squared <= 0:
        return f"On the rows {name}, {output} is predicted no better than by its mean: these inputs may not tell it."
    return (
        f"On the rows {name}, {percent(score.r_squared)} of the variance of {output} is predicted; the typical error "
        f"is {score.rmse:.3g}, where {output} itself varies by {spread:.3g}."
    )
