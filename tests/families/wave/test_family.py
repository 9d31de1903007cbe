"""Waves: what a term is, how fresh ones are drawn, which frequencies there are, and what is refused."""

from itertools import permutations

import numpy as np
import pytest

from saltus import AnnealedRegressor, Ridge
from saltus.families.registry import count_terms
from saltus.families.terms import TermSet, make_edits
from saltus.families.wave.frequencies import SLOWEST, fastest_along, fastest_cycles
from saltus.families.wave.periodogram import uninformed
from tests.families.choosing import check_counts, check_uniform, in_full, make_choosing
from tests.kernels import draw_terms

N_DRAWS = 20_000


def test_waves_go_on_and_stand_alone():
    assert Ridge("wave") == Ridge(("wave",), max_inputs=4, extrapolate="free")
    assert Ridge("wave", extrapolate="hold").extrapolate == "hold"
    assert Ridge("sigmoid").extrapolate == "hold"
    assert eval(repr(Ridge("wave", 2))) == Ridge("wave", 2)
    assert (Ridge("wave").n_columns, Ridge("bump").n_columns) == (2, 1)


def by_numpy(rng, design):
    return design.mixture.draw(rng, N_DRAWS)


def by_kernels(rng, design, *, informed=False):
    families = design.problem.families
    if not informed:
        families = families._replace(wave=families.wave._replace(informed=uninformed()))
    edits = make_edits(N_DRAWS, families.n_choices, families.n_parameters)
    edits.choices[:], edits.incoming[:] = 7, 0.7  # of terms before, which must leave nothing behind
    draw_terms(rng, families, edits)
    return TermSet(edits.family[:, 0], edits.choices[:, 0], edits.incoming[:, 0], np.zeros(0))


@pytest.mark.parametrize("draw", [by_numpy, by_kernels])
def test_fresh_terms_are_drawn_alike(rng, draw):
    """Every number of inputs and every set of so many are as probable as another."""
    _, design = make_choosing(Ridge("wave", 3), problem="three inputs")
    terms = draw(rng, design)
    assert design.mixture.accepts(terms)
    size, inputs = terms.choices[:, 0], terms.choices[:, 1:]
    check_counts(np.bincount(size, minlength=4)[1:], np.ones(3))
    for g in (1, 2, 3):
        drawn = [tuple(row) for row in inputs[size == g, :g].tolist()]
        cells = list(permutations(range(3), g))
        check_counts([drawn.count(cell) for cell in cells], np.ones(len(cells)))
    in_use = np.arange(3) < size[:, None]
    check_uniform(terms.parameters[in_use])
    assert not inputs[~in_use].any()
    assert not terms.parameters[~in_use].any()


def test_informed_terms_are_drawn_from_the_periodogram_half_of_the_time(rng):
    _, design = make_choosing(Ridge("wave", 3), problem="three inputs")
    informed = design.problem.families.wave.informed
    terms = by_kernels(rng, design, informed=True)
    assert design.mixture.accepts(terms)
    size = terms.choices[:, 0]
    check_counts(np.bincount(size, minlength=4)[1:], np.array([0.5 + 0.5 / 3, 0.5 / 3, 0.5 / 3]))
    n_inputs, n_bins = informed.relative.shape
    one = terms.take(size == 1)
    cell = one.choices[:, 1] * n_bins + (one.parameters[:, 0] * n_bins).astype(int)
    found = np.bincount(cell, minlength=n_inputs * n_bins)
    expected = (0.5 / 3 + 0.5 * informed.relative.ravel()) / (n_inputs * n_bins)
    order = np.argsort(expected)
    parts = np.array_split(order, 40)
    check_counts([found[part].sum() for part in parts], [expected[part].sum() for part in parts])
    check_uniform((one.parameters[:, 0] * n_bins) % 1.0)


