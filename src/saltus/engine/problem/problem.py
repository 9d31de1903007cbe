"""The one problem that chains and descents work on, as kernels see it."""

from typing import NamedTuple

from saltus._jit import by_reference
from saltus._typing import Floats
from saltus.engine.kernels.factor import Factor
from saltus.families.registry import Families


@by_reference
class Criterion(NamedTuple):
    """P, what is subtracted from the log likelihood, as a function of the number of all parameters and of k."""

    by_count: Floats  # (n + 1,), for 0 to n parameters; more cannot be afforded
    by_size: Floats  # (k_max + 1,), what the number of terms adds
    # What every term counts for beside its coefficients, and beside what sets of levels are worth; 0: for as many
    # parameters as it has.
    n_own_a_term: int
    a_column: float = 0.0  # what every column of a term adds


@by_reference
class Problem(NamedTuple):
    """The data and the target: everything that is read and never written.

    log pi = -degrees/2 sum_i ln (max(RSS_i, rss_floor_i) + prior_rss_i) - P(number of parameters, k).
    """

    families: Families
    root_weight: Floats  # (n_tiles, L), 0 beyond the data
    linear: Factor  # of the linear term alone: its residuals and its Q
    m_fixed: int  # columns of the linear term
    k_max: int
    moves_shared: bool  # whether there are shared parameters for a chain to move
    n_total: float  # the sum of the weights
    degrees: float  # n_total, or less where the coefficients of the linear term are integrated out
    rss_floor: Floats  # (c,)
    prior_rss: Floats  # (c,), what a prior of the coefficients adds to RSS; 0 where there is none
    criterion: Criterion
    smallest_new_share: float  # of the length of a column in a descent; less, and it depends on the others
