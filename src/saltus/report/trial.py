"""The section of a report in which a reader tries the model: it carries the model itself, and evaluates it in the page.

Equal terms of the networks that predict are one, with the sum of their coefficients.
"""

import json
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.estimators import NetworkRegressor
from saltus.families.words import InputName, finite_or_none
from saltus.inspection.document import count, one_line, to_html
from saltus.inspection.formula import Formula

# A page has so many sliders, rows to choose from and terms at most.
MOST_INPUTS, MOST_ROWS, MOST_TERMS = 8, 40, 8000
# How much a posterior spreads is told by so many of its draws; how wide intervals are, at so many places.
MOST_DRAWS, MOST_PLACES = 30, 200
COVERAGE = 0.9


@dataclass(frozen=True)
class Trial:
    """What the section is made of: HTML, and the script that it runs; both empty where a page cannot run the model."""

    html: str
    script: str

    @property
    def policy(self) -> str:
        """What of it a page may run, as a content security policy says it."""
        if not self.script:
            return ""
        return f" script-src 'sha256-{b64encode(sha256(self.script.encode()).digest()).decode()}';"


class Collected:
    """The terms of networks, equal ones together. Mutated by `add`."""

    def __init__(self, n_outputs: int, n_inputs: int) -> None:
        self.intercept, self.linear = np.zeros(n_outputs), np.zeros((n_outputs, n_inputs))
        self.gaps, self.origin = np.zeros(n_inputs), np.zeros(n_inputs)
        self.profiles: dict[str, str] = {}
        self.parts: dict[str, dict[str, Any]] = {}
        self._where: dict[tuple[str, str], int] = {}
        self.n_terms = 0

    def add(self, weight: float, formula: Formula) -> bool:
        """Add a network with a weight; say whether a page can run it."""
        pages = formula.terms.for_page()
        if pages is None:
            return False
        self.intercept += weight * formula.intercept
        self.linear += weight * formula.linear
        self.gaps, self.origin = formula.at_gaps, formula.origin  # of all networks the same
        for which, page in pages:
            key = json.dumps(page.heading)
            part = self.parts.setdefault(key, {**page.heading, "columns": [], "coefficients": []})
            self.profiles |= page.profiles
            for coefficients, column in zip(formula.coefficients[:, which].T, page.columns, strict=True):
                at = self._where.setdefault((key, json.dumps(column)), len(part["columns"]))
                if at == len(part["columns"]):
                    part["columns"].append(column)
                    part["coefficients"].append(np.zeros(len(coefficients)))
                    self.n_terms += 1
                part["coefficients"][at] = part["coefficients"][at] + weight * coefficients
        return True

    def as_json(self) -> dict[str, Any]:
        """Make values that JSON holds."""
        parts = [
            {**part, "coefficients": [each.tolist() for each in part["coefficients"]]} for part in self.parts.values()
        ]
        return {
            "intercept": self.intercept.tolist(),
            "linear": self.linear.tolist(),
            "gaps": finite_or_none(self.gaps),
            "origin": self.origin.tolist(),
            "parts": parts,
        }


def make_trial(model: NetworkRegressor, importance: Sequence[int], rows: Floats | None) -> Trial:
    """Make the section for the inputs that matter, in the order of their importance, with rows (N, d) to start from."""
    notes = model.data_notes_
    mean = Collected(len(notes.output_names), len(notes.input_names))
    several: list[dict[str, Any]] = []
    n_networks = sum(1 for _ in model._weighted_networks())
    drawn = set(spread_out(n_networks, MOST_DRAWS).tolist()) if model._gives_intervals else set()
    for number, (weight, network) in enumerate(model._weighted_networks()):
        formula = Formula.of(network)
        if not mean.add(weight, formula) or mean.n_terms > MOST_TERMS:
            return Trial("", "")
        if number in drawn:
            alone = Collected(len(notes.output_names), len(notes.input_names))
            alone.add(1.0, formula)
            several.append(alone.as_json())
    low, high = (each.tolist() for each in _range_of_outputs(model))
    data = {
        "model": mean.as_json(),
        "draws": several,
        "noise": (np.atleast_1d(model.noise_variance_) ** 0.5).tolist(),
        "reach": _reach(model, several).tolist(),
        "typical": finite_or_none(notes.inputs.mean),
        "rows": [] if rows is None else [finite_or_none(row) for row in rows[spread_out(len(rows), MOST_ROWS)]],
        "outputs": [one_line(name) for name in notes.output_names],
        "inputs": [_describe_input(model, j) for j in importance[:MOST_INPUTS]],
        "low": low,
        "high": high,
        "coverage": 100 * COVERAGE,
    }
    families = files("saltus.families").joinpath("page.js").read_text("utf-8")
    profiles = ",\n".join(f"{json.dumps(name)}: {script}" for name, script in sorted(mean.profiles.items()))
    page = files("saltus.report").joinpath("trial.js").read_text("utf-8")
    script = f"{families}\nconst profiles = {{\n{profiles}\n}};\n{page}"
    stored = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return Trial(f'{_controls(model, data)}\n<script type="application/json" id="model">{stored}</script>', script)


