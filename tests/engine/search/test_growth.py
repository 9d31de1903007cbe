"""Forward selection, backward elimination, and what grows from them."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, Product
from saltus.engine.kernels.state import make_workspace, start_record, start_state
from saltus.engine.kernels.target import log_density
from saltus.engine.search.elimination import eliminate
from saltus.engine.search.growth import eliminated, grow, grow_and_descend, grow_best, refine
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.policy import DEFAULT_POLICY
from saltus.engine.search.selection import make_pool, select
from saltus.engine.search.starts import set_terms
from saltus.estimators.checks import check_data
from saltus.families.terms import TermSet, terms_as_value
from tests.problems import make_problem

MIXTURES = [
    "hinges",
    "steps",
    ["gaussian", "bumps", "ridges"],
    "waves",
    ["hinges", "waves", "gaussian"],
    ["polynomials", "ridges"],
]


def design_of(problem, basis, **options):
    model = AnnealedRegressor(basis, **{"term_cost": 2, **options})
    return model._make_design(check_data(model, problem.X, problem.Y, problem.weight))


def empty_state(design):
    return start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)


@pytest.mark.parametrize("basis", MIXTURES)
@pytest.mark.parametrize("name", ["three inputs, two outputs", "weights"])
def test_the_factor_of_a_selected_network_is_that_of_its_terms(basis, name):
    design = design_of(make_problem(name), basis)
    state = empty_state(design)
    work, record = make_workspace(design.problem, state, n_edits=6), start_record(state, 1)
    pool = make_pool(design.problem, 40, 6)
    assert select(np.random.default_rng(0), design.problem, state, work, record, pool, 8) == 8
    selected, value = terms_as_value(state.terms), float(state.log_posterior[0])
    set_terms(design, state, selected)
    assert len(selected) == 8
    assert value == pytest.approx(float(state.log_posterior[0]), rel=1e-9)


@pytest.mark.parametrize("basis", ["hinges", "waves"])
def test_what_comes_in_is_the_best_of_the_finalists(basis):
    design = design_of(make_problem("three inputs"), basis)
    state = empty_state(design)
    n = 30  # all candidates are finalists
    work, record = make_workspace(design.problem, state, n_edits=n), start_record(state, 1)
    pool = make_pool(design.problem, n, n)
    select(np.random.default_rng(1), design.problem, state, work, record, pool, 1)
    found = float(state.log_posterior[0])
    drawn = design.mixture.empty()
    values = []
    for b in range(n):
        one = terms_as_value(state.terms)
        candidate = type(one)(
            pool.edits.family[b, :1], pool.edits.choices[b, :1], pool.edits.incoming[b, :1], one.shared
        )
        set_terms(design, state, drawn.followed_by(candidate))
        squared = (design.columns(candidate) ** 2).sum()
        if squared >= design.problem.families.smallest_squared_norm[candidate.family[0]]:
            values.append(float(state.log_posterior[0]))
    assert found == pytest.approx(max(values), rel=1e-9)


@pytest.mark.parametrize("basis", ["hinges", "waves"])
def test_a_candidate_promises_what_it_explains_beside_the_constant(basis):
    problem = make_problem("two outputs")
    design = design_of(problem, basis, linear="none")
    state, n = empty_state(design), 30
    work, record = make_workspace(design.problem, state, n_edits=n), start_record(state, 1)
    pool = make_pool(design.problem, n, n)
    Y = design.Y - design.linear.Q @ (design.linear.Q.T @ design.Y)
    select(np.random.default_rng(2), design.problem, state, work, record, pool, 1)
    for b in np.flatnonzero(pool.gain):
        candidate = TermSet(
            pool.edits.family[b, :1], pool.edits.choices[b, :1], pool.edits.incoming[b, :1], np.zeros(0)
        )
        D = np.hstack([design.linear.Q, design.columns(candidate)])
        left = Y - D @ np.linalg.lstsq(D, Y, rcond=None)[0]
        expected = (1 - (left**2).sum(axis=0) / (Y**2).sum(axis=0)).sum()
        assert abs(pool.gain[b]) == pytest.approx(expected, rel=1e-6)


def test_selection_ends_at_the_most_terms():
    design = design_of(make_problem("three inputs"), "hinges", k_max=3)
    terms, values = grow(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY)
    assert len(terms) <= 3
    assert values.shape == (len(terms) + 1,)


@pytest.mark.parametrize("basis", MIXTURES)
def test_the_values_of_growth_are_those_of_its_first_terms(basis):
    design = design_of(make_problem("two outputs"), basis)
    state = empty_state(design)
    terms, values = grow(np.random.default_rng(0), design, state, DEFAULT_POLICY)
    for k in range(len(terms) + 1):
        set_terms(design, state, terms.take(slice(k)))
        assert values[k] == pytest.approx(float(state.log_posterior[0]), rel=1e-8)


def test_growth_can_be_stopped_and_limited():
    design = design_of(make_problem("three inputs"), "hinges")
    terms, _ = grow(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, lambda: False)
    assert len(terms) == 0
    terms, _ = grow(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, most=5)
    assert len(terms) == 5


@pytest.mark.parametrize("term_cost", [1, "full"])
@pytest.mark.parametrize("basis", MIXTURES)
def test_an_elimination_is_the_cheapest_and_its_value_that_of_a_new_fit(basis, term_cost):
    design = design_of(make_problem("two outputs"), basis, term_cost=term_cost)
    state = empty_state(design)
    terms, _ = grow(np.random.default_rng(0), design, state, DEFAULT_POLICY, most=5)

    def value(some):
        set_terms(design, state, some)
        return log_density(design.problem, state.factor.rss, some)

    value(terms)
    m_fixed, m, k = design.problem.m_fixed, design.problem.m_fixed + int(state.n_columns[0]), len(terms)
    R, Z = state.factor.R[m_fixed:m, m_fixed:m], state.factor.Z[:, m_fixed:m].T
    path = eliminate(design.problem, terms, np.triu(R), Z, state.factor.rss.copy())
    left = terms
    numbers = np.arange(k)
    assert path.log_posterior[0] == pytest.approx(value(terms), rel=1e-9)
    for step, out in enumerate(path.order):
        options = [value(left.without(j)) for j in range(len(left))]
        j = int(np.flatnonzero(numbers == out)[0])
        assert options[j] == pytest.approx(max(options), rel=1e-8)
        assert path.log_posterior[step + 1] == pytest.approx(options[j], rel=1e-8)
        left, numbers = left.without(j), np.delete(numbers, j)


def test_columns_that_are_all_but_dependent_can_be_eliminated():
    # Terms through data without noise, among them slow waves: the Gram matrix is singular to rounding.
    x = np.random.default_rng(0).uniform(size=(60, 1))
    for seed in (1, 2, 4):
        model = AnnealedRegressor(n_iter=1000, n_chains=2, polish=False, random_state=seed).fit(x, x[:, 0] ** 2)
        assert len(model.path_) > 5
        assert np.isfinite([size.criterion for size in model.path_]).all()


def test_networks_grow_with_waves_and_without_and_the_better_one_stays():
    x = np.sort(np.random.default_rng(0).random(200))[:, None]
    noise = 0.1 * np.random.default_rng(1).standard_normal(200)
    for truth, waves in ((np.cos(40 * x[:, 0]) + np.sin(71 * x[:, 0]), True), ((x[:, 0] > 0.3) * 1.0, False)):
        model = AnnealedRegressor(["steps", "waves"], term_cost=3)
        design = model._make_design(check_data(model, x, truth + noise, None))
        terms = grow_best(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, lambda: True)
        assert (1 in terms.family) == waves
        rng, among = np.random.default_rng(0), np.array([True, False, True])
        without, _ = grow(rng, design, empty_state(design), DEFAULT_POLICY, most=10, among=among)
        assert len(without) == 10
        assert 1 not in without.family


def test_a_charge_for_each_term_makes_networks_smaller():
    design = design_of(make_problem("three inputs"), "hinges", term_cost=1)
    sizes = []
    for charge in (0.0, 10.0, 1000.0):
        _, values = grow(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, charge=charge)
        sizes.append(int(values.argmax()))
    assert sizes[0] > sizes[1] > sizes[2] == 0


@pytest.mark.parametrize("basis", MIXTURES)
def test_refinement_never_makes_it_worse(basis):
    design = design_of(make_problem("three inputs"), basis)
    terms, _ = grow(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, most=10)
    landscape = Landscape.of(design)
    before = landscape.value(terms)
    assert eliminated(landscape, landscape.candidate(terms)).log_posterior >= before
    assert refine(landscape, terms, lambda: True).log_posterior >= before


def noise_free(n_rows=200):
    X = np.random.default_rng(0).uniform(-1, 1, (n_rows, 4))
    return X, np.exp(X[:, 0] * X[:, 1]) / (2 + X[:, 2])


def test_networks_grow_from_polynomials_alone_where_these_are_better():
    model = AnnealedRegressor("auto", term_cost=1)
    X, y = noise_free()
    for target, alone in ((y, True), ((X[:, 0] > 0.3) * (X[:, 1] < 0.1) + 0.01 * X[:, 3], False)):
        design = model._make_design(check_data(model, X, target, None))
        polynomials = [member.options == Product("polynomial", 4) for member in design.mixture.members]
        terms = grow_best(np.random.default_rng(0), design, empty_state(design), DEFAULT_POLICY, lambda: True)
        linear = len(design.mixture.members) - 1
        assert set(terms.family) <= {polynomials.index(True), linear} if alone else not all(terms.family == linear)
        assert (polynomials.index(True) in terms.family) >= alone


def test_growth_goes_on_from_a_start():
    X, y = noise_free()
    model = AnnealedRegressor("polynomials", term_cost=1)
    design = model._make_design(check_data(model, X, y, None))
    state, rng = empty_state(design), np.random.default_rng(0)
    first, _ = grow(rng, design, state, DEFAULT_POLICY, most=5)
    more, values = grow(rng, design, state, DEFAULT_POLICY, most=10, start=first)
    assert len(more) == 10
    np.testing.assert_array_equal(more.take(slice(5)).choices, first.choices)
    assert np.isneginf(values[:5]).all()
    assert (np.diff(values[5:]) > 0).all(), "nothing is noise"


def test_a_network_that_falls_far_behind_grows_no_more():
    """Where the first turn decides, what is left behind does not come back, whatever it would have been worth."""
    X, y = noise_free()
    model = AnnealedRegressor("auto", term_cost=1)
    design = model._make_design(check_data(model, X, y, None))
    grown = {}
    for name, policy in {
        "one turn": replace(DEFAULT_POLICY, terms_of_first_turn=2, turns=1),
        "to the end": replace(DEFAULT_POLICY, far_behind=np.inf),
    }.items():
        values = []
        for seed in (1, 2, 3):
            terms = grow_best(np.random.default_rng(seed), design, empty_state(design), policy, lambda: True)
            state = empty_state(design)
            set_terms(design, state, terms)
            values.append(float(state.log_posterior[0]))
        grown[name] = np.mean(values)
    assert grown["one turn"] <= grown["to the end"]


def test_networks_of_ridges_are_better_after_a_long_descent():
    problem = make_problem("three inputs")
    design = design_of(problem, ["hinges", "ridges"])
    landscape = Landscape.of(design)

    def found(**policy):
        there = replace(landscape, policy=replace(DEFAULT_POLICY, **policy))
        return grow_and_descend(np.random.default_rng(0), design, there, empty_state(design), lambda: True, 20)

    far, not_far = found(), found(flops_of_a_descent=0.0, flops_of_a_long_descent=0.0)
    assert set(far.terms.family) <= {1, 2}, "ridges and linear terms"
    assert far.log_posterior > not_far.log_posterior + 1
    # With many rows they descend with some of these first, and end where they would have.
    in_stages = found(many_rows=20, rows_at_first=20)
    assert in_stages.log_posterior == pytest.approx(landscape.value(in_stages.terms))
    assert in_stages.log_posterior != far.log_posterior
    assert in_stages.log_posterior > not_far.log_posterior


def test_networks_that_descend_far_grow_with_the_rows():
    found = [DEFAULT_POLICY.terms_of_long_descent(n_rows) for n_rows in (1_000, 18_000, 24_000, 36_000, 1e6)]
    assert found == [150, 150, 200, 300, 300]
