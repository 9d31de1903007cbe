"""The g-prior, against the same model written out densely."""

import numpy as np
import pytest

from saltus import Product, Ridge
from saltus.engine.drivers.steppers import STEPS_BETWEEN_G, GStepper, Walk
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.span import GRID, GPrior, log_prior_of_size, span_criterion
from saltus.engine.search.starts import set_independent_terms
from saltus.families.terms import terms_as_value
from tests.engine.designs import make_with
from tests.problems import make_problem

# Waves have two columns a term.
FAMILIES = [Product(("hinge", "bump")), Ridge("sigmoid"), Ridge("wave", max_inputs=2)]
K_MAX = 8
G = np.array([30.0, 4000.0])


def make_span_design(name="two outputs"):
    """Make a design with several outputs and weights, whose linear term is not the constant alone."""
    problem = make_problem(name)
    criterion = span_criterion(K_MAX, 2 * problem.Y.shape[1] + 12, 0)
    return make_with(problem.X, problem.Y, FAMILIES, criterion, weight=problem.weight)


def columns_of(design, terms):
    """The columns of the linear term, and those of the terms less what is along these."""
    fixed = design.linear.Q @ design.linear.R
    columns = design.columns(terms)
    return fixed, columns - design.linear.Q @ (design.linear.Q.T @ columns)


def log_evidence(design, terms, g, v0, g0):
    """log p(y | terms, g), up to a constant: y less the linear term is N(0, sigma^2 (I + g P))."""
    fixed, columns = columns_of(design, terms)
    Q = np.linalg.qr(columns)[0]
    total = 0.0
    for i, y in enumerate(design.Y.T):
        rest = y - design.linear.Q @ (design.linear.Q.T @ y)
        covariance = np.eye(len(rest)) + g[i] * Q @ Q.T
        S = rest @ np.linalg.solve(covariance, rest)
        degrees = design.problem.n_total - fixed.shape[1] + v0
        total -= 0.5 * np.linalg.slogdet(covariance)[1] + 0.5 * degrees * np.log(g0 + S)
    return total


def some_terms(design, seed, k):
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    set_independent_terms(design, state, design.mixture.draw(np.random.default_rng(seed), k))
    return state, terms_as_value(state.terms)


def walk_of(stepper, state):
    work, record = make_workspace(stepper.design.problem, state), start_record(state, 1)
    return Walk(np.random.default_rng(0), Tuning(0.1, 0.1, False), state, work, record)


@pytest.mark.parametrize(("v0", "g0"), [(0.0, 0.0), (3.0, 20.0)])
def test_given_g_the_problem_is_the_posterior(v0, g0):
    design = make_span_design()
    prior = GPrior.of(design, v0, g0, None)
    problem = prior.problem_given(design.problem, G)
    differences = []
    for seed, k in enumerate((0, 1, 3, 6)):
        state, terms = some_terms(design, seed, k)
        by_us = log_density(problem, state.factor.rss, terms)
        expected = log_evidence(design, terms, G, v0, g0) + log_prior_of_size(K_MAX)[len(terms)]
        differences.append(by_us - expected)
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-7)


def test_g_is_drawn_from_its_conditional():
    """Also where outputs differ in noise; the frequencies of 20 000 draws have |t| < 5."""
    design = make_span_design()
    prior = GPrior.of(design, 1.0, 0.5, None)
    problem = prior.problem_given(design.problem, prior.start)
    state, terms = some_terms(design, 3, 4)
    n, N = 20_000, design.problem.n_total
    rng = np.random.default_rng(0)
    drawn = np.array([prior.draw(rng, problem, state.factor.rss, int(state.n_columns[0])) for _ in range(n)])
    for i in range(2):
        log_mass = []
        for x in GRID:
            g = prior.start.copy()
            g[i] = x * N
            # The hyper-g/n prior, whose density by ln g is g times that by g.
            log_mass.append(log_evidence(design, terms, g, 1.0, 0.5) - 1.5 * np.log1p(x) + np.log(x))
        mass = np.exp(np.array(log_mass) - max(log_mass))
        mass /= mass.sum()
        seen = np.array([(np.isclose(drawn[:, i], x * N)).mean() for x in GRID])
        enough = mass * n > 50
        t = (seen - mass)[enough] / np.sqrt(mass * (1 - mass) / n)[enough]
        assert enough.sum() >= 3
        assert np.abs(t).max() < 5
        assert abs(seen[~enough].sum() - mass[~enough].sum()) < 0.05


def test_a_g_that_is_given_stays():
    design = make_span_design()
    prior = GPrior.of(design, 0.0, 0.0, 77.0)
    rng = np.random.default_rng(0)
    assert prior.start.tolist() == [77.0, 77.0]
    assert prior.draw(rng, design.problem, np.ones(2), 3).tolist() == [77.0, 77.0]


