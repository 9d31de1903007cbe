"""Where along the frequencies of each input the data have power: what births of waves are drawn from, beside nu.

The periodogram of residuals e along an input is |sum_n w_n e_n exp(2 pi i f x_n)|^2, w_n the weight of row n. As a law
to draw from it need not be exact, so that rows are taken at the nearest of cells along the range, and a Fourier
transform does the rest: O(N + F log F) for F cycles. With even rows, cells are where rows are.
"""

from typing import NamedTuple

import numpy as np
from scipy.fft import next_fast_len, rfft

from saltus._jit import by_reference
from saltus._typing import Floats
from saltus.families.wave.frequencies import SLOWEST

# Waves are drawn from the periodogram with this probability, otherwise from nu, as what one wave hides must be found.
SHARE_OF_PERIODOGRAM = 0.5

# Bins for a cycle over the range of an input, which is what rows can resolve; but no more than so many in all.
BINS_A_CYCLE, MOST_BINS = 4, 2**20
# Cells of the range for the fastest cycle, and values of the periodogram for a cycle, at least.
CELLS_A_CYCLE, VALUES_A_CYCLE = 4, 8


@by_reference
class Informed(NamedTuple):
    """The law of waves in one input that the data suggest, constant in each of B bins of the parameter."""

    share: float  # the probability that a wave is drawn from it; 0: it is not known
    cumulative: Floats  # (v B,), probabilities of the bins of the first input, then of the next, running sums
    relative: Floats  # (v, B), densities relative to a uniform one


def uninformed() -> Informed:
    """Say that nothing is known."""
    return Informed(0.0, np.ones(1), np.ones((1, 1)))


def inform(rows: Floats, low: Floats, span: Floats, cycles: Floats, residuals: Floats) -> Informed:
    """Make the law, given rows (n_tiles, v, L), ranges of inputs (v,) and the most cycles over these (v,).

    Residuals are (n_tiles, c, L), times the weights of rows: 0 where there is no row.
    """
    n_inputs = span.size
    n_bins = int(np.clip(np.ceil(BINS_A_CYCLE * cycles.max()), 1, max(MOST_BINS // n_inputs, 1)))
    scale = np.sqrt((residuals**2).sum(axis=(0, 2)))
    scaled = residuals / np.where(scale > 0, scale, 1.0)[:, None]
    power = np.empty((n_inputs, n_bins))
    for i in range(n_inputs):
        at = (rows[:, i] - low[i]) / span[i]
        power[i] = power_in_bins(at.ravel(), scaled.transpose(1, 0, 2).reshape(len(scale), -1), cycles[i], n_bins)
    total = power.sum()
    if not total > 0:
        return uninformed()
    share = power / total
    cumulative = np.cumsum(share)
    return Informed(SHARE_OF_PERIODOGRAM, cumulative / cumulative[-1], share * share.size)


def power_in_bins(at: Floats, residuals: Floats, fastest: float, n_bins: int) -> Floats:
    """Average the periodogram, up to a factor, over bins of cycles; rows are at (N,) in [0, 1], residuals (c, N)."""
    n_cells = int(np.ceil(CELLS_A_CYCLE * fastest))
    cell = np.clip(np.rint(at * n_cells), 0, n_cells).astype(np.int64)
    length = next_fast_len(VALUES_A_CYCLE * n_cells, real=True)
    power = np.zeros(length // 2 + 1)
    for of_output in residuals:
        in_cells = np.bincount(cell, of_output, minlength=n_cells + 1)
        power += np.abs(rfft(in_cells, length)) ** 2
    n_each = max(int(np.ceil(BINS_A_CYCLE * (fastest - SLOWEST) / n_bins)), 1)
    middles = SLOWEST + (fastest - SLOWEST) * (np.arange(n_bins * n_each) + 0.5) / (n_bins * n_each)
    values: Floats = np.interp(length / n_cells * middles, np.arange(power.size), power)
    return values.reshape(n_bins, n_each).mean(axis=1)
