"""Draws from the prior have the laws that the prior says, where these can be counted, and those of chains without data.

Chi-square tests and one of Kolmogorov and Smirnov ask for p > 1e-6, five in all; |t| < 5 fails by chance with
probability below 6e-6 at 59 degrees of freedom, for each of two dozen statistics. The false-alarm rate of this file is
below 2e-4.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import chisquare, gamma, kstest

from saltus import BayesianRegressor, Product, Radial
from saltus.engine.drivers.annealing import block_of
from saltus.engine.kernels.state import NEVER, Tuning, make_workspace, start_record, start_state
from saltus.engine.search.starts import set_terms
from saltus.estimators.prior import design_at
from saltus.families.terms import terms_as_value
from tests.engine.designs import without_likelihood

LEAST_P, LIMIT = 1e-6, 5.0
STEPS = Product("step", max_inputs=1)
LINE = np.arange(10.0)[:, None]
SQUARE = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)

# Of nine thresholds between ten rows, five have three rows on either side. Two steps at the same one are dependent.
ALLOWED = np.cumprod([1.0, *(np.arange(5, 0, -1) / 9)])


def draws_of(model, X, n_draws):
    return model.sample_prior(X, n_draws=n_draws, random_state=7)


def p_of_counts(counts, mass):
    return chisquare(counts, counts.sum() * mass / mass.sum()).pvalue


def sizes_of(draws, k_max):
    counts = np.bincount([draw.n_terms for draw in draws], minlength=k_max + 1)
    assert counts.size == k_max + 1
    return counts


def test_k_is_geometric_where_terms_are_allowed():
    """Of ten rows less one column and one, 8 parameters are too many: four steps, each with one and a coefficient."""
    model = BayesianRegressor(STEPS, linear="none", k_max=5)
    mass = np.exp(-0.5 * np.arange(4)) * ALLOWED[:4]
    assert p_of_counts(sizes_of(draws_of(model, LINE, 4000), 3), mass) > LEAST_P


def test_k_is_poisson_where_terms_are_allowed():
    """Its rate has a Gamma prior, and the law is cut at k_max before sets that are not allowed are refused.

    Under a ridge steps may coincide.
    """
    k, shape, scale = np.arange(4), 0.5 + 1.5, 1 / 0.4
    model = BayesianRegressor(STEPS, linear="none", k_max=3, prior="ridge", rate_shape=1.5, rate_rate=0.4)

    def share(rate, size):
        mass = np.exp(k * np.log(rate) - gammaln(k + 1.0))
        return gamma.pdf(rate, shape, scale=scale) * mass[size] / mass.sum()

    mass = np.array([quad(share, 0, np.inf, args=(size,))[0] for size in k]) * (5 / 9) ** k
    assert p_of_counts(sizes_of(draws_of(model, LINE, 4000), 3), mass) > LEAST_P


def test_inputs_are_alike_where_terms_are_allowed():
    """On a square of 4 by 4 rows all steps in one input are allowed, and 6 of 9 boxes: not those of 1 or 2 rows."""
    draws = draws_of(BayesianRegressor(Product("step", max_inputs=2), linear="none"), SQUARE, 6000)
    of_one = [draw.network.terms.choices[0] for draw in draws if draw.n_terms == 1]
    n_inputs, first = np.array([each[0] for each in of_one]), np.array([each[1] for each in of_one])
    which = np.where(n_inputs == 2, 2, first)
    counts = np.array([sum(draw.n_terms == 0 for draw in draws), *np.bincount(which, minlength=3)])
    assert p_of_counts(counts, np.array([np.exp(0.5), 0.25, 0.25, 0.5 * 6 / 9])) > LEAST_P


def test_relevances_are_on_with_probability_one_half_and_log_uniform():
    """Where there are terms, some input is on; r has no scale, so that no relevance makes columns depend."""
    X = np.random.default_rng(0).random((80, 2))
    model = BayesianRegressor(Radial("linear"), prior="g", k_max=2, box_margin=0.0)
    draws = draws_of(model, X, 4000)
    shared = np.array([draw.network.terms.shared for draw in draws])
    k, n_on = np.array([draw.n_terms for draw in draws]), (shared > 0).sum(axis=1)
    counts = np.array([((k == size) & (n_on == n)).sum() for size in range(3) for n in range(3)])
    mass = np.outer(np.exp(-0.5 * np.arange(3)), [0.25, 0.5, 0.25])
    mass[1:, 0] = 0.0
    assert (counts[mass.ravel() == 0] == 0).all()
    assert p_of_counts(counts[mass.ravel() > 0], mass[mass > 0]) > LEAST_P
    logs = np.log(shared[shared > 0]) / np.log(100.0)
    assert kstest(logs, "uniform", args=(-1, 2)).pvalue > LEAST_P


MODELS = {
    "families that choose inputs": BayesianRegressor(["hinges", "steps", "waves"], k_max=7),
    "a learned metric": BayesianRegressor("gaussian", prior="g", k_max=4),
}


def statistics(terms):
    on = (terms.shared > 0).sum()
    logs = np.log(terms.shared[terms.shared > 0])
    of_each = [(terms.family == number).sum() for number in range(4)]
    several = (terms.choices[:, 0] > 1).sum() if terms.choices.shape[1] else 0
    k, first = len(terms), terms.parameters[:, 0]
    return np.array([k, k == 0, k * k, *of_each, several, (first**2).sum(), on, on * k, logs.sum()], dtype=float)


def run_chain(rng, design, start, n_looks=100, between=20):
    """Average the statistics over a chain without data that starts from an exact draw."""
    moves_shared = design.mixture.moves_shared
    tuning = Tuning(0.25, 0.2, True, 3 if moves_shared else NEVER)
    state = start_state(design.problem, design.linear.Q, design.Y, start.shared)
    set_terms(design, state, start)
    work, record = make_workspace(design.problem, state), start_record(state, 1)
    run, seen = block_of(design), []
    for look in range(n_looks):
        run(rng, design.problem, tuning, state, work, record, np.ones(between), between, between * look, NEVER)
        seen.append(statistics(terms_as_value(state.terms)))
    return np.mean(seen, axis=0)


@pytest.mark.parametrize("name", MODELS)
def test_chains_without_data_have_the_same_law(name):
    """Of 24 rows, so that terms that are refused, or cost more parameters than there are, matter."""
    X, model, n_chains = np.random.default_rng(1).random((24, 2)), MODELS[name], 60
    exact = draws_of(model, X, 3000)
    starts = model.sample_prior(X, n_draws=n_chains, random_state=8)
    design = without_likelihood(design_at(starts[0]._model, X, 1))
    rng = np.random.default_rng(0)
    chains = np.array([run_chain(rng, design, start.network.terms) for start in starts])
    drawn = np.array([statistics(draw.network.terms) for draw in exact])
    error = np.sqrt(chains.var(axis=0, ddof=1) / n_chains + drawn.var(axis=0) / len(drawn))
    difference = chains.mean(axis=0) - drawn.mean(axis=0)
    assert (error > 0).sum() >= 6
    assert (difference[error == 0] == 0).all()
    assert np.abs(difference[error > 0] / error[error > 0]).max() < LIMIT
