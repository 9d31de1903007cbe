"""How a chain of the posterior makes its steps and its draws, under either prior of the coefficients.

Given what is above them in the hierarchy, terms are moved by a kernel; given the terms, what is above them is drawn.
"""

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy.linalg import solve_triangular

from saltus._compile import prepare
from saltus._typing import Floats
from saltus.engine.drivers.annealing import block_of
from saltus.engine.kernels.gibbs import Prior, run_sample_block, start_hierarchy
from saltus.engine.kernels.state import NEVER, Record, State, Tuning, Workspace
from saltus.engine.problem.design import Design
from saltus.engine.problem.span import GPrior
from saltus.engine.results.draws import Draw
from saltus.families.terms import terms_as_value

# Moves between two draws of the variances, the ridge and the rate, which cost O(m^3) each.
STEPS_BETWEEN_GIBBS = 50

# Moves between two draws of g, each of which takes as long as a hundred moves with a few hundred rows.
STEPS_BETWEEN_G = 200

# A network is grown on under a g that is more than so many times the one it was grown under. With g = N alone the prior
# stands for as much noise as an N-th of the variance of y, and networks of data with less end too soon.
FAR_LARGER = 3.0

# Coefficients of draws are held back beyond so many standard deviations of y, whatever their terms are: a step and a
# steep sigmoid that cut off the same rows cancel at all rows with coefficients of thousands, and not in between. Of
# 1 000 draws on 188 rows one was off by 4 000 standard deviations at a new row, and the mean by 2.4. Noisy functions,
# seeds 22 and 23: .998 of the error without this.
WIDEST_OF_ANY = 100.0


@dataclass(frozen=True)
class Walk:
    """What any chain of the posterior moves with: where it is, how it moves, what it has seen."""

    rng: np.random.Generator
    tuning: Tuning
    state: State
    work: Workspace
    record: Record


class Stepper(Protocol):
    """Makes steps, and draws what is above the terms. Mutable: it is somewhere, as the chain's state is."""

    design: Design

    def every(self, tuning: Tuning) -> tuple[int, ...]:
        """Say at multiples of which numbers of iterations no proposal is left over."""

    def prepare(self, walk: Walk) -> None:
        """Begin to compile what makes the steps."""

    def begin(self, state: State) -> None:
        """Begin at the state that a chain starts from."""

    def widen(self, state: State) -> bool:
        """Let the prior of coefficients be as wide as the state asks for; say whether it is far wider than before."""

    def run(self, walk: Walk, done: int, stop: int, *, afresh: bool) -> float:
        """Carry the state from iteration `done` to `stop`; return the log density of where that is.

        `afresh` says whether the state's factor has been made anew.
        """

    def draw(self, walk: Walk, log_posterior: float) -> Draw:
        """Copy what prediction needs of the present state."""

    @property
    def above(self) -> tuple[Floats, Floats, Floats]:
        """Copy what is above the terms: how wide the prior of coefficients is, noise variances, and the rate."""

    def restore(self, prior_width: Floats, sigma_squared: Floats, rate: Floats) -> None:
        """Put back what is above the terms."""


