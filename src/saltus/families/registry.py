"""The one place that knows every geometry. It has as many lines as kernels have questions, times the geometries.

What kernels ask of a term is passed on to its family here.

To add a geometry: a number below, a field of `Families`, and a branch in each function. A field is None where a fit has
no family of that geometry. It is handed on as an argument of its own, and asked there whether it is None: numba then
compiles nothing of that geometry.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Floats, Ints
from saltus._vectors import clear, dot
from saltus.families.inputs import MOST_KNOTS, InputData
from saltus.families.product.kernels import (
    A_FACTOR,
    add_product_derivatives,
    change_product,
    count_product,
    count_product_kernel,
    decode_product,
    draw_product,
    evaluate_product,
    unpack_product,
)
from saltus.families.product.kernels import FIRST as FIRST_OF_PRODUCT
from saltus.families.product.thresholds import sharpen_product
from saltus.families.radial.kernels import (
    SHARED_MOVES,
    RadialData,
    RadialWork,
    add_radial_derivatives,
    begin_radial_tile,
    clear_radial_sums,
    count_radial,
    count_radial_kernel,
    count_relevances,
    count_relevances_kernel,
    decode_radial,
    evaluate_radial,
    evaluate_radial_and_slope,
    finish_radial_gradient,
    make_radial_work,
    propose_shared_radial,
    pull_back_radial,
    pull_back_shared_radial,
    unpack_radial,
)
from saltus.families.radial.moves import (
    count_of_family,
    draw_radial,
    merge_radial,
    move_radial_pair,
    split_radial,
    walk_radial,
)
from saltus.families.ridge.kernels import FIRST as FIRST_OF_RIDGE
from saltus.families.ridge.kernels import (
    add_ridge_derivatives,
    change_ridge,
    count_ridge,
    count_ridge_kernel,
    decode_ridge,
    draw_ridge,
    evaluate_ridge,
    log_nu_over_q_ridge,
    unpack_ridge,
)
from saltus.families.terms import Edits, Terms, TermSet
from saltus.families.useful import (
    SHARE_OF_USEFUL,
    list_marked,
    log_nu_over_q_of_inputs,
    mark_inputs,
)
from saltus.families.user.kernels import (
    add_user_derivatives,
    change_user,
    count_user,
    count_user_kernel,
    decode_user,
    draw_user,
    evaluate_user,
    unpack_user,
)
from saltus.families.user.owned import OwnedUserData
from saltus.families.wave.kernels import FIRST as FIRST_OF_WAVE
from saltus.families.wave.kernels import (
    WaveData,
    add_wave_derivatives,
    change_wave,
    count_wave,
    count_wave_kernel,
    decode_wave,
    draw_wave,
    evaluate_wave,
    log_nu_over_q_wave,
    unpack_wave,
)

__all__ = ["SHARED_MOVES", "Families", "FamilyWork"]

RADIAL, PRODUCT, RIDGE, WAVE, USER = range(5)

# Moves of shared parameters that may never be accepted in a chain that is well: no input is switched off where all of
# them are needed.
MAY_NEVER_BE_ACCEPTED = frozenset({"switch"})

# Tiles that terms which are not radial work with in a descent, beside one for each free parameter of a term.
SCRATCH_COLUMNS = 2


@by_reference
class Families(NamedTuple):
    """The F families of a fit, and the rows as each geometry sees them. Kernels hand it on, and look into it here.

    At most one family is radial: its terms share a metric.
    """

    geometry: Ints  # (F,)
    shares: Floats  # (F,), the probabilities w_f that a fresh term is of each family, running sums
    log_weight: Floats  # (F,), the logarithms of w_f
    n_columns: Ints  # (F,), of a term: one or two
    most_columns: int
    smallest_squared_norm: Floats  # (F,), of a column over the rows; a term that so few rows see is refused
    smallest_complement: Floats  # (F,), of 1 less a column; a term is refused whose value is 1 but at so few rows
    n_choices: int  # of a term
    n_parameters: int
    n_decoded: int
    counts_levels_only: bool  # whether a term counts for a given number of parameters, and on top what sets are worth
    radial_family: int  # the number of the radial family, or -1
    radial: RadialData | None
    product: InputData | None
    ridge: InputData | None
    wave: WaveData | None
    user: OwnedUserData | None

    @property
    def of_inputs(self) -> InputData | None:
        """The rows as terms see them that choose inputs: the same for all of these."""
        return self.product or self.ridge or (self.wave and self.wave.inputs)

    @property
    def n_inputs(self) -> int:
        """The number of inputs that terms choose among; 0 where none choose."""
        return 0 if self.of_inputs is None else self.of_inputs.n_knots.size

    @property
    def most_bins(self) -> int:
        """The most parts that the values of an input fall into: thresholds of numbers, levels of categories."""
        return 0 if self.of_inputs is None else max(MOST_KNOTS, int(self.of_inputs.n_levels.max(initial=0)))

    @property
    def n_rows(self) -> int:
        """The number of rows of a tile."""
        of_each = (self.radial, self.of_inputs, self.user)
        return next(data for data in of_each if data is not None).rows.shape[2]

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All that differs between data, to tell one problem from another."""
        radial = () if self.radial is None else (self.radial.rows, self.radial.to_metric)
        data = self.of_inputs
        others = () if data is None else (data.rows, data.knots, data.n_levels, data.is_gap)
        user = () if self.user is None else (self.user.rows, self.user.counts)
        return (*radial, *others, *user)


