"""Pictures of which inputs matter, and of two that act together."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.estimators.checks import check_inputs
from saltus.families.words import names_of_levels
from saltus.inspection.findings import find_column
from saltus.inspection.importance import importance, rank_by_importance
from saltus.inspection.metrics import check_rows
from saltus.plots.style import BLUE, CYCLE, finish, ink, literal, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_BARS = 12
N_TYPICAL = 300
# A picture of two inputs: so many places along each, or so many levels, averaged over so many rows.
PLACES_ALONG, MOST_LEVELS, MOST_ROWS = 25, 5, 8


@of_a_fitted_model
def plot_importance(
    model: NetworkRegressor, X: ArrayLike | None = None, y: ArrayLike | None = None, *, ax: "Axes | None" = None
) -> "Axes":
    """Draw how much each input matters: how much the error grows when its values are shuffled among rows.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X, y : array-like or None
        Rows, preferably rows that the fit has not seen. Without y, the picture shows how much predictions change;
        without X, it uses places that are typical of the training data.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    found = importance(model, *places_for_importance(model, X, y))
    return draw_importance(model, found, rank_by_importance(model, found), ax=ax)


def places_for_importance(
    model: NetworkRegressor, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[Floats, Floats | None]:
    """Take rows, and what was observed there; places that are typical of the training data where there are none."""
    if X is None:
        return model.data_notes_.inputs.draw(np.random.default_rng(0), N_TYPICAL), None
    return (check_inputs(model, X), None) if y is None else check_rows(model, X, y)


def draw_importance(
    model: NetworkRegressor, found: Floats, ranked: Sequence[int], *, ax: "Axes | None" = None
) -> "Axes":
    """Draw the importance of inputs that was found, (d,), in the order of their rank."""
    ax = make_axes(ax)
    shown = list(ranked[:MOST_BARS])
    names = [literal(model.data_notes_.input_names[j]) for j in shown]
    bars = ax.barh(range(len(shown)), [found[j] for j in shown], color=BLUE, height=0.65)
    ax.bar_label(bars, [f"{found[j]:.2g}" for j in shown], padding=3, fontsize="small")
    ax.set_yticks(range(len(shown)), names)
    ax.set_xlim(0, 1.15 * max([found[j] for j in shown], default=1.0) or 1.0)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    finish(ax, title="Which inputs matter", xlabel="growth of the error", ylabel="")
    ax.grid(visible=False, axis="y")
    return ax


@of_a_fitted_model
def plot_interaction(
    model: NetworkRegressor,
    features: Sequence[int | str],
    X: ArrayLike | None = None,
    *,
    output: int | str = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how the prediction depends on two inputs together: contours, or a curve for each of some values.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    features : two of int or str
        Which inputs, by number or name.
    X : array-like of shape (n_samples, n_features) or None
        Rows to average over, no more than 8 of them; otherwise the other inputs are typical.
    output : int or str, default=0
        Which output, by number or name.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    notes = model.data_notes_
    j, k = (find_column(notes.input_names, each, "input") for each in features)
    i = find_column(notes.output_names, output, "output")
    if notes.inputs.levels[j] and not notes.inputs.levels[k]:
        j, k = k, j  # a number goes along the axis
    rows = notes.inputs.mean[None] if X is None else check_inputs(model, X)
    rows = rows[spread_out(len(rows), MOST_ROWS)]
    across = notes.inputs.grid(j, MOST_LEVELS if notes.inputs.levels[j] else PLACES_ALONG)
    up = notes.inputs.grid(k, MOST_LEVELS if notes.inputs.levels[k] else PLACES_ALONG)
    stacked = np.tile(rows, (across.size * up.size, 1))
    stacked[:, j] = np.repeat(across, up.size * len(rows))
    stacked[:, k] = np.tile(np.repeat(up, len(rows)), across.size)
    heights = model._predict_mean(stacked)[:, i].reshape(across.size, up.size, len(rows)).mean(axis=2)
    ax = make_axes(ax)
    names = notes.input_names
    title = f"{names[j]} and {names[k]}"
    if notes.inputs.levels[k]:
        marker = "o" if notes.inputs.levels[j] else ""
        for color, level, heights_of in zip(
            CYCLE, names_of_levels(names[k], up.astype(np.int64)), heights.T, strict=False
        ):
            label = literal(f"{names[k]}: {level}")
            ax.plot(across, heights_of, color=color, lw=1.5, marker=marker, ls="" if marker else "-", label=label)
        if notes.inputs.levels[j]:
            ax.set_xticks(across, [literal(each) for each in names_of_levels(names[j], across.astype(np.int64))])
        ax.legend(frameon=False, fontsize="x-small")
        return finish(ax, title=title, xlabel=names[j], ylabel=notes.output_names[i])
    if np.ptp(heights) > 0:
        ax.contourf(across, up, heights.T, levels=12, cmap="Blues", alpha=0.75)
        lines = ax.contour(across, up, heights.T, levels=8, colors=[ink()], linewidths=0.6)
        ax.clabel(lines, fmt="%.3g", fontsize="x-small")
    return finish(ax, title=title, xlabel=names[j], ylabel=names[k])