class RidgeStepper:
    """The hierarchical ridge of the companion papers."""

    def __init__(self, design: Design, prior: Prior, *, relative: bool) -> None:
        self.design, self.prior, self.relative = design, prior, relative

    def every(self, tuning: Tuning) -> tuple[int, ...]:
        """Name the steps between two Gibbs steps, and between moves of shared parameters."""
        return (STEPS_BETWEEN_GIBBS, tuning.steps_between_shared_moves)

    def begin(self, state: State) -> None:
        """Make the ridge of the state: a wide one, as the data, not a narrow guess, should say how large it is."""
        self.hierarchy = start_hierarchy(
            state,
            self.design.linear.R,
            np.full(self.design.Y.shape[1], 100.0),
            rate=1.0 + float(state.terms.k[0]),
            relative=self.relative,
        )

    def widen(self, state: State) -> bool:
        """Leave the ridge as it is."""
        return False

    def prepare(self, walk: Walk) -> None:
        """Begin to compile the kernel."""
        self.begin(walk.state)
        prepare(run_sample_block, *self._arguments(walk), 1, 0, 1, True)

    def run(self, walk: Walk, done: int, stop: int, *, afresh: bool) -> float:
        """Carry the state on; Gibbs steps are within the kernel."""
        return float(run_sample_block(*self._arguments(walk), stop - done, done, STEPS_BETWEEN_GIBBS, afresh))

    def _arguments(self, walk: Walk) -> tuple[Any, ...]:
        problem, prior, hierarchy = self.design.problem, self.prior, self.hierarchy
        return walk.rng, problem, prior, walk.tuning, walk.state, walk.work, hierarchy, walk.record

    def draw(self, walk: Walk, log_posterior: float) -> Draw:
        """Copy the ridge's solution, and draw the variances of the noise given the terms as they are now."""
        ridge, problem, terms = self.hierarchy.ridge, self.design.problem, terms_as_value(walk.state.terms)
        m_fixed, m = problem.m_fixed, problem.m_fixed + int(walk.state.n_columns[0])
        K = np.triu(ridge.K[:, :m, :m].transpose(0, 2, 1))
        mean = np.einsum("cij,cj->ic", K, ridge.zeta[:, 0, :m])
        if self.relative:
            # From the coefficients of what terms' columns have beside their linear part to those of the columns.
            back = np.diag(1.0 / ridge.root[:m])
            linear = solve_triangular(self.design.linear.R, walk.state.factor.R[:m_fixed, m_fixed:m])
            back[:m_fixed, m_fixed:] = -linear / ridge.root[m_fixed:m]
            mean, K = back @ mean, back @ K
        S = self.prior.g0 + np.maximum(ridge.S, problem.rss_floor)
        return Draw(
            terms=terms,
            mean=mean,
            K=K,
            S=S,
            prior_width=ridge.delta_squared.copy(),
            sigma_squared=draw_variances(walk.rng, S, self.prior.v0 + problem.n_total),
            rate=float(self.hierarchy.rate[0]),
            log_posterior=log_posterior,
        )

    @property
    def above(self) -> tuple[Floats, Floats, Floats]:
        """Copy delta^2, sigma^2 and L."""
        hierarchy = self.hierarchy
        return hierarchy.ridge.delta_squared.copy(), hierarchy.sigma_squared.copy(), hierarchy.rate.copy()

    def restore(self, prior_width: Floats, sigma_squared: Floats, rate: Floats) -> None:
        """Put them back."""
        self.hierarchy.ridge.delta_squared[:] = prior_width
        self.hierarchy.sigma_squared[:] = sigma_squared
        self.hierarchy.rate[:] = rate


