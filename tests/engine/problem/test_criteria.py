"""What a criterion charges, against formulas written here: P(n, k) of n parameters and k terms."""

from math import comb

import numpy as np
import pytest

from saltus.engine.kernels.target import UNAFFORDABLE
from saltus.engine.problem.criteria import CRITERIA, Counts, free_criterion, make_criterion

COUNTS = Counts(n_total=60.0, n_outputs=2, n_fixed=4)


def table(criterion, counts=COUNTS, k_max=6, n_own=(1, 3), n_shared=0, full_cost=True):
    return make_criterion(criterion, counts, k_max, n_own=n_own, n_shared=n_shared, n_own_a_term=0 if full_cost else 1)


def aicc(n, n_total, c, m):
    """Hurvich and Tsai's, as c regressions that share n parameters beyond m coefficients and a variance each."""
    p = m + 1 + n / c
    return c * (n_total * p / (n_total - p - 1) - n_total * (m + 1) / (n_total - m - 2))


FORMULAS = {
    "aic": lambda n, n_total, c, m: n,
    "bic": lambda n, n_total, c, m: n / 2 * np.log(n_total),
    "mdl": lambda n, n_total, c, m: n / 2 * np.log(n_total),
    "hqc": lambda n, n_total, c, m: n * np.log(np.log(n_total)),
    "ebic": lambda n, n_total, c, m: n / 2 * np.log(n_total),
    "aicc": aicc,
}


def test_there_is_a_formula_for_every_criterion():
    assert FORMULAS.keys() == CRITERIA.keys()


@pytest.mark.parametrize("counts", [COUNTS, Counts(25.5, 1, 1), Counts(200.0, 3, 6)])
@pytest.mark.parametrize("criterion", FORMULAS)
def test_every_criterion_is_its_formula(criterion, counts):
    found = table(criterion, counts, n_shared=3)
    formula = FORMULAS[criterion]
    for n, value in enumerate(found.by_count):
        expected = formula(n, counts.n_total, counts.n_outputs, counts.n_fixed)
        assert value == pytest.approx(expected, rel=1e-12, abs=1e-12)
    whole = Counts(float(round(counts.n_total)), counts.n_outputs, counts.n_fixed)
    for k, value in enumerate(table(criterion, whole).by_size):
        expected = np.log(comb(int(whole.n_total), k)) if criterion == "ebic" else 0.0
        assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_paper_s_penalties():
    """C = c + 1 for AIC, (c + 1)/2 ln N for MDL: 3 and 7.95 on the robot arm."""
    counts = Counts(n_total=200, n_outputs=2, n_fixed=3)
    terms = 3 * np.arange(4)  # parameters of 0 to 3 terms: two coefficients, and one for all else
    aic, mdl, number = (table(name, counts, 3, full_cost=False) for name in ("aic", "mdl", 2.5))
    np.testing.assert_allclose(aic.by_count[terms], [0, 3, 6, 9])
    np.testing.assert_allclose(mdl.by_count[terms], 1.5 * np.log(200) * np.arange(4))
    np.testing.assert_allclose(number.by_count[terms], [0, 2.5, 5, 7.5])
    assert aic.n_own_a_term
    assert number.n_own_a_term


def test_a_number_counts_as_the_paper_does_whatever_the_cost():
    assert table(2.5, full_cost=True).n_own_a_term
    assert not table("bic", full_cost=True).n_own_a_term
    assert table("bic", full_cost=False).n_own_a_term


def test_aicc_goes_to_aic():
    large = Counts(n_total=1e9, n_outputs=2, n_fixed=3)
    np.testing.assert_allclose(table("aicc", large).by_count, table("aic", large).by_count, rtol=1e-6)


@pytest.mark.parametrize(("n_total", "c", "m"), [(12, 1, 3), (30, 2, 4), (17.5, 3, 2)])
def test_aicc_is_infinite_where_a_regression_has_as_many_parameters_as_rows_less_one(n_total, c, m):
    """N - p - 1 > 0, with p the share of each output: what is beyond is not in the table."""
    found = table("aicc", Counts(n_total, c, m), 20, n_own=(2, 2))
    n_last = max(n for n in range(1000) if n_total - (m + 1 + n / c) - 1 > 0)
    assert len(found.by_count) == n_last + 1
    assert len(found.by_size) == n_last // (c + 2) + 1
    assert (np.diff(found.by_count) > 0).all()


def test_where_the_linear_term_leaves_no_row_to_spare_there_are_no_terms():
    tiny = table("aicc", Counts(n_total=4, n_outputs=1, n_fixed=3), 2)
    np.testing.assert_array_equal(tiny.by_count, [0])
    np.testing.assert_array_equal(tiny.by_size, [0])


@pytest.mark.parametrize("n", [2, 3, 5, 100])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_penalties_never_reward_a_term(criterion, n):
    found = table(criterion, Counts(n, 1, 1), n // 2, full_cost=False)
    sizes = np.arange(len(found.by_size))
    penalty = found.by_count[2 * sizes] + found.by_size
    assert penalty[0] == 0
    assert (np.diff(penalty) >= 0).all()


@pytest.mark.parametrize("criterion", [*CRITERIA, 2.5])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_parameters_are_fewer_than_rows_less_one(criterion, n_outputs):
    found = table(criterion, Counts(20.0, n_outputs, 3), 30, n_own=(1, 1))
    most = len(found.by_count) - 1
    assert 3 + most / n_outputs < 19
    if criterion != "aicc":
        assert 3 + (most + 1) / n_outputs >= 19
    assert len(found.by_size) - 1 == most // (n_outputs + 1)


def test_room_is_made_for_the_fewest_parameters_of_a_term():
    """Where relevances are free, a term may have one input: with one relevance, as many terms as that allows."""
    given = table("aicc", Counts(40, 1, 4), 30, n_own=(3, 3))
    learned = table("aicc", Counts(40, 1, 4), 30, n_own=(1, 3), n_shared=3)
    n_last = len(given.by_count) - 1
    assert len(learned.by_count) == n_last + 1
    assert len(given.by_size) - 1 == n_last // 4
    assert len(learned.by_size) - 1 == (n_last - 1) // 2


def test_a_sampler_is_charged_nothing():
    free = free_criterion(5, 2 + 3, 4)
    assert not free.by_count.any()
    assert len(free.by_count) == 5 * (2 + 3) + 4 + 1
    np.testing.assert_array_equal(free.by_size, np.zeros(6))


def test_what_is_unaffordable_costs_more_than_any_penalty_that_is_not():
    for criterion in CRITERIA:
        assert table(criterion, Counts(1e6, 3, 30), 50, n_own=(12, 12)).by_count.max() < UNAFFORDABLE
