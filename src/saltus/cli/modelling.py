"""From options and rows to a fitted model that knows its columns."""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from saltus._typing import Floats
from saltus.cli.console import note
from saltus.estimators import (
    AnnealedRegressor,
    BayesianRegressor,
    DependentFeaturesWarning,
    EarlyEndWarning,
    NetworkRegressor,
)
from saltus.estimators.sampled import lacks_draws
from saltus.estimators.sampling import USUAL_ITERATIONS
from saltus.families import make_family
from saltus.families.options import DEFAULT_RADIAL_NAME, OPTIONS
from saltus.inspection.document import join_names
from saltus.reading import ColumnTable

# A longer chain keeps more draws, up to so many: prediction takes its time.
MOST_DRAWS = 500
# For each coefficient of the linear term.
ROWS_TO_COMPILE_WITH = 50


def fit_model(
    options: argparse.Namespace, X: Any, y: Any, *, targets: Sequence[str], categories: Sequence[str]
) -> tuple[NetworkRegressor, str]:
    """Fit the regressor that the options ask for, and let it know the names of its outputs.

    Why it ended early, if so, comes second, in words.
    """
    model = _make_bayesian(options) if options.bayes else _make_annealed(options)
    if categories:
        model.set_params(categorical_features=list(categories))
    if options.bayes and options.time is not None:
        _compile(model, X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model.set_params(verbose=1).fit(X, y)
    name_outputs(model, targets)
    model.set_params(verbose=0)  # of the fit, not of the model
    return model, _pass_on([each.message for each in caught], model)


def _make_annealed(options: argparse.Namespace) -> NetworkRegressor:
    given = _given(options, "criterion", "iterations", "chains", "time")
    return AnnealedRegressor(**given)


def _make_bayesian(options: argparse.Namespace) -> NetworkRegressor:
    model = BayesianRegressor(**_given(options, "iterations", "chains", "time"))
    return model if isinstance(model.n_iter, str) else model.set_params(n_draws=_count_draws(model.n_iter))


def _count_draws(n_iter: int) -> int:
    """Say how many draws to keep of each chain: those of a longer one are as far apart as the library has them."""
    usual = BayesianRegressor().n_draws
    return int(np.clip(n_iter * usual // USUAL_ITERATIONS, usual, MOST_DRAWS))


def _compile(model: NetworkRegressor, X: ColumnTable, y: Floats) -> None:
    """Fit a few rows, so that the time that was given is not spent on compiling."""
    trial = clone(model).set_params(n_iter=1, n_draws=1, n_chains=1, n_jobs=1, max_time=None, verbose=0)
    n_rows = ROWS_TO_COMPILE_WITH * (X.shape[1] + 1)
    some = np.arange(min(n_rows, len(X)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trial.fit(X.take(some), y[some])


def _pass_on(said: list[Warning | str], model: NetworkRegressor) -> str:
    """Tell what the fit warned of, in terms of the command line; return why it ended early, if so."""
    ending = "".join(str(each) for each in said if isinstance(each, EarlyEndWarning))
    if ending:
        note(ending)
    if any(isinstance(each, ConvergenceWarning) for each in said):
        out_of_time = model.max_time is not None and lacks_draws(model)
        longer = f"--time {4 * model.max_time:g}" if out_of_time else f"--iterations {4 * model.n_iter_}"
        note(f"Warning: The chains have not converged, see Convergence below. A longer fit may help: {longer}.")
    for each in said:
        if isinstance(each, DependentFeaturesWarning):
            names = [model.data_notes_.input_names[j] for j in each.features]
            note(f"Warning: Not in the linear term, as they depend on other inputs: {join_names(names)}.")
        elif not isinstance(each, EarlyEndWarning | ConvergenceWarning):
            note(f"Warning: {each}")
    return ending


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect the parameters that options were given for; others have the defaults of the regressor."""
    parameters = {"iterations": "n_iter", "chains": "n_chains", "time": "max_time"}
    given = {parameters.get(name, name): getattr(options, name) for name in names if getattr(options, name) is not None}
    return {**given, **_family(options), "random_state": options.seed, "n_jobs": options.jobs}


def _family(options: argparse.Namespace) -> dict[str, Any]:
    """Make the family of terms that options ask for, if any does."""
    chosen = {option.name: getattr(options, option.name) for option in OPTIONS if getattr(options, option.name)}
    if not chosen:
        return {} if options.basis is None else {"basis": options.basis}
    return {"basis": make_family(options.basis or DEFAULT_RADIAL_NAME, **chosen)}


def name_outputs(model: NetworkRegressor, targets: Sequence[str]) -> None:
    """Note the names of outputs, as a fit to data frames would."""
    notes = model.data_notes_
    model.data_notes_ = replace(notes, outputs=replace(notes.outputs, names=tuple(targets)))
