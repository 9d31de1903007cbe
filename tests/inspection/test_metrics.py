"""Rows that a model is compared with."""

import numpy as np
import pytest

from saltus import AnnealedRegressor, MissingTargetWarning
from saltus.inspection.metrics import check_rows


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    return AnnealedRegressor("gaussian", n_iter=100, n_chains=1, random_state=0).fit(X, y), X, y


def test_rows_without_a_y_are_left_out(fitted):
    model, X, y = fitted
    hidden = np.arange(30) < 3
    for targets in (np.where(hidden, np.nan, y), np.ma.array(np.where(hidden, 1e9, y), mask=hidden)):
        with pytest.warns(MissingTargetWarning, match="missing in 3 of 30 rows"):
            inputs, observed = check_rows(model, X, targets)
        np.testing.assert_array_equal(inputs, X[3:])
        np.testing.assert_array_equal(observed[:, 0], y[3:])


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_is_no_y_is_a_sentence(fitted):
    model, X, y = fitted
    with pytest.raises(ValueError, match=r"y holds text, such as 'a'"):
        check_rows(model, X, ["a"] * 30)
    with pytest.raises(ValueError, match="contains infinity"):
        check_rows(model, X, np.r_[y[:-2], np.inf, -np.inf])
    with pytest.raises(ValueError, match=r"y must have 1 column, as in fit. Got 2"):
        check_rows(model, X, np.column_stack([y, y]))
