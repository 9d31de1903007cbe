"""Kernels that Python cannot call, made callable for the tests."""

from numba import njit

from saltus.engine import factor, moves


@njit
def score(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in):
    return factor.score(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in)


@njit
def commit(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in):
    factor.commit(the_factor, products, which, scratch, m_fixed, k, n_out, out, n_in)


@njit
def propose(rng, move, centers, k, k_max, split_scale, walk_scale, edits, which):
    return moves.propose(rng, move, centers, k, k_max, split_scale, walk_scale, edits, which)
