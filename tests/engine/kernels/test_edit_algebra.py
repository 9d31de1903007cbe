"""Score and commit against lstsq."""

import numpy as np
import pytest

from saltus._tiles import pad_rows, tile_shape, to_tiles
from saltus.engine.kernels.edit_algebra import UNRESOLVED
from saltus.engine.kernels.factor import COLLINEAR, make_factor, make_products, make_scratch, refactor
from tests.kernels import commit, score
from tests.reference import design_matrix, least_squares_rss

N, D_IN, C, K_MAX = 60, 2, 2, 9


def fixed_part(X):
    return np.linalg.qr(np.hstack([np.ones((len(X), 1)), X]))[0]


class Walk:
    """Random edits on a factor, with the plain list of columns beside it."""

    def __init__(self, rng, n_rows=N, spread=1.0):
        self.rng = rng
        self.spread = spread
        self.X = rng.random((n_rows, D_IN))
        self.Y = rng.standard_normal((n_rows, C)) + self.X.sum(axis=1, keepdims=True)
        self.Q_fixed = fixed_part(self.X)
        self.m_fixed = self.Q_fixed.shape[1]
        self.factor = make_factor(pad_rows(self.Q_fixed), pad_rows(self.Y), self.m_fixed + K_MAX)
        self.products = make_products(self.factor, 3)
        self.scratch = make_scratch(self.factor)
        self.columns = np.empty((n_rows, 0))

    @property
    def k(self):
        return self.columns.shape[1]

    def new_columns(self, n):
        centers = 0.5 + self.spread * (self.rng.random((n, D_IN)) - 0.5)
        return design_matrix(self.X, centers, "cubic")[:, 1 + D_IN :]

    def propose(self):
        """Draw an edit: (out, new columns)."""
        n_out = int(self.rng.integers(0, min(2, self.k) + 1))
        n_in = int(self.rng.integers(0, min(2, K_MAX - self.k + n_out) + 1))
        return self.rng.choice(self.k, n_out, replace=False), self.new_columns(n_in)

    def score(self, out, incoming):
        n_in = incoming.shape[1]
        which = int(self.rng.integers(3))
        self.scratch.columns[:n_in] = to_tiles(incoming).transpose(1, 0, 2)
        EQ = self.rows()
        self.products.along[which, :n_in, : EQ.shape[1]] = incoming.T @ EQ
        gram = incoming.T @ incoming
        self.products.gram[which] = [
            gram[0, 0] if n_in else 0,
            gram[0, 1] if n_in == 2 else 0,
            gram[-1, -1] if n_in == 2 else 0,
        ]
        padded = np.zeros(2, dtype=np.int64)
        padded[: len(out)] = sorted(out, reverse=True)
        arguments = (
            self.factor,
            self.products,
            which,
            self.scratch,
            self.m_fixed,
            self.k,
            len(out),
            padded,
            n_in,
        )
        return score(*arguments), arguments

    def rows(self):
        """[E, Q], from the tiles."""
        columns = self.factor.tiles[:, : C + self.m_fixed + self.k]
        table = columns.transpose(0, 2, 1).reshape(-1, columns.shape[1])
        assert not table[len(self.X) :].any(), "rows beyond the data must stay 0"
        return table[: len(self.X)]

    def after(self, out, incoming):
        return np.hstack([np.delete(self.columns, out, axis=1), incoming])

    def rss(self, columns):
        return least_squares_rss(np.hstack([self.Q_fixed, columns]), self.Y)

    def commit(self, arguments, out, incoming):
        commit(*arguments)
        self.columns = self.after(out, incoming)

    def check_factor(self, tolerance):
        m = self.m_fixed + self.k
        E, Q = np.split(self.rows(), [C], axis=1)
        R = self.factor.R[:m, :m].copy()
        R[: self.m_fixed, : self.m_fixed] = np.eye(self.m_fixed)
        D = np.hstack([self.Q_fixed, self.columns])
        np.testing.assert_allclose(Q.T @ Q, np.eye(m), atol=tolerance)
        np.testing.assert_allclose(Q @ R, D, atol=tolerance * np.abs(D).max(initial=1))
        np.testing.assert_allclose(np.tril(R[self.m_fixed :, self.m_fixed :], -1), 0, atol=tolerance)
        np.testing.assert_allclose(self.factor.Z[:, :m].T, Q.T @ self.Y, atol=10 * tolerance)
        np.testing.assert_allclose(E, self.Y - Q @ (Q.T @ self.Y), atol=10 * tolerance)


