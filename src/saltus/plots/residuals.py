"""Pictures of what a model gets wrong, and of whether its intervals hold what they say."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._thinning import spread_out
from saltus.estimators import NetworkRegressor
from saltus.inspection.findings import find_column
from saltus.inspection.metrics import check_rows
from saltus.plots.style import BLUE, finish, ink, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS, MOST_ROWS_OF_INTERVALS = 1000, 400
COVERAGES = (0.1, 0.25, 0.5, 0.65, 0.8, 0.9, 0.95)


@of_a_fitted_model
def plot_residuals(
    model: NetworkRegressor, X: ArrayLike, y: ArrayLike, *, output: int | str = 0, ax: "Axes | None" = None
) -> "Axes":
    """Draw residuals, which are observed less predicted values, against predictions; of 1000 rows at most.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    output : int or str, default=0
        Which output, by number or name.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    i = find_column(model.data_notes_.output_names, output, "output")
    inputs, observed = check_rows(model, X, y)
    part = spread_out(len(inputs), MOST_ROWS)
    predicted = model._predict_mean(inputs[part])[:, i]
    ax = make_axes(ax)
    ax.axhline(0.0, color=ink(), lw=0.8, ls="--")
    ax.plot(predicted, observed[part, i] - predicted, ".", color=BLUE, ms=5, alpha=0.7)
    name = model.data_notes_.output_names[i]
    return finish(ax, title=f"Residuals of {name}", xlabel="predicted", ylabel="observed - predicted")


@of_a_fitted_model
def plot_calibration(
    model: NetworkRegressor, X: ArrayLike, y: ArrayLike, *, output: int | str = 0, ax: "Axes | None" = None
) -> "Axes":
    """Draw how many rows are inside intervals of several coverages; an annealed model has intervals of the noise alone.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Rows that the fit has not seen; of more than 400, 400 are used, evenly spaced.
    output : int or str, default=0
        Which output, by number or name.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    i = find_column(model.data_notes_.output_names, output, "output")
    inputs, observed = check_rows(model, X, y)
    part = spread_out(len(inputs), MOST_ROWS_OF_INTERVALS)
    inside = []
    for coverage in COVERAGES:
        _, low, high = model._predict_band(inputs[part], coverage)
        inside.append(100 * np.mean((low[:, i] <= observed[part, i]) & (observed[part, i] <= high[:, i])))
    ax = make_axes(ax)
    ax.plot([0, 100], [0, 100], color=ink(), lw=0.8, ls="--", label="as they say")
    ax.plot([100 * coverage for coverage in COVERAGES], inside, "o-", color=BLUE, ms=5, lw=1.2, label="rows inside")
    ax.set(xlim=(0, 100), ylim=(0, 100))
    ax.legend(frameon=False, fontsize="small")
    return finish(ax, title="Calibration", xlabel="interval is to hold, %", ylabel="rows inside, %")
