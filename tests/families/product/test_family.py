"""Products: what a term is, how fresh ones are drawn, and what is refused."""

from itertools import permutations

import numpy as np
import pytest
from numpy.polynomial import Legendre

from saltus import Product
from saltus.families.line_profiles import LINE_PROFILES, NAMES, SIDED
from saltus.families.product.kernels import A_FACTOR
from saltus.families.registry import count_terms
from saltus.families.terms import TermSet, make_edits
from tests.engine.designs import make_with
from tests.families.choosing import ALL_PROFILES, check_counts, check_uniform, in_full, make_choosing
from tests.kernels import draw_terms

N_DRAWS = 20_000


def test_families_with_equal_options_are_equal():
    assert Product("hinge") == Product(["hinge"]) == Product(("hinge",), max_inputs=3, extrapolate="hold")
    assert hash(Product("hinge")) == hash(Product(["hinge"]))
    assert Product("hinge") != Product("hinge", max_inputs=2)
    assert eval(repr(Product(("hinge", "bump"), 2))) == Product(("hinge", "bump"), 2)
    assert Product("step").variants(several=True) == (Product("step"),)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"profiles": "sigmoid"}, "identity, hinge, step, bump, hat, wave, polynomial, each once. Got 'sigmoid'"),
        ({"profiles": ()}, r"Got \(\)"),
        ({"profiles": ("hinge", "hinge")}, "each once"),
        ({"profiles": "hinge", "max_inputs": 0}, "1 or more. Got 0"),
        ({"profiles": "hinge", "max_inputs": True}, "whole number of inputs"),
        ({"profiles": "hinge", "max_inputs": 2.0}, "whole number of inputs"),
        ({"profiles": "hinge", "extrapolate": "stay"}, "must be one of hold, free. Got 'stay'"),
    ],
)
def test_bad_options_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        Product(**options)


def by_numpy(rng, design):
    return design.mixture.draw(rng, N_DRAWS)


def by_kernels(rng, design):
    families = design.problem.families
    edits = make_edits(N_DRAWS, families.n_choices, families.n_parameters)
    edits.choices[:], edits.incoming[:] = 7, 0.7  # of terms before, which must leave nothing behind
    draw_terms(rng, families, edits)
    return TermSet(edits.family[:, 0], edits.choices[:, 0], edits.incoming[:, 0], np.zeros(0))


@pytest.mark.parametrize("draw", [by_numpy, by_kernels])
@pytest.mark.parametrize(("max_inputs", "problem"), [(3, "ten inputs"), (3, "weights"), (2, "three inputs")])
def test_fresh_terms_are_drawn_alike(rng, draw, max_inputs, problem):
    """Every number of inputs, every set of so many in any order, every profile and both sides are as probable."""
    _, design = make_choosing(Product(("hinge", "wave", "step"), max_inputs), problem=problem)
    (family,) = design.mixture.members
    v, most = family.scale.n_inputs, family.most_inputs
    assert most == min(max_inputs, v)
    terms = draw(rng, design)
    assert design.mixture.accepts(terms)
    size = terms.choices[:, 0]
    check_counts(np.bincount(size, minlength=most + 1)[1:], np.ones(most))
    factors = terms.choices[:, 1:].reshape(N_DRAWS, most, A_FACTOR)
    for g in range(1, most + 1):
        inputs = [tuple(row) for row in factors[size == g, :g, 0].tolist()]
        cells = list(permutations(range(v), g))
        if len(cells) < 100:
            check_counts([inputs.count(cell) for cell in cells], np.ones(len(cells)))
        assert all(len(set(row)) == g for row in inputs)
        for f in range(g):
            check_counts(np.bincount(factors[size == g, f, 0], minlength=v), np.ones(v))
    in_use = np.arange(most) < size[:, None]
    profile, side, at_gap = factors[in_use][:, 1:].T
    assert not at_gap.any(), "nothing is missing"
    cells = [(NAMES.index("hinge"), 0), (NAMES.index("hinge"), 1), (NAMES.index("wave"), 0)]
    cells += [(NAMES.index("step"), 0), (NAMES.index("step"), 1)]
    found = [((profile == code) & (side == facing)).sum() for code, facing in cells]
    assert sum(found) == in_use.sum()
    check_counts(found, [1, 1, 2, 1, 1])
    parameters = terms.parameters.reshape(N_DRAWS, most, 2)
    for i in range(2):
        check_uniform(parameters[in_use][:, i])
    assert not factors[~in_use].any()
    assert not parameters[~in_use].any()


def plain_factor(x, profile, side, u, v):
    """One factor at rows x (N,), from its parameters, plainly."""
    values = np.unique(x)
    position = np.interp(u, np.linspace(0, 1, values.size), values)
    span = values[-1] - values[0]
    narrowest = np.clip(3 / values.size, 1 / 400, 0.25) * span
    if profile == "identity":
        return x
    if profile == "polynomial":
        z = (2 * x - values[-1] - values[0]) / span
        law = 0.5 ** np.arange(1, min(values.size, 9))
        degree = 1 + np.searchsorted(np.cumsum(law) / law.sum(), u, side="right")
        return Legendre.basis(degree)(z)
    if profile == "wave":
        slowest, fastest = 0.5 / span, values.size / 2 / span
        return np.cos(2 * np.pi * (slowest * (fastest / slowest) ** v * x - u))
    if profile in ("bump", "hat"):
        z = (x - position) / (narrowest * (span / narrowest) ** v)
        return np.exp(-(z**2) / 2) * (1 - z**2 if profile == "hat" else 1)
    ahead = x - position if side == 0 else position - x
    if profile == "step":
        return (ahead > 0).astype(float)
    # A hinge is 1 at the end of the data that it faces.
    return np.maximum(ahead, 0) / np.maximum(ahead, 0).max()


