"""How searches spend their effort."""

from dataclasses import replace

import pytest

from saltus.engine.search.policy import SearchPolicy
from tests.many import N_ROWS

USUAL = SearchPolicy()
A_ROUND = USUAL.iterations_a_round


def test_rounds_are_shorter_in_proportion_to_many_rows():
    assert USUAL.iterations_of_first_round(N_ROWS) == A_ROUND
    for most, expected in [(N_ROWS // 10, A_ROUND // 10), (1, USUAL.fewest_iterations_a_round)]:
        policy = replace(USUAL, most_rows_of_long_rounds=most)
        assert policy.iterations_of_first_round(N_ROWS) == expected


def test_values_differ_by_less_where_rows_are_many():
    assert USUAL.resolution(500) == 1
    assert USUAL.resolution(1e6) == pytest.approx(100)
