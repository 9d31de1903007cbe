"""One HTML file that shows a model to a colleague, and lets a reader try it: nothing comes from the network."""

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from string import Template

from numpy.typing import ArrayLike

import saltus
from saltus.estimators import NetworkRegressor
from saltus.inspection.document import Section, join_names, to_html
from saltus.inspection.doubts import find_doubts, is_converged
from saltus.inspection.importance import importance, rank_by_importance
from saltus.report.formula import formula_html
from saltus.report.parts import data_section, in_columns, recipe_section, score_table, what_is_drawn
from saltus.report.pictures import (
    Picture,
    picture_of_importance,
    pictures_of_fit,
    pictures_of_inputs,
    pictures_of_search,
    pictures_of_size,
)
from saltus.report.recipe import option_table
from saltus.report.rows import Shown, footnote, headline
from saltus.report.trial import make_trial
from saltus.storage.atomic import replacing

# A formula of more terms than this is folded.
LONGEST_FORMULA = 10


def write_report(
    model: NetworkRegressor,
    path: str | os.PathLike[str],
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    code: str | None = None,
) -> None:
    """Write the report of a fitted model, whole or not at all; see :meth:`AnnealedRegressor.report`."""
    page = render_report(model, X, y, X_test=X_test, y_test=y_test, title=title, notes=notes, code=code)
    with replacing(path) as file:
        file.write(page.encode())


def render_report(
    model: NetworkRegressor,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    *,
    X_test: ArrayLike | None = None,
    y_test: ArrayLike | None = None,
    title: str | None = None,
    notes: Sequence[str] = (),
    code: str | None = None,
) -> str:
    """Make the page of a report."""
    if y is not None and X is None:
        raise ValueError("y was given without X. Pass both, or X alone.")
    if (X_test is None) != (y_test is None):
        raise ValueError("X_test and y_test belong together. Pass both or none.")
    if isinstance(notes, str):
        raise ValueError(f"notes must be a list of sentences. Got one: pass [{notes!r}].")
    shown = Shown.of(model, X, y, X_test, y_test)
    found = importance(model, *shown.for_importance(model))
    ranked = rank_by_importance(model, found)
    trial = make_trial(model, ranked, shown.inputs)
    summary = {section.title: section for section in model.summary().sections}
    converged = is_converged(model)
    bars = [picture_of_importance(model, found, ranked, shown.best_name)] if ranked else []
    bodies = {
        "Which inputs matter": in_columns("pictures", [each.to_html() for each in bars])
        + _folded("What the terms use", _sections(summary, "Inputs")),
        "Try it": trial.html,
        "What each input does": _pictures(pictures_of_inputs(model, ranked, shown.X, shown.name))
        + what_is_drawn(model, len(ranked)),
        "How well it predicts": score_table(model, shown.rows)
        + _pictures(pictures_of_fit(model, shown.best, shown.best_name)),
        "Formula": _formula(model, converged=converged),
        "Size": _folded(
            "How many terms, and why", _sections(summary, "Size", "Noise") + _pictures(pictures_of_size(model))
        ),
        "Search": _folded(
            "How the chains went", _sections(summary, "Convergence") + _pictures(pictures_of_search(model, shown.X))
        ),
        "Options": _folded("All options of the fit", option_table(model).to_html()),
        "Data": _folded("The rows and columns of the fit", data_section(model, notes)),
        "Make it again": _folded("The code, and the software", recipe_section(model, code)),
    }
    sections = [(name, name.lower().replace(" ", "-"), body) for name, body in bodies.items() if body]
    package = files("saltus.report")
    heading = f"A model of {join_names(model.data_notes_.output_names)}" if title is None else title
    return Template(package.joinpath("page.html").read_text("utf-8")).substitute(
        title=to_html(heading),
        headline=to_html(headline(model, shown)),
        footnote=to_html(footnote(model, shown)),
        banner=_banner(find_doubts(model, shown.fitted, shown.held_out)),
        style=package.joinpath("page.css").read_text("utf-8"),
        policy=trial.policy,
        script=f"<script>{trial.script}</script>" if trial.script else "",
        contents="\n".join(f'<li><a href="#{anchor}">{name}</a></li>' for name, anchor, _ in sections),
        sections="\n".join(
            f'<section id="{anchor}">\n<h2>{name}</h2>\n{body}\n</section>' for name, anchor, body in sections
        ),
        version=escape(saltus.__version__),
        date=datetime.now(UTC).date().isoformat(),
    )


def _banner(doubts: Sequence[str]) -> str:
    if not doubts:
        return ""
    items = "\n".join(f"<li>{to_html(doubt)}</li>" for doubt in doubts)
    return f'<div class="banner" role="note"><strong>Read with care.</strong>\n<ul>\n{items}\n</ul></div>'


def _folded(name: str, body: str) -> str:
    return f"<details><summary>{name}</summary>\n{body}\n</details>"


def _pictures(pictures: Iterable[Picture]) -> str:
    drawn = [picture.to_html() for picture in pictures]
    return in_columns("pictures", drawn) if drawn else ""


def _sections(summary: dict[str, Section], *titles: str) -> str:
    return in_columns("summary", [summary[title].to_html() for title in titles if title in summary])


def _formula(model: NetworkRegressor, *, converged: bool) -> str:
    """Write the formula, folded where it is long; not that of a draw of a posterior that has not converged."""
    if not converged:
        return "<p>The chains of the posterior disagree, so the formula of one draw would mislead and is not shown.</p>"
    n_terms, written = model._single_network.n_terms, formula_html(model)
    return written if n_terms <= LONGEST_FORMULA else _folded(f"A formula of {n_terms} terms", written)
