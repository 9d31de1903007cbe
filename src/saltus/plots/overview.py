"""The sensible pictures of a model, in one figure."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from saltus.estimators import NetworkRegressor
from saltus.inspection.findings import rank_by_effect
from saltus.plots.chains import plot_acceptance, plot_trace
from saltus.plots.dependence import plot_dependence
from saltus.plots.fit import plot_fit
from saltus.plots.size import plot_size
from saltus.plots.style import require_matplotlib
from saltus.plots.terms import plot_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_PANELS = 9
N_COLUMNS = 3
PANEL_SIZE = (4.2, 3.2)  # inches


def plot_overview(
    model: NetworkRegressor, X: ArrayLike | None = None, y: ArrayLike | None = None, *, output: int | str = 0
) -> "Figure":
    """Draw the fit, the size, what the inputs do, the terms and how the chains went.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X : array-like of shape (n_samples, n_features) or None
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
        Rows to draw. Without them, the fit is left out unless there is one input.
    output : int or str, default=0
        Which output, by number or name.

    Returns
    -------
    figure : matplotlib Figure
    """
    is_curve = model.data_notes_.is_curve
    beginning: list[Callable[..., Axes]] = [partial(plot_size, model)]
    rows = (X, y) if X is not None and y is not None else (None, None)
    if is_curve or rows[0] is not None:
        beginning.insert(0, partial(plot_fit, model, *rows, output=output))
    ending = [
        partial(plot_terms, model, X, output=output),
        partial(plot_trace, model),
        partial(plot_trace, model, "n_terms"),
        partial(plot_acceptance, model),
    ]
    inputs = rank_by_effect(model).tolist()[: N_PANELS - len(beginning) - len(ending)] if not is_curve else []
    panels = beginning + [partial(plot_dependence, model, j, X, output=output) for j in inputs] + ending
    n_rows = -(-len(panels) // N_COLUMNS)
    figure = _new_figure(figsize=(N_COLUMNS * PANEL_SIZE[0], n_rows * PANEL_SIZE[1]), layout="constrained")
    axes = figure.subplots(n_rows, N_COLUMNS, squeeze=False).ravel()
    for draw, ax in zip(panels, axes, strict=False):
        draw(ax=ax)
    for ax in axes[len(panels) :]:
        ax.remove()
    return figure


def _new_figure(**options: Any) -> "Figure":
    pyplot = require_matplotlib("pyplot")
    from saltus.plots.notebook import ShownOnce

    return pyplot.figure(FigureClass=ShownOnce, **options)
