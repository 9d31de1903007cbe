"""A picture of how well the model fits."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.inspection.findings import find_column
from saltus.inspection.metrics import check_rows
from saltus.plots.style import BLUE, finish, ink, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

N_POINTS = 200
# So many rows fill a picture; more would only make it heavy.
MOST_ROWS = 1000


@of_a_fitted_model
def plot_fit(
    model: NetworkRegressor,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    output: int | str = 0,
    coverage: float = 0.9,
    of: str = "y",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw the curve with its band for a model of one input; otherwise predicted against observed values.

    The band is where a new y, or the function, lies with probability `coverage`; of an annealed model, it is that of
    the noise alone. Of more than 1000 rows, 1000 are drawn, evenly spaced.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X : array-like of shape (n_samples, n_features)
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Rows to draw. A model of one input needs no rows.
    output : int or str, default=0
        Which output, by number or name.
    coverage : float, default=0.9
    of : {"y", "function"}, default="y"
        What the band is for: a new y, or the function, which is the mean of y; this only of a BayesianRegressor.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    notes = model.data_notes_
    number = find_column(notes.output_names, output, "output")
    rows = None
    if X is not None and y is not None:
        rows = check_rows(model, X, y)
    elif not notes.is_curve or X is not None or y is not None:
        raise ValueError("Predicted against observed needs rows of both: pass X and y.")
    ax = make_axes(ax)
    if notes.is_curve:
        _draw_curve(ax, model, rows, number, coverage, of)
        xlabel, ylabel = str(notes.input_names[0]), notes.output_names[number]
    elif rows is not None:
        _draw_predicted(ax, model, *rows, number, coverage, of)
        xlabel, ylabel = "observed", "predicted"
    title = "Fit" if notes.is_curve else f"Predicted against observed: {notes.output_names[number]}"
    ax.legend(frameon=False, fontsize="small")
    return finish(ax, title=title, xlabel=xlabel, ylabel=ylabel)


def _draw_curve(
    ax: "Axes", model: NetworkRegressor, rows: tuple[Floats, Floats] | None, output: int, coverage: float, of: str
) -> None:
    inputs = model.data_notes_.inputs
    grid = np.linspace(inputs.min[0], inputs.max[0], N_POINTS)
    if rows is not None:
        part = spread_out(len(rows[0]), MOST_ROWS)
        ax.plot(rows[0][part, 0], rows[1][part, output], ".", color=ink(), ms=4, alpha=0.6, label="rows")
    mean, low, high = model._predict_band(grid[:, None], coverage, of=of)
    ax.fill_between(
        grid, low[:, output], high[:, output], color=BLUE, alpha=0.2, lw=0, label=_band_label(model, coverage, of)
    )
    ax.plot(grid, mean[:, output], color=BLUE, lw=1.6, label="prediction")


def _draw_predicted(
    ax: "Axes", model: NetworkRegressor, inputs: Floats, observed: Floats, output: int, coverage: float, of: str
) -> None:
    part = spread_out(len(inputs), MOST_ROWS)
    truth = observed[part, output]
    mean, low, high = (values[:, output] for values in model._predict_band(inputs[part], coverage, of=of))
    ends = np.array([min(truth.min(), mean.min()), max(truth.max(), mean.max())])
    label = _band_label(model, coverage, of)
    if model._gives_intervals:
        ax.vlines(truth, low, high, color=BLUE, lw=0.8, alpha=0.35, label=label)
    else:
        reach = 0.5 * (high[0] - low[0])
        ax.fill_between(ends, ends - reach, ends + reach, color=BLUE, alpha=0.2, lw=0, label=label)
    ax.plot(ends, ends, color=ink(), lw=0.8, ls="--", label="perfect")
    ax.plot(truth, mean, ".", color=BLUE, ms=5, alpha=0.8, label="rows")


def _band_label(model: NetworkRegressor, coverage: float, of: str) -> str:
    covered = ("new y" if of == "y" else "the function") if model._gives_intervals else "the noise"
    return f"{100 * coverage:g} % of {covered}"
