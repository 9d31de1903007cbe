"""Hops: from one local optimum to the next, by moving a few terms and descending again.

Heuristic as far as the chain is concerned, like every descent. It is how clusters of atoms are optimised (basin
hopping), and finds what annealing does not: terms so close together that they act as a derivative.
"""

import numpy as np

from saltus.engine.search.gauss_newton import gradients_a_step
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.pruning import Effort, GoOn, prune
from saltus.families.terms import TermSet

# A hop is taken if it loses no more than an exponential variable times what a term costs, times a heat that
# falls from the first to the second in the course of a round, or of the time that was given. Robot arm data, cubic
# basis, MDL, 10 CPU seconds, seeds 10-19: log pi is 74.56 in the mean, and 74.27 for heats from .2 to .01.
HEAT = (0.3, 0.01)
# A descent of a hop, which need not be as thorough as that from a random start: by damped steps where these cost no
# more than so many evaluations of the gradient, otherwise by quasi-Newton ones. After 10 CPU seconds of hops from one
# start, log pi was 73.9 with the first and 72.4 with the others (robot arm, cubic, MDL, heats from .4 to .1; 8 seeds),
# -1592.06 and -1592.30 (Friedman 1, from .15 to .01; 5 seeds), when they were chosen.
BRIEF = Effort(first=40, between=40, last=100, most_stale=1)
BRIEF_DAMPED = Effort(first=16, between=16, last=30, most_stale=1, damped=True)
MOST_EVALUATIONS_A_STEP = 12.0

# It ends where it is so many times the cost of a term behind, before anything is eliminated and before the
# last descent. Of 4 000 hops on the robot arm data, 24 % were behind by 5 costs at first, and only 1 % of those that
# were taken in the end. Half of these limits lose hops that lead far away, and searches end lower.
HOPELESS = (5.0, 1.5)

# A hop shakes a group of neighbours with this probability, by a normal variable of a scale between these; otherwise it
# exchanges some terms, neighbours or any.
SHAKE_PROBABILITY = 0.5
LARGEST_GROUP = 5
SMALLEST_SHAKE, LARGEST_SHAKE = 0.005, 0.3
# A shaken group gets one more member with this probability.
ONE_MORE_PROBABILITY = 0.3
MOST_EXCHANGED, MOST_ADDED = 3, 2
# A new term is near another with this probability, and not farther than about this.
NEAR_PROBABILITY, NEAR = 0.3, 0.05
# Shared parameters, where there are any to choose, are shaken with this probability.
SHAKE_SHARED_PROBABILITY = 0.3


def hop(rng: np.random.Generator, landscape: Landscape, at: Candidate, cost: float, go_on: GoOn) -> Candidate:
    """Disturb a local optimum and descend from there, while there is hope; `cost` is that of a term."""
    k_max, asked = landscape.problem.k_max, landscape.mixture.search
    if k_max == 0:
        return at
    chance = rng.random()
    terms = shake(rng, landscape, at) if chance < SHAKE_PROBABILITY else exchange(rng, landscape, at)
    if landscape.mixture.moves_shared and rng.random() < SHAKE_SHARED_PROBABILITY:
        terms = terms.with_shared(asked.shake_shared(rng, terms.shared))
    start = landscape.candidate(terms.take(slice(k_max)))
    hopeless = (at.log_posterior - HOPELESS[0] * cost, at.log_posterior - HOPELESS[1] * cost)
    free = asked.free(landscape.problem.families, at.terms.with_shared(terms.shared))
    in_use = landscape.problem._replace(families=free.families)
    is_cheap = gradients_a_step(in_use, free) <= MOST_EVALUATIONS_A_STEP
    return prune(landscape, start, go_on, BRIEF_DAMPED if is_cheap else BRIEF, hopeless)


def is_taken(rng: np.random.Generator, at: Candidate, found: Candidate, heat: float) -> bool:
    """Say whether a hop goes on from what it found, which may be worse by `heat` times an exponential variable."""
    return found.log_posterior > at.log_posterior - heat * rng.standard_exponential()


def shake(rng: np.random.Generator, landscape: Landscape, at: Candidate) -> TermSet:
    """Shake a term and its nearest neighbours, and perhaps add another near them."""
    mixture, terms = landscape.mixture, at.terms
    if at.k == 0:
        return mixture.draw(rng, 1, terms.shared)
    one = int(rng.integers(at.k))
    order = mixture.search.order_by_distance(rng, landscape.problem.families, terms, one)
    group = order[: rng.integers(1, LARGEST_GROUP, endpoint=True)]
    scale = np.exp(rng.uniform(np.log(SMALLEST_SHAKE), np.log(LARGEST_SHAKE)))
    shaken = disturb(rng, terms.take(group), scale)
    parameters = terms.parameters.copy()
    parameters[group] = shaken.parameters
    found = terms.with_parameters(parameters)
    if rng.random() < ONE_MORE_PROBABILITY:
        found = found.followed_by(disturb(rng, terms.take(np.array([one])), scale))
    return found


def disturb(rng: np.random.Generator, terms: TermSet, scale: float) -> TermSet:
    """Add normal variables to all parameters, within bounds."""
    moved = terms.parameters + scale * rng.standard_normal(terms.parameters.shape)
    return terms.with_parameters(np.clip(moved, 0.0, 1.0))


def exchange(rng: np.random.Generator, landscape: Landscape, at: Candidate) -> TermSet:
    """Take a few terms out, of one neighbourhood or of any, and put as many or a few more in."""
    mixture, k = landscape.mixture, at.k
    n_out = min(int(rng.integers(0, MOST_EXCHANGED, endpoint=True)), k)
    n_in = max(n_out + int(rng.integers(0, MOST_ADDED, endpoint=True)), 1)
    if rng.random() < 0.5:
        order = mixture.search.order_by_distance(rng, landscape.problem.families, at.terms, None)
    else:
        order = rng.permutation(k)
    terms = at.terms.without(order[:n_out])
    for _ in range(n_in):
        new = mixture.draw(rng, 1, terms.shared)
        if len(terms) > 0 and rng.random() < NEAR_PROBABILITY:
            near = terms.take(np.array([rng.integers(len(terms))]))
            new = disturb(rng, near, NEAR * rng.random())
        terms = terms.followed_by(new)
    return terms