class GStepper:
    """The g-prior (docs/mathematics.md): given g, its posterior is the annealed chain's target at temperature 1.

    At another temperature T, terms and g have the joint law pi^(1/T).
    """

    def __init__(self, design: Design, prior: GPrior, temperature: float = 1.0) -> None:
        self.prior, self._base, self.temperature = prior, design, temperature
        # Coefficients of radial terms alone may be as large as they like.
        self.widest_of_any = WIDEST_OF_ANY if design.mixture.chooses_inputs else np.inf
        self._set(prior.start)

    def _set(self, g: Floats) -> None:
        self.g = g
        self.design = replace(self._base, problem=self.prior.problem_given(self._base.problem, g))

    def every(self, tuning: Tuning) -> tuple[int, ...]:
        """Name the steps between two draws of g: a kernel's block takes the rest in its stride."""
        return (STEPS_BETWEEN_G,)

    def begin(self, state: State) -> None:
        """Begin at the state with the g it was found with."""

    def widen(self, state: State) -> bool:
        """Take the most probable g, if it is far larger than the present one; say whether it is."""
        g = self.prior.mode(self.design.problem, state.factor.rss, int(state.n_columns[0]))
        if not (g > FAR_LARGER * self.g).any():
            return False
        self._set(np.maximum(g, self.g))
        return True

    def prepare(self, walk: Walk) -> None:
        """Begin to compile the kernel."""
        prepare(block_of(self.design), *self._arguments(walk), np.ones(1), 1, 0, 1)

    def run(self, walk: Walk, done: int, stop: int, *, afresh: bool) -> float:
        """Carry the state on, and draw g now and then."""
        block = block_of(self.design)
        while done < stop:
            until = min(STEPS_BETWEEN_G * (done // STEPS_BETWEEN_G + 1), stop)
            n = until - done
            done += block(*self._arguments(walk), np.full(n, self.temperature), n, done, NEVER)
            if done % STEPS_BETWEEN_G == 0:
                self._draw_g(walk.rng, walk.state)
        return float(walk.state.log_posterior[0]) + self.prior.log_density_above(self.design.problem, self.g)

    def _arguments(self, walk: Walk) -> tuple[Any, ...]:
        return walk.rng, self.design.problem, walk.tuning, walk.state, walk.work, walk.record

    def _draw_g(self, rng: np.random.Generator, state: State) -> None:
        k, n_columns, rss = int(state.terms.k[0]), int(state.n_columns[0]), state.factor.rss
        before = self.prior.log_fit(self.design.problem, rss, k, n_columns)
        self._set(self.prior.draw(rng, self.design.problem, rss, n_columns, self.temperature))
        state.log_posterior[0] += self.prior.log_fit(self.design.problem, rss, k, n_columns) - before

    def draw(self, walk: Walk, log_posterior: float) -> Draw:
        """Solve for the coefficients, and draw the variances of the noise."""
        factor, problem, terms = walk.state.factor, self.design.problem, terms_as_value(walk.state.terms)
        m_fixed, m = problem.m_fixed, problem.m_fixed + int(walk.state.n_columns[0])
        R = np.triu(factor.R[:m, :m])
        R[:m_fixed, :m_fixed] = self.design.linear.R
        inverse = solve_triangular(R, np.eye(m))
        shrink = np.ones((self.g.size, m))
        shrink[:, m_fixed:] = (self.g / (1.0 + self.g))[:, None]
        S = self.prior.sums(problem, factor.rss, self.g)
        mean, K = inverse @ (shrink * factor.Z[:, :m]).T, inverse * np.sqrt(shrink)[:, None, :]
        widest = np.full(m, np.inf)
        widest[m_fixed:] = np.minimum(self.design.mixture.coefficient_spreads(terms)[1], self.widest_of_any)
        for i, variance in enumerate(S / problem.degrees):
            if is_spread(mean[:, i], np.sqrt(variance) * K[i], widest):
                mean[:, i], K[i] = held_back(R, factor.Z[i, :m], shrink[i], np.sqrt(variance) / widest)
        return Draw(
            terms=terms,
            mean=mean,
            K=K,
            S=S,
            prior_width=self.g.copy(),
            sigma_squared=draw_variances(walk.rng, S, problem.degrees),
            rate=0.0,
            log_posterior=log_posterior,
        )

    @property
    def above(self) -> tuple[Floats, Floats, Floats]:
        """Copy g; variances are drawn with the draws, and there is no rate."""
        return self.g.copy(), np.ones_like(self.g), np.zeros(1)

    def restore(self, prior_width: Floats, sigma_squared: Floats, rate: Floats) -> None:
        """Put g back."""
        self._set(prior_width.copy())


def is_spread(mean: Floats, root: Floats, widest: Floats) -> bool:
    """Say whether coefficients, given their mean and the root (m, m) of their covariance, may well be too large."""
    return bool((np.abs(mean) + np.sqrt(np.square(root).sum(axis=1)) > widest).any())


def held_back(R: Floats, z: Floats, shrink: Floats, precision: Floats) -> tuple[Floats, Floats]:
    """Find the mean (m,) and K (m, m) of coefficients that have a prior of their own beside the g-prior.

    Columns that all but depend on each other leave their coefficients free to be huge and cancel, as they do at rows
    and nowhere else: beyond these, a wave that goes on no longer cancels a bump that does not. One year beyond 247
    years of sunspots a posterior was off by six standard deviations of y. `precision` has the standard deviation of the
    noise over that of each coefficient. O(m^3).
    """
    triangle = np.linalg.qr(np.vstack([R / np.sqrt(shrink)[:, None], np.diag(precision)]), mode="r")
    K = solve_triangular(triangle * np.sign(np.diag(triangle))[:, None], np.eye(len(R)))
    return K @ (K.T @ (R.T @ z)), K


def draw_variances(rng: np.random.Generator, S: Floats, degrees: float) -> Floats:
    """Draw the variances of the noise given sums of squares S (c,), without moving the chain's generator on.

    Where a chain draws depends on how long it is to be: when it goes on, it must go on as if it had not drawn.
    """
    ahead = np.random.Generator(rng.bit_generator.jumped())  # type: ignore[attr-defined]
    return 0.5 * S / ahead.standard_gamma(0.5 * degrees, S.size)
