"""The oracle: the same chain, plainly and slowly, in NumPy and nothing of saltus.

It draws its random numbers in the same order as the compiled chain, so the two must walk the same path.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

COLLINEAR = 1e-10

PROFILES = {
    "linear": lambda r: r,
    "cubic": lambda r: r**3,
    "thin_plate": lambda r: np.where(r > 0, r**2 * np.log(np.where(r > 0, r, 1.0)), 0.0),
    "gaussian": lambda r: np.exp(-(r**2) / 2),
    "multiquadric": lambda r: np.sqrt(1 + r**2),
    "inverse_multiquadric": lambda r: 1 / np.sqrt(1 + r**2),
    "mexican_hat": lambda r: (1 - r**2) * np.exp(-(r**2) / 2),
}


def design_matrix(X, centers, basis, metric=None, width=1.0):
    """[1, X, phi(x; mu_1), ..., phi(x; mu_k)] under r^2 = (x - mu)' metric (x - mu); one width, or one for each."""
    metric = np.eye(X.shape[1]) if metric is None else metric
    difference = X[:, None, :] - np.asarray(centers).reshape(-1, X.shape[1])[None]
    r_squared = np.einsum("nki,ij,nkj->nk", difference, metric, difference)
    r = np.sqrt(np.maximum(r_squared, 0)) / width
    return np.hstack([np.ones((len(X), 1)), X, PROFILES[basis](r)])


def least_squares_rss(D, Y, weight=None):
    """RSS of each output by lstsq, on columns of unit length."""
    root = np.ones(len(D)) if weight is None else np.sqrt(weight)
    D = D * root[:, None]
    Y = Y.reshape(len(Y), -1) * root[:, None]
    lengths = np.linalg.norm(D, axis=0)
    D = D[:, lengths > 0] / lengths[lengths > 0]
    coefficients = np.linalg.lstsq(D, Y, rcond=None)[0]
    return ((Y - D @ coefficients) ** 2).sum(axis=0)


def _nearest(centers, point, skip):
    distance = ((centers - point) ** 2).sum(axis=1)
    distance[skip] = np.inf
    return int(distance.argmin()), distance.min()


