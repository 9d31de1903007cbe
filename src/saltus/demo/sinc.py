"""A curve with a gap in its data, and a band that knows of it."""

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import numpy as np

from saltus._typing import Floats
from saltus.demo.picture import save_picture
from saltus.estimators import BayesianRegressor
from saltus.inspection.document import percent
from saltus.plots import plot_fit, plot_size, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N_ROWS, N_NEW = 120, 1000
NOISE = 0.1
RANGE, GAP = (-4.0, 4.0), (1.2, 2.4)


def make_sinc(n_rows: int, seed: int) -> tuple[Floats, Floats]:
    """Make rows of sin(pi x) / (pi x) with noise, none of them with x in the gap."""
    rng = np.random.default_rng(seed)
    before, after = GAP[0] - RANGE[0], RANGE[1] - GAP[1]
    x = RANGE[0] + rng.uniform(0.0, before + after, n_rows)
    x[x > GAP[0]] += GAP[1] - GAP[0]
    return x[:, None], np.sinc(x) + NOISE * rng.standard_normal(n_rows)


def run(picture: Path, *, n_iter: int, n_chains: int, seed: int, out: TextIO) -> None:
    """Sample the posterior, count new rows inside their intervals, and draw the band."""
    X, y = make_sinc(N_ROWS, seed)
    print(
        f"y = sin(pi x) / (pi x) + noise of {NOISE}: {N_ROWS} rows, none with x from {GAP[0]} to {GAP[1]}.",
        file=out,
        flush=True,
    )
    model = BayesianRegressor(
        "gaussian", n_iter=n_iter, n_draws=500, n_chains=n_chains, n_jobs=-1, random_state=seed, verbose=1
    ).fit(X, y)
    X_new, y_new = make_sinc(N_NEW, seed + 1)
    low, high = model.predict_interval(X_new, 0.9)
    widths = np.subtract(*model.predict_interval(np.array([[sum(GAP) / 2], [-1.0]]), 0.9)[::-1])
    print(f"\n{model.summary()}\n", file=out)
    inside = np.mean((low <= y_new) & (y_new <= high))
    print(f"90 % intervals hold {percent(float(inside))} of {N_NEW} new rows.", file=out)
    print(f"In the middle of the gap they are {widths[0] / widths[1]:.1f} times as wide as at x = -1.", file=out)
    save_picture(_draw(model, X, y), picture)
    print(f"\nThe curve, its band and the number of terms: {picture.resolve()}", file=out)


def _draw(model: BayesianRegressor, X: Floats, y: Floats) -> "Figure":
    figure = require_matplotlib().Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(3, 1))
    grid = np.linspace(*RANGE, 400)
    left.axvspan(*GAP, color="0.5", alpha=0.12, lw=0)
    left.plot(grid, np.sinc(grid), "k--", lw=1, label="truth")
    plot_fit(model, X, y, ax=left)
    left.set_title("sin(pi x) / (pi x), with no rows in the grey", loc="left", fontsize="medium")
    left.set_xlabel("x")
    plot_size(model, ax=right)
    return figure
