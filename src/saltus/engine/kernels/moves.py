"""The five moves (docs/mathematics.md), in coordinates where the box of centres is the unit cube.

A move proposes an edit (which centres go out, which come in) and returns (feasible, log_green). log_green is
the log of the proposal ratio times the Jacobian. A move that cannot be made in the present state is a null
move: infeasible is rejected, never redrawn or clamped, so every pair of opposite moves is chosen with equal
probability and no correction is needed at the edges. Moves know no linear algebra.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats, Ints

MOVES = ("birth", "death", "split", "merge", "update")
BIRTH, DEATH, SPLIT, MERGE, UPDATE = range(len(MOVES))

# Moves of a learned metric come after, in the counts.
METRIC_MOVES = ("stretch", "switch")
STRETCH, SWITCH = len(MOVES), len(MOVES) + 1

# A relevance is 0 or between these, and its logarithm has a uniform prior; inputs have standard deviation 1.
SMALLEST_RELEVANCE, LARGEST_RELEVANCE = 0.01, 100.0
LOG_SMALLEST, LOG_LARGEST = float(np.log(SMALLEST_RELEVANCE)), float(np.log(LARGEST_RELEVANCE))

# A metric move switches an input on or off with this probability; otherwise it stretches the metric, along all inputs
# at once with the next, by a factor whose logarithm has one of three standard deviations.
SWITCH_PROBABILITY = 0.3
STRETCH_ALL_PROBABILITY = 0.2
STRETCH_SCALE, STRETCH_SCALE_RATIO = 0.5, 0.3

# An update is a draw from the whole box with this probability, otherwise a random walk.
GLOBAL_UPDATE_PROBABILITY = 0.25
# With the next, a pair of close neighbours moves as one: two basis functions with opposite coefficients, a derivative
# in effect, do not get anywhere one by one. Such a move is to anywhere in the box with the third, otherwise a walk.
PAIR_UPDATE_PROBABILITY = 0.25
FAR_PROBABILITY = 0.5
# The walk's standard deviation is walk_scale times one of 1, 1/4, 1/16. A fourth, 1/64, is accepted so often that
# its commits cost more than they find.
N_WALK_SCALES = 3
WALK_SCALE_RATIO = 0.25


class Edits(NamedTuple):
    """Proposed changes, B of them. One is filled in place by `propose`."""

    n_out: Ints  # (B,)
    out: Ints  # (B, 2), which centres go out, the later first
    n_in: Ints  # (B,)
    incoming: Floats  # (B, 2, d), the centres that come in


def make_edits(n_edits: int, n_dimensions: int) -> Edits:
    """Allocate so many edits."""
    return Edits(
        np.zeros(n_edits, dtype=np.int64),
        np.zeros((n_edits, 2), dtype=np.int64),
        np.zeros(n_edits, dtype=np.int64),
        np.zeros((n_edits, 2, n_dimensions)),
    )


@glue
def pick(rng: np.random.Generator, k: int) -> int:
    """Draw one of 0..k-1 at random."""
    return min(int(rng.random() * k), k - 1)


@kernel
def nearest(centers: Floats, k: int, point: Floats, skip: int, skip_too: int) -> tuple[int, float]:
    """Find the centre nearest to `point`, other than those to skip: (index, squared distance). O(k d)."""
    best = -1
    best_distance = np.inf
    for j in range(k):
        if j != skip and j != skip_too:
            distance = 0.0
            for i in range(point.size):
                difference = centers[j, i] - point[i]
                distance += difference * difference
            if distance < best_distance:
                best_distance = distance
                best = j
    return best, best_distance


@glue
def find_partner(centers: Floats, k: int, one: int, reach: float) -> int:
    """Find the centre that makes a pair with number `one`: each other's nearest, within reach; or -1."""
    other, _ = nearest(centers, k, centers[one], one, one)
    back, _ = nearest(centers, k, centers[other], other, other)
    if back != one:
        return -1
    for i in range(centers.shape[1]):
        if abs(centers[one, i] - centers[other, i]) >= reach:
            return -1
    return other


@glue
def propose_birth(
    rng: np.random.Generator, centers: Floats, k: int, k_max: int, edits: Edits, which: int
) -> tuple[bool, float]:
    """Add one centre, uniform in the box."""
    if k == k_max:
        return False, 0.0
    for i in range(centers.shape[1]):
        edits.incoming[which, 0, i] = rng.random()
    edits.n_out[which] = 0
    edits.n_in[which] = 1
    log_selection = -np.log(k + 1.0)  # death picks this one out of k + 1; the density of the draw is 1
    return True, log_selection


@glue
def propose_death(rng: np.random.Generator, k: int, edits: Edits, which: int) -> tuple[bool, float]:
    """Remove one centre at random."""
    if k == 0:
        return False, 0.0
    edits.out[which, 0] = pick(rng, k)
    edits.n_out[which] = 1
    edits.n_in[which] = 0
    log_selection = np.log(float(k))
    return True, log_selection


