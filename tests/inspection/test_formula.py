"""A formula has as many digits as it takes, and no more."""

import json
import shutil
import subprocess
from functools import cache
from importlib.resources import files

import numpy as np
import pytest
from onnxruntime import InferenceSession

from saltus import AnnealedRegressor, Radial
from saltus.engine.problem.scaling import Box
from saltus.families.profiles import RADIAL_PROFILES
from saltus.families.radial.numbers import RadialNumbers
from saltus.inspection.formula import ROUNDING, Digits, Formula, digits_needed
from saltus.report.formula import formula_html
from saltus.report.trial import make_trial
from tests.report.test_report import Page


def test_no_more_digits_than_needed():
    rng = np.random.default_rng(11)
    X = rng.uniform(-3, 3, size=(60, 4))
    y = 2 * np.sin(X[:, 0]) * X[:, 1] + X[:, 2] + 0.1 * rng.standard_normal(60)
    family = Radial("gaussian", width=1.5)
    network = AnnealedRegressor(family, n_iter=200, n_chains=2, random_state=0).fit(X, y)._single_network
    digits = digits_needed(network)
    points = network.box.draw(np.random.default_rng(0), 500)
    fewer = Formula.of(network).rounded(Digits(digits.linear, digits.terms - 1)).predict(points)
    assert np.abs(fewer - network.predict(points)).max() > ROUNDING * network.outputs.scale[0]


def test_every_number_of_a_formula_is_rounded():
    numbers = np.array([[1234.5678, -0.0012345]])
    terms = RadialNumbers(RADIAL_PROFILES["linear"], numbers, numbers[0], numbers[0], numbers)
    formula = Formula(numbers[0], numbers[0], numbers, numbers, terms, numbers[0])
    rounded = formula.rounded(Digits(linear=2, terms=3))
    for part in (rounded.intercept, rounded.linear[0]):
        assert part.tolist() == [1200.0, -0.0012]
    of_radial = rounded.terms
    of_terms = (of_radial.centers[0], of_radial.widths, of_radial.length_scales, of_radial.matrix[0])
    for part in (rounded.coefficients[0], *of_terms):
        assert part.tolist() == [1230.0, -0.00123]


OFFSETS = (0.0, 1e9, 1e12, -1e12)
FAMILIES = {
    "gaussian": (Radial("gaussian", width=1.5), {"linear": "all"}),
    "hinges": ("hinges", {"term_cost": 1}),
    "ridges and waves": (["ridges", "waves"], {"term_cost": 1}),
}


@cache
def fit_far_from_0(choice, offset):
    """Fit inputs that float64 holds exactly so far from 0: the same model wherever they are."""
    rng = np.random.default_rng(3)
    X = rng.integers(-2048, 2048, size=(80, 2)) / 2**10
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.05 * rng.standard_normal(80)
    basis, options = FAMILIES[choice]
    model = AnnealedRegressor(basis, combine="best", n_iter=300, n_chains=2, random_state=0, **options)
    model.fit(X + offset, y)
    assert model.n_terms_ > 0
    return model, X + offset, y


def error_of(said, choice, offset):
    """Find by how much predictions differ at most, in units of what makes them up."""
    model, X, y = fit_far_from_0(choice, offset)
    formula = model.formula()
    columns = np.abs(formula.terms.columns(X - formula.origin)).max(axis=0)
    return np.abs(np.ravel(said) - model.predict(X)).max() / (y.std() + np.abs(formula.coefficients[0]) @ columns)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("choice", FAMILIES)
def test_a_formula_is_exact_far_from_0(choice, offset):
    model, X, _ = fit_far_from_0(choice, offset)
    assert error_of(model.formula().predict(X), choice, offset) < 1e-12
    assert (model.formula().origin != 0).all() == (offset != 0)


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here to run the script of a page")
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("choice", FAMILIES)
def test_a_page_is_exact_far_from_0(choice, offset, tmp_path):
    model, X, _ = fit_far_from_0(choice, offset)
    trial = make_trial(model, [0, 1], None)
    stored = trial.html.partition('id="model">')[2].partition("</script>")[0]
    families = files("saltus.families").joinpath("page.js").read_text("utf-8")
    first = trial.script.index("const profiles")
    profiles = trial.script[first : trial.script.index("};", first) + 2]
    program = f"""{families}\n{profiles}\nconst data = {stored};
console.log(JSON.stringify({X.tolist()}.map((x) => predictAt(data.model, x, profiles)[0])));"""
    (tmp_path / "page.js").write_text(program, "utf-8")
    said = subprocess.run(["node", tmp_path / "page.js"], capture_output=True, text=True, check=True).stdout
    assert error_of(json.loads(said), choice, offset) < 1e-12


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("choice", FAMILIES)
def test_onnx_is_exact_far_from_0(choice, offset):
    model, X, _ = fit_far_from_0(choice, offset)
    session = InferenceSession(model.to_onnx().SerializeToString(), providers=["CPUExecutionProvider"])
    (said,) = session.run(["y"], {"X": X})
    assert error_of(said, choice, offset) < 1e-12


def test_inputs_far_from_0_are_written_so():
    model, _, _ = fit_far_from_0("hinges", 1e12)
    shown = "".join(Page(formula_html(model)).text)
    assert "(x0 \N{MINUS SIGN} 1000000000000)" in shown
    assert "(x1 \N{MINUS SIGN} 1000000000000)" in shown
    near, _, _ = fit_far_from_0("hinges", 0.0)
    assert "1000000000000" not in formula_html(near)


def test_an_origin_is_a_round_number_near_by():
    X = np.array([[1e12 + 0.25, 1950.0, -1e9 - 700, 2.0], [1e12 + 0.75, 2020.0, -1e9 + 800, 3.0]])
    assert Box.around(X, 0.1, np.array([0, 0, 0, 4])).origin.tolist() == [1e12, 0.0, -1e9, 0.0]
    assert Box.around(np.array([[1e12], [1e12]]), 0.1).origin.tolist() == [0.0]


def test_the_formula_of_the_readme_has_the_width():
    model, X, _ = fit_far_from_0("gaussian", 0.0)
    width = model.basis.width
    assert width != 1
    away = X[:, None, :] - model.centers_
    squared = np.einsum("nki,ij,nkj->nk", away, model.metric_, away) / (width * model.widths_) ** 2
    said = model.intercept_ + X @ model.linear_coef_ + np.exp(-squared / 2) @ model.term_coef_
    assert error_of(said, "gaussian", 0.0) < 1e-12
