"""scikit-learn's own checks, all of them, with no list of exceptions."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from saltus import AnnealedRegressor, BayesianRegressor, Radial


@pytest.mark.filterwarnings("ignore:Features left out", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        AnnealedRegressor(),
        AnnealedRegressor("gaussian", n_iter=2000),
        BayesianRegressor(n_iter=20_000, n_draws=50),
        BayesianRegressor("gaussian", n_iter=1000, n_draws=50),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Features left out", "ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        AnnealedRegressor(Radial("gaussian", metric="mahalanobis"), n_iter=500, n_jobs=2),
        AnnealedRegressor(["gaussian", "steps"], n_iter=200, n_chains=2),
    ]
)
def test_scikit_learn_checks_of_other_options(estimator, check):
    check(estimator)