@glue
def propose_split(
    rng: np.random.Generator,
    centers: Floats,
    k: int,
    k_max: int,
    split_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Replace one centre by two at mu - s u and mu + s u, which must be each other's nearest."""
    if k == 0 or k == k_max:
        return False, 0.0
    d = centers.shape[1]
    parent = pick(rng, k)
    inside = True
    squared_gap = 0.0
    for i in range(d):
        shift = split_scale * (2.0 * rng.random() - 1.0)
        low = centers[parent, i] - shift
        high = centers[parent, i] + shift
        edits.incoming[which, 0, i] = low
        edits.incoming[which, 1, i] = high
        inside = inside and 0.0 <= low <= 1.0 and 0.0 <= high <= 1.0
        squared_gap += 4.0 * shift * shift
    if not inside:
        return False, 0.0
    for child in range(2):
        _, distance = nearest(centers, k, edits.incoming[which, child], parent, parent)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = parent
    edits.n_out[which] = 1
    edits.n_in[which] = 2
    # Merge finds the pair from either of its two members out of k + 1; u has density 2^-d on [-1, 1]^d and
    # (mu, u) and (mu, -u) give the same pair; the Jacobian of (mu, u) -> (mu - s u, mu + s u) is (2 s)^d.
    log_selection = np.log(k / (k + 1.0))
    log_density_and_jacobian = d * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian


@glue
def propose_merge(
    rng: np.random.Generator, centers: Floats, k: int, split_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Replace two mutually nearest centres, within reach of a split, by their midpoint."""
    if k < 2:
        return False, 0.0
    d = centers.shape[1]
    one = pick(rng, k)
    other = find_partner(centers, k, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    for i in range(d):
        edits.incoming[which, 0, i] = 0.5 * (centers[one, i] + centers[other, i])
    edits.out[which, 0] = max(one, other)  # the later first: the number of the earlier one stands when it is out
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 1
    log_selection = np.log(k / (k - 1.0))
    log_density_and_jacobian = -d * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian


@glue
def draw_walk_scale(rng: np.random.Generator, walk_scale: float) -> float:
    """Draw one of the walk's standard deviations."""
    scale = walk_scale
    for _ in range(pick(rng, N_WALK_SCALES)):
        scale *= WALK_SCALE_RATIO
    return scale


@glue
def propose_pair_update(
    rng: np.random.Generator,
    centers: Floats,
    k: int,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Move a pair as one, to anywhere in the box or by a walk; it must be a pair where it arrives."""
    if k < 2:
        return False, 0.0
    d = centers.shape[1]
    one = pick(rng, k)
    other = find_partner(centers, k, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    far = rng.random() < FAR_PROBABILITY
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    squared_gap = 0.0
    for i in range(d):
        shift = rng.random() - centers[one, i] if far else scale * rng.standard_normal()
        low = centers[one, i] + shift
        high = centers[other, i] + shift
        edits.incoming[which, 0, i] = low
        edits.incoming[which, 1, i] = high
        inside = inside and 0.0 <= low <= 1.0 and 0.0 <= high <= 1.0
        squared_gap += (high - low) * (high - low)
    if not inside:
        return False, 0.0
    for member in range(2):
        _, distance = nearest(centers, k, edits.incoming[which, member], one, other)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = max(one, other)
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 2
    return True, 0.0


@glue
def propose_update(
    rng: np.random.Generator,
    centers: Floats,
    k: int,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Move one centre: a draw from the whole box, or a Gaussian walk at one of several scales; or a pair."""
    if k == 0:
        return False, 0.0
    chance = rng.random()
    if chance < PAIR_UPDATE_PROBABILITY:
        return propose_pair_update(rng, centers, k, split_scale, walk_scale, edits, which)
    moved = pick(rng, k)
    edits.out[which, 0] = moved
    edits.n_out[which] = 1
    edits.n_in[which] = 1
    if chance < PAIR_UPDATE_PROBABILITY + GLOBAL_UPDATE_PROBABILITY:
        for i in range(centers.shape[1]):
            edits.incoming[which, 0, i] = rng.random()
        return True, 0.0
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    for i in range(centers.shape[1]):
        value = centers[moved, i] + scale * rng.standard_normal()
        edits.incoming[which, 0, i] = value
        inside = inside and 0.0 <= value <= 1.0
    return inside, 0.0


@kernel
def propose(
    rng: np.random.Generator,
    move: int,
    centers: Floats,
    k: int,
    k_max: int,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Propose by `move`: fill edits[which], return (feasible, log_green)."""
    if move == BIRTH:
        return propose_birth(rng, centers, k, k_max, edits, which)
    if move == DEATH:
        return propose_death(rng, k, edits, which)
    if move == SPLIT:
        return propose_split(rng, centers, k, k_max, split_scale, edits, which)
    if move == MERGE:
        return propose_merge(rng, centers, k, split_scale, edits, which)
    return propose_update(rng, centers, k, split_scale, walk_scale, edits, which)


@glue
def propose_metric(rng: np.random.Generator, relevance: Floats, proposed: Floats) -> tuple[int, bool, float]:
    """Propose other relevances: fill `proposed`, return (move, feasible, log_green).

    A stretch walks along the logarithm of one relevance, or of all. A switch takes one input off, or puts it on with
    a relevance drawn from the prior, whose density is 1 in the reference measure: so log_green is 0 for all.
    """
    q = relevance.size
    for i in range(q):
        proposed[i] = relevance[i]
    chance = rng.random()
    one = pick(rng, q)
    if chance < SWITCH_PROBABILITY:
        log_relevance = LOG_SMALLEST + (LOG_LARGEST - LOG_SMALLEST) * rng.random()
        proposed[one] = 0.0 if relevance[one] > 0.0 else np.exp(log_relevance)
        return SWITCH, True, 0.0
    scale = STRETCH_SCALE
    for _ in range(pick(rng, 3)):
        scale *= STRETCH_SCALE_RATIO
    factor = np.exp(scale * rng.standard_normal())
    first, last = one, one + 1
    if chance < SWITCH_PROBABILITY + STRETCH_ALL_PROBABILITY:
        first, last = 0, q
    changed = False
    for i in range(first, last):
        if relevance[i] > 0.0:
            changed = True
            proposed[i] = relevance[i] * factor
            if not SMALLEST_RELEVANCE <= proposed[i] <= LARGEST_RELEVANCE:
                return STRETCH, False, 0.0
    return STRETCH, changed, 0.0