def _range_of_outputs(model: NetworkRegressor) -> tuple[Floats, Floats]:
    outputs = model.data_notes_.outputs
    room = 0.05 * np.where(outputs.max > outputs.min, outputs.max - outputs.min, 1.0)
    return outputs.min - room, outputs.max + room


def _reach(model: NetworkRegressor, several: list[dict[str, Any]]) -> Floats:
    """Find by what the spread of a new y is to be multiplied, (c,), so that intervals are as wide as the model says."""
    inputs = model.data_notes_.inputs
    places = inputs.draw(np.random.default_rng(0), MOST_PLACES)
    _, low, high = model._predict_band(places, COVERAGE)
    spread = np.tile(np.sqrt(np.atleast_1d(model.noise_variance_)), (len(places), 1))
    if several:
        chosen = spread_out(sum(1 for _ in model._weighted_networks()), MOST_DRAWS).tolist()
        means = [network.predict(places) for j, (_, network) in enumerate(model._weighted_networks()) if j in chosen]
        spread = np.sqrt(spread**2 + np.var(means, axis=0))
    return np.asarray((0.5 * (high - low)).mean(axis=0) / np.maximum(spread.mean(axis=0), np.finfo(np.float64).tiny))


def _describe_input(model: NetworkRegressor, j: int) -> dict[str, Any]:
    inputs, name = model.data_notes_.inputs, model.data_notes_.input_names[j]
    described: dict[str, Any] = {
        "at": int(j),
        "name": one_line(name),
        "levels": [one_line(each) for each in name.levels],
    }
    described |= {"low": float(inputs.min[j]), "high": float(inputs.max[j]), "gaps": bool(inputs.missing[j] > 0)}
    return described


def _controls(model: NetworkRegressor, data: dict[str, Any]) -> str:
    """Write a control for each input, and where the prediction goes."""
    controls = "\n".join(_control(model, each) for each in data["inputs"])
    rows = "".join(f'<option value="{n}">row {n + 1} of those given</option>' for n in range(len(data["rows"])))
    choices = f'<option value="-1">typical values</option>{rows}'
    start = f'<p><label>Start from <select id="try-row">{choices}</select></label></p>'
    results = "\n".join(
        f'<p class="result"><b>{to_html(name)}</b> <output id="try-y{i}" for="try-controls">…</output> '
        f'<span id="try-i{i}"></span></p>'
        for i, name in enumerate(data["outputs"])
    )
    names = model.data_notes_.input_names
    others = len(names) - len(data["inputs"])
    rest = f" {count(others, 'other input')} stay where they start." if others else ""
    width = (
        "The interval holds about 90 % of new observations: how much the draws of the posterior differ, and the noise."
        if model._gives_intervals
        else "The interval is that of the noise: it holds about 90 % of the observations where the model is right."
    )
    return f"""<p>Move an input: the prediction follows, computed in this page.{rest} {to_html(width)}</p>
{start}
<div class="columns">
<div id="try-controls">
{controls}
</div>
<div>
<div aria-live="polite">
{results}
</div>
<figure><svg id="try-curve" viewBox="0 0 320 210" role="img" aria-describedby="try-caption"
aria-label="The prediction along the input that was moved last"></svg>
<figcaption id="try-caption"></figcaption></figure>
</div>
</div>
<noscript><p>This section needs JavaScript, which this browser does not run.</p></noscript>"""


def _control(model: NetworkRegressor, of: dict[str, Any]) -> str:
    at, name = of["at"], model.data_notes_.input_names[of["at"]]
    label = f'<label for="try-x{at}">{to_html(name)}</label>'
    if name.levels:
        return f'<p class="control">{label} <select id="try-x{at}" data-at="{at}">{_options(name)}</select></p>'
    missing = (
        f' <label class="missing"><input type="checkbox" id="try-m{at}" data-at="{at}"> missing</label>'
        if of["gaps"]
        else ""
    )
    return (
        f'<p class="control">{label} <input type="range" id="try-x{at}" data-at="{at}" min="{of["low"]!r}" '
        f'max="{of["high"]!r}" step="any"> <output id="try-v{at}" for="try-x{at}"></output>{missing}</p>'
    )


def _options(name: InputName) -> str:
    return "".join(
        f'<option value="{code}">{escape(one_line(level))}</option>' for code, level in enumerate(name.levels)
    )
