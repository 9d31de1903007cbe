"""Simulation-based calibration: the truth has a uniform rank among draws of the posterior.

Networks, noise and the width of the prior of coefficients are drawn from the prior, and y from these. A chain that
starts at the truth is stationary. A truth with a random number of states before it, and the others after, is any one of
them as far as their law goes, if the chain is reversible: then its rank is uniform however slowly the chain mixes. The
steps between two states are therefore a palindrome of moves, Gibbs steps and moves of shared parameters. The noise and
the coefficients of a state are drawn given its terms, as predictions have them; those of the truth are such draws too.

Where the prior of the linear term or of the noise is flat, the truth has no linear term, and noise of variance 1. As
the prior is invariant, ranks are uniform for any fixed truth.

Run as a script it prints the worst |z|, of a p-value as a normal deviate; a test runs it on copies with planted bugs.
"""

import sys
from unittest.mock import patch

import numpy as np
from scipy.stats import chisquare, norm
from sklearn.base import clone

from saltus import BayesianRegressor, Product, Radial, Ridge
from saltus._blas import single_threaded_blas
from saltus.engine.drivers import steppers
from saltus.engine.drivers.prior import draw_from_prior
from saltus.engine.drivers.sample import make_stepper
from saltus.engine.drivers.steppers import STEPS_BETWEEN_G, STEPS_BETWEEN_GIBBS, Walk
from saltus.engine.kernels.factor import refactor
from saltus.engine.kernels.state import make_workspace, start_record, start_state
from saltus.engine.results.predictive import Features
from saltus.engine.search.starts import set_terms
from saltus.estimators.prior import design_at, resolve_variance
from saltus.estimators.sampling import SAMPLER_STEPS_BETWEEN_SHARED_MOVES

N_ROWS, N_STATES = 35, 8
RIDGE = {"prior": "ridge", "ridge": "plain", "ridge_shape": 4.0, "ridge_scale": 20.0, "rate_shape": 1.5}
NOISE = {"noise_shape": 6.0, "noise_scale": 3.0}

# Models, and their number of outputs.
CASES = {
    "products, g given": (BayesianRegressor(Product(("step", "bump")), linear="none", g=2.0), 1),
    "hinges and waves": (BayesianRegressor(["hinges", "waves"], linear="all"), 1),
    "two outputs": (BayesianRegressor(["steps", Ridge("sigmoid")], **NOISE), 2),
    "a ridge": (
        BayesianRegressor(Radial("gaussian", 0.6, metric="standardized"), k_max=5, rate_rate=1.0, **RIDGE, **NOISE),
        2,
    ),
    "a relative ridge": (BayesianRegressor("gaussian", k_max=4, rate_rate=1.0, **{**RIDGE, "ridge": "relative"}), 1),
    "a learned metric": (BayesianRegressor("gaussian", k_max=4, rate_rate=1.0, **RIDGE), 1),
}


