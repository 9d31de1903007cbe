"""A curve with a gap in its data: the band widens where the model has seen nothing, and holds what it says.

``python examples/sinc.py sinc.png``
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from saltus import BayesianRegressor

NOISE = 0.1
GAP = (0.7, 1.6)
LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)
N_NEW = 500


def make_data(rng, n_rows):
    """Draw rows of a noisy sinc on [-3, 3]."""
    x = rng.uniform(-3, 3, n_rows)
    return x[:, None], np.sinc(x) + NOISE * rng.standard_normal(n_rows)


def draw_fit(ax, model, X, y) -> None:
    """Draw the mean and two bands, on a range that is wider than that of the data."""
    grid = np.linspace(-3.5, 3.5, 200)
    for coverage, alpha in ((0.9, 0.18), (0.5, 0.3)):
        low, high = model.predict_interval(grid[:, None], coverage)
        ax.fill_between(grid, low, high, color="C0", alpha=alpha, lw=0, label=f"{100 * coverage:.0f} % of new y")
    ax.plot(grid, model.predict(grid[:, None]), color="C0", lw=1.8, label="posterior mean")
    ax.plot(grid, np.sinc(grid), "k--", lw=1, label="truth")
    ax.plot(X[:, 0], y, "k.", ms=4)
    for edge in (-3, 3, *GAP):
        ax.axvline(edge, color="0.6", lw=0.8, ls=":")
    ax.text(np.mean(GAP), 1.22, "no data", ha="center", color="0.35", fontsize="small")
    ax.set(xlabel="x", ylabel="y", ylim=(-0.75, 1.35))
    ax.set_title("sinc(x) + noise", loc="left", fontsize="medium")
    ax.legend(facecolor="white", framealpha=1, edgecolor="none", fontsize="small", loc="upper left")


def draw_calibration(ax, model, X, y) -> float:
    """Draw how many new rows are inside intervals against how many should be; return how many are in the widest."""
    intervals = [model.predict_interval(X, level) for level in LEVELS]
    inside = [np.mean((low <= y) & (y <= high)) for low, high in intervals]
    ax.plot([0, 1], [0, 1], "k--", lw=1, label="exact")
    ax.plot(LEVELS, inside, "o-", color="C0", ms=5, label=f"{N_NEW} new rows, gap included")
    ax.set(xlabel="share that should be inside", ylabel="share that is", aspect="equal", xlim=(0, 1), ylim=(0, 1))
    ax.set_title("New rows inside their interval", loc="left", fontsize="medium")
    ax.legend(frameon=False, fontsize="small")
    return inside[-1]


def main(path: Path, n_iter: int = 400_000) -> None:
    """Fit, draw the bands, and count new rows inside them."""
    plt.style.use("tableau-colorblind10")
    rng = np.random.default_rng(0)
    X, y = make_data(rng, 120)
    outside = (X[:, 0] < GAP[0]) | (X[:, 0] > GAP[1])
    X, y = X[outside], y[outside]
    model = BayesianRegressor("gaussian", n_iter=n_iter, n_draws=250, n_jobs=-1, random_state=0).fit(X, y)

    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4), width_ratios=(2, 1), layout="constrained")
    draw_fit(left, model, X, y)
    inside = draw_calibration(right, model, *make_data(rng, N_NEW))
    for ax in (left, right):
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)
    print(f"{model.status_} Of new rows, {inside:.1%} are inside their {LEVELS[-1]:.0%} intervals.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "sinc.png"))
