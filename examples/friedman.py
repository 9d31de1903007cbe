"""Friedman's first function: ten inputs, of which five do something, three of them in a curve.

``python examples/friedman.py friedman.png``
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1

from saltus import AnnealedRegressor, plots

# What y does along each input on average over the others, up to a constant.
TRUTH = {
    0: lambda x: 10 * (1 - np.cos(np.pi * x)) / (np.pi * x),
    1: lambda x: 10 * (1 - np.cos(np.pi * x)) / (np.pi * x),
    2: lambda x: 20 * (x - 0.5) ** 2,
    3: lambda x: 10 * x,
    4: lambda x: 5 * x,
    5: lambda x: 0 * x,
}


def draw_relevances(ax, model, X, y) -> None:
    """Draw what each input does in the radial terms or, where it has no part in them, in the linear term."""
    names = [f"x{j}" for j in range(X.shape[1])]
    at = np.arange(len(names))
    linear = np.where(model.relevance_ > 0, 0.0, np.abs(model.linear_coef_) * X.std(axis=0) / y.std())
    ax.barh(at, model.relevance_, height=0.6, color="C0", label="relevance in the radial terms")
    ax.barh(at, linear, height=0.6, color="C1", label="linear effect of inputs not in them")
    ax.set_yticks(at, names)
    ax.invert_yaxis()
    ax.set_title("What each input does", loc="left", fontsize="medium")
    ax.set_xlabel("for one standard deviation of the input")
    ax.legend(frameon=False, fontsize="small", loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)


def draw_dependence(ax, model, j, X) -> None:
    """Draw the average dependence on an input beside the true one."""
    plots.plot_dependence(model, j, X, ax=ax)
    mean = ax.lines[0].get_ydata().mean()
    grid = np.linspace(0.005, 0.995, 100)
    truth = TRUTH[j](grid)
    ax.plot(grid, truth - truth.mean() + mean, "k--", lw=1)
    ax.set(ylim=(7.5, 19.5), ylabel="", title="")
    ax.set_title(f"x{j}", loc="left", fontsize="medium")
    ax.set_xlabel("")


def main(path: Path, n_iter: int | str = "auto") -> None:
    """Fit, and draw relevances beside the dependence on six of the inputs."""
    plt.style.use("tableau-colorblind10")
    X, y = make_friedman1(500, n_features=10, noise=1.0, random_state=0)
    model = AnnealedRegressor("gaussian", n_iter=n_iter, n_jobs=-1, random_state=0).fit(X, y)

    figure = plt.figure(figsize=(10.5, 4.6), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=(1, 1.5))
    draw_relevances(left.subplots(), model, X, y)
    for j, ax in enumerate(right.subplots(2, 3, sharex=True, sharey=True).flat):
        draw_dependence(ax, model, j, X)
    right.suptitle("y along each input, averaged over the others; dashed: the truth", fontsize="medium")
    figure.savefig(path, dpi=150)
    print(f"{model.n_terms_} terms. Relevances: {model.relevance_.round(2)}. {model.result_.status}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "friedman.png"))