@by_reference
class FamilyWork(NamedTuple):
    """What families keep in the course of a descent on terms of q columns."""

    family: Ints  # (q,), of the term of each column
    first: Ints  # (q,), where the free parameters of that term begin
    n_free: Ints  # (q,), how many these are
    first_derivative: Ints  # (q,), where the derivatives of a column begin among those of all
    slot: Ints  # (q,), the number of a column among those of radial terms
    decoded: Floats  # (q, n), columns of terms that are not radial
    scratch: Floats  # (n, L)
    radial: RadialWork | None


def make_family_work(families: Families, terms: TermSet, decoded: Floats, n_free: Ints) -> FamilyWork:
    """Allocate the workspaces of a descent on terms, decoded (q, n), each with so many free parameters (k,)."""
    term = owners_of_columns(families, terms)
    family, n_of_column = terms.family[term], n_free[term]
    first = (np.cumsum(n_free, dtype=np.int64) - n_free)[term]
    first_derivative = np.cumsum(n_of_column, dtype=np.int64) - n_of_column
    is_radial = families.geometry[family] == RADIAL
    radial = None
    if families.radial is not None:
        columns = np.flatnonzero(is_radial)
        ends = int(n_free.sum()), int(n_of_column.sum())
        radial = make_radial_work(families.radial, terms.shared, columns, first, first_derivative, ends)
    return FamilyWork(
        family=family,
        first=first,
        n_free=n_of_column,
        first_derivative=first_derivative,
        slot=np.cumsum(is_radial, dtype=np.int64) - 1,
        decoded=decoded.copy(),
        scratch=np.zeros((SCRATCH_COLUMNS + int(n_of_column[~is_radial].max(initial=0)), families.n_rows)),
        radial=radial,
    )


def owners_of_columns(families: Families, terms: TermSet) -> Ints:
    """Find which term each of the q columns is of, (q,): those of a term follow each other."""
    return np.repeat(np.arange(len(terms)), families.n_columns[terms.family])


def count_columns(families: Families, terms: TermSet) -> int:
    """Count the columns of terms."""
    return int(families.n_columns[terms.family].sum())


@glue
def first_column(families: Families, terms: Terms, j: int) -> int:
    """Find the first column of term j. O(j)."""
    if families.most_columns == 1:
        return j
    first = 0
    for before in range(j):
        first += families.n_columns[terms.family[before]]
    return first


def count_own_parameters(families: Families, family: int, choices: Ints, shared: Floats) -> int:
    """Count the own parameters of one term, its coefficients aside."""
    geometry = families.geometry[family]
    if geometry == PRODUCT:
        return count_product(families.product, choices, families.counts_levels_only)
    if families.counts_levels_only:
        return 0
    if geometry == RADIAL:
        return count_radial(families.radial, shared)
    if geometry == RIDGE:
        return count_ridge(families.ridge, choices)
    if geometry == WAVE:
        return count_wave(families.wave, choices)
    return count_user(families.user, family, choices)


def count_terms(families: Families, terms: TermSet) -> int:
    """Count the own parameters of all terms, their coefficients aside."""
    each = zip(terms.family, terms.choices, strict=True)
    return sum(count_own_parameters(families, family, choices, terms.shared) for family, choices in each)


def count_shared_parameters(families: Families, shared: Floats) -> int:
    """Count the shared parameters in use."""
    return count_relevances(families.radial, shared)


