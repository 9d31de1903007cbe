"""Annealing reaches the optimum where it is known."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize

from tests.paper import paper
from tests.reference import design_matrix, least_squares_rss

COST = 5.0
LARGEST = 3  # the optimum is known among networks of up to this many terms


def problem():
    rng = np.random.default_rng(11)
    X = np.sort(rng.random((25, 1)), axis=0)
    return X, np.sin(9 * X[:, 0]) + 0.1 * rng.standard_normal(25)


@cache
def brute_force(n_grid=24):
    """The best value for each k: a grid over the box, polished from its best cells."""
    X, y = problem()
    low, high = X.min() - 0.1 * np.ptp(X), X.max() + 0.1 * np.ptp(X)

    def value(centers):
        if ((np.asarray(centers) < low) | (np.asarray(centers) > high)).any():
            return -np.inf
        D = design_matrix(X, np.reshape(centers, (-1, 1)), "cubic")
        return -len(X) / 2 * np.log(least_squares_rss(D, y)[0]) - COST * len(centers)

    def minus(centers):
        return -value(centers)

    found = [value(())]
    for k in range(1, LARGEST + 1):
        cells = sorted(combinations(np.linspace(low, high, n_grid), k), key=minus)
        polished = [minimize(minus, cell, method="Nelder-Mead", tol=1e-10) for cell in cells[:8]]
        found.append(max(-result.fun for result in polished))
    return found


@pytest.mark.parametrize("acceptance", ["two-stage", "tempering"])
@pytest.mark.parametrize("init", ["random", "empty"])
def test_every_chain_reaches_the_global_optimum(acceptance, init):
    X, y = problem()
    best = brute_force()
    assert np.argmax(best) == LARGEST, "the problem must need as many terms as were searched"
    model = paper(
        metric="euclidean", criterion=COST, n_iter=30_000, acceptance=acceptance, init=init, random_state=0
    ).fit(X, y)
    assert model.n_terms_ == LARGEST
    assert model.log_posterior_ < best[LARGEST] + 1e-6
    for chain in model.result_.chains:
        assert chain.best.log_posterior > best[LARGEST] - 0.02
        for k, value in chain.best_by_n_terms.items():
            assert k > LARGEST or value < best[k] + 1e-6
        assert max(chain.best_by_n_terms, key=chain.best_by_n_terms.get) == LARGEST


def test_noise_is_left_alone():
    rng = np.random.default_rng(5)
    X, y = rng.random((200, 2)), rng.standard_normal(200)
    model = paper(criterion="ebic", n_iter=20_000, random_state=0).fit(X, y)
    assert model.n_terms_ == 0
