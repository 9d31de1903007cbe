"""A picture of what one input does."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.estimators.checks import check_inputs
from saltus.families.words import names_of_levels
from saltus.inspection.curves import Curve, average_where_missing, partial_dependence
from saltus.inspection.findings import find_column
from saltus.plots.style import BLUE, ORANGE, finish, ink, literal, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Levels are named side by side if they are few, and no longer than so many letters.
FEW_LEVELS, LONGEST_LEVEL = 6, 14


@of_a_fitted_model
def plot_dependence(
    model: NetworkRegressor,
    feature: int | str,
    X: ArrayLike | None = None,
    *,
    output: int | str = 0,
    coverage: float = 0.9,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw how the prediction depends on one input, averaged over rows, or with the other inputs at their means.

    The average is over no more than 100 rows, evenly spaced. The band of a Bayesian model holds the average with
    probability `coverage`; noise is not in it. The axis spans no less than a standard deviation of the output.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    feature : int or str
        Which input, by number or name.
    X : array-like of shape (n_samples, n_features) or None
        Rows to average over.
    output : int or str, default=0
        Which output, by number or name.
    coverage : float, default=0.9
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    notes = model.data_notes_
    j, i = find_column(notes.input_names, feature, "input"), find_column(notes.output_names, output, "output")
    rows = None if X is None else check_inputs(model, X)
    ax = make_axes(ax)
    curve = partial_dependence(model, j, rows, output=i, coverage=coverage)
    name = notes.input_names[j]
    if name.levels:
        _draw_levels(ax, curve, names_of_levels(name, curve.grid.astype(np.int64)))
    else:
        _draw_curve(ax, curve)
        if notes.inputs.missing[j] > 0:
            _draw_missing(ax, average_where_missing(model, j, rows, output=i))
        if rows is not None:
            _draw_rug(ax, rows[:, j])
    _widen(ax, float(notes.outputs.std[i]))
    return finish(ax, title=f"Dependence on {name}", xlabel=name, ylabel=notes.output_names[i])


def _draw_curve(ax: "Axes", curve: Curve) -> None:
    if curve.low is not None and curve.high is not None:
        ax.fill_between(curve.grid, curve.low, curve.high, color=BLUE, alpha=0.2, lw=0)
    ax.plot(curve.grid, curve.mean, color=BLUE, lw=1.6)


def _draw_missing(ax: "Axes", value: float) -> None:
    ax.axhline(value, color=ORANGE, lw=1.2, ls=":", label="where it is missing")
    ax.legend(frameon=False, fontsize="x-small")


def _draw_levels(ax: "Axes", curve: Curve, names: list[str]) -> None:
    at = np.arange(len(names))
    ax.plot(at, curve.mean, "o", color=BLUE, ms=6)
    if curve.low is not None and curve.high is not None:
        ax.vlines(at, curve.low, curve.high, color=BLUE, alpha=0.4, lw=3)
    ax.set_xticks(at, [literal(name, longest=LONGEST_LEVEL) for name in names], fontsize="x-small")
    if len(names) > FEW_LEVELS:
        ax.tick_params(axis="x", rotation=90)


def _widen(ax: "Axes", least: float) -> None:
    """Let the axis span no less than this, or what does next to nothing would look like much."""
    low, high = ax.get_ylim()
    missing = max(least - (high - low), 0.0)
    ax.set_ylim(low - 0.5 * missing, high + 0.5 * missing)


def _draw_rug(ax: "Axes", values: Floats) -> None:
    """Mark where each tenth of the rows begins and ends, along the axis."""
    marks = np.nanquantile(values, np.linspace(0, 1, 11))
    ax.plot(marks, np.full(11, 0.02), "|", color=ink(), ms=6, alpha=0.7, transform=ax.get_xaxis_transform())
