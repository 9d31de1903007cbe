"""From options and rows to a fitted model that knows its columns."""

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from saltus.cli.columns import Data
from saltus.cli.console import note
from saltus.cli.pace import Deadline, iterations_within
from saltus.cli.rows import Rows
from saltus.document import join_names
from saltus.findings import single_network
from saltus.regressors import AnnealedRegressor, BayesianRegressor, DependentFeaturesWarning, Regressor
from saltus.regressors.base import EarlyEndWarning


def fit_model(options: argparse.Namespace, rows: Rows, data: Data) -> tuple[Regressor, str]:
    """Fit the regressor that the options ask for, and let it know the names of its columns.

    Why it ended early, if so, comes second, in words.
    """
    fit = _fit_bayesian if options.bayes else _fit_annealed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        warnings.simplefilter("ignore", DependentFeaturesWarning)  # it knows numbers only
        model = fit(options, rows)
    name_columns(model, data)
    model.set_params(verbose=0)  # of the fit, not of the model
    endings = [str(each.message) for each in caught if issubclass(each.category, EarlyEndWarning)]
    ending = "".join(endings).replace("Stopped by the callback", "Stopped by --time")
    if ending:
        note(ending)
    for warning in caught:
        if not issubclass(warning.category, EarlyEndWarning):
            warnings.warn(warning.message, warning.category, stacklevel=2)
    if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
        note(f"Here, --iterations is n_iter, now {model.n_iter}; n_warmup is half of it.")
    _warn_of_dependent_inputs(model)
    return model, ending


def _fit_annealed(options: argparse.Namespace, rows: Rows) -> Regressor:
    given = _given(options, "basis", "metric", "criterion", "iterations", "chains")
    return AnnealedRegressor(**given, max_time=options.time, verbose=1).fit(rows.X, rows.y)


def _fit_bayesian(options: argparse.Namespace, rows: Rows) -> Regressor:
    model = BayesianRegressor(**_given(options, "basis", "metric", "iterations", "chains"), verbose=1)
    if options.time is None:
        return model.fit(rows.X, rows.y)
    if options.iterations is None:
        model.set_params(n_iter=iterations_within(options.time, model, rows))
    return model.fit(rows.X, rows.y, callback=Deadline(options.time, n_warmup=model.n_iter // 2))


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Collect the parameters that options were given for; others have the defaults of the regressor."""
    parameters = {"iterations": "n_iter", "chains": "n_chains"}
    given = {parameters.get(name, name): getattr(options, name) for name in names if getattr(options, name) is not None}
    return {**given, "random_state": options.seed, "n_jobs": options.jobs}


def name_columns(model: Regressor, data: Data) -> None:
    """Note the names of inputs and outputs, as a fit to data frames would."""
    notes = model.data_notes_
    model.feature_names_in_ = np.array(data.inputs, dtype=object)
    model.data_notes_ = replace(
        notes,
        inputs=replace(notes.inputs, names=tuple(data.inputs)),
        outputs=replace(notes.outputs, names=tuple(data.targets)),
    )


def _warn_of_dependent_inputs(model: Regressor) -> None:
    unused = ~np.any(single_network(model).linear_coef, axis=0)
    names = [name for name, off in zip(model.data_notes_.input_names, unused, strict=True) if off]
    if names:
        note(f"Warning: Not in the linear term, as they depend on other inputs: {join_names(names)}.")
