"""A part of the rows stands for all."""

from dataclasses import replace

import numpy as np
import pytest

from saltus.engine.search.landscape import STRICTER, Landscape
from tests.engine.designs import make
from tests.many import N_ROWS


def test_few_rows_stand_for_all(many_rows, rng):
    """On half of the rows, log pi of one network is about as much above that of another as on all."""
    design = make(*many_rows, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 2), Landscape.of(design)
    parameters, shared = rng.random((6, 2)), np.array([1.0, 0.5])
    by_some = some.value(parameters, shared) - some.value(parameters[:2], shared)
    by_every = every.value(parameters, shared) - every.value(parameters[:2], shared)
    assert by_every > 100
    assert by_some == pytest.approx(by_every, rel=0.2)


def test_a_part_of_the_rows_is_refused_in_proportion(many_rows, rng):
    design = make(*many_rows)
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.problem.rss_floor == pytest.approx(every.problem.rss_floor / 10)
    assert some.problem.smallest_squared_norm == pytest.approx(every.problem.smallest_squared_norm / 10)


def test_a_weight_of_two_is_a_row_twice_in_a_part_too(many_rows, rng):
    X, y = many_rows
    weighted = make(X, y, sample_weight=np.full(N_ROWS, 2.0), widths="shared")
    twice = make(np.vstack([X, X]), np.concatenate([y, y]), widths="shared")
    parameters, shared = rng.random((4, 2)), np.array([1.0, 0.5])
    some, every = Landscape.of(weighted, rng, N_ROWS // 2), Landscape.of(twice)
    assert Landscape.of(weighted).value(parameters, shared) == pytest.approx(every.value(parameters, shared))
    gain = [land.value(parameters, shared) - land.value(parameters[:1], shared) for land in (some, every)]
    assert gain[0] == pytest.approx(gain[1], rel=0.2)


def test_few_rows_are_stricter_about_dependent_columns(many_rows, rng):
    design = make(*many_rows, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.problem.smallest_new_share == pytest.approx(every.problem.smallest_new_share * 10**STRICTER)
    centers = np.array([[0.5, 0.5], [0.5, 0.6]])
    assert np.isfinite(every.value(centers, np.ones(2)))
    stricter = replace(every, problem=every.problem._replace(smallest_new_share=0.5))
    assert stricter.value(centers, np.ones(2)) == -np.inf
