"""Growing a network from nothing: forward selection, then elimination and descents, within a budget."""

import numpy as np

from saltus._typing import Floats
from saltus.engine.kernels.state import State, make_workspace, start_record
from saltus.engine.problem.design import Design
from saltus.engine.search.elimination import eliminate
from saltus.engine.search.gradient import flops_of_a_gradient
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import GoOn, descend, independent
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
    informed: bool = True,
) -> tuple[TermSet, Floats]:
    """Bring terms in one by one until their worth has not risen for a while, or there are as many. Mutates the state.

    What terms are worth is log pi less a charge for each. Unless `informed`, families are left out that draw terms
    where residuals suggest. Return all terms in their order, and what none, the first, the first two and so on are
    worth.
    """
    problem, n_outputs = design.problem if informed else design.without_informed(), design.Y.shape[1]
    set_terms(design, state, design.mixture.empty())
    work, record = make_workspace(problem, state, n_edits=policy.finalists), start_record(state, 1)
    pool = make_pool(problem, policy.candidates_of(int(design.box.varies.sum())), policy.finalists)

    def worths() -> Floats:
        sizes = np.arange(state.terms.k[0] + 1)
        return record.best_by_k[sizes] - charge * sizes

    is_informed = informed and design.mixture.is_informed
    n_a_call = 1 if is_informed else TERMS_A_CALL
    while go_on() and (most is None or state.terms.k[0] < most):
        if is_informed:
            problem = design.informed_by(state.factor.tiles[:, :n_outputs])
        n_more = select(rng, problem, state, work, record, pool, n_a_call)
        best = int(worths().argmax())
        if n_more < n_a_call or state.terms.k[0] - best >= policy.terms_past_best(best):
            break
    return terms_as_value(state.terms), worths()


def grow_best(
    rng: np.random.Generator,
    design: Design,
    state: State,
    policy: SearchPolicy,
    go_on: GoOn,
    *,
    charge: float = 0.0,
) -> TermSet:
    """Do the same; return the terms that are worth most.

    Where waves may come in, they come in first and keep others out that are worth more, so networks are grown with them
    and without. Noisy functions of one and two inputs, seeds 22 and 23, error over a Gaussian process's: .79 without
    waves, .74 where all networks are grown with them, .66 where the better one is taken.
    """
    grown = [grow(rng, design, state, policy, go_on, charge=charge)]
    if design.mixture.is_partly_informed:
        grown.append(grow(rng, design, state, policy, go_on, charge=charge, informed=False))
    terms, values = max(grown, key=lambda each: each[1].max())
    return terms.take(slice(int(values.argmax())))


def refine(landscape: Landscape, terms: TermSet, go_on: GoOn) -> Candidate:
    """Eliminate what is not needed and descend, as far as the budget goes."""
    at = eliminated(landscape, independent(landscape, terms))
    # By the sum of the weights, so that a weight of 2 gives the search of the row twice.
    n_rows = min(landscape.problem.n_total, landscape.policy.most_rows)
    n_columns = count_columns(landscape.problem.families, at.terms)
    flops = n_rows * flops_of_a_gradient(landscape.problem, max(n_columns, 1))
    n_evaluations = min(int(landscape.policy.flops_of_a_descent / flops), landscape.policy.most_evaluations)
    if n_evaluations >= landscape.policy.fewest_evaluations and at.k > 0:
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
