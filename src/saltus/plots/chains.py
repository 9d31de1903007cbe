"""Pictures of how the chains went."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from saltus.engine.results.chains import MoveCount, Trace
from saltus.estimators import NetworkRegressor
from saltus.inspection.document import count
from saltus.plots.style import (
    BLUE,
    CYCLE,
    ORANGE,
    count_along,
    finish,
    ink,
    make_axes,
    of_a_fitted_model,
    require_matplotlib,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LABELS = {"log_posterior": "log posterior", "n_terms": "terms"}
# Of a long trace, so many points are drawn.
MOST_POINTS = 1000
# The way up from a random start is left out of the picture, but for this share of the trace.
SHARE_BELOW = 0.02


@of_a_fitted_model
def plot_trace(model: NetworkRegressor, quantity: str = "log_posterior", *, ax: "Axes | None" = None) -> "Axes":
    """Draw the path of every chain; for an annealed model, with the temperature of the best.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    quantity : {"log_posterior", "n_terms"}, default="log_posterior"
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    if quantity not in LABELS:
        raise ValueError(f"quantity must be one of {', '.join(LABELS)}. Got {quantity!r}.")
    ax = make_axes(ax)
    paths = model._paths
    title = f"{LABELS[quantity].capitalize()} of {count(len(paths.traces), 'chain')}"
    if paths.best is None:
        _draw_alike(ax, paths.traces, quantity)
    else:
        _draw_with_best(ax, paths.traces, paths.best, quantity)
        title += ", the best in blue" * (len(paths.traces) > 1)
    if quantity == "n_terms":
        count_along(ax.yaxis)
    return finish(ax, title=title, xlabel=paths.unit, ylabel=LABELS[quantity])


def _draw_alike(ax: "Axes", traces: Sequence[Trace], quantity: str) -> None:
    for number, trace in enumerate(traces):
        values = getattr(trace, quantity)
        ax.plot(trace.iteration, values, color=CYCLE[number % len(CYCLE)], lw=0.8, alpha=0.8)


def _draw_with_best(ax: "Axes", traces: Sequence[Trace], best: int, quantity: str) -> None:
    drawn = []
    for number, trace in sorted(enumerate(traces), key=lambda item: item[0] == best):
        step = -(-len(trace.iteration) // MOST_POINTS)
        at, values = trace.iteration[::step], getattr(trace, quantity)[::step]
        if number == best:
            ax.plot(at, values, color=BLUE, lw=1.2)
        else:
            ax.plot(at, values, color=ink(), lw=0.6, alpha=0.3)
        drawn.append(values)
    if quantity == "log_posterior":
        values = np.concatenate(drawn)
        low, high = np.quantile(values, SHARE_BELOW), values.max()
        room = 0.05 * (high - low) or 1.0
        ax.set_ylim(low - room, high + room)
    _draw_temperature(ax, traces[best])


def _draw_temperature(ax: "Axes", trace: Trace) -> None:
    heat = ax.twinx()
    step = -(-len(trace.iteration) // MOST_POINTS)
    heat.plot(trace.iteration[::step], trace.temperature[::step], color=ORANGE, lw=0.9, ls=(0, (4, 2)))
    heat.set_yscale("log")
    heat.yaxis.set_major_formatter(require_matplotlib("ticker").FormatStrFormatter("%g"))
    heat.yaxis.set_minor_formatter(require_matplotlib("ticker").NullFormatter())
    heat.set_ylabel("temperature of the best", color=ORANGE)
    heat.tick_params(axis="y", colors=ORANGE, which="both")
    heat.spines[:].set_visible(False)


@of_a_fitted_model
def plot_acceptance(model: NetworkRegressor, *, ax: "Axes | None" = None) -> "Axes":
    """Draw how often each move was accepted, over all chains.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    ax = make_axes(ax)
    chains = model._paths.moves
    names = list(dict.fromkeys(name for moves in chains for name in moves))
    nothing = MoveCount(0, 0, 0)
    totals = [sum((moves.get(name, nothing) for moves in chains), start=nothing) for name in names]
    shares = [100 * total.acceptance for total in totals]
    bars = ax.barh(names, shares, color=BLUE, height=0.65)
    labels = [f"{share:.2g} % of {total.chosen:,}" for share, total in zip(shares, totals, strict=True)]
    ax.bar_label(bars, labels, padding=3, fontsize="small")
    ax.set_xlim(0, min(1.5 * max(1.0, *shares), 100.0))  # room for the labels, and no more than there can be
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    finish(ax, title="Accepted, by move", xlabel="% of proposals", ylabel="")
    ax.grid(visible=False, axis="y")
    return ax
