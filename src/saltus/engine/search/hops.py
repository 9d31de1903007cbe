"""Hops: from one local optimum to the next, by moving a few centres and going downhill again.

Heuristic as far as the chain is concerned, like every descent. It is how clusters of atoms are optimised (basin
hopping), and finds what annealing does not: centres that lie so close together that they act as a derivative.
"""

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.kernels.moves import LARGEST_RELEVANCE, SMALLEST_RELEVANCE
from saltus.engine.search.gauss_newton import looks_a_step
from saltus.engine.search.pruning import GoOn, Landscape, Pains, Place

# A hop is taken if it loses no more than an exponential variable times what a basis function costs, times a heat that
# falls from the first to the second in the course of a round, or of the time that was given. Robot arm data, cubic
# basis, MDL, 10 CPU seconds, seeds 10-19: log pi is 74.56 in the mean, and 74.27 for heats from .2 to .01.
HEAT = (0.3, 0.01)
# A descent of a hop, which need not be as thorough as that from a random start: by damped steps where these cost no
# more than so many looks, otherwise by quasi-Newton ones. After 10 CPU seconds of hops from one start, log pi was
# 73.9 with the first and 72.4 with the others (robot arm, cubic, MDL, heats from .4 to .1; 8 seeds), -1592.06 and
# -1592.30 (Friedman 1, from .15 to .01; 5 seeds), when they were chosen.
BRIEFLY = Pains(first=40, between=40, last=100, most_stale=1)
BRIEFLY_DAMPED = Pains(first=16, between=16, last=30, most_stale=1, damped=True)
MOST_LOOKS_A_STEP = 12.0

# It ends where it is so many times the cost of a basis function behind, before anything is eliminated and before the
# last ascent. Of 4 000 hops on the robot arm data, 24 % were behind by 5 costs at first, and only 1 % of those that
# were taken in the end. Half of these limits lose hops that lead far away, and searches end lower.
HOPELESS = (5.0, 1.5)

# A hop shakes a group of neighbours with this probability, by a normal variable of a scale between these; otherwise it
# replaces some centres, neighbours or any.
SHAKE_PROBABILITY = 0.5
LARGEST_GROUP = 5
SMALLEST_SHAKE, LARGEST_SHAKE = 0.005, 0.3
# A shaken group gets one more member with this probability.
ONE_MORE_PROBABILITY = 0.3
MOST_REPLACED, MOST_ADDED = 3, 2
# A new centre is near another with this probability, and not farther than about this.
NEAR_PROBABILITY, NEAR = 0.3, 0.05
# Relevances are shaken with the first probability, and then one that is 0 is switched on with the second.
SHAKE_METRIC_PROBABILITY, SWITCH_ON_PROBABILITY = 0.3, 0.5
METRIC_SHAKE = 0.5


def hop(rng: np.random.Generator, landscape: Landscape, at: Place, cost: float, go_on: GoOn) -> Place:
    """Disturb a local optimum and go downhill from there, while there is hope; `cost` is that of a basis function."""
    if landscape.k_max == 0:
        return at
    chance = rng.random()
    centers = shake(rng, landscape, at) if chance < SHAKE_PROBABILITY else replace(rng, landscape, at)
    relevance = at.relevance
    if landscape.learns_metric and rng.random() < SHAKE_METRIC_PROBABILITY:
        relevance = shake_metric(rng, relevance)
    start = landscape.place(centers[: landscape.k_max], relevance)
    hopeless = (at.log_posterior - HOPELESS[0] * cost, at.log_posterior - HOPELESS[1] * cost)
    k = max(len(at.centers), 1)
    is_cheap = looks_a_step(landscape.surface(k, relevance), k) <= MOST_LOOKS_A_STEP
    return landscape.prune(start, go_on, BRIEFLY_DAMPED if is_cheap else BRIEFLY, hopeless)


def neighbours(landscape: Landscape, at: Place, point: Floats) -> Ints:
    """List the centres of a place from the nearest to a point (d,) of the unit cube to the farthest, in its metric."""
    apart = (at.centers - point) @ landscape.to_metric.T * at.relevance
    return np.argsort((apart**2).sum(axis=1), kind="stable")


def shake(rng: np.random.Generator, landscape: Landscape, at: Place) -> Floats:
    """Shake a centre and its nearest neighbours, and perhaps give them company."""
    k, d = at.centers.shape
    if k == 0:
        return rng.random((1, d))
    one = at.centers[rng.integers(k)]
    group = neighbours(landscape, at, one)[: rng.integers(1, LARGEST_GROUP, endpoint=True)]
    scale = np.exp(rng.uniform(np.log(SMALLEST_SHAKE), np.log(LARGEST_SHAKE)))
    centers = at.centers.copy()
    centers[group] += scale * rng.standard_normal((len(group), d))
    if rng.random() < ONE_MORE_PROBABILITY:
        centers = np.vstack([centers, one + scale * rng.standard_normal(d)])
    return np.clip(centers, 0.0, 1.0)


def replace(rng: np.random.Generator, landscape: Landscape, at: Place) -> Floats:
    """Take a few centres out, of one neighbourhood or of any, and put as many or a few more in."""
    k, d = at.centers.shape
    n_out = min(int(rng.integers(0, MOST_REPLACED, endpoint=True)), k)
    n_in = max(n_out + int(rng.integers(0, MOST_ADDED, endpoint=True)), 1)
    of_one_place = rng.random() < 0.5
    order = neighbours(landscape, at, rng.random((d,))) if of_one_place else rng.permutation(k)
    centers = np.delete(at.centers, order[:n_out], axis=0)
    for _ in range(n_in):
        new = rng.random((d,))
        if len(centers) > 0 and rng.random() < NEAR_PROBABILITY:
            new = centers[rng.integers(len(centers))] + NEAR * rng.random() * rng.standard_normal(d)
        centers = np.vstack([centers, np.clip(new, 0.0, 1.0)])
    return centers


def shake_metric(rng: np.random.Generator, relevance: Floats) -> Floats:
    """Shake the relevances of the inputs that are on, and perhaps switch another on."""
    on = relevance > 0
    shaken = relevance * np.exp(METRIC_SHAKE * rng.random() * rng.standard_normal(relevance.size))
    shaken = np.where(on, np.clip(shaken, SMALLEST_RELEVANCE, LARGEST_RELEVANCE), 0.0)
    if not on.all() and rng.random() < SWITCH_ON_PROBABILITY:
        shaken[rng.choice(np.flatnonzero(~on))] = 1.0 / np.sqrt(relevance.size)
    return shaken
