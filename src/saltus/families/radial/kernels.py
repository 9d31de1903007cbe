"""Radial terms, compiled: columns, counts, shared moves of a learned metric, and derivatives."""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue, kernel
from saltus._typing import Bytes, Floats, Ints
from saltus._vectors import add_multiple, add_products, clear, dot, total, weighted_square
from saltus.families.profiles import apply_profile, apply_profile_and_slope
from saltus.families.radial.gaps import add_shift_beside_gaps, total_of_gaps
from saltus.families.terms import pick

# A relevance is 0 or between these, and its logarithm has a uniform prior; inputs have standard deviation 1.
SMALLEST_RELEVANCE, LARGEST_RELEVANCE = 0.01, 100.0
LOG_SMALLEST, LOG_LARGEST = float(np.log(SMALLEST_RELEVANCE)), float(np.log(LARGEST_RELEVANCE))

# Where terms have widths of their own, each has one more coordinate in the unit cube, its last, which gives the
# logarithm of its sharpness: what distances to its centre are multiplied by. The prior is uniform in that logarithm.
# Sharpnesses are between 1 / SHARPEST and SHARPEST. Errors to the truth of BayesianRegressor over those of a Gaussian
# process, geometric means of the 11 noisy tasks of benchmarks/compare, seeds 20-23: 0.96 with 4, 0.95 with 8; with one
# width for all, seeds 20 and 21, 1.08.
SHARPEST = 4.0
LOG_SHARPEST = float(np.log(SHARPEST))

# What a width counts for. By 1, networks with widths of their own win too often: errors on MacKay's robot arm data,
# medians of 10 seeds, were A .00569, B .00492; by 2, .00564 and .00490. Over the noisy tasks of benchmarks/compare,
# errors were 1.05 and 1.06 of a Gaussian process's.
WIDTH_COST = 2

# Moves of the metric: a switch takes an input in or out with this probability; otherwise a stretch, along all inputs
# at once with the next, by a factor whose logarithm has one of three standard deviations.
SHARED_MOVES = ("stretch", "switch")
STRETCH, SWITCH = range(len(SHARED_MOVES))
SWITCH_PROBABILITY = 0.3
STRETCH_ALL_PROBABILITY = 0.2
STRETCH_SCALE, STRETCH_SCALE_RATIO = 0.5, 0.3


@by_reference
class RadialData(NamedTuple):
    """The rows as radial terms see them, and what there is to know about the terms."""

    profile: int
    rows: Floats  # (n_tiles, q, L), coordinates in which the metric is Euclidean where all relevances are 1; 0 at gaps
    has_gaps: bool
    is_gap: Bytes  # (n_tiles, q, L), which coordinates are missing, and left out of distances; (n_tiles, 0, L) if none
    to_metric: Floats  # (q, p), takes the parameters of a term there; a column of 0 for that of a width
    own_widths: bool  # whether each term has a width of its own
    learns_metric: bool  # whether relevances are free
    n_inputs: int  # coordinates of a centre
    width_scale: float  # of descents: a log sharpness is this times its coordinate, less LOG_SHARPEST


@by_reference
class RadialWork(NamedTuple):
    """Workspace of a descent on k radial terms."""

    column: Ints  # (k,), their numbers among all columns
    first: Ints  # (k,), where their parameters begin at a point of the descent
    first_shared: int  # where the relevances begin
    first_derivative: Ints  # (k,), where the derivatives of their columns begin among all
    first_shared_derivative: int  # where the derivatives by the relevances begin
    squared: Floats  # (n_tiles, k, L), squared distances
    slope: Floats  # (n_tiles, k, L), derivatives of columns with respect to squared distance
    centers: Floats  # (k, q + 1), in the coordinates of the rows; last, the sharpness
    relevance: Floats  # (q,)
    by_squared: Floats  # (2, L), d log pi / d r^2 of each row, for one term, and times sharpness^2 for all
    moments: Floats  # (k, q), its products with the rows
    totals: Floats  # (k, q), its sums over rows that have the coordinate
    pulls: Floats  # (k,), its products with r^2


