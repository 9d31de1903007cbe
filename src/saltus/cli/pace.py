"""How long Bayesian fits sample: they have a number of iterations, and no time limit."""

import warnings
from time import monotonic

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import clone

from saltus.cli.console import note
from saltus.cli.rows import Rows
from saltus.engine.drivers.events import Progress
from saltus.estimators import BayesianRegressor

# Of a chain. Few chains that disagree after so many would agree after more.
LEAST_ITERATIONS, MOST_ITERATIONS = 1000, 2_000_000
# A longer chain keeps more draws, as far apart as the library has them, up to so many: prediction takes its time.
MOST_DRAWS = 500
# A trial of how long they take is long enough if it tells of so much of the time. Chains slow down as they find more to
# model, so that it promises too much.
TRIAL, CAUTION = 0.1, 0.7


class Deadline:
    """A callback that ends a fit after so many seconds, once there is a draw."""

    def __init__(self, seconds: float, n_warmup: int) -> None:
        self._end = monotonic() + seconds
        self._n_warmup = n_warmup
        self._has_draws = False

    def __call__(self, progress: Progress) -> bool:
        """Say whether to stop."""
        self._has_draws |= progress.iteration > self._n_warmup
        return self._has_draws and monotonic() >= self._end


def draws_of(model: BayesianRegressor) -> int:
    """Say how many draws to keep of each chain."""
    usual = BayesianRegressor()
    return int(np.clip(model.n_iter * usual.n_draws // usual.n_iter, usual.n_draws, MOST_DRAWS))


def iterations_within(seconds: float, model: BayesianRegressor, rows: Rows) -> int:
    """Find by longer and longer trials of a chain how many iterations take about so long."""
    n_turns = -(-model.n_chains // effective_n_jobs(model.n_jobs))  # chains that one processor runs in turn
    _time_chain(model, rows, 1)  # compiles
    began, n_tried = monotonic(), LEAST_ITERATIONS
    while (taken := n_turns * _time_chain(model, rows, n_tried)) < TRIAL * seconds and n_tried < MOST_ITERATIONS:
        n_tried *= 2
    rate = CAUTION * n_tried / taken
    n_iter = int(np.clip(rate * (seconds - (monotonic() - began)), LEAST_ITERATIONS, MOST_ITERATIONS))
    note(f"After a trial: {n_iter} iterations of each chain, which take about {n_iter / rate:.2g} s.")
    return n_iter


def _time_chain(model: BayesianRegressor, rows: Rows, n_iter: int) -> float:
    trial = clone(model).set_params(n_iter=n_iter, n_draws=1, n_chains=1, n_jobs=1, verbose=0)
    began = monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(rows.X, rows.y)
    return monotonic() - began
