"""Ten inputs, of which five matter."""

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np
from sklearn.datasets import make_friedman1

from saltus._typing import Floats
from saltus.demo.picture import save_picture
from saltus.estimators import AnnealedRegressor
from saltus.inspection.curves import partial_dependence
from saltus.inspection.document import Cell, TextTable, percent
from saltus.plots import plot_dependence, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS, N_NEW, N_INPUTS = 500, 500, 10
NOISE = 1.0
TRUTH = {0: "10 sin(pi x0 x1)", 1: "10 sin(pi x0 x1)", 2: "20 (x2 - 1/2)^2", 3: "10 x3", 4: "5 x4"}


def run(picture: Path, *, n_iter: int | str, n_chains: int, seed: int, out: TextIO) -> None:
    """Fit, tell which inputs matter beside those that do, and draw what each does."""
    X, y = make_friedman1(N_ROWS + N_NEW, n_features=N_INPUTS, noise=NOISE, random_state=seed)
    print(
        f"Friedman's function of {N_INPUTS} inputs, five of which do nothing: {N_ROWS} rows to fit, {N_NEW} to test.",
        file=out,
        flush=True,
    )
    model = AnnealedRegressor("gaussian", n_iter=n_iter, n_chains=n_chains, n_jobs=-1, random_state=seed, verbose=1)
    model.fit(X[:N_ROWS], y[:N_ROWS])
    X_new, y_new = X[N_ROWS:], y[N_ROWS:]
    possible = 1 - NOISE**2 / y_new.var()
    print(f"\n{model.summary().headline}.\n\n{_input_table(model, X_new).to_text()}\n", file=out)
    print(f"Predicted of the variance of new rows: {percent(model.score(X_new, y_new))}", end="", file=out)
    print(f", where the noise leaves {percent(possible)}.", file=out)
    save_picture(_draw(model, X_new), picture)
    print(f"\nWhat each input does: {picture.resolve()}", file=out)


def _input_table(model: AnnealedRegressor, rows: Floats) -> TextTable:
    """Say how relevant each input is, and how far the prediction goes along it. What acts linearly is off."""
    lines: list[tuple[Cell, ...]] = [
        (name, relevance or "off", float(np.ptp(partial_dependence(model, j, rows).mean)), TRUTH.get(j, "nothing"))
        for j, (name, relevance) in enumerate(
            zip(model.data_notes_.input_names, model.relevance_.tolist(), strict=True)
        )
    ]
    return TextTable("", [("input", ""), ("relevance", ".2f"), ("moves y by", ".2f"), ("in truth", "")], lines)


def _draw(model: AnnealedRegressor, rows: Floats) -> "Figure":
    figure = require_matplotlib().Figure(figsize=(13, 5), layout="constrained")
    axes = figure.subplots(2, N_INPUTS // 2).ravel()
    for j, ax in enumerate(axes):
        plot_dependence(model, j, rows, ax=ax)
        ax.set_title(f"x{j}: {TRUTH.get(j, 'nothing')}", loc="left", fontsize="medium")
    limits = np.array([ax.get_ylim() for ax in axes])
    for ax in axes:
        ax.set_ylim(limits.min(), limits.max())
        ax.label_outer()
    return figure
