"""A weight is a number of rows: the posterior of the same terms, coefficients included, is the same."""

import numpy as np
import pytest
from sklearn.base import clone

from saltus import BayesianRegressor, Product, Radial, Ridge
from saltus.engine.drivers.sample import make_stepper
from saltus.engine.drivers.steppers import Walk
from saltus.engine.kernels.state import make_workspace, start_record, start_state
from saltus.engine.search.starts import set_independent_terms, set_terms
from saltus.estimators.checks import check_data
from saltus.families.terms import terms_as_value
from tests.problems import make_problem

MIXED = [Product(("hinge", "bump")), Ridge("sigmoid"), Ridge("wave", max_inputs=2)]
OWN = {"noise_shape": 3.0, "noise_scale": 0.5}

MODELS = {
    "a g-prior": BayesianRegressor(MIXED),
    "a g-prior with noise": BayesianRegressor(MIXED, linear="all", g=30.0, **OWN),
    "a relative ridge": BayesianRegressor(MIXED, prior="ridge"),
    "a plain ridge with noise": BayesianRegressor(Radial("cubic", metric="mahalanobis"), ridge="plain", **OWN),
    "a learned metric": BayesianRegressor("gaussian"),
    "a learned metric under a g-prior": BayesianRegressor("gaussian", prior="g"),
}


def start(model, X, Y, weight):
    """Make a stepper for rows with weights, and a walk that begins without terms."""
    model = clone(model)
    design = model._make_design(check_data(model, X, Y, weight))
    stepper = make_stepper(design, model._prior_settings(design))
    problem = stepper.design.problem
    state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    tuning = model._prior_settings(design).tuning
    walk = Walk(np.random.default_rng(3), tuning, state, make_workspace(problem, state, 1), start_record(state, 1))
    stepper.begin(state)
    return stepper, walk


def place(stepper, walk, terms):
    """Put a chain at terms, with the width of the prior and a rate; evaluate the density, and make a draw."""
    c = walk.state.factor.rss.size
    stepper.restore(np.linspace(7.0, 90.0, c), np.ones(c), np.array([4.0]))
    set_terms(stepper.design, walk.state, terms)
    return stepper.draw(walk, stepper.run(walk, 1, 1, afresh=True))


@pytest.fixture
def rows():
    problem = make_problem("three inputs, two outputs")
    weight = np.arange(60) % 3 + (np.arange(60) % 5 == 0)
    return problem.X, problem.Y, weight


@pytest.mark.parametrize("name", MODELS)
def test_the_posterior_of_the_same_terms_is_that_of_repeated_rows(rows, name):
    X, Y, weight = rows
    repeated = np.repeat(np.arange(60), weight)
    weighted, walk = start(MODELS[name], X, Y, weight)
    other, other_walk = start(MODELS[name], X[repeated], Y[repeated], None)
    plain, plain_walk = start(MODELS[name], X[weight > 0], Y[weight > 0], None)
    for seed in range(4):
        fresh = weighted.design.mixture.draw(np.random.default_rng(10 + seed), 5)
        set_independent_terms(weighted.design, walk.state, fresh)
        terms = terms_as_value(walk.state.terms)
        assert len(terms) > 1
        one, two, without = (
            place(*each, terms) for each in ((weighted, walk), (other, other_walk), (plain, plain_walk))
        )
        np.testing.assert_allclose(one.log_posterior, two.log_posterior, rtol=1e-9)
        assert abs(one.log_posterior - without.log_posterior) > 1.0
        np.testing.assert_allclose(one.S, two.S, rtol=1e-8)
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-5, atol=1e-6 * np.abs(one.mean).max())
        np.testing.assert_allclose(one.sigma_squared, two.sigma_squared, rtol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_a_short_chain_is_that_of_repeated_rows(rows, name):
    """Step by step, up to rounding: proposals are the same, and all are decided alike."""
    X, Y, weight = rows
    repeated = np.repeat(np.arange(60), weight)
    chains = [start(MODELS[name], X, Y, weight), start(MODELS[name], X[repeated], Y[repeated], None)]
    draws = [[], []]
    for found, (stepper, walk) in zip(draws, chains, strict=True):
        for done in range(0, 600, 100):
            found.append(stepper.draw(walk, stepper.run(walk, done, done + 100, afresh=False)))
    for one, two in zip(*draws, strict=True):
        np.testing.assert_allclose(one.log_posterior, two.log_posterior, rtol=1e-6)
        np.testing.assert_array_equal(one.terms.family, two.terms.family)
        np.testing.assert_array_equal(one.terms.choices, two.terms.choices)
        np.testing.assert_allclose(one.terms.parameters, two.terms.parameters, rtol=1e-9)
        np.testing.assert_allclose(one.terms.shared, two.terms.shared, rtol=1e-9)
    assert max(len(one.terms) for one in draws[0]) > 1
