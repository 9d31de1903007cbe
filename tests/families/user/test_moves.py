"""Terms of a user's family: how fresh ones are drawn, and that every change has its way back."""

from itertools import permutations

import numpy as np
import pytest
from numba import njit

from saltus.families import registry
from saltus.families.terms import TermSet, make_edits
from tests.families.choosing import check_counts, check_uniform, in_full, make_choosing
from tests.families.user.families import Constantly, OwnRidge, Stairs, Turns
from tests.kernels import draw_terms, terms_of

N_DRAWS = 20_000
PI = np.array([0.5, 0.3, 0.2])
STATES = [state for g in (1, 2, 3) for state in permutations(range(3), g)]


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
    """Every number of inputs, and every order of so many, is as probable as another; parameters are uniform."""
    _, design = make_choosing(Turns(), problem="three inputs")
    terms = draw(rng, design)
    assert design.mixture.accepts(terms)
    size, inputs = terms.choices[:, 0], terms.choices[:, 1:]
    check_counts(np.bincount(size, minlength=4)[1:], np.ones(3))
    for g in (1, 2, 3):
        drawn = [tuple(row) for row in inputs[size == g, :g].tolist()]
        cells = list(permutations(range(3), g))
        check_counts([drawn.count(cell) for cell in cells], np.ones(len(cells)))
    in_use = np.arange(3) < size[:, None]
    check_uniform(terms.parameters[:, 0])
    check_uniform(terms.parameters[:, 1:][in_use])
    assert not inputs[~in_use].any()
    assert not terms.parameters[:, 1:][~in_use].any()


@njit
def change(rng, families, terms, n, edits, log_green):
    """Propose n changes of the first term; say which were feasible."""
    feasible = np.zeros(n, dtype=np.bool_)
    for which in range(n):
        feasible[which], log_green[which] = registry.propose_change(rng, families, terms, 0, 0.3, edits, which)
    return feasible


def changes_of(rng, design, state, parameters):
    """Propose changes of one term of some inputs: the edits, which are feasible, and log_green."""
    families = design.problem.families
    terms = terms_of(np.resize(parameters, (1, families.n_parameters)), 1, n_choices=families.n_choices)
    terms.choices[0, : len(state) + 1] = [len(state), *state]
    edits, log_green = make_edits(N_DRAWS, families.n_choices, families.n_parameters), np.zeros(N_DRAWS)
    return edits, change(rng, families, terms, N_DRAWS, edits, log_green), log_green


def uneven(design):
    """Let terms have 1, 2 or 3 inputs with other probabilities."""
    families = design.problem.families
    user = families.user._replace(log_pi=np.log(PI)[None].copy(), shares=np.cumsum(PI)[None].copy())
    object.__setattr__(design, "problem", design.problem._replace(families=families._replace(user=user)))
    return design


def test_every_change_of_inputs_has_its_way_back(rng):
    """With nu the law of a fresh term, nu(s) q(s, s') exp(log_green) = nu(s') q(s', s), order and all."""
    design = uneven(make_choosing(Turns(), problem="three inputs")[1])
    nu = {state: PI[len(state) - 1] / len(list(permutations(range(3), len(state)))) for state in STATES}
    counts, ratio = {}, {}
    for state in STATES:
        edits, feasible, log_green = changes_of(rng, design, state, rng.random(4))
        for row, ok, value in zip(edits.choices[:, 0].tolist(), feasible, log_green, strict=True):
            to = tuple(row[1 : 1 + row[0]])
            if ok and to != state:
                counts[state, to] = counts.get((state, to), 0) + 1
                ratio[state, to] = value
    assert len(counts) > 60
    for (state, to), n in counts.items():
        there, back = nu[state] * n * np.exp(ratio[state, to]), nu[to] * counts.get((to, state), 0)
        error = np.hypot(there / np.sqrt(n), back / np.sqrt(max(counts.get((to, state), 0), 1)))
        # Of about 80 pairs, one is as far off by chance in a million runs.
        assert abs(there - back) < 6 * error, (state, to)


@pytest.mark.parametrize("family", [OwnRidge(), Turns(), Stairs(), Constantly()], ids=repr)
def test_changes_are_terms_and_leave_nothing_behind(rng, family):
    _, design = make_choosing(family, problem="three inputs")
    (member,) = design.mixture.members
    for state in [state for state in STATES if len(state) <= member.most_inputs]:
        n = member.layout.n_parameters(len(state))
        before = np.append(rng.random(n), np.zeros(member.n_parameters - n))
        edits, feasible, _ = changes_of(rng, design, state, before)
        terms = TermSet(edits.family[:, 0], edits.choices[:, 0], edits.incoming[:, 0], np.zeros(0)).take(feasible)
        assert len(terms) > 100
        assert design.mixture.accepts(terms)
        for size, *inputs in np.unique(terms.choices, axis=0).tolist():
            assert len(set(inputs[:size])) == size
            assert not any(inputs[size:])
        n_in_use = np.array([member.layout.n_parameters(g) for g in terms.choices[:, 0]])
        assert not terms.parameters[np.arange(member.n_parameters) >= n_in_use[:, None]].any()


def test_what_is_periodic_wraps(rng):
    """A walk from the end of a phase goes on at its beginning, and none is refused. Fresh phases alone are 83 there."""
    _, design = make_choosing(Turns(max_inputs=1), problem="a line")
    edits, feasible, _ = changes_of(rng, design, (0,), np.array([0.999, 0.5]))
    phase, frequency = edits.incoming[feasible, 0].T
    only_phase = (frequency == 0.5) & (phase != 0.999)
    assert ((phase < 0.05) & only_phase).sum() > 300
    assert ((phase > 0.95) & only_phase).sum() > 300
    _, feasible, _ = changes_of(rng, make_choosing(Stairs(), problem="a line")[1], (0,), np.array([0.999, 0.5]))
    assert feasible.mean() < 0.75, "what does not wrap is refused beyond its end"


def test_a_family_says_what_its_terms_count_for():
    _, design = make_choosing([OwnRidge(), "hinges"])
    (member, _), families = design.mixture.members, in_full(design.problem.families)
    assert member.parameter_counts == (2, 4)
    for g in (1, 2, 3):
        choices = np.zeros((1, families.n_choices), dtype=np.int64)
        choices[0, : 1 + g] = [g, *range(g)]
        terms = TermSet(np.zeros(1, dtype=np.int64), choices, np.full((1, families.n_parameters), 0.5), np.zeros(0))
        assert registry.count_terms(families, terms) == g + 1


@pytest.mark.parametrize(("at", "value"), [(0, 0), (0, 4), (1, 3), (2, -1)])
def test_choices_that_cannot_be_are_not_accepted(rng, at, value):
    _, design = make_choosing(Turns())
    terms = design.mixture.draw(rng, 3)
    assert design.mixture.accepts(terms)
    terms.choices[1, at] = value
    assert not design.mixture.accepts(terms)
