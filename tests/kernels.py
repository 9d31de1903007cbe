"""Kernels that Python cannot call, made callable for the tests."""

import numpy as np
from numba import njit

from saltus.engine.kernels import edit_algebra, moves, target
from saltus.families import choosing_kernels, line_profiles, profiles, registry, terms
from saltus.families.product import thresholds
from saltus.families.radial.kernels import RadialData
from saltus.families.registry import RADIAL, Families
from saltus.families.terms import make_terms


@njit
def score(the_factor, products, which, scratch, m_fixed, n_columns, n_out, out, n_in):
    return edit_algebra.score(the_factor, products, which, scratch, m_fixed, n_columns, n_out, out, n_in)


@njit
def commit(the_factor, products, which, scratch, m_fixed, n_columns, n_out, out, n_in):
    edit_algebra.commit(the_factor, products, which, scratch, m_fixed, n_columns, n_out, out, n_in)


def families_of_one(data):
    """Make the families of a fit that has radial terms alone."""
    return Families(
        geometry=np.array([RADIAL]),
        shares=np.ones(1),
        log_weight=np.zeros(1),
        n_columns=np.ones(1, dtype=np.int64),
        most_columns=1,
        smallest_squared_norm=np.zeros(1),
        smallest_complement=np.zeros(1),
        n_choices=0,
        n_parameters=data.to_metric.shape[1],
        n_decoded=len(data.to_metric) + 1,
        counts_levels_only=False,
        radial_family=0,
        radial=data,
        product=None,
        ridge=None,
        wave=None,
        user=None,
    )


def propose(rng, move, the_terms, k_max, split_scale, walk_scale, edits, which):
    """Propose for terms whose family has no rows: moves see none."""
    data = RadialData(
        profile=0,
        rows=np.zeros((1, 1, 8)),
        has_gaps=False,
        is_gap=np.zeros((1, 0, 8), dtype=np.uint8),
        to_metric=np.zeros((1, the_terms.parameters.shape[1])),
        own_widths=False,
        learns_metric=False,
        n_inputs=1,
        width_scale=0.0,
    )
    return _propose(rng, families_of_one(data), move, the_terms, k_max, split_scale, walk_scale, edits, which)


@njit
def _propose(rng, families, move, the_terms, k_max, split_scale, walk_scale, edits, which):
    return moves.propose(rng, families, move, the_terms, k_max, split_scale, walk_scale, edits, which)


@njit
def accept(log_ratio, log_green, log_uniform, another_log_uniform, temperature, two_stage):
    return target.accept(log_ratio, log_green, log_uniform, another_log_uniform, temperature, two_stage)


@njit
def log_density(problem, rss, k, n_columns, n_own, shared):
    return target.log_density_kernel(problem, rss, k, n_columns, n_own, shared)


@njit
def copy_terms(source, to):
    terms.copy_terms(source, to)


@njit
def edit_terms(the_terms, edits, which):
    terms.edit_terms(the_terms, edits, which)


@njit
def profile(code, column):
    profiles.apply_profile(code, column)


@njit
def profile_and_slope(code, squared, column, slope):
    profiles.apply_profile_and_slope(code, squared, column, slope)


def terms_of(parameters, k_max, shared=(), n_choices=0):
    """Make terms with parameters (k, p) and room for k_max."""
    k, p = parameters.shape
    made = make_terms(k_max, n_choices, p, np.asarray(shared, dtype=float))
    made.parameters[:k] = parameters
    made.k[0] = k
    return made


@njit
def draw_terms(rng, families, edits):
    """Fill the first incoming term of every edit with a fresh one."""
    for which in range(edits.n_in.size):
        registry.draw_term(rng, families, registry.draw_family(rng, families), 0, edits, which)


def columns_of(families, terms, root_weight):
    """Evaluate the columns of terms as a chain does, at the rows of its tiles (n_tiles, L): (n_tiles, q, L)."""
    columns = np.zeros((len(root_weight), registry.count_columns(families, terms), root_weight.shape[1]))
    decoded = np.zeros(families.n_decoded)
    _fill(families, terms.family, terms.choices, terms.parameters, terms.shared, root_weight, decoded, columns)
    return columns


@njit
def _fill(families, family, choices, parameters, shared, root_weight, decoded, columns):
    column = 0
    for j in range(family.size):
        for part in range(families.n_columns[family[j]]):
            registry.decode_term(families, family[j], choices[j], parameters[j], part, decoded)
            for t in range(columns.shape[0]):
                registry.evaluate_term(families, t, family[j], decoded, shared, root_weight[t], columns[t, column])
            column += 1


@njit
def multiply_by_profile(code, x, b, c, column):
    line_profiles.multiply_by_profile(code, x, b, c, column)


@njit
def replace_by_profile(code, b, c, column):
    line_profiles.replace_by_profile(code, b, c, column)


@njit
def multiply_by_slope(code, x, b, c, column):
    line_profiles.multiply_by_slope(code, x, b, c, column)


@njit
def draw_other_input(rng, chosen, stride, g, n_inputs):
    return choosing_kernels.draw_other_input(rng, chosen, stride, g, n_inputs)


@njit
def find_position(data, at, u):
    return choosing_kernels.find_position(data, at, u)


@njit
def add_to_bins(bins, column, tile, n_along, sums):
    thresholds.add_to_bins(bins, column, tile, n_along, sums)


@njit
def find_threshold(sums, n_bins, side, seen, n_total, smallest, smallest_complement):
    return thresholds.find_threshold(sums, n_bins, side, seen, n_total, smallest, smallest_complement)


@njit
def add_to_bins_beside_gaps(bins, is_gap, seen_at_gaps, column, tile, n_along, sums):
    thresholds.add_to_bins_beside_gaps(bins, is_gap, seen_at_gaps, column, tile, n_along, sums)


@njit
def find_level(sums, n_levels, seen, smallest):
    return thresholds.find_level(sums, n_levels, seen, smallest)


@njit
def find_subset(rng, sums, n_levels, seen, n_total, smallest, smallest_complement, choices, words):
    thresholds.find_subset(rng, sums, n_levels, seen, n_total, smallest, smallest_complement, choices, words)
