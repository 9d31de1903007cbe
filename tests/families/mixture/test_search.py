"""What descents change of terms of any family, and that log pi has the slope that they are told."""

import numpy as np
import pytest

from saltus import Product
from saltus._tiles import from_tiles
from saltus.engine.kernels.state import start_state
from saltus.engine.search.gauss_newton import descend_damped, make_curvature
from saltus.engine.search.gradient import make_work
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.pruning import descend, independent, prune
from saltus.engine.search.quasi_newton import start_search
from saltus.engine.search.starts import set_terms
from tests.engine.designs import blind_to_faintness
from tests.equality import same
from tests.families.choosing import FAMILIES, make_choosing

SMOOTH = [name for name in FAMILIES if name != "steps"]
NUMBERS = "three inputs, two outputs"


@pytest.fixture(params=FAMILIES)
def name(request):
    return request.param


def make_landscape(name, **options):
    _, design = make_choosing(name, **options)
    return design, blind_to_faintness(Landscape.of(design))


def draw_independent(rng, landscape, k):
    """Draw terms whose columns do not depend on each other."""
    while True:
        terms = landscape.mixture.draw(rng, k)
        if np.isfinite(landscape.value(terms)):
            return terms


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("k", [0, 1, 9])
def test_what_is_packed_is_unpacked(name, raw, k, rng):
    design, _ = make_landscape(name)
    terms = design.mixture.draw(rng, k)
    free = design.mixture.search.free(design.problem.families, terms, raw=raw)
    again = free.unpack(free.x)
    np.testing.assert_allclose(again.parameters, terms.parameters, atol=1e-9)
    np.testing.assert_allclose(again.shared, terms.shared, rtol=1e-12)
    assert same(again.with_parameters(terms.parameters).with_shared(terms.shared), terms)
    assert ((free.x >= free.low - 1e-12) & (free.x <= free.high + 1e-12)).all()
    assert free.n_free.sum() + free.n_shared == free.x.size


@pytest.mark.parametrize("name", SMOOTH)
def test_anywhere_within_its_bounds_a_point_is_a_term(name, rng):
    design, _ = make_landscape(name)
    terms = design.mixture.draw(rng, 9)
    free = design.mixture.search.free(design.problem.families, terms)
    for share in (0.0, 1.0, rng.random(free.x.size)):
        found = free.unpack(free.low + share * (free.high - free.low))
        assert ((found.parameters >= 0) & (found.parameters <= 1)).all()
        assert design.mixture.accepts(found)
        np.testing.assert_array_equal(found.choices, terms.choices)


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize(("problem", "seed"), [(NUMBERS, 1), (NUMBERS, 2), ("a table", 1)])
def test_gradient_against_finite_differences(name, problem, seed):
    _, landscape = make_landscape(name, problem=problem, n_rows=600)  # two tiles
    rng = np.random.default_rng(seed)
    terms = draw_independent(rng, landscape, 5)
    free = landscape.mixture.search.free(landscape.problem.families, terms, raw=True)
    _, gradient = landscape.value_and_gradient(terms)
    assert gradient.shape == free.x.shape
    assert np.abs(gradient).max() > 0
    step = 1e-6
    for i, one in enumerate(step * np.eye(free.x.size)):
        ends = [landscape.value(free.unpack(free.x + sign * one)) for sign in (1, -1)]
        expected = (ends[0] - ends[1]) / (2 * step)
        assert gradient[i] == pytest.approx(expected, rel=1e-4, abs=1e-5 * np.abs(gradient).max())


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("problem", [NUMBERS, "a table"])
def test_curvature_is_that_of_projected_residuals(name, problem):
    _, landscape = make_landscape(name, problem=problem, n_rows=600)
    rng = np.random.default_rng(1)
    terms = draw_independent(rng, landscape, 5)
    free = landscape.mixture.search.free(landscape.problem.families, terms, raw=True)
    seen = landscape.problem._replace(families=free.families)

    def evaluate(point):
        work, curvature = make_work(seen, free), make_curvature(seen, free)
        descend_damped(seen, 0.0, work, curvature, start_search(point - 9, point + 9, point), 1)
        return work, curvature.hessian

    work, hessian = evaluate(free.x)
    Q_linear = from_tiles(seen.linear.tiles)[:, 2:]
    Q = np.linalg.qr(np.hstack([Q_linear, from_tiles(work.Phi)]))[0]
    step = 1e-6
    changes = [
        from_tiles(evaluate(free.x + one)[0].Phi) - from_tiles(evaluate(free.x - one)[0].Phi)
        for one in step * np.eye(free.x.size)
    ]
    expected = np.zeros_like(hessian)
    for alpha, rss in zip(work.alpha, work.rss, strict=True):
        J = np.stack([change @ alpha for change in changes], axis=1) / (2 * step)
        J -= Q @ (Q.T @ J)
        expected += seen.n_total / rss * J.T @ J
    np.testing.assert_allclose(hessian, expected, rtol=1e-3, atol=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("problem", [NUMBERS, "a table"])
def test_the_value_of_a_descent_is_that_of_the_chain(name, problem, rng):
    design, landscape = make_landscape(name, problem=problem)
    terms = draw_independent(rng, landscape, 4)
    assert np.isfinite(landscape.value(terms))
    if "step" in str(design.mixture):
        pytest.skip("rows are rounded in descents, which steps may notice")
    state = start_state(design.problem, design.linear.Q, design.Y, terms.shared)
    set_terms(design, state, terms)
    assert landscape.value(terms) == pytest.approx(state.log_posterior[0], rel=1e-5, abs=1e-4)


@pytest.mark.parametrize("damped", [False, True])
def test_descents_lead_up_and_stay_within_bounds(name, damped, rng):
    design, _ = make_landscape(name, n_rows=200)
    landscape = Landscape.of(design)
    start = independent(landscape, landscape.mixture.draw(rng, 6))
    assert start.k > 0
    end = descend(landscape, start, 60, damped=damped)
    assert end.log_posterior >= start.log_posterior
    assert ((end.terms.parameters >= 0) & (end.terms.parameters <= 1)).all()
    assert landscape.value(end.terms) == pytest.approx(end.log_posterior, rel=1e-6, abs=1e-5)
    np.testing.assert_array_equal(end.terms.choices, start.terms.choices)
    if name in SMOOTH:
        assert end.log_posterior > start.log_posterior + 1e-3
    else:
        assert end is start, "there is nothing to descend along"
    assert prune(landscape, start).log_posterior >= start.log_posterior


def test_phases_wrap(rng):
    design, landscape = make_landscape(Product("wave", max_inputs=1))
    terms = draw_independent(rng, landscape, 2)
    free = design.mixture.search.free(design.problem.families, terms)
    further = free.x.copy()
    further[0] += 1.0
    np.testing.assert_allclose(free.unpack(further).parameters, terms.parameters, atol=1e-9)


def test_terms_without_a_place_in_common_are_listed_in_any_order(rng):
    design, landscape = make_landscape("a mixture")
    terms = design.mixture.draw(rng, 6)
    orders = {
        tuple(design.mixture.search.order_by_distance(rng, landscape.problem.families, terms, 2)) for _ in range(20)
    }
    assert all(order[0] == 2 and sorted(order) == list(range(6)) for order in orders)
    assert len(orders) > 5
