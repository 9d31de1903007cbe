"""Data that is unlike what one hopes for, under a learned metric: finite predictions."""

import warnings

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor

NASTY = {
    "constant y": lambda rng: (rng.random((30, 2)), np.full(30, 3.0)),
    "a constant input": lambda rng: (np.column_stack([rng.random(30), np.ones(30)]), rng.random(30)),
    "an input twice": lambda rng: (np.repeat(rng.random((40, 1)), 2, axis=1), rng.random(40)),
    "five rows": lambda rng: (rng.random((5, 2)), rng.random(5)),
    "more inputs than rows": lambda rng: (rng.random((10, 20)), rng.random(10)),
    "two values": lambda rng: (rng.integers(0, 2, (50, 3)).astype(float), rng.random(50)),
    "an exact function": lambda rng: ((x := rng.random((60, 2))), np.exp(-((x - 0.5) ** 2).sum(axis=1) * 3)),
    "a wild row": lambda rng: (np.vstack([rng.random((50, 2)), [[1e6, 0.0]]]), rng.random(51)),
    "heavy tails": lambda rng: (rng.standard_cauchy((100, 2)), rng.standard_cauchy(100)),
}


@pytest.mark.parametrize("basis", ["gaussian", "cubic", "thin_plate"])
@pytest.mark.parametrize("name", NASTY)
@pytest.mark.filterwarnings("ignore::saltus.estimators.DependentFeaturesWarning", "error::RuntimeWarning")
def test_nasty_data(name, basis):
    X, y = NASTY[name](np.random.default_rng(0))
    model = AnnealedRegressor(basis, n_iter=2000, n_chains=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.log_posterior_)
    if name == "an exact function":
        assert model.score(X, y) > 0.99


@pytest.mark.parametrize("estimator", [AnnealedRegressor, BayesianRegressor])
def test_inputs_that_do_not_vary_leave_the_mean(estimator):
    y = np.random.default_rng(0).standard_normal(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = estimator(random_state=0).fit(np.ones((40, 3)), y)
    assert model.predict(np.ones((2, 3))) == pytest.approx(y.mean())
