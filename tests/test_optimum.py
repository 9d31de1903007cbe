"""DESIGN section 6, step 7: annealing reaches the optimum where it is known."""

import numpy as np
import pytest
from scipy.optimize import minimize

from saltus import AnnealedRegressor
from tests.reference import design_matrix, least_squares_rss

K_MAX, COST = 2, 2.0


def problem():
    rng = np.random.default_rng(11)
    X = np.sort(rng.random((25, 1)), axis=0)
    y = np.sin(9 * X[:, 0]) + 0.1 * rng.standard_normal(25)
    return X, y


def brute_force(X, y, n_grid=60):
    """The best of every k up to K_MAX: a grid over the box, polished from its best cells."""
    low, high = X.min() - 0.1 * np.ptp(X), X.max() + 0.1 * np.ptp(X)

    def value(centers):
        if ((centers < low) | (centers > high)).any():
            return -np.inf
        D = design_matrix(X, np.reshape(centers, (-1, 1)), "cubic")
        return -len(X) / 2 * np.log(least_squares_rss(D, y)[0]) - COST * len(centers)

    grid = np.linspace(low, high, n_grid)
    found = [value(np.empty(0))]
    for cells in (grid[:, None], np.array([(a, b) for a in grid for b in grid if a < b])):
        values = np.array([value(cell) for cell in cells])
        starts = cells[np.argsort(values)[-12:]]
        polished = [minimize(lambda c: -value(c), start, method="Nelder-Mead", tol=1e-10) for start in starts]
        found.append(max(-result.fun for result in polished))
    return found


@pytest.mark.parametrize("acceptance", ["two-stage", "tempering"])
@pytest.mark.parametrize("init", ["random", "empty"])
def test_annealing_reaches_the_global_optimum(acceptance, init):
    X, y = problem()
    best = brute_force(X, y)
    assert np.argmax(best) == 2, "the problem must need two centres"
    model = AnnealedRegressor(
        metric="euclidean", criterion=COST, k_max=K_MAX, n_iter=30_000, n_chains=2, acceptance=acceptance,
        init=init, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.n_bases_ == 2
    assert best[2] - 0.01 < model.log_posterior_ < best[2] + 1e-6
    by_k = {}
    for chain in model.result_.chains:
        for k, value in chain.best_by_n_bases.items():
            by_k[k] = max(by_k.get(k, -np.inf), value)
    assert by_k[0] == pytest.approx(best[0], abs=1e-6)
    assert by_k[1] < best[1] + 1e-6


def test_noise_is_left_alone():
    rng = np.random.default_rng(5)
    X, y = rng.random((200, 2)), rng.standard_normal(200)
    model = AnnealedRegressor(criterion="ebic", n_iter=20_000, random_state=0).fit(X, y)
    assert model.n_bases_ == 0
