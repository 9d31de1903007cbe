"""Moves of radial terms in pairs, compiled: split, merge, and two neighbours that move as one.

A pair is two terms that are each other's nearest in the unit cube of their parameters. What cannot be made is a null
move.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats
from saltus.families.terms import Edits, Terms, draw_walk_scale, pick

# A pair moves to anywhere in the box with this probability, otherwise by a walk.
FAR_PROBABILITY = 0.5


@kernel
def nearest(parameters: Floats, k: int, point: Floats, skip: int, skip_too: int) -> tuple[int, float]:
    """Find the term nearest to `point`, other than those to skip: (index, squared distance). O(k p)."""
    best = -1
    best_distance = np.inf
    for j in range(k):
        if j != skip and j != skip_too:
            distance = 0.0
            for i in range(point.size):
                difference = parameters[j, i] - point[i]
                distance += difference * difference
            if distance < best_distance:
                best_distance = distance
                best = j
    return best, best_distance


@glue
def find_partner(parameters: Floats, k: int, one: int, reach: float) -> int:
    """Find the term that makes a pair with number `one`: each other's nearest, within reach; or -1."""
    other, _ = nearest(parameters, k, parameters[one], one, one)
    back, _ = nearest(parameters, k, parameters[other], other, other)
    if back != one:
        return -1
    for i in range(parameters.shape[1]):
        if abs(parameters[one, i] - parameters[other, i]) >= reach:
            return -1
    return other


@glue
def split_radial(
    rng: np.random.Generator, terms: Terms, k_max: int, split_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Replace one term by two at mu - s u and mu + s u, which must be each other's nearest."""
    parameters, k = terms.parameters, terms.k[0]
    if k == 0 or k == k_max:
        return False, 0.0
    p = parameters.shape[1]
    parent = pick(rng, k)
    inside = True
    squared_gap = 0.0
    for i in range(p):
        shift = split_scale * (2.0 * rng.random() - 1.0)
        low = parameters[parent, i] - shift
        high = parameters[parent, i] + shift
        edits.incoming[which, 0, i] = low
        edits.incoming[which, 1, i] = high
        inside = inside and 0.0 <= low <= 1.0 and 0.0 <= high <= 1.0
        squared_gap += 4.0 * shift * shift
    if not inside:
        return False, 0.0
    for child in range(2):
        edits.family[which, child] = terms.family[parent]
        _, distance = nearest(parameters, k, edits.incoming[which, child], parent, parent)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = parent
    edits.n_out[which] = 1
    edits.n_in[which] = 2
    # Merge finds the pair from either of its two members out of k + 1; u has density 2^-p on [-1, 1]^p and
    # (mu, u) and (mu, -u) give the same pair; the Jacobian of (mu, u) -> (mu - s u, mu + s u) is (2 s)^p.
    log_selection = np.log(k / (k + 1.0))
    log_density_and_jacobian = p * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian


@glue
def merge_radial(
    rng: np.random.Generator, terms: Terms, split_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Replace two mutually nearest terms, within reach of a split, by their midpoint."""
    parameters, k = terms.parameters, terms.k[0]
    if k < 2:
        return False, 0.0
    p = parameters.shape[1]
    one = pick(rng, k)
    other = find_partner(parameters, k, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    edits.family[which, 0] = terms.family[one]
    for i in range(p):
        edits.incoming[which, 0, i] = 0.5 * (parameters[one, i] + parameters[other, i])
    edits.out[which, 0] = max(one, other)  # the later first: the number of the earlier one stands when it is out
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 1
    log_selection = np.log(k / (k - 1.0))
    log_density_and_jacobian = -p * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian


@glue
def move_radial_pair(
    rng: np.random.Generator, terms: Terms, split_scale: float, walk_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Move a pair as one, to anywhere in the box or by a walk; it must be a pair where it arrives.

    Two terms with opposite coefficients, a derivative in effect, do not get anywhere one by one.
    """
    parameters, k = terms.parameters, terms.k[0]
    if k < 2:
        return False, 0.0
    one = pick(rng, k)
    other = find_partner(parameters, k, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    far = rng.random() < FAR_PROBABILITY
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    squared_gap = 0.0
    for i in range(parameters.shape[1]):
        shift = rng.random() - parameters[one, i] if far else scale * rng.standard_normal()
        low = parameters[one, i] + shift
        high = parameters[other, i] + shift
        edits.incoming[which, 0, i] = low
        edits.incoming[which, 1, i] = high
        inside = inside and 0.0 <= low <= 1.0 and 0.0 <= high <= 1.0
        squared_gap += (high - low) * (high - low)
    if not inside:
        return False, 0.0
    for member in range(2):
        edits.family[which, member] = terms.family[one]
        _, distance = nearest(parameters, k, edits.incoming[which, member], one, other)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = max(one, other)
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 2
    return True, 0.0


@glue
def walk_radial(
    rng: np.random.Generator, terms: Terms, moved: int, walk_scale: float, edits: Edits, which: int
) -> bool:
    """Walk from a term along all its parameters, at one of several scales; False where that leaves the unit cube."""
    edits.family[which, 0] = terms.family[moved]
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    for i in range(terms.parameters.shape[1]):
        value = terms.parameters[moved, i] + scale * rng.standard_normal()
        edits.incoming[which, 0, i] = value
        inside = inside and 0.0 <= value <= 1.0
    return inside
