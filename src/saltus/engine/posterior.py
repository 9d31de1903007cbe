"""The sampling driver: chains of the full posterior, and what is kept of them."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed

from saltus._typing import Floats, Ints
from saltus.engine.anneal import shares_memory
from saltus.engine.chain import ACCEPTED, CHOSEN, Record, State, Tuning, start_record, start_state
from saltus.engine.crew import Crew
from saltus.engine.descent import Landscape
from saltus.engine.design import Design
from saltus.engine.events import Listener, Progress
from saltus.engine.network import Network, make_network
from saltus.engine.placing import (
    MOST_STARTING_CENTERS,
    place_centers,
    place_independent_centers,
    starting_relevance,
)
from saltus.engine.result import MoveCount, count_moves
from saltus.engine.rounds import ITERATIONS_BETWEEN_REBUILDS
from saltus.engine.sample import Hierarchy, Prior, run_sample_block, start_hierarchy

# Moves between two draws of the variances, the ridge and the rate, which cost O(m^3) each.
STEPS_BETWEEN_GIBBS = 50

# Quasi-Newton steps from a random start, where the metric is learned.
STARTING_STEPS = 50


@dataclass(frozen=True)
class SamplerSettings:
    """How chains of the posterior run."""

    n_warmup: int
    n_draws: int
    steps_between_draws: int
    tuning: Tuning
    prior: Prior
    start: Floats | None  # (k, d) in the unit cube, or None for a random start
    relative_ridge: bool  # docs/mathematics.md: V


@dataclass(frozen=True)
class Draw:
    """One draw: the centres, and the posterior of everything above them given those, in scaled units.

    Given the centres and delta^2, alpha_i has a Student's t distribution with `degrees` of freedom, mean `mean` and
    scale S_i / degrees times K_i K_i'.
    """

    centers_unit: Floats  # (k, d_varying)
    relevance: Floats  # (q,), of a learned metric; otherwise 1
    mean: Floats  # (m, c)
    K: Floats  # (c, m, m), upper triangular
    S: Floats  # (c,), g0 + y_i'P_i y_i
    delta_squared: Floats  # (c,)
    sigma_squared: Floats  # (c,)
    rate: float
    log_posterior: float


@dataclass(frozen=True)
class Draws(Sequence[Draw]):
    """The draws of a chain, one after the other in flat arrays: they differ in size."""

    n_bases: Ints  # (n,)
    centers_unit: Floats  # (sum of k, d_varying)
    relevance: Floats  # (n, q)
    mean: Floats  # (sum of m, c)
    K: Floats  # (sum of c m^2,)
    S: Floats  # (n, c)
    delta_squared: Floats  # (n, c)
    sigma_squared: Floats  # (n, c)
    rate: Floats  # (n,)
    log_posterior: Floats  # (n,)

    @classmethod
    def of(cls, draws: Sequence[Draw]) -> "Draws":
        """Join draws."""
        return cls(
            n_bases=np.array([len(draw.centers_unit) for draw in draws]),
            centers_unit=np.concatenate([draw.centers_unit for draw in draws]),
            relevance=np.array([draw.relevance for draw in draws]),
            mean=np.concatenate([draw.mean for draw in draws]),
            K=np.concatenate([draw.K.ravel() for draw in draws]),
            S=np.array([draw.S for draw in draws]),
            delta_squared=np.array([draw.delta_squared for draw in draws]),
            sigma_squared=np.array([draw.sigma_squared for draw in draws]),
            rate=np.array([draw.rate for draw in draws]),
            log_posterior=np.array([draw.log_posterior for draw in draws]),
        )

    def __len__(self) -> int:
        return len(self.n_bases)

    def __getitem__(self, index: int) -> Draw:  # type: ignore[override]
        n = range(len(self))[index]
        before, k = int(self.n_bases[:n].sum()), int(self.n_bases[n])
        m_fixed, c = self.m_fixed, self.S.shape[1]
        m = m_fixed + k
        m_before = before + n * m_fixed
        K_before = int(c * ((self.n_bases[:n] + m_fixed) ** 2).sum())
        return Draw(
            centers_unit=self.centers_unit[before : before + k],
            relevance=self.relevance[n],
            mean=self.mean[m_before : m_before + m],
            K=self.K[K_before : K_before + c * m * m].reshape(c, m, m),
            S=self.S[n],
            delta_squared=self.delta_squared[n],
            sigma_squared=self.sigma_squared[n],
            rate=float(self.rate[n]),
            log_posterior=float(self.log_posterior[n]),
        )

    @property
    def m_fixed(self) -> int:
        """Columns of the linear term."""
        return (len(self.mean) - len(self.centers_unit)) // len(self)

    @property
    def offsets(self) -> Ints:
        """Where the centres of each draw begin and, last, end: (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.n_bases)])


@dataclass(frozen=True)
class PosteriorChain:
    """One chain of the posterior."""

    draws: Draws
    moves: dict[str, MoveCount]


