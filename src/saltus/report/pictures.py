"""The pictures of a report, each with a caption and a text alternative."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from saltus._typing import Floats
from saltus.estimators import AnnealedRegressor, NetworkRegressor
from saltus.estimators.checks import check_inputs
from saltus.families.words import names_of_levels
from saltus.inspection.curves import N_POINTS, Curve, partial_dependence
from saltus.inspection.document import count, one_line, show, to_html
from saltus.inspection.findings import FEW_TERMS, rank_numbers
from saltus.inspection.importance import strongest_interactions
from saltus.plots import (
    plot_acceptance,
    plot_calibration,
    plot_dependence,
    plot_fit,
    plot_interaction,
    plot_path,
    plot_residuals,
    plot_size,
    plot_terms,
    plot_trace,
)
from saltus.plots.importance import draw_importance
from saltus.report.svg import draw_svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_OUTPUTS = 3
MOST_INPUTS = 6
MOST_INTERACTIONS = 2
# Interactions weaker than this, in standard deviations of the output, are not drawn.
WEAKEST_INTERACTION = 0.05

Rows = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Picture:
    """A picture to be drawn: `draw` draws it and says in words what there is to see."""

    name: str  # unique on the page
    title: str
    caption: str
    draw: "Callable[[Axes], str]"

    def to_html(self) -> str:
        """Draw it."""
        svg = draw_svg(self.name, self.draw, title=one_line(self.title))
        return f"<figure>{svg}\n<figcaption>{to_html(self.caption)}</figcaption></figure>"


def pictures_of_fit(model: NetworkRegressor, rows: Rows | None, called: str) -> Iterator[Picture]:
    """Choose pictures of how well rows are predicted, of the first outputs: the fit, residuals and calibration."""
    notes = model.data_notes_
    band = "90 % of new observations" if model._gives_intervals else "90 % of the noise"
    for i, output in enumerate(notes.output_names[:MOST_OUTPUTS]):
        if notes.is_curve or rows is not None:
            shown = "the prediction" if rows is None else f"the {called}"
            caption = f"{output}: {shown}, and a band that holds {band}."
            yield Picture(f"fit-{i}", f"Fit of {output}", caption, partial(_fit, model, rows, i))
        if rows is None:
            continue
        caption = (
            f"Residuals of the {called}: observed less predicted values. A pattern is something that the model misses."
        )
        yield Picture(f"residuals-{i}", f"Residuals of {output}", caption, partial(_residuals, model, rows, i))
        whose = "intervals of new observations" if model._gives_intervals else "intervals of the noise alone"
        caption = f"How many of the {called} are inside {whose}. Below the dashed line, intervals are too short."
        yield Picture(f"calibration-{i}", f"Calibration of {output}", caption, partial(_calibration, model, rows, i))


def pictures_of_inputs(
    model: NetworkRegressor, ranked: Sequence[int], X: ArrayLike | None, called: str
) -> Iterator[Picture]:
    """Choose pictures of what the inputs that matter do, on one scale, then of the strongest interactions."""
    notes = model.data_notes_
    others = f"averaged over the {called}" if X is not None else "with the other inputs at typical values"
    for i, output in enumerate(notes.output_names[:MOST_OUTPUTS]):
        curves = [_curve(model, j, X, i) for j in ranked[:MOST_INPUTS]]
        ends = common_ends(curves, float(notes.outputs.std[i]))
        for j in ranked[:MOST_INPUTS]:
            caption = f"How {output} depends on {notes.input_names[j]}, {others}."
            if X is not None and not notes.input_names[j].levels:
                caption += " Ticks divide the rows into tenths."
            title = f"Dependence of {output} on {notes.input_names[j]}"
            yield Picture(f"dependence-{i}-{j}", title, caption, partial(_dependence, model, j, X, i, ends))
    for first, second, strength in strongest_interactions(model, list(ranked), MOST_INTERACTIONS):
        if strength >= WEAKEST_INTERACTION:
            names = f"{notes.input_names[first]} and {notes.input_names[second]}"
            caption = (
                f"How {notes.output_names[0]} depends on {names} together, {others}: their joint effect differs from "
                f"the sum of their own by {show(strength, '.2g')} standard deviations of the output."
            )
            draw = partial(_interaction, model, first, second, X)
            yield Picture(f"interaction-{first}-{second}", f"Interaction of {names}", caption, draw)


def picture_of_importance(model: NetworkRegressor, found: Floats, ranked: Sequence[int], called: str) -> Picture:
    """Draw the bars of importance."""
    caption = (
        f"How much the error grows when the values of an input are shuffled among the {called}, in standard deviations "
        f"of the output. Inputs that make no difference are left out."
    )

    def draw(ax: "Axes") -> str:
        draw_importance(model, found, ranked, ax=ax)
        names = model.data_notes_.input_names
        said = ", ".join(f"{one_line(names[j])} {show(found[j], '.2g')}" for j in ranked[:MOST_INPUTS])
        return f"Growth of the error, the largest first: {said}."

    return Picture("importance", "Which inputs matter", caption, draw)


def pictures_of_size(model: NetworkRegressor) -> Iterator[Picture]:
    """Choose pictures of how many terms there are, and what fewer would cost."""
    yield _size_picture(model)
    if isinstance(model, AnnealedRegressor) and len(model.path_) > FEW_TERMS:
        yield _path_picture(model)


def pictures_of_search(model: NetworkRegressor, X: ArrayLike | None) -> Iterator[Picture]:
    """Choose pictures of where the terms are and how the chains went."""
    if model._single_network.n_terms > 0 and rank_numbers(model):
        yield _term_picture(model, X)
    yield from _chain_pictures(model)


def _curve(model: NetworkRegressor, feature: int, X: ArrayLike | None, output: int) -> Curve:
    rows = None if X is None else check_inputs(model, X)
    return partial_dependence(model, feature, rows, output=output)


def common_ends(curves: Sequence[Curve], least: float) -> tuple[float, float]:
    """Find the ends of an axis that all curves fit on, no shorter than `least`."""
    values = np.concatenate([part for each in curves for part in (each.mean, each.low, each.high) if part is not None])
    low, high = float(values.min()), float(values.max())
    room = 0.5 * max(least - (high - low), 0.0) + 0.05 * max(high - low, least)
    return low - room, high + room


def _size_picture(model: NetworkRegressor) -> Picture:
    said = model.summary().sections[0].sentences[0]

    def draw(ax: "Axes") -> str:
        plot_size(model, ax=ax)
        return said

    return Picture("size", "Number of terms", said, draw)


def _path_picture(model: AnnealedRegressor) -> Picture:
    error = {size.n_terms: size.leave_one_out for size in model.path_}
    said = (
        f"The error of rows left out one by one is {show(error[max(error)], '.3g')} with all terms, "
        f"{show(error[FEW_TERMS], '.3g')} with the best {FEW_TERMS} terms and {show(error[0], '.3g')} with no terms. "
        f"with_terms({FEW_TERMS}) makes the model of {FEW_TERMS} terms."
    )

    def draw(ax: "Axes") -> str:
        plot_path(model, ax=ax)
        return said

    return Picture("path", "What fewer terms cost", said, draw)


def _term_picture(model: NetworkRegressor, X: ArrayLike | None) -> Picture:
    network, names = model._single_network, model.data_notes_.input_names
    over = [names[j] for j in rank_numbers(model)[:2]] if network.n_terms > 0 else []
    caption = f"Where the terms are along {' and '.join(over)}, and their coefficients." if over else "No terms."
    if len(over) == 2:
        caption += " Larger marks have larger coefficients; lines are contours of the prediction of the network."

    def draw(ax: "Axes") -> str:
        plot_terms(model, X, ax=ax)
        signs = np.sign(network.term_size[0])
        n_terms = count(network.n_terms, "term")
        return f"{n_terms}, {int((signs > 0).sum())} with a coefficient above 0, {int((signs < 0).sum())} below."

    return Picture("terms", "Map of the terms", caption, draw)


def _chain_pictures(model: NetworkRegressor) -> Iterator[Picture]:
    heat = "" if model._paths.best is None else " The dashed line is the temperature of the best chain."
    for quantity, label in (("log_posterior", "log posterior"), ("n_terms", "number of terms")):
        caption = f"The {label} along the chains.{heat}"
        yield Picture(f"trace-{quantity}", f"Trace of the {label}", caption, partial(_trace, model, quantity))
    caption = "How often proposals were accepted, over all chains."
    yield Picture("acceptance", "Acceptance by move", caption, partial(_acceptance, model))


def _fit(model: NetworkRegressor, rows: Rows | None, output: int, ax: "Axes") -> str:
    X, y = (None, None) if rows is None else rows
    plot_fit(model, X, y, output=output, ax=ax)
    across, up = np.asarray(ax.lines[-1].get_data(), dtype=np.float64)
    if model.data_notes_.is_curve:
        return _describe_curve(model, across, up, 0, output)
    rmse = show(float(np.sqrt(np.mean((across - up) ** 2))), ".3g")
    return f"{count(len(up), 'row')} near the diagonal, with a root mean square error of {rmse}."


def _residuals(model: NetworkRegressor, rows: Rows, output: int, ax: "Axes") -> str:
    plot_residuals(model, *rows, output=output, ax=ax)
    residuals = np.asarray(ax.lines[-1].get_ydata(), dtype=np.float64)
    return f"{count(len(residuals), 'row')}, with residuals from {residuals.min():.3g} to {residuals.max():.3g}."


def _calibration(model: NetworkRegressor, rows: Rows, output: int, ax: "Axes") -> str:
    plot_calibration(model, *rows, output=output, ax=ax)
    asked, inside = np.asarray(ax.lines[-1].get_data(), dtype=np.float64)
    return (
        ", ".join(f"{found:.0f} % inside {each:.0f} % intervals" for each, found in zip(asked, inside, strict=True))
        + "."
    )


def _interaction(model: NetworkRegressor, first: int, second: int, X: ArrayLike | None, ax: "Axes") -> str:
    plot_interaction(model, (first, second), X, ax=ax)
    names = model.data_notes_.input_names
    return (
        f"The prediction over {one_line(names[first])} and {one_line(names[second])}, the other inputs averaged over."
    )


def _dependence(
    model: NetworkRegressor, feature: int, X: ArrayLike | None, output: int, ends: tuple[float, float], ax: "Axes"
) -> str:
    plot_dependence(model, feature, X, output=output, ax=ax)
    ax.set_ylim(*ends)
    across, up = np.asarray(ax.lines[0].get_data(), dtype=np.float64)
    return _describe_curve(model, across, up, feature, output)


def _describe_curve(model: NetworkRegressor, across: Floats, up: Floats, feature: int, output: int) -> str:
    notes = model.data_notes_
    name, of = notes.input_names[feature], notes.output_names[output]
    (left, right), low, high = across[[0, -1]], up.argmin(), up.argmax()
    if name.levels:
        levels = names_of_levels(name, notes.inputs.grid(feature, N_POINTS).astype(np.int64))
        return one_line(
            f"Of the levels of {name}, {of} is lowest, {up[low]:.3g}, with {levels[low]}, and highest, {up[high]:.3g}, "
            f"with {levels[high]}."
        )
    return one_line(
        f"As {name} goes from {left:.3g} to {right:.3g}, {of} goes from {up[0]:.3g} to {up[-1]:.3g}. It is lowest, "
        f"{up[low]:.3g}, at {across[low]:.3g}, and highest, {up[high]:.3g}, at {across[high]:.3g}."
    )


def _trace(model: NetworkRegressor, quantity: str, ax: "Axes") -> str:
    plot_trace(model, quantity, ax=ax)
    ends = [float(np.asarray(line.get_ydata())[-1]) for line in ax.lines]
    return f"{count(len(ends), 'chain')}, which end between {min(ends):.5g} and {max(ends):.5g}."


def _acceptance(model: NetworkRegressor, ax: "Axes") -> str:
    plot_acceptance(model, ax=ax)
    names = [label.get_text() for label in ax.get_yticklabels()]
    labels = [label.get_text() for label in ax.texts]
    return ", ".join(f"{name} {label}" for name, label in zip(names, labels, strict=True)) + "."
