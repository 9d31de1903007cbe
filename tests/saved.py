"""Models to be saved."""

import numpy as np
import pandas as pd
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Geometric, Radial

NAMES = ["width", "depth (m)", "größe"]


def make_data():
    rng = np.random.default_rng(7)
    X = rng.uniform(-2, 3, size=(60, 3))
    X[:, 2] = 1.5  # constant: fewer inputs vary than there are
    Y = np.stack([np.sin(2 * X[:, 0]) + X[:, 1], np.abs(X[:, 0] - X[:, 1])], axis=1)
    return X, Y + 0.1 * rng.standard_normal(Y.shape)


def with_names(X, Y):
    return pd.DataFrame(X, columns=NAMES), pd.DataFrame(Y, columns=["up", "down"])


def fit_models():
    """Both regressors, with one output and two, with every kind of parameter."""
    X, Y = make_data()
    given = AnnealedRegressor(
        Radial("multiquadric", width=2, metric=[[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]),
        criterion=np.float64(3.5),
        schedule=Geometric(start=2, end=0.1),
        init=np.asfortranarray(X[:4], dtype=np.float32),
        random_state=np.random.RandomState(3),
        n_iter=np.int64(40),
        n_chains=1,
        combine="best",
    )
    with pytest.warns(saltus.estimators.DependentFeaturesWarning):
        return {
            "annealed": AnnealedRegressor("gaussian", n_iter=400, n_chains=2, random_state=0).fit(*with_names(X, Y)),
            "annealed, given": given.fit(X, Y[:, 0]),
            "bayesian": BayesianRegressor(
                Radial("gaussian", metric="learned"), n_iter=300, n_draws=10, n_chains=2, random_state=1
            ).fit(*with_names(X, Y)),
            "bayesian, one output": BayesianRegressor("gaussian", n_iter=300, n_draws=10, n_chains=2).fit(X, Y[:, 0]),
        }