@dataclass
class ReferenceChain:
    """An annealed reversible-jump chain on centres in the unit cube. X is in the unit cube too."""

    X: np.ndarray
    Y: np.ndarray
    to_metric: np.ndarray  # takes differences in the unit cube to where the metric is Euclidean
    basis: str
    penalty: Callable[[int, int], float]  # of the number of terms and of the inputs that are switched on
    k_max: int
    split_scale: float
    walk_scale: float
    two_stage: bool = True
    weight: np.ndarray | None = None
    centers: np.ndarray = field(default_factory=lambda: np.empty((0, 1)))
    relevance: np.ndarray | None = None  # where the metric is learned
    sharpest: float | None = None  # where widths are the functions' own: 1 / sharpest to it, as centers[:, -1] says
    faintest: float = 0.0  # the smallest squared norm of a column

    def __post_init__(self):
        self.n_total = len(self.X) if self.weight is None else self.weight.sum()
        self.log_posterior = self.log_density(self.centers)

    def design_matrix(self, centers, relevance):
        """The design, for centres whose last coordinate may be that of their width."""
        d, width = self.X.shape[1], 1.0
        if self.sharpest is not None:
            width = self.sharpest ** (1 - 2 * centers[:, d])
        return design_matrix(self.X, centers[:, :d], self.basis, self.metric(relevance), width)

    def metric(self, relevance):
        factor = self.to_metric if relevance is None else relevance[:, None] * self.to_metric
        return factor.T @ factor

    def log_density(self, centers, relevance=None):
        relevance = self.relevance if relevance is None else relevance
        D = self.design_matrix(centers, relevance)
        rss = least_squares_rss(D, self.Y, self.weight)
        n_active = 0 if relevance is None else (relevance > 0).sum()
        return -self.n_total / 2 * np.log(rss).sum() - self.penalty(len(centers), n_active)

    def is_independent(self, centers, n_new, relevance=None):
        """Whether each of the last n_new columns is away from the span of those before it."""
        relevance = self.relevance if relevance is None else relevance
        root = np.ones(len(self.X)) if self.weight is None else np.sqrt(self.weight)
        D = self.design_matrix(centers, relevance) * root[:, None]
        for j in range(D.shape[1] - n_new, D.shape[1]):
            # By singular values, as inputs may depend on each other.
            rest = D[:, j] - D[:, :j] @ np.linalg.lstsq(D[:, :j], D[:, j], rcond=None)[0]
            if rest @ rest <= COLLINEAR * (D[:, j] @ D[:, j]) or D[:, j] @ D[:, j] < self.faintest:
                return False
        return True

    def propose(self, rng, move):
        """Centres that stay, centres that come in, log_green; None where the move cannot be made."""
        centers, (k, d) = self.centers, self.centers.shape
        s = self.split_scale
        if move == 0:  # birth
            if k == self.k_max:
                return None
            return centers, rng.random((1, d)), -np.log(k + 1)
        if k == 0:
            return None
        if move == 1:  # death
            return np.delete(centers, self.pick(rng, k), axis=0), np.empty((0, d)), np.log(k)
        if move == 2:  # split
            if k == self.k_max:
                return None
            j = self.pick(rng, k)
            u = 2 * rng.random(d) - 1
            pair = np.stack([centers[j] - s * u, centers[j] + s * u])
            if (pair < 0).any() or (pair > 1).any():
                return None
            others = np.delete(centers, j, axis=0)
            for child in pair:
                if len(others) and ((others - child) ** 2).sum(axis=1).min() < ((2 * s * u) ** 2).sum():
                    return None
            return others, pair, np.log(k / (k + 1)) + d * np.log(4 * s)
        if move == 3:  # merge
            if k < 2:
                return None
            one = self.pick(rng, k)
            other, _ = _nearest(centers, centers[one], one)
            if _nearest(centers, centers[other], other)[0] != one:
                return None
            if np.abs(centers[one] - centers[other]).max() >= 2 * s:
                return None
            middle = (centers[one] + centers[other]) / 2
            rest = np.delete(centers, [one, other], axis=0)
            return rest, middle[None], np.log(k / (k - 1)) - d * np.log(4 * s)
        chance = rng.random()  # update
        if chance < 0.25:
            return self.propose_pair_update(rng)
        j = self.pick(rng, k)
        rest = np.delete(centers, j, axis=0)
        if chance < 0.5:
            return rest, rng.random((1, d)), 0.0
        scale = self.walk_scale * 0.25 ** self.pick(rng, 3)
        moved = centers[j] + scale * rng.standard_normal(d)
        if (moved < 0).any() or (moved > 1).any():
            return None
        return rest, moved[None], 0.0

    def propose_pair_update(self, rng):
        """Move two centres that are each other's nearest by the same shift."""
        centers, (k, d) = self.centers, self.centers.shape
        if k < 2:
            return None
        one = self.pick(rng, k)
        other, _ = _nearest(centers, centers[one], one)
        if _nearest(centers, centers[other], other)[0] != one:
            return None
        if np.abs(centers[one] - centers[other]).max() >= 2 * self.split_scale:
            return None
        far = rng.random() < 0.5
        scale = self.walk_scale * 0.25 ** self.pick(rng, 3)
        shift = rng.random(d) - centers[one] if far else scale * rng.standard_normal(d)
        pair = centers[[one, other]] + shift
        if (pair < 0).any() or (pair > 1).any():
            return None
        rest = np.delete(centers, [one, other], axis=0)
        gap = ((pair[0] - pair[1]) ** 2).sum()
        if len(rest) and (((rest[:, None] - pair) ** 2).sum(axis=2) < gap).any():
            return None
        return rest, pair, 0.0

    @staticmethod
    def pick(rng, k):
        return int(rng.random() * k)

    def step(self, rng, temperature):
        proposal = self.propose(
            rng, int(np.searchsorted(np.cumsum([0.25, 0.25, 0.025, 0.025]), rng.random(), side="right"))
        )
        if proposal is None:
            return
        kept, incoming, log_green = proposal
        log_uniform = np.log(rng.random()), np.log(rng.random())
        centers = np.vstack([kept, incoming])
        if not self.is_independent(centers, len(incoming)):
            return
        log_posterior = self.log_density(centers)
        if self.accepts(log_posterior - self.log_posterior, log_green, log_uniform, temperature):
            self.centers, self.log_posterior = centers, log_posterior

    def accepts(self, ratio, log_green, log_uniform, temperature):
        if self.two_stage:
            return log_uniform[0] < ratio + log_green and log_uniform[1] < (1 / temperature - 1) * ratio
        return log_uniform[0] < ratio / temperature + log_green

    def metric_step(self, rng, temperature):
        """Stretch the metric along one input or all, or switch an input on or off."""
        proposed = self.relevance.copy()
        on = proposed > 0
        chance, one = rng.random(), self.pick(rng, len(proposed))
        switches = chance < 0.3
        if switches:
            drawn = 0.01 * 10_000 ** rng.random()
            proposed[one] = 0 if on[one] else drawn
            feasible = True
        else:
            scale = 0.5 * 0.3 ** self.pick(rng, 3)
            stretched = on & (np.arange(len(on)) == one) if chance >= 0.5 else on
            proposed[stretched] *= np.exp(scale * rng.standard_normal())
            within = (proposed[stretched] >= 0.01) & (proposed[stretched] <= 100)
            feasible = stretched.any() and within.all() and len(self.centers) > 0
        log_uniform = np.log(rng.random()), np.log(rng.random())
        if not feasible or not self.is_independent(self.centers, len(self.centers), proposed):
            return
        log_posterior = self.log_density(self.centers, proposed)
        if self.accepts(log_posterior - self.log_posterior, 0.0, log_uniform, temperature):
            self.relevance, self.log_posterior = proposed, log_posterior
