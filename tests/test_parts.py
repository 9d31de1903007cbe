"""Criteria, schedules, metrics, data sets: the small parts by themselves."""

import numpy as np
import pytest

from saltus import Constant, Geometric, Linear, Logarithmic
from saltus.datasets import make_robot_arm, robot_arm_position
from saltus.engine.problem.criteria import UNAFFORDABLE, Counts, learned_metric_table, penalty_table
from saltus.engine.problem.design import Box, FixedPart, count_distinct_rows
from saltus.families.distances import metric_factor
from tests.kernels import gaussian_column


def test_the_paper_s_penalties():
    """C = c + 1 for AIC, (c + 1)/2 ln N for MDL: 3 and 7.95 on the robot arm."""
    counts = Counts(n_total=200, n_outputs=2, n_fixed=3, center_parameters=1)
    np.testing.assert_allclose(penalty_table("aic", counts, 3), [0, 3, 6, 9])
    np.testing.assert_allclose(penalty_table("mdl", counts, 2), 1.5 * np.log(200) * np.arange(3))
    np.testing.assert_allclose(penalty_table(2.5, counts, 2), [0, 2.5, 5])


def test_aicc_goes_to_aic_and_forbids_what_it_cannot_correct():
    large = Counts(n_total=1e9, n_outputs=2, n_fixed=3, center_parameters=1)
    np.testing.assert_allclose(penalty_table("aicc", large, 4), penalty_table("aic", large, 4), rtol=1e-6)
    small = Counts(n_total=12, n_outputs=1, n_fixed=3, center_parameters=1)
    table = penalty_table("aicc", small, 6)
    assert len(table) == 4
    assert (np.diff(table) > 2).all()
    tiny = Counts(n_total=4, n_outputs=1, n_fixed=3, center_parameters=1)
    np.testing.assert_array_equal(penalty_table("aicc", tiny, 2), [0])


@pytest.mark.parametrize("n", [2, 3, 5, 100])
@pytest.mark.parametrize("criterion", ["aic", "bic", "mdl", "aicc", "hqc", "ebic"])
def test_penalties_never_reward_a_basis_function(criterion, n):
    table = penalty_table(criterion, Counts(n, 1, 1, 1), n // 2)
    assert table[0] == 0
    assert (np.diff(table) >= 0).all()


def test_ebic_has_no_more_centres_than_candidates():
    assert len(penalty_table("ebic", Counts(4.0, 1, 1, 1), 9)) == 5


@pytest.mark.parametrize(
    ("schedule", "first", "last"),
    [
        (Linear(), 1.0, 0.1),
        (Geometric(3.0, 0.03), 3.0, 0.03),
        (Logarithmic(2.0), 2.0, 2.0 * np.log(2) / np.log(1001)),
        (Constant(0.7), 0.7, 0.7),
    ],
)
def test_schedules(schedule, first, last):
    temperature = schedule.temperature(np.arange(1000), 1000)
    assert temperature[0] == pytest.approx(first)
    assert temperature[-1] == pytest.approx(last)
    assert (np.diff(temperature) <= 0).all()
    assert np.isfinite(schedule.temperature(np.arange(1), 1)).all()


def test_schedules_fall_as_they_say():
    i = np.arange(101)
    assert np.ptp(np.diff(Linear().temperature(i, 101))) == pytest.approx(0, abs=1e-15)
    assert np.ptp(np.diff(np.log(Geometric().temperature(i, 101)))) == pytest.approx(0, abs=1e-14)


def test_what_cannot_be_afforded_costs_more_with_each_basis_function_and_each_input():
    """So that a descent which starts there has a way down."""
    table = learned_metric_table("aicc", Counts(n_total=40, n_outputs=1, n_fixed=11, center_parameters=10), 20)
    beyond = table >= UNAFFORDABLE
    assert beyond.any()
    assert (np.diff(table, axis=0)[beyond[1:]] > 0).all()
    assert (np.diff(table, axis=1)[beyond[:, 1:]] > 0).all()


def test_the_vector_exponential_is_the_library_s_to_the_last_bit_but_one():
    s = np.concatenate([[0.0], np.geomspace(1e-300, 3000, 4096 * 4 - 1)])
    column = np.empty_like(s)
    gaussian_column(np.sqrt(s)[None], np.array([0.0, 1.0]), column)
    expected = np.exp(-0.5 * np.sqrt(s) ** 2)
    normal = expected > 1e-300
    np.testing.assert_allclose(column[normal], expected[normal], rtol=5e-16)
    np.testing.assert_allclose(column, expected, atol=1e-300)
    assert column[0] == 1


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


def test_the_fixed_part_is_the_weighted_linear_term(rng):
    U, weight = rng.random((30, 4)), rng.uniform(0.5, 2, 30)
    U[:, 2] = U[:, 0] - 2 * U[:, 1]
    fixed = FixedPart.of(U, weight)
    assert fixed.kept.tolist() == [0, 1, 3]
    standardised = (U - fixed.means) / fixed.spreads
    np.testing.assert_allclose(np.average(standardised, axis=0, weights=weight), 0, atol=1e-14)
    np.testing.assert_allclose(np.average(standardised**2, axis=0, weights=weight), 1)
    D = np.hstack([np.ones((30, 1)), standardised[:, fixed.kept]]) * np.sqrt(weight)[:, None]
    np.testing.assert_allclose((fixed.Q @ fixed.R)[:30], D, atol=1e-13)
    assert not fixed.Q[30:].any()
    np.testing.assert_allclose(fixed.Q.T @ fixed.Q, np.eye(4), atol=1e-14)


def test_mahalanobis_of_singular_inputs_is_the_pseudo_inverse(rng):
    U = rng.random((50, 2)) @ rng.random((2, 3))
    factor = metric_factor("mahalanobis", U, np.ones(50), np.ones(3))
    assert factor.shape == (2, 3)
    np.testing.assert_allclose(factor.T @ factor, np.linalg.pinv(np.cov(U.T, ddof=0), rcond=1e-10), rtol=1e-6)


def test_distinct_rows(rng):
    X, Y = rng.random((40, 3)), rng.random((40, 2))
    assert count_distinct_rows(X, Y) == 40
    assert count_distinct_rows(np.vstack([X, X[::-1]]), np.vstack([Y, Y[::-1]])) == 40
    assert count_distinct_rows(np.vstack([X, X]), np.vstack([Y, Y + 1])) == 80


def test_robot_arm():
    X, Y = make_robot_arm(5000, random_state=0)
    assert X.shape == Y.shape == (5000, 2)
    assert 0.453 <= np.abs(X[:, 0]).min() < 0.46
    assert 1.92 < np.abs(X[:, 0]).max() <= 1.932
    assert 0.48 < (X[:, 0] > 0).mean() < 0.52
    assert 0.534 <= X[:, 1].min() < 0.55
    assert 3.13 < X[:, 1].max() <= 3.142
    noise = Y - robot_arm_position(X)
    np.testing.assert_allclose(noise.std(axis=0), 0.05, rtol=0.05)
    np.testing.assert_allclose(robot_arm_position(np.array([[0.0, np.pi / 2]])), [[2.0, 1.3]], atol=1e-15)
    np.testing.assert_array_equal(make_robot_arm(10, random_state=1)[0], make_robot_arm(10, random_state=1)[0])
    np.testing.assert_array_equal(make_robot_arm(5, noise=0, random_state=1)[1],
                                  robot_arm_position(make_robot_arm(5, noise=0, random_state=1)[0]))  # fmt: skip