def test_a_draw_has_the_posterior_of_the_coefficients():
    """Its precision is D'D + (what is new in the terms)'(the same) / g, for each output with its g."""
    design = make_span_design()
    stepper = GStepper(design, GPrior.of(design, 2.0, 0.3, None))
    stepper.restore(G, np.ones(2), np.zeros(1))
    state, terms = some_terms(design, 5, 5)
    draw = stepper.draw(walk_of(stepper, state), 0.0)
    fixed, new = columns_of(design, terms)
    D = np.hstack([fixed, design.columns(terms)])
    m_fixed = fixed.shape[1]
    for i, y in enumerate(design.Y.T):
        precision = D.T @ D
        precision[m_fixed:, m_fixed:] += new.T @ new / G[i]
        mean = np.linalg.solve(precision, D.T @ y)
        np.testing.assert_allclose(draw.mean[:, i], mean, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(draw.K[i] @ draw.K[i].T, np.linalg.inv(precision), rtol=1e-5, atol=1e-9)
        np.testing.assert_allclose(draw.S[i], 0.3 + y @ y - mean @ precision @ mean, rtol=1e-8)
        assert (draw.K[i] == np.triu(draw.K[i])).all()


def test_the_joint_density_of_a_draw_counts_g():
    """Two values of g differ by their prior and by the evidence."""
    design = make_span_design()
    prior = GPrior.of(design, 0.0, 0.0, None)
    state, terms = some_terms(design, 5, 4)
    differences = []
    for x in GRID[[10, 25, 40]]:
        g = np.full(2, x * design.problem.n_total)
        problem = prior.problem_given(design.problem, g)
        joint = log_density(problem, state.factor.rss, terms) + prior.log_density_above(problem, g)
        expected = log_evidence(design, terms, g, 0.0, 0.0) + 2 * (np.log(x) - 1.5 * np.log1p(x))
        differences.append(joint - expected)
    np.testing.assert_allclose(differences, differences[0], rtol=0, atol=1e-6)


def test_the_state_knows_its_density_under_the_g_that_was_drawn():
    design = make_span_design()
    stepper = GStepper(design, GPrior.of(design, 0.0, 0.0, None))
    state, _ = some_terms(stepper.design, 5, 4)
    joint = stepper.run(walk_of(stepper, state), 0, STEPS_BETWEEN_G, afresh=False)
    problem = stepper.design.problem
    assert (stepper.g != stepper.prior.start).any()
    expected = log_density(problem, state.factor.rss, terms_as_value(state.terms))
    np.testing.assert_allclose(state.log_posterior[0], expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(joint, expected + stepper.prior.log_density_above(problem, stepper.g), atol=1e-8)


def test_the_mode_of_g_is_where_its_density_is_highest():
    design = make_span_design()
    prior = GPrior.of(design, 0.0, 0.0, None)
    rss, n_columns = prior.tss * np.array([1e-6] * prior.tss.size), 3
    found = prior.mode(design.problem, rss, n_columns)
    log_density = prior.log_conditional(design.problem, rss, n_columns)
    at = [int(np.argmin(np.abs(prior.n_total * GRID - each))) for each in found]
    assert (log_density[at, np.arange(len(at))] == log_density.max(axis=0)).all()
    assert (found > 100 * prior.n_total).all(), "small residuals ask for a wide prior"
    draws = np.array([prior.draw(np.random.default_rng(i), design.problem, rss, n_columns) for i in range(200)])
    assert (np.abs(np.log10(draws / found)) < 2).mean() > 0.9
    assert GPrior.of(design, 0.0, 0.0, 77.0).mode(design.problem, rss, n_columns).tolist() == [77.0, 77.0]


def test_the_prior_widens_where_residuals_are_small_and_never_narrows():
    design = make_span_design()
    stepper = GStepper(design, GPrior.of(design, 0.0, 0.0, None))
    state, _ = some_terms(stepper.design, 5, 4)
    state.factor.rss[:] = 0.9 * stepper.prior.tss
    assert not stepper.widen(state)
    np.testing.assert_array_equal(stepper.g, stepper.prior.start)
    state.factor.rss[0] = 1e-8 * stepper.prior.tss[0]
    assert stepper.widen(state)
    assert stepper.g[0] > 1e3 * stepper.prior.start[0]
    assert stepper.g[1] == stepper.prior.start[1]
    np.testing.assert_allclose(stepper.design.problem.prior_rss, stepper.prior.tss / stepper.g)
    assert not stepper.widen(state)
