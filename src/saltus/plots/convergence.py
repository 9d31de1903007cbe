"""The paper's figure 2."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from saltus._typing import Floats
from saltus.plots.style import CYCLE, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from saltus.estimators import AnnealedRegressor


def summed_mse(Y: Floats, predicted: Floats) -> float:
    """Sum over outputs of the mean squared error, the error of the robot arm literature."""
    return float(((Y - predicted) ** 2).mean(axis=0).sum())


def plot_convergence(
    models: Mapping[str, "AnnealedRegressor"],
    train: tuple[Floats, Floats],
    test: tuple[Floats, Floats],
    *,
    noise_floor: float | None = None,
) -> "Figure":
    """Draw the paper's figure 2: log posterior, k, train and test error against iteration.

    Parameters
    ----------
    models : mapping of label -> fitted AnnealedRegressor
    train, test : tuple of (X, Y)
    noise_floor : float or None
        Drawn as a line in the panel of the test error.

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure = require_matplotlib("figure").Figure(figsize=(10, 6.5), layout="constrained")
    axes = figure.subplots(2, 2, sharex=True)
    for number, (label, model) in enumerate(models.items()):
        chain_number = model.result_.best_chain
        trace = model.result_.chains[chain_number].trace
        color = CYCLE[number % len(CYCLE)]
        axes[0, 0].plot(trace.iteration, trace.log_posterior, color=color, lw=0.8, label=label)
        axes[0, 1].plot(trace.iteration, trace.n_terms, color=color, lw=0.8, label=label)
        for axis, (X, Y) in ((axes[1, 0], train), (axes[1, 1], test)):
            stages = [
                (i, summed_mse(Y, predicted)) for i, predicted in model.staged_predict(X, chain=chain_number) if i > 0
            ]
            axis.plot(*zip(*stages, strict=True), color=color, lw=1.2, label=label)
    for axis, title in zip(axes.flat, ("log posterior", "terms k", "train error", "test error"), strict=True):
        axis.set_title(title)
        axis.set_xscale("log")
        axis.grid(alpha=0.3)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0, 1].yaxis.get_major_locator().set_params(integer=True)
    best = max(model.log_posterior_ for model in models.values())
    axes[0, 0].set_ylim(best - 400, best + 40)
    for axis in axes[1]:
        axis.set_yscale("log")
        axis.set_xlabel("iteration")
    if noise_floor is not None:
        axes[1, 1].axhline(noise_floor, color="0.4", ls="--", lw=1, label="the noise itself")
    axes[1, 1].legend(frameon=False)
    return figure
