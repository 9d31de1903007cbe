"""The exact posterior of k and g under a g-prior, for terms with one parameter each and few rows.

Over the centres or frequencies by quadrature, and over the grid of g where g is not given.
"""

import numpy as np

from saltus import Radial, Ridge
from saltus.engine.problem.span import GRID, LOG_PRIOR_OF_GRID, span_criterion
from saltus.families.terms import TermSet
from tests.engine.designs import make_with
from tests.problems import make_problem
from tests.statistical import exact_posterior

K_MAX, N_GRID = 2, 60
BUMPS, WAVES = Radial("gaussian", width=0.3, metric="euclidean"), Ridge("wave")


def make_tiny_design(name, basis):
    """Make the design of a problem with one input and few rows."""
    problem = make_problem(name, exact_posterior.SEED)
    return make_with(problem.X, problem.Y[:, :1], basis, span_criterion(K_MAX, 3, 0), weight=problem.weight)


def terms_with(design, parameters):
    """Make terms with one parameter each: the place of a bump, or the frequency of a wave in the only input."""
    k = len(parameters)
    choices = np.tile(np.array([[1, 0]]), (k, 1))[:, : design.mixture.n_choices]
    shared = design.mixture.starting_shared
    return TermSet(np.zeros(k, dtype=np.int64), choices, np.reshape(parameters, (-1, 1)), shared)


def values_of_g(design, fixed):
    """List the values that g may have."""
    return np.array([fixed]) if fixed else design.problem.n_total * GRID


def probabilities(design, fixed, temperature=1.0):
    """Find the probability of each k and g, (K_MAX + 1, n), under the posterior to the power of 1 over a temperature.

    That is taken in the measure in which a set of k terms has density k! times that of each of its orders.
    """
    N, m_fixed, Q, y = design.problem.n_total, design.problem.m_fixed, design.linear.Q, design.Y[:, 0]
    rest = y - Q @ (Q.T @ y)
    tss, g = rest @ rest, values_of_g(design, fixed)
    log_prior_of_g = np.zeros(1) if fixed else LOG_PRIOR_OF_GRID
    orders = np.array([1.0, 1.0, 2.0])

    def masses(*parameters):
        k, n_columns, rss = len(parameters), 0, tss
        if parameters:
            new = design.columns(terms_with(design, parameters))
            new = np.linalg.qr(new - Q @ (Q.T @ new))[0]
            n_columns, rss = new.shape[1], tss - ((new.T @ y) ** 2).sum()
        log_fit = -0.5 * n_columns * np.log1p(g) - 0.5 * (N - m_fixed) * np.log((tss + g * rss) / (1 + g))
        # exp(-k/2) for each of the k! orders.
        log_mass = log_fit + log_prior_of_g - 0.5 * k
        return np.exp((log_mass + np.log(orders[k])) / temperature) / orders[k]

    grid = (np.arange(N_GRID) + 0.5) / N_GRID
    pairs = [masses(a, b) for i, a in enumerate(grid) for b in grid[:i]]
    together = [masses(a, a + 1 / (3 * N_GRID)) for a in grid]
    mass = np.array(
        [
            masses(),
            np.mean([masses(a) for a in grid], axis=0),
            (2.0 * np.sum(pairs, axis=0) + np.sum(together, axis=0)) / N_GRID**2,
        ]
    )
    return mass / mass.sum()