def test_a_term_is_a_cosine_and_a_sine_of_a_projection(rng):
    data, design = make_choosing(Ridge("wave", 3), problem="ten inputs")
    X = data.X - data.X.mean(axis=0)
    span = np.ptp(data.X, axis=0)
    cycles = fastest_cycles(data.X, 3)
    terms = design.mixture.draw(rng, 40)
    found = design.mixture.columns(design.box.to_unit(data.X), terms)
    for j, (choices, parameters) in enumerate(zip(terms.choices, terms.parameters, strict=True)):
        g = choices[0]
        at, u = choices[1 : 1 + g], parameters[:g]
        fastest = cycles[at, g - 1]
        lowest = np.array([SLOWEST if g == 1 else 0.0, *-fastest[1:]])
        z = X[:, at] @ ((lowest + u * (fastest - lowest)) / span[at])
        np.testing.assert_allclose(found[:, 2 * j], np.cos(2 * np.pi * z), rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(found[:, 2 * j + 1], np.sin(2 * np.pi * z), rtol=1e-7, atol=1e-9)


def test_what_a_term_counts_for():
    """Its frequency, and one less than it has inputs for the direction; its phase is in its coefficients."""
    _, design = make_choosing(Ridge("wave", 3))
    (family,) = design.mixture.members
    assert family.parameter_counts == (1, 3)
    for g in (1, 2, 3):
        choices = np.array([[g, 0, 1, 2]])
        terms = TermSet(np.zeros(1, dtype=np.int64), choices, np.full((1, 3), 0.5), np.zeros(0))
        assert count_terms(in_full(design.problem.families), terms) == g


@pytest.mark.parametrize(
    ("values", "cycles"),
    [
        (np.arange(64.0), 63 / 2),
        (3.0 + 0.1 * np.arange(7), 3.0),
        (np.delete(np.arange(64.0), np.arange(10, 30)), 63 / 2),  # rows are missing
        (np.r_[np.linspace(0, 1e-6, 30), np.linspace(1, 2, 10)], 39.0),  # a cluster
        (np.array([0.0, 1.0]), 0.5),
    ],
)
def test_the_fastest_wave_has_half_a_cycle_between_neighbours(values, cycles):
    assert fastest_along(values) == pytest.approx(cycles)


def test_in_several_inputs_the_fastest_wave_is_that_of_a_grid():
    along = np.linspace(0, 1, 9)
    grid = np.stack(np.meshgrid(along, along), axis=-1).reshape(-1, 2)
    scattered = np.random.default_rng(0).random((81, 2))
    np.testing.assert_allclose(fastest_cycles(grid, 2), [[4.0, 4.0], [4.0, 4.0]])
    np.testing.assert_allclose(fastest_cycles(scattered, 2)[:, 1], 4.0)
    assert (fastest_cycles(scattered, 2)[:, 0] >= 40).all()


@pytest.mark.parametrize(("at", "value"), [(0, 0), (0, 4), (1, 3), (2, -1)])
def test_choices_that_cannot_be_are_not_accepted(rng, at, value):
    _, design = make_choosing(Ridge("wave", 3))
    terms = design.mixture.draw(rng, 3)
    assert design.mixture.accepts(terms)
    terms.choices[1, at] = value
    assert not design.mixture.accepts(terms)


@pytest.mark.parametrize("value", [-0.01, 1.01, np.nan])
def test_parameters_that_cannot_be_are_not_accepted(rng, value):
    _, design = make_choosing(Ridge("wave", 3))
    terms = design.mixture.draw(rng, 3)
    terms.parameters[1, 0] = value
    assert not design.mixture.accepts(terms)


def test_a_forecast_goes_on(rng):
    """Two sinusoids in noise are found, and go on beyond the rows; where they are told to hold, they do."""
    t, later = np.arange(60.0)[:, None], np.arange(60.0, 80.0)[:, None]

    def truth(t):
        return np.cos(2 * np.pi * 0.11 * t[:, 0]) + 0.8 * np.sin(2 * np.pi * 0.31 * t[:, 0] + 1)

    y = truth(t) + 0.1 * rng.standard_normal(60)
    model = AnnealedRegressor("waves", linear="none", random_state=0).fit(t, y)
    assert model.n_terms_ == 2
    assert model.term_coef_.shape == (4,)
    np.testing.assert_allclose(model.predict(later), truth(later), atol=0.3)
    held = AnnealedRegressor(Ridge("wave", 1, extrapolate="hold"), linear="none", random_state=0).fit(t, y)
    assert np.ptp(held.predict(later)) < 1e-12
