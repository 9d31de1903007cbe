"""How well a model predicts, in a table and in words."""

from dataclasses import replace

import numpy as np

from saltus.cli.rows import Rows
from saltus.estimators import NetworkRegressor
from saltus.inspection.document import Cell, Section, TextTable, count, one_line, percent
from saltus.inspection.metrics import Score, check_rows, score_rows
from saltus.inspection.summary import Summary

# What options of Python are called on the command line; the longer ones first.
IN_COMMANDS = {
    "Raise n_iter, and n_warmup with it": "Ask for more --iterations",
    "Raise max_time": "Give it more --time",
    "raise n_iter": "ask for more --iterations",
    "n_iter": "--iterations",
    "max_time": "--time",
}

# With fewer held-out rows than this, their scores are said to be uncertain.
FEW_ROWS = 20


def in_words_of_commands(summary: Summary) -> Summary:
    """Name options as the command line does, not as Python."""
    sections = []
    for section in summary.sections:
        sentences = list(section.sentences)
        for ours, theirs in IN_COMMANDS.items():
            sentences = [sentence.replace(ours, theirs) for sentence in sentences]
        sections.append(replace(section, sentences=tuple(sentences)))
    return Summary(summary.headline, tuple(sections))


def describe_scores(model: NetworkRegressor, train: Rows, test: Rows) -> str:
    """Score the model on both sets of rows, if not empty; the second, or else the first, is put in words."""
    scores = {
        name: (rows, score_rows(model, *check_rows(model, rows.X, rows.y)))
        for name, rows in (("fitted", train), ("held out", test))
        if len(rows)
    }
    lines: list[tuple[Cell, ...]] = [
        (name, len(rows), score.output, score.r_squared, score.rmse, percent(score.inside))
        for name, (rows, each) in scores.items()
        for score in each
    ]
    columns = [("rows", ""), ("number", "d"), ("output", ""), ("R2", ".4f"), ("RMSE", ".4g"), ("in 90 % band", ".1f")]
    if not model._gives_intervals:
        columns, lines = columns[:-1], [line[:-1] for line in lines]
    caption = "R2: the share of the variance that is predicted. RMSE: the typical error, in the units of the output."
    name, (rows, each) = list(scores.items())[-1]
    return Section("Scores", _in_words(name, rows, each), (TextTable(caption, columns, lines),)).to_text()


def _in_words(name: str, rows: Rows, scores: list[Score]) -> tuple[str, ...]:
    spreads = np.std(rows.y.reshape(len(rows), -1), axis=0).tolist()
    said = [f"On the rows {name}:", *(_sentence(score, spread) for score, spread in zip(scores, spreads, strict=True))]
    if name == "held out" and len(rows) < FEW_ROWS:
        said.append(f"{count(len(rows), 'row')} are too few for a reliable score.")
    if name == "fitted":
        said.append("Scores on training rows are too good: the model predicts other rows less well.")
    return tuple(said)


def _sentence(score: Score, spread: float) -> str:
    output = one_line(score.output)
    if np.isnan(score.r_squared):
        return f"{output} has the same value in all of these rows."
    if score.r_squared <= 0:
        return f"{output} is predicted no better than by its mean; these inputs may not determine it."
    return (
        f"{percent(score.r_squared)} of the variance of {output} is predicted; the typical error is {score.rmse:.3g}, "
        f"where {output} itself varies by {spread:.3g}."
    )