@glue
def count_term_kernel(families: Families, family: int, choices: Ints, shared: Floats) -> int:
    """Count the own parameters of one term, its coefficients aside, for compiled callers."""
    geometry = families.geometry[family]
    if geometry == PRODUCT:
        return count_product_kernel(families.product, choices, families.counts_levels_only)
    if families.counts_levels_only:
        return 0
    if geometry == RADIAL:
        return count_radial_kernel(families.radial, shared)
    if geometry == RIDGE:
        return count_ridge_kernel(families.ridge, choices)
    if geometry == WAVE:
        return count_wave_kernel(families.wave, choices)
    return count_user_kernel(families.user, family, choices)


@glue
def count_shared_parameters_kernel(families: Families, shared: Floats) -> int:
    """Do the same, for compiled callers."""
    return count_relevances_kernel(families.radial, shared)


@glue
def has_pairs(families: Families) -> bool:
    """Say whether some terms can be split, merged, or moved in pairs."""
    return families.radial_family >= 0


@glue
def propose_split(
    rng: np.random.Generator,
    families: Families,
    terms: Terms,
    k_max: int,
    split_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Replace one radial term by two."""
    family = families.radial_family
    log_weight = families.log_weight[max(family, 0)]
    return split_radial(rng, families.radial, family, log_weight, terms, k_max, split_scale, edits, which)


@glue
def propose_merge(
    rng: np.random.Generator, families: Families, terms: Terms, split_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Replace two radial terms by one."""
    family = families.radial_family
    log_weight = families.log_weight[max(family, 0)]
    return merge_radial(rng, families.radial, family, log_weight, terms, split_scale, edits, which)


@glue
def propose_pair_update(
    rng: np.random.Generator,
    families: Families,
    terms: Terms,
    split_scale: float,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Move two radial terms as one."""
    family = families.radial_family
    return move_radial_pair(rng, families.radial, family, terms, split_scale, walk_scale, edits, which)


@glue
def propose_change(
    rng: np.random.Generator,
    families: Families,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> tuple[bool, float]:
    """Change a term within its family: fill the first incoming term of an edit, return (feasible, log_green)."""
    geometry = families.geometry[terms.family[moved]]
    if geometry == RADIAL:
        return walk_radial(rng, families.radial, terms, moved, walk_scale, edits, which)
    if geometry == PRODUCT:
        return change_product(rng, families.product, terms, moved, walk_scale, edits, which)
    if geometry == RIDGE:
        return change_ridge(rng, families.ridge, terms, moved, walk_scale, edits, which)
    if geometry == WAVE:
        return change_wave(rng, families.wave, terms, moved, walk_scale, edits, which)
    return change_user(rng, families.user, terms, moved, walk_scale, edits, which)


@glue
def draw_family(rng: np.random.Generator, families: Families) -> int:
    """Draw the family of a fresh term."""
    family, n_families = 0, families.geometry.size
    if n_families > 1:
        chance = rng.random()
        while family < n_families - 1 and chance >= families.shares[family]:
            family += 1
    return family


@glue
def find_useful_inputs(families: Families, terms: Terms, left_out: int, edits: Edits) -> int:
    """Find the inputs that terms other than one choose; return how many. Mutates `edits.useful`. O(k g + v)."""
    is_used = edits.useful[0]
    if is_used.size == 0:
        return 0
    for i in range(is_used.size):
        is_used[i] = 0
    for j in range(terms.k[0]):
        geometry, choices = families.geometry[terms.family[j]], terms.choices[j]
        if j != left_out and geometry != RADIAL:
            if geometry == PRODUCT:
                mark_inputs(choices[FIRST_OF_PRODUCT:], A_FACTOR, choices[0], is_used)
            elif geometry == RIDGE:
                mark_inputs(choices[FIRST_OF_RIDGE:], 1, choices[0], is_used)
            elif geometry == WAVE:
                mark_inputs(choices[FIRST_OF_WAVE:], 1, choices[0], is_used)
    return list_marked(is_used, edits.useful[1])


@glue
def draw_informed_term(rng: np.random.Generator, families: Families, n_useful: int, edits: Edits, which: int) -> None:
    """Draw the first incoming term of an edit from q, given how many inputs other terms use: see `useful`."""
    family = draw_family(rng, families)
    among = n_useful if n_useful > 0 and rng.random() < SHARE_OF_USEFUL else 0
    draw_term(rng, families, family, among, edits, which)


@glue
def draw_term(
    rng: np.random.Generator, families: Families, family: int, n_useful: int, edits: Edits, which: int
) -> None:
    """Draw the first incoming term of an edit: from nu, the law of a fresh term, or what its family knows better.

    Where so many inputs are useful, it chooses among those.
    """
    edits.family[which, 0] = family
    geometry = families.geometry[family]
    if geometry == RADIAL:
        draw_radial(rng, families.radial, edits, which)
    elif geometry == PRODUCT:
        draw_product(rng, families.product, family, n_useful, edits, which)
    elif geometry == RIDGE:
        draw_ridge(rng, families.ridge, family, n_useful, edits, which)
    elif geometry == WAVE:
        draw_wave(rng, families.wave, family, edits, which)
    else:
        draw_user(rng, families.user, family, edits, which)


@glue
def sharpen_term(
    rng: np.random.Generator,
    families: Families,
    tiles: Floats,
    which_tiles: Ints,
    root_weight: Floats,
    seen: Floats,
    n_total: float,
    edits: Edits,
    which: int,
    decoded: Floats,
    column: Floats,
    sums: Floats,
) -> None:
    """Let a candidate have a threshold that suits the residuals, where its family has any: see `sharpen_product`."""
    family = edits.family[which, 0]
    if families.geometry[family] == PRODUCT:
        share = which_tiles.size / tiles.shape[0]
        sharpen_product(
            rng,
            families.product,
            tiles,
            which_tiles,
            root_weight,
            seen,
            n_total,
            share * families.smallest_squared_norm[family],
            share * families.smallest_complement[family],
            edits,
            which,
            decoded,
            column,
            sums,
        )


@glue
def log_nu_over_q(
    families: Families, is_used: Ints, n_used: int, family: int, choices: Ints, parameters: Floats
) -> float:
    """Evaluate ln nu/q of a term, given which inputs others use: 0 where its family draws from nu. O(g)."""
    geometry = families.geometry[family]
    if geometry == PRODUCT:
        return log_nu_over_q_of_inputs(choices[FIRST_OF_PRODUCT:], A_FACTOR, choices[0], is_used, n_used, is_used.size)
    if geometry == RIDGE:
        return log_nu_over_q_ridge(families.ridge, choices, is_used)
    if geometry == WAVE:
        return log_nu_over_q_wave(families.wave, family, choices, parameters)
    return 0.0


@glue
def decode_term(families: Families, family: int, choices: Ints, parameters: Floats, part: int, decoded: Floats) -> None:
    """Turn a term into what its column number `part` is evaluated from."""
    geometry = families.geometry[family]
    if geometry == RADIAL:
        decode_radial(families.radial, parameters, decoded)
    elif geometry == PRODUCT:
        decode_product(families.product, family, choices, parameters, decoded)
    elif geometry == RIDGE:
        decode_ridge(families.ridge, choices, parameters, decoded)
    elif geometry == WAVE:
        decode_wave(families.wave, choices, parameters, part, decoded)
    else:
        decode_user(families.user, family, choices, parameters, decoded)


@glue
def evaluate_term(
    families: Families, t: int, family: int, decoded: Floats, shared: Floats, root_weight: Floats, column: Floats
) -> None:
    """Evaluate a decoded column at the rows of tile t, times the roots of their weights."""
    geometry = families.geometry[family]
    if geometry == RADIAL:
        evaluate_radial(families.radial, t, decoded, shared, root_weight, column)
    elif geometry == PRODUCT:
        evaluate_product(families.product, t, decoded, root_weight, column)
    elif geometry == RIDGE:
        evaluate_ridge(families.ridge, t, decoded, root_weight, column)
    elif geometry == WAVE:
        evaluate_wave(families.wave, t, decoded, root_weight, column)
    else:
        evaluate_user(families.user, t, decoded, root_weight, column)


@glue
def propose_shared(
    rng: np.random.Generator, families: Families, terms: Terms, proposed: Floats
) -> tuple[int, bool, float]:
    """Propose other shared parameters: fill `proposed`, return (number among SHARED_MOVES, feasible, log_green)."""
    n_radial = count_of_family(terms, families.radial_family)
    return propose_shared_radial(rng, families.radial, n_radial, terms.shared, proposed)


@glue
def unpack_terms(families: Families, x: Floats, work: FamilyWork) -> None:
    """Decode the terms and shared parameters at a point x of a descent: own parameters, then shared ones."""
    unpack_radial(families.radial, x, work.radial)
    for j in range(work.family.size):
        geometry = families.geometry[work.family[j]]
        if geometry == PRODUCT:
            unpack_product(families.product, x, work.first[j], work.decoded[j])
        elif geometry == RIDGE:
            unpack_ridge(families.ridge, x, work.first[j], work.decoded[j])
        elif geometry == WAVE:
            unpack_wave(families.wave, x, work.first[j], work.decoded[j])
        elif geometry == USER:
            unpack_user(families.user, x, work.first[j], work.decoded[j])


@glue
def evaluate_in_descent(
    families: Families, t: int, j: int, root_weight: Floats, work: FamilyWork, column: Floats
) -> None:
    """Evaluate column j at the rows of tile t, and keep what its derivatives need."""
    geometry = families.geometry[work.family[j]]
    if geometry == RADIAL:
        evaluate_radial_and_slope(families.radial, t, work.slot[j], root_weight, work.radial, column)
    elif geometry == PRODUCT:
        evaluate_product(families.product, t, work.decoded[j], root_weight, column)
    elif geometry == RIDGE:
        evaluate_ridge(families.ridge, t, work.decoded[j], root_weight, column)
    elif geometry == WAVE:
        evaluate_wave(families.wave, t, work.decoded[j], root_weight, column)
    else:
        evaluate_user(families.user, t, work.decoded[j], root_weight, column)


@glue
def begin_gradient(families: Families, work: FamilyWork) -> None:
    """Begin to sum a gradient over the rows."""
    clear_radial_sums(families.radial, work.radial)


@glue
def begin_tile(families: Families, work: FamilyWork) -> None:
    """Begin with a tile."""
    begin_radial_tile(families.radial, work.radial)


@glue
def add_own_derivatives(
    families: Families, t: int, j: int, root_weight: Floats, work: FamilyWork, columns: Floats, first: int
) -> None:
    """Add the derivatives of column j, of a term that is not radial, from columns[first] on, which are 0."""
    geometry = families.geometry[work.family[j]]
    if geometry == PRODUCT:
        add_product_derivatives(families.product, t, work.decoded[j], root_weight, work.scratch, columns, first)
    elif geometry == RIDGE:
        add_ridge_derivatives(families.ridge, t, work.decoded[j], root_weight, work.scratch, columns, first)
    elif geometry == WAVE:
        add_wave_derivatives(families.wave, t, work.decoded[j], root_weight, work.scratch, columns, first)
    else:
        add_user_derivatives(families.user, t, work.decoded[j], root_weight, columns, first)


@glue
def pull_back(
    families: Families, t: int, j: int, root_weight: Floats, by_column: Floats, work: FamilyWork, gradient: Floats
) -> None:
    """Add what tile t says about the term of column j, given d log pi by the column."""
    geometry = families.geometry[work.family[j]]
    first, n_free = work.first[j], work.n_free[j]
    if geometry == RADIAL:
        pull_back_radial(families.radial, t, work.slot[j], by_column, work.radial)
    else:
        columns = work.scratch[SCRATCH_COLUMNS:]
        for i in range(n_free):
            clear(columns[i])
        add_own_derivatives(families, t, j, root_weight, work, columns, 0)
        for i in range(n_free):
            gradient[first + i] += dot(by_column, columns[i], by_column.size)


@glue
def end_tile(families: Families, t: int, work: FamilyWork, gradient: Floats) -> None:
    """End with a tile, all of whose terms were pulled back."""
    pull_back_shared_radial(families.radial, t, work.radial, gradient)


@glue
def finish_gradient(families: Families, work: FamilyWork, gradient: Floats) -> None:
    """Turn the sums over rows into the gradient."""
    finish_radial_gradient(families.radial, work.radial, gradient)


@glue
def add_derivatives(
    families: Families, t: int, alpha: Floats, root_weight: Floats, work: FamilyWork, columns: Floats
) -> None:
    """Add the derivatives in tile t to columns that are 0: of columns by own parameters, of outputs by shared ones."""
    add_radial_derivatives(families.radial, t, alpha, work.radial, columns)
    for j in range(work.family.size):
        if families.geometry[work.family[j]] != RADIAL:
            add_own_derivatives(families, t, j, root_weight, work, columns, work.first_derivative[j])