def make_radial_work(
    data: RadialData, shared: Floats, column: Ints, first: Ints, first_derivative: Ints, ends: tuple[int, int]
) -> RadialWork:
    """Allocate the workspace for terms with the given columns; shared parameters, and derivatives by these, come last.

    The relevances (q,) are those used where the metric is given.
    """
    n_tiles, q, length = data.rows.shape
    k = column.size
    return RadialWork(
        column=column,
        first=first[column],
        first_shared=ends[0],
        first_derivative=first_derivative[column],
        first_shared_derivative=ends[1],
        squared=np.empty((n_tiles, k, length)),
        slope=np.empty((n_tiles, k, length)),
        centers=np.ones((k, q + 1)),
        relevance=shared.copy(),
        by_squared=np.empty((2, length)),
        moments=np.empty((k, q)),
        totals=np.empty((k, q)),
        pulls=np.empty(k),
    )


def count_relevances(data: RadialData | None, shared: Floats) -> int:
    """Count the inputs that are switched on, where the metric is learned; 0 where it is given."""
    if data is None:
        return 0
    n_active = 0
    if data.learns_metric:
        for i in range(shared.size):
            if shared[i] > 0.0:
                n_active += 1
    return n_active


def count_radial(data: RadialData | None, shared: Floats) -> int:
    """Count the parameters of one term: the coordinates of its centre along the inputs in use, and its width."""
    if data is None:
        return 0
    n_parameters = WIDTH_COST if data.own_widths else 0
    if data.learns_metric:
        for i in range(shared.size):
            if shared[i] > 0.0:
                n_parameters += 1
    else:
        n_parameters += data.n_inputs
    return n_parameters


# Python calls the functions above as they are: entry points would take longer to compile than they ever save.
count_relevances_kernel, count_radial_kernel = kernel(count_relevances), kernel(count_radial)


def sharpness_at(coordinate: Floats) -> Floats:
    """Evaluate the sharpness at a coordinate in [0, 1]."""
    sharpness: Floats = np.exp(LOG_SHARPEST * (2.0 * coordinate - 1.0))
    return sharpness


kernel_sharpness = glue(sharpness_at)


@kernel
def decode_radial(data: RadialData | None, parameters: Floats, decoded: Floats) -> None:
    """Find the coordinates (q,) of a centre among the rows; last, its sharpness. O(q p)."""
    if data is None:
        return
    to_metric = data.to_metric
    q, p = to_metric.shape
    for i in range(q):
        row = to_metric[i]
        total = 0.0
        for j in range(p):
            total += row[j] * parameters[j]
        decoded[i] = total
    decoded[q] = kernel_sharpness(parameters[p - 1]) if data.own_widths else 1.0


@glue
def squared_distances(data: RadialData, t: int, center: Floats, relevance: Floats, column: Floats) -> None:
    """Set column[n] = sum_i (sharpness relevance_i (X[i, n] - center_i))^2; sharpness is last in `center`. O(L q).

    Over the coordinates that row n has: one that is missing adds nothing.
    """
    n_rows, X = column.size, data.rows[t]
    sharpness = center[relevance.size]
    for n in range(n_rows):
        column[n] = 0.0
    for i in range(relevance.size):
        mu, scale = center[i], sharpness * relevance[i]
        if scale != 0.0 and data.has_gaps:
            for n in range(n_rows):
                difference = 0.0 if data.is_gap[t, i, n] else scale * (X[i, n] - mu)
                column[n] += difference * difference
        elif scale != 0.0:
            for n in range(n_rows):
                difference = scale * (X[i, n] - mu)
                column[n] += difference * difference


@kernel
def evaluate_radial(
    data: RadialData | None, t: int, decoded: Floats, relevance: Floats, root_weight: Floats, column: Floats
) -> None:
    """Set column[n] = sqrt(weight_n) phi(r_n) for the rows of tile t. O(L q)."""
    if data is None:
        return
    squared_distances(data, t, decoded, relevance, column)
    apply_profile(data.profile, column)
    for n in range(column.size):
        column[n] *= root_weight[n]


