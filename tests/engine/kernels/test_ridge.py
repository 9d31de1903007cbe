"""The ridge's triangles after many edits are those made from scratch, and those of the normal equations."""

from math import factorial

import numpy as np
import pytest
from numba import njit

from saltus.engine.kernels import gibbs
from saltus.engine.kernels import ridge as ridges
from saltus.engine.kernels.gibbs import Prior, run_sample_block, start_hierarchy
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.search.starts import set_independent_terms
from tests.engine.designs import terms_at
from tests.statistical import geweke

NEVER = 10**9


@njit
def refresh(factor, ridge, m_fixed, k):
    ridges.refresh_ridge(factor, ridge, m_fixed, k)


@njit
def density(problem, prior, hierarchy, k):
    return gibbs.log_joint(problem, prior, hierarchy, k, k)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(("name", "c"), [("a line", 1), ("two outputs", 2), ("constant and dependent inputs", 2)])
def test_edits_keep_the_triangles(name, c, relative):
    design = geweke.make_model(name, c, wide=relative)
    rng = np.random.default_rng(1)
    design.Y[: geweke.N_ROWS] = rng.standard_normal((geweke.N_ROWS, c))
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    work = make_workspace(design.problem, state)
    set_independent_terms(design, state, terms_at(design, rng.random((2, design.mixture.n_parameters))))
    hierarchy = start_hierarchy(state, design.linear.R, np.array([3.0, 0.5])[:c], rate=2.0, relative=relative)
    record = start_record(state, 1)
    ridge = hierarchy.ridge
    prior = Prior(v0=8.0, g0=6.0, a=4.0, b=6.0, e1=1.5, e2=1.0)
    tuning = Tuning(0.15, 0.2, True)
    sizes = set()
    for step in range(0, 40_000, 100):
        value = run_sample_block(
            rng, design.problem, prior, tuning, state, work, hierarchy, record, 100, step, NEVER, True
        )
        k = int(state.terms.k[0])
        sizes.add(k)
        m = design.problem.m_fixed + k
        K = np.triu(ridge.K[:, :m, :m].transpose(0, 2, 1))
        S = ridge.S.copy()
        D = geweke.design_matrix(design, state.terms.parameters[:k], relative=relative)
        rate = hierarchy.rate[0]
        dense = k * np.log(rate) - np.log(sum(rate**j / factorial(j) for j in range(design.problem.k_max + 1)))
        dense += (prior.e1 - 0.5) * np.log(rate) - prior.e2 * rate
        for i in range(c):
            W = D.T @ D + np.eye(m) / ridge.delta_squared[i]
            np.testing.assert_allclose(K[i] @ K[i].T @ W, np.eye(m), atol=1e-8)
            alpha = np.linalg.solve(W, D.T @ design.Y[:, i])
            np.testing.assert_allclose(K[i] @ ridge.zeta[i, 0, :m], alpha, atol=1e-8)
            assert S[i] == pytest.approx(design.Y[:, i] @ (design.Y[:, i] - D @ alpha), rel=1e-9)
            delta_squared, n_rows = ridge.delta_squared[i], design.problem.n_total
            dense -= 0.5 * m * np.log(delta_squared) + 0.5 * np.linalg.slogdet(W)[1]
            dense -= 0.5 * (n_rows + prior.v0) * np.log(0.5 * (prior.g0 + S[i]))
            dense -= (prior.a + 1) * np.log(delta_squared) + prior.b / delta_squared
        assert value == pytest.approx(dense, abs=1e-6)
        refresh(state.factor, ridge, design.problem.m_fixed, k)
        np.testing.assert_allclose(ridge.S, S, rtol=1e-9)
        assert density(design.problem, prior, hierarchy, k) == pytest.approx(value, abs=1e-7)
    assert sizes >= {0, 1, 2, 3}
    assert (record.counts[:5, 2] > 20).all(), "every move must have been made"
