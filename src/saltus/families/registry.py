"""The one place that knows every family: what kernels ask of a term is passed on to its family here.

There is one family so far, so nothing is chosen. To add another: a field of `Families` and of `FamilyWork`, and in each
function below a branch on the number of the family. Where a field may be None, for a family that a fit does not use,
hand the field to a kernel as an argument of its own and ask there whether it is None: numba then compiles nothing of
that family.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, glue
from saltus._typing import Floats
from saltus.families.radial.kernels import (
    SHARED_MOVES,
    RadialData,
    RadialWork,
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
    set_radial_derivatives,
    unpack_radial,
)
from saltus.families.radial.moves import merge_radial, move_radial_pair, split_radial, walk_radial
from saltus.families.terms import Edits, Terms

__all__ = ["SHARED_MOVES", "Families", "FamilyWork"]

RADIAL = 0

# Moves of shared parameters that may never be accepted in a chain that is well: no input is switched off where all of
# them are needed.
MAY_NEVER_BE_ACCEPTED = frozenset({"switch"})


@by_reference
class Families(NamedTuple):
    """The rows as each family sees them. Kernels hand it on and look into it nowhere else."""

    radial: RadialData

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All that differs between data, to tell one problem from another."""
        return self.radial.rows, self.radial.to_metric


@by_reference
class FamilyWork(NamedTuple):
    """What each family keeps in the course of a descent."""

    radial: RadialWork


def make_family_work(families: Families, shared: Floats, k: int) -> FamilyWork:
    """Allocate the workspaces of a descent on k terms with these shared parameters."""
    return FamilyWork(make_radial_work(families.radial, shared, k))


def n_decoded(families: Families) -> int:
    """Say how many numbers a decoded term has."""
    return families.radial.rows.shape[1] + 1


def n_own_parameters(families: Families) -> int:
    """Say how many parameters a term has room for."""
    return families.radial.to_metric.shape[1]


def n_free_parameters(families: Families) -> tuple[int, int]:
    """Say how many parameters a descent may change: of each term, and shared ones."""
    q, p = families.radial.to_metric.shape
    return p, q * families.radial.learns_metric


def count_typical_term(families: Families, shared: Floats) -> int:
    """Count the parameters of a term like any other, its coefficients aside."""
    return count_radial(families.radial, shared)


def count_terms(families: Families, parameters: Floats, shared: Floats) -> int:
    """Count the own parameters of all terms with parameters (k, p), their coefficients aside."""
    return sum(count_radial(families.radial, shared) for _ in parameters)


def count_shared_parameters(families: Families, shared: Floats) -> int:
    """Count the shared parameters in use."""
    return count_relevances(families.radial, shared)


@glue
def count_term_kernel(families: Families, family: int, parameters: Floats, shared: Floats) -> int:
    """Count the own parameters of one term, its coefficients aside, for compiled callers."""
    return count_radial_kernel(families.radial, shared)


@glue
def count_shared_parameters_kernel(families: Families, shared: Floats) -> int:
    """Do the same, for compiled callers."""
    return count_relevances_kernel(families.radial, shared)


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
    """Replace one term by two, where its family can."""
    return split_radial(rng, terms, k_max, split_scale, edits, which)


@glue
def propose_merge(
    rng: np.random.Generator, families: Families, terms: Terms, split_scale: float, edits: Edits, which: int
) -> tuple[bool, float]:
    """Replace two terms by one, where their family can."""
    return merge_radial(rng, terms, split_scale, edits, which)


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
    """Move two terms as one, where their family can."""
    return move_radial_pair(rng, terms, split_scale, walk_scale, edits, which)


@glue
def propose_walk(
    rng: np.random.Generator,
    families: Families,
    terms: Terms,
    moved: int,
    walk_scale: float,
    edits: Edits,
    which: int,
) -> bool:
    """Walk from a term to the first incoming one of an edit; False where that leaves the unit cube."""
    return walk_radial(rng, terms, moved, walk_scale, edits, which)


@glue
def draw_term(rng: np.random.Generator, families: Families, edits: Edits, which: int) -> None:
    """Draw the first incoming term of an edit from nu, the law of a fresh term."""
    edits.family[which, 0] = RADIAL
    for i in range(edits.incoming.shape[2]):
        edits.incoming[which, 0, i] = rng.random()


@glue
def decode_term(families: Families, family: int, parameters: Floats, decoded: Floats) -> None:
    """Turn the parameters of a term into what its column is evaluated from."""
    decode_radial(families.radial, parameters, decoded)


@glue
def evaluate_term(
    families: Families, t: int, family: int, decoded: Floats, shared: Floats, root_weight: Floats, column: Floats
) -> None:
    """Evaluate the column of a decoded term at the rows of tile t, times the roots of their weights."""
    evaluate_radial(families.radial.profile, families.radial.rows[t], decoded, shared, root_weight, column)


@glue
def propose_shared(
    rng: np.random.Generator, families: Families, terms: Terms, proposed: Floats
) -> tuple[int, bool, float]:
    """Propose other shared parameters: fill `proposed`, return (number among SHARED_MOVES, feasible, log_green)."""
    return propose_shared_radial(rng, terms.k[0], terms.shared, proposed)


@glue
def unpack_terms(families: Families, x: Floats, work: FamilyWork) -> None:
    """Decode the terms and shared parameters at a point x of a descent: own parameters, then shared ones."""
    unpack_radial(families.radial, x, work.radial)


@glue
def evaluate_in_descent(
    families: Families, t: int, j: int, root_weight: Floats, work: FamilyWork, column: Floats
) -> None:
    """Evaluate the column of term j at the rows of tile t, and keep what its derivatives need."""
    radial, of_radial = families.radial, work.radial
    evaluate_radial_and_slope(
        radial.profile,
        radial.rows[t],
        of_radial.centers[j],
        of_radial.relevance,
        root_weight,
        of_radial.squared[t, j],
        column,
        of_radial.slope[t, j],
    )


@glue
def begin_gradient(work: FamilyWork) -> None:
    """Begin to sum a gradient over the rows."""
    clear_radial_sums(work.radial)


@glue
def begin_tile(work: FamilyWork) -> None:
    """Begin with a tile."""
    of_all = work.radial.by_squared[1]
    for n in range(of_all.size):
        of_all[n] = 0.0


@glue
def pull_back(families: Families, t: int, j: int, by_column: Floats, work: FamilyWork) -> None:
    """Add what tile t says about term j, given d log pi by its column."""
    pull_back_radial(families.radial, t, j, by_column, work.radial)


@glue
def end_tile(families: Families, t: int, work: FamilyWork, gradient: Floats) -> None:
    """End with a tile, all of whose terms were pulled back."""
    pull_back_shared_radial(families.radial, t, work.radial, gradient)


@glue
def finish_gradient(families: Families, work: FamilyWork, gradient: Floats) -> None:
    """Turn the sums over rows into the gradient."""
    finish_radial_gradient(families.radial, work.radial, gradient)


@glue
def set_derivatives(families: Families, t: int, alpha: Floats, work: FamilyWork, columns: Floats) -> None:
    """Add the derivatives in tile t to columns that are 0: of terms by own parameters, of outputs by shared ones."""
    set_radial_derivatives(families.radial, t, alpha, work.radial, columns)