@kernel
def propose_shared_radial(
    rng: np.random.Generator, data: RadialData | None, k: int, relevance: Floats, proposed: Floats
) -> tuple[int, bool, float]:
    """Propose other relevances: fill `proposed`, return (move, feasible, log_green).

    A stretch walks along the logarithm of one relevance, or of all; where there are no terms it would change nothing. A
    switch takes one input off, or puts it on with a relevance drawn from the prior, whose density is 1 in the reference
    measure: so log_green is 0 for all.
    """
    if data is None:
        return STRETCH, False, 0.0
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
            changed = k > 0
            proposed[i] = relevance[i] * factor
            if not SMALLEST_RELEVANCE <= proposed[i] <= LARGEST_RELEVANCE:
                return STRETCH, False, 0.0
    return STRETCH, changed, 0.0


@kernel
def unpack_radial(data: RadialData | None, x: Floats, work: RadialWork | None) -> None:
    """Find the centres and the relevances of a point of a descent: own parameters of terms, then log relevances."""
    if data is None or work is None:
        return
    to_metric = data.to_metric
    q, p = to_metric.shape
    for j in range(work.column.size):
        first = work.first[j]
        for i in range(q):
            work.centers[j, i] = dot(to_metric[i], x[first:], p)
        if data.own_widths:
            work.centers[j, q] = np.exp(data.width_scale * x[first + p - 1] - LOG_SHARPEST)
    if data.learns_metric:
        for i in range(q):
            work.relevance[i] = np.exp(x[work.first_shared + i])


@kernel
def evaluate_radial_and_slope(
    data: RadialData | None, t: int, j: int, root_weight: Floats, work: RadialWork | None, column: Floats
) -> None:
    """Evaluate the column of radial term j; keep r^2 and slope[n] = sqrt(weight_n) d phi / d r^2. O(L q)."""
    if data is None or work is None:
        return
    squared, slope = work.squared[t, j], work.slope[t, j]
    squared_distances(data, t, work.centers[j], work.relevance, squared)
    apply_profile_and_slope(data.profile, squared, column, slope)
    for n in range(column.size):
        column[n] *= root_weight[n]
        slope[n] *= root_weight[n]


@kernel
def clear_radial_sums(data: RadialData | None, work: RadialWork | None) -> None:
    """Begin to sum a gradient."""
    if data is None or work is None:
        return
    clear(work.pulls)
    for j in range(work.column.size):
        clear(work.totals[j])
        clear(work.moments[j])


@kernel
def begin_radial_tile(data: RadialData | None, work: RadialWork | None) -> None:
    """Begin with a tile."""
    if data is None or work is None:
        return
    clear(work.by_squared[1])


@kernel
def weigh_by_slope(by_column: Floats, slope: Floats, sharpness: float, by_squared: Floats) -> None:
    """Set by_squared[0] to d log pi / d r^2 of one term; add it, times sharpness^2, to by_squared[1]. O(L)."""
    one, of_all = by_squared[0], by_squared[1]
    for n in range(one.size):
        one[n] = by_column[n] * slope[n]
        of_all[n] += sharpness * sharpness * one[n]


@kernel
def pull_back_radial(data: RadialData | None, t: int, j: int, by_column: Floats, work: RadialWork | None) -> None:
    """Add what a tile says about radial term j, given d log pi by its column. O(L q)."""
    if data is None or work is None:
        return
    q = work.relevance.size
    weigh_by_slope(by_column, work.slope[t, j], work.centers[j, q], work.by_squared)
    of_all = total(work.by_squared[0])
    for i in range(q):
        work.totals[j, i] += of_all
        if data.has_gaps:
            work.totals[j, i] -= total_of_gaps(work.by_squared[0], data.is_gap[t, i])
    work.pulls[j] += dot(work.by_squared[0], work.squared[t, j], work.by_squared.shape[1])
    add_products(data.rows[t], work.by_squared[0], q, work.moments[j])