class Calibration:
    """One case: its design, which is filled with one y after the other, and chains on it."""

    def __init__(self, case, seed, n_edits):
        model, c = CASES[case]
        self.n_edits = n_edits  # proposals that are drawn together and scored in one pass
        self.rng = np.random.default_rng([seed, *case.encode()])
        self.X = self.rng.uniform(-2, 2, size=(N_ROWS, 2))
        self.at = np.array([[0.3, -0.4]])
        self.design = design_at(model, self.X, c)
        self.settings = clone(model)._prior_settings(self.design)
        self.variance = resolve_variance(None, self.settings, c)
        self.features = Features.of(self.design)
        self.n_moved = 0  # truths that chains left behind, as otherwise all ranks are drawn at random

    def draw_truth(self):
        """Draw from the prior, and y given that."""
        network, variance, width, rate = draw_from_prior(self.rng, self.design, self.settings, self.variance)
        mean = network.predict(self.X)
        self.design.Y[:N_ROWS] = mean + np.sqrt(variance) * self.rng.standard_normal(mean.shape)
        if self.design.mixture.moves_shared:  # which keeps a factor of the linear term, residuals included
            none = np.empty((len(self.design.Y), 0), order="F")
            refactor(self.design.problem.linear, self.design.linear.Q, self.design.Y, none)
        return network, variance, width, rate

    def states(self, network, width, rate, n):
        """List the statistics of n states that follow the truth."""
        stepper, terms = make_stepper(self.design, self.settings), network.terms
        problem = self.design.problem
        state = start_state(problem, self.design.linear.Q, self.design.Y, terms.shared)
        work, record = make_workspace(problem, state, self.n_edits), start_record(state, 1)
        walk = Walk(self.rng, self.settings.tuning, state, work, record)
        stepper.begin(state)
        stepper.restore(width, np.ones(width.size), np.array([rate]))
        set_terms(stepper.design, state, terms)
        first, last = palindrome(self.settings)
        found = []
        for _ in range(n):
            draw = stepper.draw(walk, stepper.run(walk, first, last, afresh=True))
            found.append(self.statistics_of_draw(draw))
        return found

    def statistics_of_draw(self, draw):
        """Draw coefficients given the terms and the noise of a state, as predictions have them."""
        (features,) = self.features.columns(np.vstack([self.X, self.at]), [draw])
        normal = self.rng.standard_normal(draw.mean.T.shape)
        alpha = draw.mean + np.sqrt(draw.sigma_squared) * np.einsum("cij,cj->ic", draw.K, normal)
        return self.statistics(draw.terms, draw.sigma_squared, draw.prior_width, features @ alpha)

    def statistics(self, terms, variance, width, function):
        """Evaluate functions of a state, given its function (N + 1, c) at the rows and at a point.

        They are the size, what terms share, the noise, the width of the prior, and of the function its value at the
        point and how large it is over the rows beside the linear term.
        """
        on, Q = terms.shared > 0, self.design.linear.Q[:N_ROWS]
        rest = function[:-1] - Q @ (Q.T @ function[:-1])
        size = np.round((rest**2).sum(axis=0), 9)  # 0 where there are no terms
        logs = np.log(terms.shared[on]).sum()
        return np.array([len(terms), terms.parameters.sum(), on.sum(), logs, *variance, *width, *function[-1], *size])

    def ranks(self):
        """Find the rank of each statistic of a truth among all states, ties broken at random."""
        network, variance, width, rate = self.draw_truth()
        before = int(self.rng.integers(N_STATES))
        others = [each for n in (before, N_STATES - 1 - before) for each in self.states(network, width, rate, n)]
        function = network.predict(np.vstack([self.X, self.at]))
        truth = self.statistics(network.terms, variance, width, function)
        others = np.array(others)
        self.n_moved += bool((others[:, :2] != truth[:2]).any())
        tied = self.rng.random(others.shape) < self.rng.random(truth.shape)
        return (others < truth).sum(axis=0) + ((others == truth) & tied).sum(axis=0)


def palindrome(settings):
    """Find between which iterations moves, Gibbs steps and moves of shared parameters are the same both ways."""
    if settings.has_g_prior:
        return STEPS_BETWEEN_G // 2, 3 * STEPS_BETWEEN_G // 2
    # Not the ends, where a move of shared parameters is followed by a Gibbs step.
    return 1, int(np.lcm(STEPS_BETWEEN_GIBBS, SAMPLER_STEPS_BETWEEN_SHARED_MOVES)) - 1


def z_values(case, *, n_truths, n_edits=1, seed=0):
    """Test that ranks are uniform, by chi-square and by their mean: normal deviates."""
    calibration = Calibration(case, seed, n_edits)
    # The prior that holds huge coefficients back is one of predictions, and not of networks.
    with single_threaded_blas(), patch.object(steppers, "is_spread", lambda *_: False):
        ranks = np.array([calibration.ranks() for _ in range(n_truths)])
    assert calibration.n_moved > 0.5 * n_truths
    shares = np.array([np.bincount(each, minlength=N_STATES) for each in ranks.T])
    by_shares = norm.isf(chisquare(shares, axis=1).pvalue)
    spread = np.sqrt((N_STATES**2 - 1) / 12 / n_truths)
    return np.concatenate([by_shares, (ranks.mean(axis=0) - (N_STATES - 1) / 2) / spread])


if __name__ == "__main__":
    name, n_truths, n_edits = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    print(np.abs(z_values(name, n_truths=n_truths, n_edits=n_edits)).max())
