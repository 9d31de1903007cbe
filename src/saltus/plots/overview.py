"""The sensible pictures of a model, in one figure."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from saltus.estimators import NetworkRegressor
from saltus.inspection.importance import importance, rank_by_importance
from saltus.plots.chains import plot_acceptance, plot_trace
from saltus.plots.dependence import plot_dependence
from saltus.plots.fit import plot_fit
from saltus.plots.importance import draw_importance, places_for_importance
from saltus.plots.size import plot_size
from saltus.plots.style import of_a_fitted_model, require_matplotlib
from saltus.plots.terms import plot_terms

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

N_PANELS = 9
N_COLUMNS = 3
PANEL_SIZE = (4.2, 3.2)  # inches


@of_a_fitted_model
def plot_overview(
    model: NetworkRegressor, X: ArrayLike | None = None, y: ArrayLike | None = None, *, output: int | str = 0
) -> "Figure":
    """Draw the fit, which inputs matter and what they do, then the size, the terms and how the chains went.

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
    rows = (X, y) if X is not None and y is not None else (None, None)
    beginning: list[Callable[..., Axes]] = []
    if is_curve or rows[0] is not None:
        beginning.append(partial(plot_fit, model, *rows, output=output))
    ending = [
        partial(plot_size, model),
        partial(plot_terms, model, X, output=output),
        partial(plot_trace, model),
        partial(plot_acceptance, model),
    ]
    if not is_curve:
        found = importance(model, *places_for_importance(model, X, y))
        ranked = rank_by_importance(model, found)
        beginning.append(partial(draw_importance, model, found, ranked))
        inputs = ranked[: N_PANELS - len(beginning) - len(ending)]
        beginning += [partial(plot_dependence, model, j, X, output=output) for j in inputs]
    panels = beginning + ending
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