@kernel
def pull_back_shared_radial(data: RadialData | None, t: int, work: RadialWork | None, gradient: Floats) -> None:
    """Add what a tile says about the relevances, once all terms were pulled back. O(L q)."""
    if data is None or work is None:
        return
    if data.learns_metric:
        for i in range(work.relevance.size):
            gradient[work.first_shared + i] += weighted_square(work.by_squared[1], data.rows[t, i])


@kernel
def finish_radial_gradient(data: RadialData | None, work: RadialWork | None, gradient: Floats) -> None:
    """Turn the sums over rows into the gradient. O(k q p)."""
    if data is None or work is None:
        return
    to_metric, shared = data.to_metric, work.first_shared
    q, p = to_metric.shape
    for j in range(work.column.size):
        first = work.first[j]
        sharpened = work.centers[j, q] * work.centers[j, q]
        if data.own_widths:
            gradient[first + p - 1] = 2.0 * data.width_scale * work.pulls[j]
        for i in range(q):
            squared = work.relevance[i] * work.relevance[i]
            mu, moment, sum_j = work.centers[j, i], sharpened * work.moments[j, i], sharpened * work.totals[j, i]
            along = 2.0 * squared * (mu * sum_j - moment)
            add_multiple(along, to_metric[i], gradient[first : first + p])
            if data.learns_metric:
                gradient[shared + i] += mu * (mu * sum_j - 2.0 * moment)
    if data.learns_metric:
        for i in range(q):
            gradient[shared + i] *= 2.0 * work.relevance[i] * work.relevance[i]


@kernel
def add_shift(multiple: float, slope: Floats, x: Floats, center: float, column: Floats) -> None:
    """Add a multiple of slope (x - center). O(L)."""
    for n in range(column.size):
        column[n] += multiple * slope[n] * (x[n] - center)


@kernel
def add_stretch(multiple: float, slope: Floats, x: Floats, center: float, column: Floats) -> None:
    """Add a multiple of slope (x - center)^2. O(L)."""
    for n in range(column.size):
        column[n] += multiple * slope[n] * (x[n] - center) * (x[n] - center)


@kernel
def add_product(multiple: float, a: Floats, b: Floats, column: Floats) -> None:
    """Add a multiple of a b. O(L)."""
    for n in range(column.size):
        column[n] += multiple * a[n] * b[n]


@kernel
def add_radial_derivatives(
    data: RadialData | None, t: int, alpha: Floats, work: RadialWork | None, columns: Floats
) -> None:
    """Add derivatives in one tile: of columns by own parameters, of outputs by log relevances. O(L k q (p + c))."""
    if data is None or work is None:
        return
    rows, n_outputs = data.rows[t], alpha.shape[0]
    q, p = data.to_metric.shape
    for j in range(work.column.size):
        slope, first, column = work.slope[t, j], work.first_derivative[j], work.column[j]
        sharpened = work.centers[j, q] * work.centers[j, q]
        for i in range(q):
            center, stretch = work.centers[j, i], 2.0 * sharpened * work.relevance[i] * work.relevance[i]
            for b in range(p):
                if data.to_metric[i, b] != 0.0 and data.has_gaps:
                    multiple, is_gap = -stretch * data.to_metric[i, b], data.is_gap[t, i]
                    add_shift_beside_gaps(multiple, slope, rows[i], center, is_gap, 1, columns[first + b])
                elif data.to_metric[i, b] != 0.0:
                    add_shift(-stretch * data.to_metric[i, b], slope, rows[i], center, columns[first + b])
            if data.learns_metric:
                for o in range(n_outputs):
                    along = columns[work.first_shared_derivative + o * q + i]
                    if data.has_gaps:
                        multiple, is_gap = stretch * alpha[o, column], data.is_gap[t, i]
                        add_shift_beside_gaps(multiple, slope, rows[i], center, is_gap, 2, along)
                    else:
                        add_stretch(stretch * alpha[o, column], slope, rows[i], center, along)
        if data.own_widths:
            add_product(2.0 * data.width_scale, slope, work.squared[t, j], columns[first + p - 1])
