"""From options and rows to a fitted model that knows its columns."""

import argparse
import warnings
from dataclasses import replace
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from saltus._typing import Floats
from saltus.cli.columns import Data
from saltus.cli.console import note
from saltus.document import join_names
from saltus.findings import single_network
from saltus.regressors import AnnealedRegressor, BayesianRegressor, DependentFeaturesWarning, Regressor

# Of a Bayesian fit: iterations of a chain by default, at least, and in a trial that tells how long they take.
ITERATIONS, LEAST_ITERATIONS, TRIAL_ITERATIONS = 100_000, 1000, 2000
# Chains slow down as they find more to model, so that a trial promises too much.
CAUTION = 0.7


def make_model(options: argparse.Namespace, X: Floats, y: Floats) -> Regressor:
    """Make the regressor that the options ask for, to be fitted to these rows."""
    wanted = {"basis": options.basis, "n_iter": options.iterations, "n_chains": options.chains}
    given = {name: value for name, value in wanted.items() if value is not None}
    given |= {"metric": options.metric, "random_state": options.seed, "n_jobs": options.jobs}
    if options.bayes:
        if options.time is not None and options.iterations is None:
            given["n_iter"] = iterations_within(options.time, BayesianRegressor(**given), X, y)
        return BayesianRegressor(**given, verbose=1)
    if options.criterion is not None:
        given["criterion"] = options.criterion
    return AnnealedRegressor(**given, max_time=options.time, verbose=1)


def iterations_within(seconds: float, model: BayesianRegressor, X: Floats, y: Floats) -> int:
    """Find by trial how many iterations take about so long, the trial included, and no more than by default."""
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.set_params(n_iter=1, n_draws=1).fit(X, y)  # compiles
        began = perf_counter()
        model.set_params(n_iter=TRIAL_ITERATIONS, n_draws=1).fit(X, y)
    now = perf_counter()
    rate = CAUTION * TRIAL_ITERATIONS / (now - began)
    n_iter = int(np.clip(rate * (seconds - (now - start)), LEAST_ITERATIONS, ITERATIONS))
    note(f"After a trial: {n_iter} iterations of each chain, which take about {n_iter / rate:.2g} s.")
    return n_iter


def fit_named(model: Regressor, X: Floats, y: Floats, data: Data) -> None:
    """Fit, and let the model know the names of its columns."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore", DependentFeaturesWarning)  # it knows numbers only
        model.fit(X, y)
    name_columns(model, data)
    model.set_params(verbose=0)  # of the fit, not of the model
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=2)
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        note(f"Here, --iterations is n_iter, now {model.n_iter}; n_warmup is half of it.")
    unused = ~np.any(single_network(model).linear_coef, axis=0)
    if unused.any():
        names = [name for name, off in zip(data.inputs, unused, strict=True) if off]
        note(f"Warning: Not in the linear term, as they depend on other inputs: {join_names(names)}.")


def name_columns(model: Regressor, data: Data) -> None:
    """Note the names of inputs and outputs, as a fit to data frames would."""
    notes = model.data_notes_
    model.feature_names_in_ = np.array(data.inputs, dtype=object)
    model.data_notes_ = replace(
        notes,
        inputs=replace(notes.inputs, names=tuple(data.inputs)),
        outputs=replace(notes.outputs, names=tuple(data.targets)),
    )
