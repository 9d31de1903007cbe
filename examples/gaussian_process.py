"""Beside a Gaussian process with a length scale for each input, as rows become more: error, time, and what is kept.

``python examples/gaussian_process.py gaussian_process.png``
"""

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import LogLocator
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor

N_INPUTS = 10
SEEDS = (0, 1, 2)
SIZES = (125, 250, 500, 1000)
LABELS = ("AnnealedRegressor", "Gaussian process")


def make_models(n_iter, seed):
    """Make the two that are compared, each in its usual form."""
    kernel = ConstantKernel() * RBF(np.ones(N_INPUTS)) + WhiteKernel()
    return AnnealedRegressor("gaussian", n_iter=n_iter, random_state=seed), GaussianProcessRegressor(
        kernel, normalize_y=True
    )


def measure(model, n_rows, seed) -> tuple[float, ...]:
    """Fit, and find the error to the truth, CPU seconds, and terms: of the prediction, of its best network."""
    X, y = make_friedman1(n_rows, n_features=N_INPUTS, noise=1.0, random_state=seed)
    X_new, truth = make_friedman1(2000, n_features=N_INPUTS, noise=0.0, random_state=1000)
    began = process_time()
    model.fit(X, y)
    seconds = process_time() - began
    error = np.sqrt(((model.predict(X_new) - truth) ** 2).mean())
    if isinstance(model, AnnealedRegressor):
        return error, seconds, sum(network.n_terms for network in model.networks_), model.n_terms_
    return error, seconds, n_rows, n_rows


def main(path: Path, n_iter: int | str = "auto", sizes: Sequence[int] = SIZES, seeds: Sequence[int] = SEEDS) -> None:
    """Fit both to more and more rows, on one thread, and draw what comes out."""
    plt.style.use("tableau-colorblind10")
    warnings.simplefilter("ignore", ConvergenceWarning)
    AnnealedRegressor("gaussian", n_iter=10).fit(*make_friedman1(50, n_features=N_INPUTS, random_state=0))  # compiles
    with threadpool_limits(1):
        results = np.array(
            [[[measure(model, n, seed) for model in make_models(n_iter, seed)] for n in sizes] for seed in seeds]
        )  # seeds, sizes, models, quantities

    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.7), layout="constrained")
    titles = ("Error to the truth (the noise is 1)", "CPU seconds of a fit", "Basis functions in the prediction")
    for quantity, (ax, title) in enumerate(zip(axes, titles, strict=True)):
        for number, (label, marker) in enumerate(zip(LABELS, "os", strict=True)):
            values = results[:, :, number, quantity]
            for seed in values:
                ax.plot(sizes, seed, color=f"C{number}", lw=0.6, alpha=0.5)
            ax.plot(sizes, np.median(values, axis=0), marker=marker, color=f"C{number}", lw=1.8, label=label)
        ax.set(xscale="log", yscale="log", xlabel="rows")
        ax.set_xticks(sizes, [str(n) for n in sizes])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter("{x:g}")
        ax.set_title(title, loc="left", fontsize="medium")
        ax.grid(alpha=0.3)
        ax.spines[["top", "right"]].set_visible(False)
    alone = np.median(results[:, :, 0, -1], axis=0)
    (line,) = axes[2].plot(sizes, alone, "o--", mfc="white", color="C0", label="the best network alone")
    axes[2].legend(handles=[line], frameon=False, fontsize="small", loc="lower right", bbox_to_anchor=(1, 0.22))
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=150)
    for n, row in zip(sizes, np.median(results, axis=0), strict=True):
        print(
            f"{n:5d} rows: "
            + "; ".join(f"{label} {values.round(3)}" for label, values in zip(LABELS, row, strict=True))
        )


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "gaussian_process.png"))
