"""A map of the terms."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._thinning import spread_out
from saltus.engine.results.network import Network
from saltus.estimators import NetworkRegressor
from saltus.estimators.checks import check_inputs
from saltus.inspection.findings import find_column, rank_numbers
from saltus.plots.style import BLUE, GREEN, ORANGE, finish, ink, legend_below, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ROWS = 1000
MOST_DRAWN_TERMS = 2000
CONTOUR_POINTS = 40
SMALLEST_MARK, LARGEST_MARK = 25.0, 160.0


@of_a_fitted_model
def plot_terms(
    model: NetworkRegressor,
    X: ArrayLike | None = None,
    *,
    features: Sequence[int | str] | None = None,
    output: int | str = 0,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw where the terms are, over the two inputs on which they depend most strongly.

    Marks are larger where coefficients are; lines are contours of the network that they belong to, the other
    inputs at their means. Of a Bayesian model, that is the draw with the highest density; terms of other draws are
    dots. Where the terms use one input, coefficients are drawn against it.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    X : array-like of shape (n_samples, n_features) or None
        Rows to draw as dots.
    features : two of int or str, or None
        Other inputs to draw over, by number or name.
    output : int or str, default=0
        Which output, by number or name.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    notes = model.data_notes_
    i = find_column(notes.output_names, output, "output")
    if features is None:
        over = rank_numbers(model)[:2]
    else:
        over = [find_column(notes.input_names, feature, "input") for feature in features]
    if features is not None and len(over) != 2:
        raise ValueError(f"features must name two inputs. Got {len(over)}.")
    rows = None if X is None else check_inputs(model, X)
    ax = make_axes(ax)
    network = model._single_network
    if not over or network.n_terms == 0:
        ax.text(0.5, 0.5, "none: the model is linear", ha="center", va="center", transform=ax.transAxes)
        ax.set(xticks=[], yticks=[])
        return finish(ax, title="Terms", xlabel="", ylabel="")
    if len(over) == 1:
        _draw_coefficients(ax, network, over[0], i)
        ax.set_xlim(*_widened(*_ends(model, network, over[0])))
        return finish(ax, title="Terms", xlabel=notes.input_names[over[0]], ylabel="coefficient")
    _draw_contours(ax, model, network, over, i)
    if rows is not None:
        part = rows[spread_out(len(rows), MOST_ROWS)]
        ax.plot(*part[:, over].T, ".", color=ink(), ms=3, alpha=0.4, lw=0, label="rows")
    others = model._other_places()
    if others is not None:
        part = others[spread_out(len(others), MOST_DRAWN_TERMS)]
        ax.plot(*part[:, over].T, ".", color=GREEN, ms=2.5, alpha=0.35, lw=0, label="other draws")
    _draw_terms(ax, network, over, i)
    legend_below(ax)
    return finish(ax, title="Terms", xlabel=notes.input_names[over[0]], ylabel=notes.input_names[over[1]])


def _draw_coefficients(ax: "Axes", network: Network, feature: int, output: int) -> None:
    at, height = network.places[:, feature], network.term_size[output]
    ax.axhline(0.0, color=ink(), lw=0.8)
    ax.vlines(at, 0.0, height, color=BLUE, lw=1.4)
    ax.plot(at, height, "o", color=BLUE, ms=6)


def _draw_contours(ax: "Axes", model: NetworkRegressor, network: Network, over: list[int], output: int) -> None:
    inputs = model.data_notes_.inputs
    ends = [_ends(model, network, j) for j in over]
    across, up = (np.linspace(low, high, CONTOUR_POINTS) for low, high in ends)
    rows = np.tile(inputs.mean, (CONTOUR_POINTS**2, 1))
    rows[:, over[0]], rows[:, over[1]] = np.tile(across, CONTOUR_POINTS), np.repeat(up, CONTOUR_POINTS)
    heights = network.predict(rows)[:, output].reshape(CONTOUR_POINTS, CONTOUR_POINTS)
    if np.ptp(heights) > 0:
        lines = ax.contour(across, up, heights, levels=8, colors=[ink()], linewidths=0.6, alpha=0.45)
        ax.clabel(lines, fmt="%.3g", fontsize="x-small")
    ax.set(xlim=_widened(*ends[0]), ylim=_widened(*ends[1]))


def _ends(model: NetworkRegressor, network: Network, feature: int) -> tuple[float, float]:
    """Find the range of an input, the places of the terms included."""
    inputs, at = model.data_notes_.inputs, network.places[:, feature]
    return min(inputs.min[feature], at.min()), max(inputs.max[feature], at.max())


def _widened(low: float, high: float) -> tuple[float, float]:
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def _draw_terms(ax: "Axes", network: Network, over: list[int], output: int) -> None:
    coefficient = network.term_size[output]
    size = LARGEST_MARK * np.abs(coefficient) / (np.abs(coefficient).max() or 1.0)
    for sign, marker, color, label in ((1, "o", BLUE, "coefficient > 0"), (-1, "s", ORANGE, "coefficient < 0")):
        chosen = np.sign(coefficient) == sign
        if chosen.any():
            across, up = network.places[chosen][:, over].T
            ax.scatter(
                across,
                up,
                np.maximum(size, SMALLEST_MARK)[chosen],
                color,
                marker=marker,
                label=label,
                zorder=3,
                alpha=0.85,
            )
