"""The ridge's triangles after many edits are those made from scratch, and those of the normal equations."""

import numpy as np
import pytest
from numba import njit

from saltus.engine.kernels import gibbs as sample
from saltus.engine.kernels import ridge as ridges
from saltus.engine.kernels.chain import Tuning, start_record, start_state
from saltus.engine.kernels.gibbs import Prior, run_sample_block, start_hierarchy
from saltus.engine.search.starts import place_independent_centers
from tests.statistical import geweke

NEVER = 10**9


@njit
def refresh(factor, ridge, m_fixed, k):
    ridges.refresh_ridge(factor, ridge, m_fixed, k)


@njit
def density(target, prior, hierarchy, k):
    return sample.log_joint(target, prior, hierarchy, k)


@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(("d", "c"), [(1, 1), (2, 2)])
def test_edits_keep_the_triangles(d, c, relative):
    design = geweke.make_model(d, c)
    rng = np.random.default_rng(d)
    design.Y[: geweke.N_ROWS] = rng.standard_normal((geweke.N_ROWS, c))
    state = start_state(design.target, design.fixed.Q, design.Y)
    place_independent_centers(design, state, rng.random((2, d)))
    hierarchy = start_hierarchy(state, design.fixed.R, np.array([3.0, 0.5])[:c], rate=2.0, relative=relative)
    record = start_record(state, 1)
    ridge = hierarchy.ridge
    prior = Prior(v0=8.0, g0=6.0, a=4.0, b=6.0, e1=1.5, e2=1.0)
    sizes = set()
    for step in range(0, 20_000, 100):
        value = run_sample_block(
            rng, design.target, prior, Tuning(0.15, 0.2, True), state, hierarchy, record, 100, step, NEVER, True
        )
        k = int(state.k[0])
        sizes.add(k)
        m = design.target.m_fixed + k
        K = np.triu(ridge.K[:, :m, :m].transpose(0, 2, 1))
        S = ridge.S.copy()
        D = geweke.design_matrix(design, state.centers[:k])
        V = np.diag(geweke.root_shares(design, state.centers[:k]) ** 2) if relative else np.eye(m)
        for i in range(c):
            W = D.T @ D + V / ridge.delta_squared[i]
            np.testing.assert_allclose(K[i] @ K[i].T @ W, np.eye(m), atol=1e-8)
            alpha = np.linalg.solve(W, D.T @ design.Y[:, i])
            np.testing.assert_allclose(K[i] @ ridge.zeta[i, 0, :m], alpha, atol=1e-8)
            assert S[i] == pytest.approx(design.Y[:, i] @ (design.Y[:, i] - D @ alpha), rel=1e-9)
        refresh(state.factor, ridge, design.target.m_fixed, k)
        np.testing.assert_allclose(ridge.S, S, rtol=1e-9)
        assert density(design.target, prior, hierarchy, k) == pytest.approx(value, abs=1e-7)
    assert sizes >= {0, 1, 2, 3}
    assert (record.counts[:5, 2] > 20).all(), "every move must have been made"
