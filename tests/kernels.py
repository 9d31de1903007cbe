"""Kernels that Python cannot call, made callable for the tests."""

import numpy as np
from numba import njit

from saltus.engine.kernels import factor, moves
from saltus.families import radial
from saltus.families import registry as evaluate


@njit
def score(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in):
    return factor.score(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in)


@njit
def commit(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in):
    factor.commit(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in)


@njit
def propose(rng, move, centers, k, k_max, split_scale, walk_scale, edits, which):
    return moves.propose(rng, move, centers, k, k_max, split_scale, walk_scale, edits, which)


@njit
def gaussian_column(X, center, column):
    weight = np.ones(column.size)
    evaluate.evaluate_column(radial.GAUSSIAN, X, center, np.ones(center.size - 1), weight, column)
