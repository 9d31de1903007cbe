"""Moves of radial terms in pairs, compiled: split, merge, and two neighbours that move as one.

A pair is two terms that are each other's nearest in the unit cube of their parameters. What cannot be made is a null
move.
"""

import numpy as np

from saltus._jit import glue, kernel
from saltus._typing import Floats
from saltus._vectors import clear
from saltus.families.radial.kernels import RadialData
from saltus.families.terms import Edits, Terms, draw_walk_scale, keep_term, pick

# A pair moves to anywhere in the box with this probability, otherwise by a walk.
FAR_PROBABILITY = 0.5


@glue
def count_of_family(terms: Terms, family: int) -> int:
    """Count the terms of a family."""
    n = 0
    for j in range(terms.k[0]):
        if terms.family[j] == family:
            n += 1
    return n


@glue
def pick_radial(rng: np.random.Generator, terms: Terms, family: int) -> tuple[int, int]:
    """Draw one of the terms of the family at random: its number, or -1, and how many there are."""
    n_radial = count_of_family(terms, family)
    if n_radial == 0:
        return -1, 0
    rank = pick(rng, n_radial)
    for j in range(terms.k[0]):
        if terms.family[j] == family:
            if rank == 0:
                return j, n_radial
            rank -= 1
    return -1, n_radial


@kernel
def nearest(terms: Terms, family: int, p: int, point: Floats, skip: int, skip_too: int) -> tuple[int, float]:
    """Find the term of the family nearest to `point`, other than those to skip: (number, squared distance). O(k p)."""
    best = -1
    best_distance = np.inf
    for j in range(terms.k[0]):
        if j != skip and j != skip_too and terms.family[j] == family:
            distance = 0.0
            for i in range(p):
                difference = terms.parameters[j, i] - point[i]
                distance += difference * difference
            if distance < best_distance:
                best_distance = distance
                best = j
    return best, best_distance


@glue
def find_partner(terms: Terms, p: int, one: int, reach: float) -> int:
    """Find the term that makes a pair with number `one`: each other's nearest, within reach; or -1."""
    family, parameters = terms.family[one], terms.parameters
    other, _ = nearest(terms, family, p, parameters[one], one, one)
    back, _ = nearest(terms, family, p, parameters[other], other, other)
    if back != one:
        return -1
    for i in range(p):
        if abs(parameters[one, i] - parameters[other, i]) >= reach:
            return -1
    return other


@kernel
def split_radial(
    rng: np.random.Generator,
    data: RadialData | None,
    family: int,
    log_weight: float,
    terms: Terms,
    k_max: int,
    split_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Replace one term by two at mu - s u and mu + s u, which must be each other's nearest.

    log_weight is ln w of the family: the second term is not drawn from nu, which would have chosen its family too.
    """
    if data is None:
        return False, 0.0
    parameters, p = terms.parameters, data.to_metric.shape[1]
    if terms.k[0] == k_max:
        return False, 0.0
    parent, k = pick_radial(rng, terms, family)
    if k == 0:
        return False, 0.0
    for child in range(2):
        keep_term(terms, parent, edits, which, child)
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
        _, distance = nearest(terms, family, p, edits.incoming[which, child], parent, parent)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = parent
    edits.n_out[which] = 1
    edits.n_in[which] = 2
    # Merge finds the pair from either of its two members out of k + 1; u has density 2^-p on [-1, 1]^p and
    # (mu, u) and (mu, -u) give the same pair; the Jacobian of (mu, u) -> (mu - s u, mu + s u) is (2 s)^p.
    log_selection = np.log(k / (k + 1.0))
    log_density_and_jacobian = p * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian + log_weight


@kernel
def merge_radial(
    rng: np.random.Generator,
    data: RadialData | None,
    family: int,
    log_weight: float,
    terms: Terms,
    split_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Replace two mutually nearest terms, within reach of a split, by their midpoint."""
    if data is None:
        return False, 0.0
    parameters, p = terms.parameters, data.to_metric.shape[1]
    if count_of_family(terms, family) < 2:
        return False, 0.0
    one, k = pick_radial(rng, terms, family)
    other = find_partner(terms, p, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    keep_term(terms, one, edits, which, 0)
    for i in range(p):
        edits.incoming[which, 0, i] = 0.5 * (parameters[one, i] + parameters[other, i])
    edits.out[which, 0] = max(one, other)  # the later first: the number of the earlier one stands when it is out
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 1
    log_selection = np.log(k / (k - 1.0))
    log_density_and_jacobian = -p * np.log(4.0 * split_scale)
    return True, log_selection + log_density_and_jacobian - log_weight


@kernel
def move_radial_pair(
    rng: np.random.Generator,
    data: RadialData | None,
    family: int,
    terms: Terms,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Move a pair as one, to anywhere in the box or by a walk; it must be a pair where it arrives.

    Two terms with opposite coefficients, a derivative in effect, do not get anywhere one by one.
    """
    if data is None:
        return False, 0.0
    parameters, p = terms.parameters, data.to_metric.shape[1]
    if count_of_family(terms, family) < 2:
        return False, 0.0
    one, _ = pick_radial(rng, terms, family)
    other = find_partner(terms, p, one, 2.0 * split_scale)
    if other < 0:
        return False, 0.0
    keep_term(terms, one, edits, which, 0)
    keep_term(terms, other, edits, which, 1)
    far = rng.random() < FAR_PROBABILITY
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    squared_gap = 0.0
    for i in range(p):
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
        _, distance = nearest(terms, family, p, edits.incoming[which, member], one, other)
        if distance < squared_gap:
            return False, 0.0
    edits.out[which, 0] = max(one, other)
    edits.out[which, 1] = min(one, other)
    edits.n_out[which] = 2
    edits.n_in[which] = 2
    return True, 0.0


@kernel
def walk_radial(
    rng: np.random.Generator,
    data: RadialData | None,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Walk from a term along all its parameters, at one of several scales; infeasible where that leaves the cube."""
    if data is None:
        return False, 0.0
    keep_term(terms, moved, edits, which, 0)
    scale = draw_walk_scale(rng, walk_scale)
    inside = True
    for i in range(data.to_metric.shape[1]):
        value = terms.parameters[moved, i] + scale * rng.standard_normal()
        edits.incoming[which, 0, i] = value
        inside = inside and 0.0 <= value <= 1.0
    return inside, 0.0


@kernel
def draw_radial(rng: np.random.Generator, data: RadialData | None, edits: Edits, which: int) -> None:
    """Draw the first incoming term of an edit from nu."""
    if data is None:
        return
    for i in range(edits.choices.shape[2]):
        edits.choices[which, 0, i] = 0
    clear(edits.incoming[which, 0])
    for i in range(data.to_metric.shape[1]):
        edits.incoming[which, 0, i] = rng.random()
