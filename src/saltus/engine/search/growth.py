"""Growing a network from nothing: forward selection, then elimination and descents, within a budget."""

from dataclasses import dataclass

import numpy as np

from saltus._typing import Bools, Floats
from saltus.engine.kernels.state import State, make_workspace, start_record
from saltus.engine.problem.design import Design
from saltus.engine.search.elimination import eliminate
from saltus.engine.search.gradient import flops_of_a_gradient
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import GoOn, coarse_to_fine, descend, independent
from saltus.engine.search.selection import make_pool, select
from saltus.engine.search.starts import set_terms
from saltus.families.registry import count_columns
from saltus.families.terms import TermSet, terms_as_value

# Terms that come in between two questions whether to go on.
TERMS_A_CALL = 5


def grow(
    rng: np.random.Generator,
    design: Design,
    state: State,
    policy: SearchPolicy,
    go_on: GoOn = lambda: True,
    *,
    most: int | None = None,
    charge: float = 0.0,
    among: Bools | None = None,
    start: TermSet | None = None,
) -> tuple[TermSet, Floats]:
    """Bring terms in one by one until their worth has not risen for a while, or there are as many. Mutates the state.

    They begin with none, or with those of a start. What terms are worth is log pi less a charge for each. They are of
    all families, or of some (F,). Return all terms in their order, and what none, the first, the first two and so on
    are worth.
    """
    problem, n_outputs = design.problem if among is None else design.limited_to(among), design.Y.shape[1]
    set_terms(design, state, design.mixture.empty() if start is None else start)
    work, record = make_workspace(problem, state, n_edits=policy.finalists), start_record(state, 1)
    pool = make_pool(problem, policy.candidates_of(int(design.box.varies.sum())), policy.finalists)

    def worths() -> Floats:
        sizes = np.arange(state.terms.k[0] + 1)
        return record.best_by_k[sizes] - charge * sizes

    is_informed = design.mixture.is_informed(among)
    n_a_call = 1 if is_informed else TERMS_A_CALL
    while go_on() and (most is None or state.terms.k[0] < most):
        if is_informed:
            informed = design.informed_by(state.factor.tiles[:, :n_outputs])
            problem = informed._replace(families=informed.families._replace(shares=problem.families.shares))
        n_more = select(rng, problem, state, work, record, pool, n_a_call)
        best = int(worths().argmax())
        if n_more < n_a_call or state.terms.k[0] - best >= policy.terms_past_best(best):
            break
    return terms_as_value(state.terms), worths()


@dataclass(frozen=True)
class Grown:
    """A network that is grown from some families, under way."""

    among: Bools  # (F,)
    terms: TermSet
    values: Floats  # what none of its terms, the first, the first two and so on are worth
    is_over: bool = False

    @property
    def best(self) -> float:
        """What it was worth at its best."""
        return float(self.values.max())


def grow_best(
    rng: np.random.Generator,
    design: Design,
    state: State,
    policy: SearchPolicy,
    go_on: GoOn,
    *,
    charge: float = 0.0,
    start: TermSet | None = None,
) -> TermSet:
    """Grow a network from each of the sets of families that the mixture names; return the terms that are worth most.

    They grow in turns, and one that falls far behind grows no more.
    """
    terms = design.mixture.empty() if start is None else start
    nothing = np.full(len(terms) + 1, -np.inf)
    grown = [Grown(among, terms, nothing) for among in design.mixture.grown_from]
    far = policy.far_behind * design.problem.n_total * design.Y.shape[1]
    for turn in range(policy.turns + 1):
        if turn == policy.turns:
            grown = [max(grown, key=lambda each: each.best)]
        most = None if len(grown) == 1 else len(terms) + policy.terms_of_first_turn * 2**turn
        for i, each in enumerate(grown):
            if not each.is_over:
                more, values = grow(
                    rng, design, state, policy, go_on, most=most, charge=charge, among=each.among, start=each.terms
                )
                values[: len(each.values)] = np.maximum(values[: len(each.values)], each.values)
                grown[i] = Grown(each.among, more, values, is_over=most is None or len(more) < most)
        best = max(each.best for each in grown)
        grown = [each for each in grown if each.best >= best - far]
        if all(each.is_over for each in grown):
            break
    winner = max(grown, key=lambda each: each.best)
    return winner.terms.take(slice(int(winner.values.argmax())))


def grow_and_descend(
    rng: np.random.Generator, design: Design, landscape: Landscape, state: State, go_on: GoOn, n_terms: int
) -> Candidate:
    """Grow a network of so many terms from the families of which some may be worth a long descent, and descend.

    Where there are many rows, with some of them first.
    """
    among = design.mixture.descended_from
    terms, values = grow(rng, design, state, landscape.policy, go_on, most=n_terms, among=among)
    terms = terms.take(slice(int(values.argmax())))
    landscapes = coarse_to_fine(rng, design, landscape) if landscape.has_many_rows else [landscape]
    for each in landscapes:
        found = refine(each, terms, go_on, n_far=n_terms)
        terms = found.terms
    return found


def refine(landscape: Landscape, terms: TermSet, go_on: GoOn, *, n_far: int = 0) -> Candidate:
    """Eliminate what is not needed and descend, as far as the usual budget goes, or that of so many terms' descent."""
    at = eliminated(landscape, independent(landscape, terms))
    # By the sum of the weights, so that a weight of 2 gives the search of the row twice.
    n_rows = min(landscape.problem.n_total, landscape.policy.most_rows)
    n_columns = count_columns(landscape.problem.families, at.terms)
    flops = n_rows * flops_of_a_gradient(landscape.problem, max(n_columns, 1))
    policy = landscape.policy
    n_flops, n_most = policy.flops_of_a_descent, policy.most_evaluations
    if n_far > 0:
        larger = (n_far / policy.terms_to_descend) ** 3
        n_flops = max(n_flops, larger * policy.flops_of_a_long_descent * n_rows)
        n_most = policy.most_evaluations_of_a_long_descent
    n_evaluations = min(int(n_flops / flops), n_most)
    if n_evaluations >= policy.fewest_evaluations and at.k > 0:
        at = eliminated(landscape, descend(landscape, at, n_evaluations, go_on))
    return at


def eliminated(landscape: Landscape, at: Candidate) -> Candidate:
    """Leave out the terms without which log pi is highest, on the way down to none."""
    if at.k == 0 or not np.isfinite(at.log_posterior):
        return at
    search, work = landscape.evaluate(at.terms)
    if not np.isfinite(search.value[0]):
        return at
    q = len(work.R)
    path = eliminate(landscape.problem, at.terms, np.triu(work.R[:, :q]), work.R[:, q:], work.rss)
    left = path.best(at.terms)
    return at if len(left) == at.k else landscape.candidate(left)