def test_a_term_is_the_product_of_its_factors(rng):
    data, design = make_choosing(Product(ALL_PROFILES))
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    terms = design.mixture.draw(rng, 100)
    found = design.mixture.columns(design.box.to_unit(data.X), terms)
    seen = set()
    for j, (choices, parameters) in enumerate(zip(terms.choices, terms.parameters, strict=True)):
        expected = np.ones(len(X))
        for f in range(choices[0]):
            at, code, side, _ = choices[1 + A_FACTOR * f :][:A_FACTOR]
            expected *= plain_factor(X[:, at], NAMES[code], side, *parameters[2 * f : 2 * f + 2])
            seen.add((NAMES[code], int(side)))
        np.testing.assert_allclose(found[:, j], expected, rtol=1e-8, atol=1e-10)
    assert len(seen) == len(ALL_PROFILES) + sum(SIDED[NAMES.index(name)] for name in ALL_PROFILES), (
        "every profile, on either side"
    )


def test_a_step_parts_rows_that_have_few_values(rng):
    """Of 4 values, and of 2, a step never sees all rows or none, as its threshold is between two of them."""
    X = np.column_stack([rng.integers(0, 4, 200) ** 2, rng.integers(0, 2, 200)]).astype(float)
    design = make_with(X, rng.random((200, 1)), Product("step", max_inputs=1), np.zeros(4))
    columns = design.mixture.columns(design.box.to_unit(X), design.mixture.draw(rng, 500))
    assert (columns.min(axis=0) == 0).all()
    assert (columns.max(axis=0) == 1).all()
    assert len(np.unique(columns, axis=1).T) == 2 * (3 + 1), "either side of each gap"


def test_a_polynomial_has_a_lower_degree_than_its_input_has_values(rng):
    X = np.column_stack([rng.random(200), rng.integers(0, 3, 200), rng.integers(0, 2, 200)])
    design = make_with(X, rng.random((200, 1)), Product("polynomial", max_inputs=1), np.zeros(4))
    (family,) = design.mixture.members
    factors = family.factors(design.mixture.draw(rng, N_DRAWS))
    degree = factors.profile - NAMES.index("polynomial") + 1
    for i, highest in enumerate((8, 2)):
        found = np.bincount(degree[factors.inputs == i], minlength=highest + 1)[1:]
        check_counts(found, 0.5 ** np.arange(highest))
    assert (degree[factors.inputs == 2] == 1).all()


def test_what_a_term_counts_for():
    _, design = make_choosing(Product(ALL_PROFILES))
    (family,) = design.mixture.members
    assert family.parameter_counts == (0, 6)
    assert [LINE_PROFILES[name].n_parameters for name in ALL_PROFILES] == [0, 1, 1, 2, 2, 2, 1]
    terms = TermSet(
        np.zeros(2, dtype=np.int64),
        np.array([[2, 0, NAMES.index("hinge"), 0, 0, 1, NAMES.index("bump"), *[0] * 6], [1, 2, *[0] * 11]]),
        np.full((2, 6), 0.5),
        np.zeros(0),
    )
    assert design.mixture.accepts(terms)
    assert count_terms(in_full(design.problem.families), terms) == 1 + 2 + 0


@pytest.mark.parametrize(
    ("at", "value"), [(0, 0), (0, 4), (0, -1), (1, 3), (1, -1), (2, NAMES.index("sigmoid")), (2, -1), (3, 2)]
)
def test_choices_that_cannot_be_are_not_accepted(rng, at, value):
    _, design = make_choosing(Product(("hinge", "step")))
    terms = design.mixture.draw(rng, 3)
    assert design.mixture.accepts(terms)
    terms.choices[1, at] = value
    assert not design.mixture.accepts(terms)


@pytest.mark.parametrize("value", [-0.01, 1.01, np.nan])
def test_parameters_that_cannot_be_are_not_accepted(rng, value):
    _, design = make_choosing(Product(("hinge", "step")))
    terms = design.mixture.draw(rng, 3)
    terms.parameters[1, 0] = value
    assert not design.mixture.accepts(terms)


def test_how_wide_the_prior_of_coefficients_may_be():
    """Narrowest for what goes on beyond the data, then for hinges, which make steps where there are no rows."""
    spreads = {}
    for family in (Product("hinge"), Product("bump"), Product(("step", "hinge")), Product("bump", extrapolate="free")):
        _, design = make_choosing(family)
        terms = design.mixture.draw(np.random.default_rng(0), 3)
        spread, spreads[family] = design.mixture.coefficient_spreads(terms)
        assert spread.tolist() == [1.0] * 3
    assert [each.tolist() for each in spreads.values()] == [[100.0] * 3, [np.inf] * 3, [100.0] * 3, [10.0] * 3]
