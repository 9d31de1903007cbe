"""Under a ridge terms may coincide: the factor stays orthonormal, and the ridge on it right, through all moves."""

import numpy as np
import pytest

from saltus import BayesianRegressor, Radial
from saltus.engine.search.starts import set_terms
from saltus.families.terms import terms_as_value
from tests.engine.drivers.test_weights import start

WIDE = Radial("gaussian", 4.0, metric="standardized")


def dense_sum(design, terms, delta_squared, *, relative):
    """Find what is left of the squares of y by a QR of the design with its ridge as more rows."""
    columns, Q = design.columns(terms), design.linear.Q
    if relative:
        rest = columns - Q @ (Q.T @ columns)
        rest -= Q @ (Q.T @ rest)
        columns = rest * np.sqrt((columns**2).sum(axis=0) / (rest**2).sum(axis=0))
    D = np.hstack([Q @ design.linear.R, columns])
    with_ridge = np.vstack([D, np.eye(D.shape[1]) / np.sqrt(delta_squared)])
    y = np.vstack([design.Y, np.zeros((D.shape[1], 1))])
    basis = np.linalg.qr(with_ridge)[0]
    for _ in range(2):
        y = y - basis @ (basis.T @ y)
    return (y**2).sum()


def check(stepper, walk, *, relative):
    """Check the factor and the ridge; return how many columns bring nothing new."""
    state, design, ridge = walk.state, stepper.design, stepper.hierarchy.ridge
    factor, m = state.factor, design.problem.m_fixed + int(state.n_columns[0])
    Q = factor.tiles[:, 1 : 1 + m].transpose(0, 2, 1).reshape(-1, m)
    is_new = (Q**2).sum(axis=0) > 0
    np.testing.assert_allclose(Q[:, is_new].T @ Q[:, is_new], np.eye(is_new.sum()), atol=1e-10)
    E = factor.tiles[:, 0].ravel()
    assert np.abs(Q.T @ E).max() < 1e-9 * np.sqrt(len(E))
    expected = dense_sum(design, terms_as_value(state.terms), ridge.delta_squared[0], relative=relative)
    assert ridge.S[0] == pytest.approx(expected, rel=1e-7)
    return int((~is_new).sum())


@pytest.mark.parametrize("basis", [WIDE, "gaussian"])
@pytest.mark.parametrize("ridge", ["relative", "plain"])
def test_columns_that_coincide_are_borne(ridge, basis):
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 1))
    y = np.sin(X) + 0.1 * rng.standard_normal((200, 1))
    options = {"rate_shape": 1000.0, "rate_rate": 10.0}  # a prior of many terms
    stepper, walk = start(BayesianRegressor(basis, prior="ridge", ridge=ridge, **options), X, y, None)
    n_not_new = 0
    for done in range(0, 20_000, 1_000):
        stepper.run(walk, done, done + 1_000, afresh=done == 0)
        n_not_new += check(stepper, walk, relative=ridge == "relative")
    assert n_not_new > 0
    set_terms(stepper.design, walk.state, terms_as_value(walk.state.terms))
    stepper.run(walk, 0, 0, afresh=True)
    check(stepper, walk, relative=ridge == "relative")
