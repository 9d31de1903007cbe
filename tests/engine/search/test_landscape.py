"""A part of the rows stands for all."""

from dataclasses import replace

import numpy as np
import pytest

from saltus.engine.search.landscape import STRICTER, Landscape
from tests.engine.designs import make, terms_at
from tests.many import N_ROWS


def test_few_rows_stand_for_all(many_rows, rng):
    """On half of the rows, log pi of one network is about as much above that of another as on all."""
    design = make(*many_rows, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 2), Landscape.of(design)
    terms = terms_at(design, rng.random((6, 2)), np.array([1.0, 0.5]))
    by_some = some.value(terms) - some.value(terms.take(slice(2)))
    by_every = every.value(terms) - every.value(terms.take(slice(2)))
    assert by_every > 100
    assert by_some == pytest.approx(by_every, rel=0.2)


def test_a_part_of_the_rows_is_refused_in_proportion(many_rows, rng):
    design = make(*many_rows)
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.problem.rss_floor == pytest.approx(every.problem.rss_floor / 10)
    smallest, of_every = (each.problem.families.smallest_squared_norm for each in (some, every))
    assert (of_every > 0).all()
    assert smallest == pytest.approx(of_every / 10)


def test_a_weight_of_two_is_a_row_twice_in_a_part_too(many_rows, rng):
    X, y = many_rows
    weighted = make(X, y, sample_weight=np.full(N_ROWS, 2.0), widths="shared")
    twice = make(np.vstack([X, X]), np.concatenate([y, y]), widths="shared")
    terms = terms_at(weighted, rng.random((4, 2)), np.array([1.0, 0.5]))
    some, every = Landscape.of(weighted, rng, N_ROWS // 2), Landscape.of(twice)
    assert Landscape.of(weighted).value(terms) == pytest.approx(every.value(terms))
    gain = [land.value(terms) - land.value(terms.take(slice(1))) for land in (some, every)]
    assert gain[0] == pytest.approx(gain[1], rel=0.2)


def test_few_rows_are_stricter_about_dependent_columns(many_rows, rng):
    design = make(*many_rows, widths="shared")
    some, every = Landscape.of(design, rng, N_ROWS // 10), Landscape.of(design)
    assert some.problem.smallest_new_share == pytest.approx(every.problem.smallest_new_share * 10**STRICTER)
    centers = terms_at(design, [[0.5, 0.5], [0.5, 0.6]], np.ones(2))
    assert np.isfinite(every.value(centers))
    stricter = replace(every, problem=every.problem._replace(smallest_new_share=0.5))
    assert stricter.value(centers) == -np.inf
