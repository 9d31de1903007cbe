"""From options and rows to a fitted model that knows its columns."""

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from saltus.cli.columns import Data
from saltus.cli.console import note
from saltus.cli.pace import Deadline, draws_of, iterations_within
from saltus.cli.rows import Rows
from saltus.estimators import (
    AnnealedRegressor,
    BayesianRegressor,
    DependentFeaturesWarning,
    EarlyEndWarning,
    Regressor,
)
from saltus.inspection.document import join_names


def fit_model(options: argparse.Namespace, rows: Rows, data: Data) -> tuple[Regressor, str]:
    """Fit the regressor that the options ask for, and let it know the names of its columns.

    Why it ended early, if so, comes second, in words.
    """
    fit = _fit_bayesian if options.bayes else _fit_annealed
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        model = fit(options, rows)
    name_columns(model, data)
    model.set_params(verbose=0)  # of the fit, not of the model
    return model, _pass_on([each.message for each in caught], options, model)


def _fit_annealed(options: argparse.Namespace, rows: Rows) -> Regressor:
    given = _given(options, "basis", "metric", "widths", "criterion", "iterations", "chains")
    return AnnealedRegressor(**given, max_time=options.time, verbose=1).fit(rows.X, rows.y)


def _fit_bayesian(options: argparse.Namespace, rows: Rows) -> Regressor:
    model = BayesianRegressor(**_given(options, "basis", "metric", "widths", "iterations", "chains"), verbose=1)
    if options.time is not None and options.iterations is None:
        model.set_params(n_iter=iterations_within(options.time, model, rows))
    model.set_params(n_draws=draws_of(model))
    if options.time is None:
        return model.fit(rows.X, rows.y)
    return model.fit(rows.X, rows.y, callback=Deadline(options.time, n_warmup=model.n_iter // 2))


def _pass_on(said: list[Warning | str], options: argparse.Namespace, model: Regressor) -> str:
    """Tell what the fit warned of, in terms of the command line; return why it ended early, if so."""
    ending = "".join(str(each) for each in said if isinstance(each, EarlyEndWarning))
    ending = ending.replace("Stopped by the callback", "Stopped by --time")
    if ending:
        note(ending)
    if any(isinstance(each, ConvergenceWarning) for each in said):
        longer = f"--iterations {4 * model.n_iter}" if options.time is None else f"--time {4 * options.time:g}"
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