def run_edits(walk, n_edits, rtol, score_rtol=None):
    kinds = set()
    n_committed = 0
    worst = 0.0
    for _ in range(n_edits):
        out, incoming = walk.propose()
        independent, arguments = walk.score(out, incoming)
        if not independent:
            continue
        np.testing.assert_allclose(walk.scratch.rss, walk.rss(walk.after(out, incoming)), rtol=score_rtol or rtol)
        kinds.add((len(out), incoming.shape[1]))
        if walk.rng.random() < 0.5:
            walk.commit(arguments, out, incoming)
            n_committed += 1
            np.testing.assert_allclose(walk.factor.rss, walk.rss(walk.columns), rtol=rtol)
            D = np.hstack([walk.Q_fixed, walk.columns])
            worst = max(worst, np.linalg.cond(D / np.linalg.norm(D, axis=0)))
    assert n_committed > n_edits // 4
    assert len(kinds) == 9, "every kind of edit, from 0 out and 0 in to 2 and 2, must have come up"
    return worst


def test_score_and_commit_agree_with_lstsq(rng):
    walk = Walk(rng)
    run_edits(walk, 600, rtol=1e-9)
    walk.check_factor(1e-12)


def test_score_and_commit_agree_with_lstsq_on_near_collinear_columns(rng):
    walk = Walk(rng, spread=0.05)
    worst_condition = run_edits(walk, 600, rtol=1e-9, score_rtol=1e-4)
    assert worst_condition > 1e6
    walk.check_factor(1e-12)


@pytest.mark.parametrize("n_rows", [16, 17, 512, 513, 1100])
def test_row_counts_that_do_and_do_not_fill_their_tiles(rng, n_rows):
    walk = Walk(rng, n_rows=n_rows)
    n_tiles, length = tile_shape(n_rows)
    assert n_tiles == (1 if n_rows <= 512 else -(-n_rows // 512))
    assert 0 <= n_tiles * length - n_rows < length
    run_edits(walk, 120, rtol=1e-7)
    walk.check_factor(1e-12)


def test_scoring_leaves_the_factor_alone(rng):
    walk = Walk(rng)
    run_edits(walk, 100, rtol=1e-8)
    before = [array.copy() for array in walk.factor]
    walk.score(*walk.propose())
    for one, other in zip(before, walk.factor, strict=True):
        np.testing.assert_array_equal(one, other)


def test_factor_holds_over_thousands_of_commits(rng):
    walk = Walk(rng)
    n_committed = 0
    while n_committed < 5000:
        out, incoming = walk.propose()
        independent, arguments = walk.score(out, incoming)
        if independent:
            walk.commit(arguments, out, incoming)
            n_committed += 1
    walk.check_factor(1e-11)
    np.testing.assert_allclose(walk.factor.rss, walk.rss(walk.columns), rtol=1e-9)


def test_a_column_in_the_span_is_refused(rng):
    walk = Walk(rng)
    run_edits(walk, 200, rtol=1e-8)
    while walk.k < 3:
        columns = walk.new_columns(1)
        walk.commit(walk.score(np.array([], int), columns)[1], [], columns)
    inside = walk.columns @ walk.rng.standard_normal((walk.k, 1)) + 2
    nothing = np.array([], dtype=int)
    assert not walk.score(nothing, inside)[0]
    assert not walk.score(nothing, np.zeros((N, 1)))[0]
    fresh = walk.new_columns(1)
    assert walk.score(nothing, fresh)[0]
    assert not walk.score(nothing, np.hstack([fresh, fresh]))[0]
    # A column may come back in place of itself: it is not in the span of the others.
    assert walk.score(np.array([1]), walk.columns[:, 1:2])[0]
    np.testing.assert_allclose(walk.scratch.rss, walk.factor.rss, rtol=1e-9)


def test_the_limit_of_collinearity_is_the_distance_to_the_span(rng):
    walk = Walk(rng)
    direction = rng.standard_normal(N)
    direction -= walk.Q_fixed @ (walk.Q_fixed.T @ direction)
    direction /= np.linalg.norm(direction)
    constant = np.ones(N) / np.sqrt(N)
    for factor, expected in ((3.0, True), (1 / 3, False)):
        column = constant + factor * np.sqrt(COLLINEAR) * direction
        assert walk.score(np.array([], int), column[:, None])[0] is expected


def test_a_perfect_fit_is_scored_no_better_than_it_can_be_resolved(rng):
    walk = Walk(rng)
    residual = walk.rows()[:, 0].copy()
    independent, _ = walk.score(np.array([], int), residual[:, None])
    assert independent
    assert walk.scratch.rss[0] == pytest.approx(UNRESOLVED * walk.factor.rss[0])


def test_refactor_gives_the_same_factor(rng):
    walk = Walk(rng)
    run_edits(walk, 200, rtol=1e-8)
    before = walk.factor.rss.copy()
    refactor(walk.factor, pad_rows(walk.Q_fixed), pad_rows(walk.Y), np.asfortranarray(pad_rows(walk.columns)))
    walk.check_factor(1e-13)
    np.testing.assert_allclose(walk.factor.rss, before, rtol=1e-9)
