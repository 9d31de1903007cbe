"""How data are scaled inside."""

import numpy as np
import pytest

from saltus.engine.problem.scaling import FARTHEST, Box, LinearTerm, OutputScale


def test_the_box_is_the_range_widened_and_constants_have_no_place_in_it(rng):
    X = np.hstack([rng.uniform(-3, 5, (20, 2)), np.full((20, 1), 7.0)])
    box = Box.around(X, 0.1)
    span = np.ptp(X[:, :2], axis=0)
    np.testing.assert_allclose(box.lower[:2], X[:, :2].min(axis=0) - 0.1 * span)
    np.testing.assert_allclose(box.width[:2], 1.2 * span)
    assert box.varies.tolist() == [True, True, False]
    U = box.to_unit(X)
    np.testing.assert_allclose([U.min(), U.max()], [0.1 / 1.2, 1.1 / 1.2])
    np.testing.assert_allclose(box.from_unit(U), X, rtol=1e-14)


def test_the_linear_term_is_weighted_and_independent(rng):
    U, weight = rng.random((30, 4)), rng.uniform(0.5, 2, 30)
    U[:, 2] = U[:, 0] - 2 * U[:, 1]
    linear = LinearTerm.of(U, weight)
    assert linear.kept.tolist() == [0, 1, 3]
    standardised = (U - linear.means) / linear.spreads
    np.testing.assert_allclose(np.average(standardised, axis=0, weights=weight), 0, atol=1e-14)
    np.testing.assert_allclose(np.average(standardised**2, axis=0, weights=weight), 1)
    D = np.hstack([np.ones((30, 1)), standardised[:, linear.kept]]) * np.sqrt(weight)[:, None]
    np.testing.assert_allclose((linear.Q @ linear.R)[:30], D, atol=1e-13)
    assert not linear.Q[30:].any()
    np.testing.assert_allclose(linear.Q.T @ linear.Q, np.eye(4), atol=1e-14)


def test_rows_out_of_reach_are_refused_with_a_remedy(rng):
    box = Box.around(rng.random((20, 2)), 0.1)
    assert np.isfinite(box.to_unit_in_reach(np.full((1, 2), FARTHEST / 10))).all()
    with pytest.raises(ValueError, match=r"widths of the training data .* Check the units of X"):
        box.to_unit_in_reach(np.full((1, 2), FARTHEST * 10))


def test_outputs_have_mean_0_and_spread_1_inside(rng):
    weight = rng.uniform(0.5, 2, 30)
    Y = np.column_stack([5 + 3 * rng.standard_normal(30), 1e-200 * rng.standard_normal(30), np.full(30, 2.0)])
    outputs = OutputScale.of(Y, weight)
    scaled = (Y - outputs.mean) / outputs.scale
    np.testing.assert_allclose(np.average(scaled, axis=0, weights=weight), 0, atol=1e-13)
    np.testing.assert_allclose(np.average(scaled[:, :2] ** 2, axis=0, weights=weight), 1)
    assert outputs.scale[2] == 1.0, "a constant output is left as it is"
