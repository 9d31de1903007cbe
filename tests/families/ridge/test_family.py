"""Ridges: what a term is, how fresh ones are drawn, and what is refused."""

from itertools import permutations

import numpy as np
import pytest

from saltus import Ridge
from saltus.families.line_profiles import NAMES
from saltus.families.registry import count_terms
from saltus.families.terms import TermSet, make_edits
from tests.families.choosing import check_counts, check_uniform, in_full, make_choosing
from tests.kernels import draw_terms

N_DRAWS = 20_000


def test_families_with_equal_options_are_equal():
    assert Ridge("hinge") == Ridge(["hinge"]) == Ridge(("hinge",), max_inputs=4, extrapolate="hold")
    assert Ridge("hinge") != Ridge("sigmoid")
    assert eval(repr(Ridge(("hinge", "bump"), 2))) == Ridge(("hinge", "bump"), 2)
    assert Ridge("bump").variants(several=True) == (Ridge("bump"),)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"profiles": "hat"}, "some of hinge, sigmoid, bump, wave, each once. Got 'hat'"),
        ({"profiles": ("wave", "bump")}, "a family of their own. Got the profiles"),
        ({"profiles": ()}, r"Got \(\)"),
        ({"profiles": ("bump", "bump")}, "each once"),
        ({"profiles": "hinge", "max_inputs": 0}, "1 or more. Got 0"),
        ({"profiles": "hinge", "max_inputs": "2"}, "whole number of inputs"),
        ({"profiles": "hinge", "extrapolate": "no"}, "must be one of hold, free. Got 'no'"),
    ],
)
def test_bad_options_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        Ridge(**options)


def by_numpy(rng, design):
    return design.mixture.draw(rng, N_DRAWS)


def by_kernels(rng, design):
    families = design.problem.families
    edits = make_edits(N_DRAWS, families.n_choices, families.n_parameters)
    edits.choices[:], edits.incoming[:] = 7, 0.7  # of terms before, which must leave nothing behind
    draw_terms(rng, families, edits)
    return TermSet(edits.family[:, 0], edits.choices[:, 0], edits.incoming[:, 0], np.zeros(0))


@pytest.mark.parametrize("draw", [by_numpy, by_kernels])
def test_fresh_terms_are_drawn_alike(rng, draw):
    """Every number of inputs, every set of so many and every profile are as probable as another."""
    _, design = make_choosing(Ridge(("hinge", "sigmoid", "bump"), 3), problem="three inputs")
    terms = draw(rng, design)
    assert design.mixture.accepts(terms)
    size, inputs = terms.choices[:, 0], terms.choices[:, 2:]
    check_counts(np.bincount(size, minlength=4)[1:], np.ones(3))
    for g in (1, 2, 3):
        drawn = [tuple(row) for row in inputs[size == g, :g].tolist()]
        cells = list(permutations(range(3), g))
        check_counts([drawn.count(cell) for cell in cells], np.ones(len(cells)))
        profiles = [(terms.choices[size == g, 1] == NAMES.index(name)).sum() for name in ("hinge", "sigmoid", "bump")]
        check_counts(profiles, np.ones(3))
    in_use = np.arange(3) < size[:, None]
    check_uniform(terms.parameters[:, 0])
    check_uniform(terms.parameters[:, 1])
    check_uniform(terms.parameters[:, 2:][in_use])
    assert not inputs[~in_use].any()
    assert not terms.parameters[:, 2:][~in_use].any()


def test_a_term_is_a_profile_of_a_projection(rng):
    data, design = make_choosing(Ridge(("hinge", "sigmoid", "bump"), 3), problem="ten inputs")
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    reach = np.minimum(np.abs(X).max(axis=0), 4.0)
    profiles = {"hinge": lambda z: np.maximum(z, 0), "sigmoid": np.tanh, "bump": lambda z: np.exp(-(z**2) / 2)}
    terms = design.mixture.draw(rng, 40)
    found = design.mixture.columns(design.box.to_unit(data.X), terms)
    for j, (choices, parameters) in enumerate(zip(terms.choices, terms.parameters, strict=True)):
        g, name = choices[0], NAMES[choices[1]]
        at, u = choices[2 : 2 + g], parameters[2 : 2 + g]
        v = np.log(u / (1 - u))
        a = v / np.linalg.norm(v)
        farthest = np.linalg.norm(a * reach[at])
        slope = 1.0 if name == "hinge" else 0.3 * (20 / 0.3) ** parameters[1]
        z = slope * (X[:, at] @ a - farthest * (2 * parameters[0] - 1))
        np.testing.assert_allclose(found[:, j], profiles[name](z), rtol=1e-8, atol=1e-10)


def test_what_a_term_counts_for():
    """Its offset, its slope if it has one, and one less than it has inputs for the direction."""
    _, design = make_choosing(Ridge(("hinge", "sigmoid"), 3))
    (family,) = design.mixture.members
    assert family.parameter_counts == (1, 4)
    for g in (1, 2, 3):
        for name, n_own in (("hinge", 1), ("sigmoid", 2)):
            choices = np.array([[g, NAMES.index(name), 0, 1, 2]])
            terms = TermSet(np.zeros(1, dtype=np.int64), choices, np.full((1, 5), 0.5), np.zeros(0))
            assert count_terms(in_full(design.problem.families), terms) == n_own + g - 1


@pytest.mark.parametrize(("at", "value"), [(0, 0), (0, 4), (1, NAMES.index("bump")), (1, -1), (2, 3), (3, -1)])
def test_choices_that_cannot_be_are_not_accepted(rng, at, value):
    _, design = make_choosing(Ridge("hinge", 3))
    terms = design.mixture.draw(rng, 3)
    assert design.mixture.accepts(terms)
    terms.choices[1, at] = value
    assert not design.mixture.accepts(terms)


@pytest.mark.parametrize("value", [-0.01, 1.01, np.nan])
def test_parameters_that_cannot_be_are_not_accepted(rng, value):
    _, design = make_choosing(Ridge("hinge", 3))
    terms = design.mixture.draw(rng, 3)
    terms.parameters[1, 0] = value
    assert not design.mixture.accepts(terms)