def sample_posterior(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: SamplerSettings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
) -> tuple[tuple[PosteriorChain, ...], str]:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise.

    Ctrl-C ends it with the draws that chains have, if they are on threads; why it ended early comes second, in words.
    """
    crew = Crew()
    jobs = (
        delayed(run_posterior_chain)(seed, design, settings, crew=crew, number=number, listener=listener)
        for number, seed in enumerate(seeds)
    )
    with crew.heeding_interrupts() if shares_memory() else nullcontext():
        try:
            chains = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
        finally:
            crew.dismiss()
    return cut_to_one_length(chains), crew.stopped_by


def cut_to_one_length(chains: Sequence[tuple[list[Draw], dict[str, MoveCount]]]) -> tuple[PosteriorChain, ...]:
    """Keep as many draws as possible, the same number of each chain, where chains were stopped."""
    lengths = np.sort([len(draws) for draws, _ in chains])[::-1]
    length = int(lengths[(lengths * np.arange(1, len(lengths) + 1)).argmax()])
    if length == 0:
        raise KeyboardInterrupt("The sampler was stopped before its first draw.")
    return tuple(PosteriorChain(Draws.of(draws[:length]), moves) for draws, moves in chains if len(draws) >= length)


def run_posterior_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: SamplerSettings,
    *,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
) -> tuple[list[Draw], dict[str, MoveCount]]:
    """Run one chain: warm up, then keep a draw every so many iterations."""
    if crew.need_not_begin:
        return [], {}
    with crew.working():
        rng = np.random.default_rng(seed)
        state = start_state(design.target, design.fixed.Q, design.Y)
        _place_start(rng, design, settings, state)
        # The ridge starts wide: the data, not a narrow guess, should say how large coefficients are.
        start_delta_squared = np.full(design.Y.shape[1], 100.0)
        hierarchy = start_hierarchy(
            state,
            design.fixed.R,
            start_delta_squared,
            rate=1.0 + float(state.k[0]),
            relative=settings.relative_ridge,
        )
        record = start_record(state, 1)
        draws: list[Draw] = []
        for done, log_posterior in _run_stretches(rng, design, settings, state, hierarchy, record):
            if done > settings.n_warmup:
                draws.append(_draw(design, settings.prior, state, hierarchy, log_posterior))
            counts = record.counts.sum(axis=0)
            acceptance = float(counts[ACCEPTED] / max(counts[CHOSEN], 1))
            progress = Progress(number, done, int(state.k[0]), log_posterior, 1.0, acceptance)
            if listener is not None and listener(progress):
                crew.stop("Stopped by the callback")
            if crew.should_stop:
                break
        return draws, count_moves(record.counts)


def _place_start(rng: np.random.Generator, design: Design, settings: SamplerSettings, state: State) -> None:
    """Put the state at the given centres, or at a random number of random ones; with a learned metric, downhill."""
    most = min(design.k_max, MOST_STARTING_CENTERS)
    k = most if design.learns_metric else int(rng.integers(0, most, endpoint=True))
    centers = rng.random((k, design.target.to_metric.shape[1])) if settings.start is None else settings.start
    state.relevance[:] = starting_relevance(design)
    if design.learns_metric and len(centers) > 0:
        landscape = Landscape.of(design, rng)
        found = landscape.ascend(landscape.independent(centers, state.relevance.copy()), STARTING_STEPS)
        centers = found.centers
        state.relevance[:] = found.relevance
    place_independent_centers(design, state, centers)


def _run_stretches(
    rng: np.random.Generator,
    design: Design,
    settings: SamplerSettings,
    state: State,
    hierarchy: Hierarchy,
    record: Record,
) -> Iterator[tuple[int, float]]:
    """Run the chain; yield the number of iterations done and the log density where a draw may be kept."""
    between = settings.steps_between_draws
    n_total = settings.n_warmup + settings.n_draws * between
    halts = {*range(between, settings.n_warmup, between), *range(settings.n_warmup, n_total + 1, between)} - {0}
    rebuilds = set(range(ITERATIONS_BETWEEN_REBUILDS, n_total, ITERATIONS_BETWEEN_REBUILDS))
    done = 0
    for stop in sorted(halts | rebuilds):
        log_posterior = run_sample_block(
            rng,
            design.target,
            settings.prior,
            settings.tuning,
            state,
            hierarchy,
            record,
            stop - done,
            done,
            STEPS_BETWEEN_GIBBS,
        )
        done = stop
        if stop in rebuilds:
            place_centers(design, state, state.centers[: state.k[0]].copy())
        if stop in halts:
            yield done, float(log_posterior)


def _draw(design: Design, prior: Prior, state: State, hierarchy: Hierarchy, log_posterior: float) -> Draw:
    """Copy what prediction needs of the present state."""
    ridge = hierarchy.ridge
    k = int(state.k[0])
    m = design.target.m_fixed + k
    K = np.triu(ridge.K[:, :m, :m].transpose(0, 2, 1))
    return Draw(
        centers_unit=state.centers[:k].copy(),
        relevance=state.relevance.copy(),
        mean=np.einsum("cij,cj->ic", K, ridge.zeta[:, 0, :m]),
        K=K,
        S=prior.g0 + np.maximum(ridge.S, design.target.rss_floor),
        delta_squared=ridge.delta_squared.copy(),
        sigma_squared=hierarchy.sigma_squared.copy(),
        rate=float(hierarchy.rate[0]),
        log_posterior=log_posterior,
    )


def network_of_draw(design: Design, draw: Draw) -> Network:
    """Build the network whose coefficients are the posterior mean given the centres of a draw."""
    return make_network(design, draw.centers_unit, draw.relevance, draw.mean)
