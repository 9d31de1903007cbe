"""The sampling driver: chains of the full posterior, and what is kept of them."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter

import numpy as np
from joblib import Parallel, delayed

from saltus._typing import Floats, Ints
from saltus.engine.drivers.anneal import shares_memory
from saltus.engine.drivers.checkpoints import Checkpoint, GeneratorState, Logbook, SavedChain, SavedSampler
from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.rounds import ITERATIONS_BETWEEN_REBUILDS, next_length
from saltus.engine.drivers.stop import Crew
from saltus.engine.kernels.chain import ACCEPTED, CHOSEN, State, Tuning, start_record, start_state
from saltus.engine.kernels.gibbs import Hierarchy, Prior, run_sample_block, start_hierarchy
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import MoveCount, count_moves
from saltus.engine.results.draws import Draw, Draws
from saltus.engine.results.network import Network, make_network
from saltus.engine.search.pruning import Landscape, Place
from saltus.engine.search.starts import (
    count_starts,
    downhill,
    place_centers,
    place_independent_centers,
    starting_centers,
    starting_relevance,
)

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
    start: Floats | None  # (k, inputs that vary) in the unit cube, or None for a random start
    relative_ridge: bool  # docs/mathematics.md: V


@dataclass(frozen=True)
class PosteriorChain:
    """One chain of the posterior."""

    draws: Draws
    moves: dict[str, MoveCount]


@dataclass(frozen=True)
class Stretch:
    """What a chain has when it ends: draws, or where it was stopped before its first, the state it was in."""

    draws: list[Draw]
    unconverged: Draw | None
    n_done: int  # iterations
    counts: Ints  # of proposals


@dataclass(frozen=True)
class Posterior:
    """All chains of a sampler, the same number of draws of each."""

    chains: tuple[PosteriorChain, ...]
    ended_early: str  # by whom, in words; empty where nobody did
    n_unconverged: int | None  # iterations done where chains were stopped before any draw, and each has its last state


def sample_posterior(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: SamplerSettings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
    logbook: Logbook | None = None,
    resumed: Checkpoint | None = None,
) -> Posterior:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise.

    With `resumed`, chains go on from there. Ctrl-C ends it with the draws that chains have, if they are on threads.
    """
    crew = Crew()
    saved = [None] * len(seeds) if resumed is None else list(resumed.chains)
    if logbook is not None:
        logbook.begin(saved)
    jobs = (
        delayed(run_posterior_chain)(seed, design, settings, crew, number, listener, logbook, saved[number])
        for number, seed in enumerate(seeds)
    )
    with crew.heeding_interrupts() if shares_memory() else nullcontext():
        try:
            stretches = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
        finally:
            crew.dismiss()
            if logbook is not None:
                logbook.close()
    if any(stretch.draws for stretch in stretches):
        return Posterior(cut_to_one_length(stretches), crew.stopped_by, None)
    return Posterior(
        unconverged_chains(stretches), crew.stopped_by, max((stretch.n_done for stretch in stretches), default=0)
    )


def cut_to_one_length(stretches: Sequence[Stretch]) -> tuple[PosteriorChain, ...]:
    """Keep as many draws as possible, the same number of each chain, where chains were stopped."""
    lengths = np.sort([len(stretch.draws) for stretch in stretches])[::-1]
    length = int(lengths[(lengths * np.arange(1, len(lengths) + 1)).argmax()])
    return tuple(
        PosteriorChain(Draws.of(stretch.draws[:length]), count_moves(stretch.counts))
        for stretch in stretches
        if len(stretch.draws) >= length
    )


def unbegun(saved: SavedSampler | None) -> Stretch:
    """Hand over what a chain had when it was saved, if it was."""
    if saved is None:
        return Stretch([], None, 0, np.zeros((0, 3), dtype=np.int64))
    return Stretch([] if saved.draws is None else list(saved.draws), None, saved.done, saved.counts)


def unconverged_chains(stretches: Sequence[Stretch]) -> tuple[PosteriorChain, ...]:
    """Keep the state of each chain that was stopped before its first draw; those that have not begun have none."""
    chains = tuple(
        PosteriorChain(Draws.of([stretch.unconverged]), count_moves(stretch.counts))
        for stretch in stretches
        if stretch.unconverged is not None
    )
    if not chains:
        raise KeyboardInterrupt("The sampler was stopped before its chains had begun.")
    return chains


class Sampler:
    """A chain of the posterior under way. Mutable: `run` carries it on."""

    def __init__(
        self,
        rng: np.random.Generator,
        design: Design,
        settings: SamplerSettings,
        crew: Crew,
        saved: SavedSampler | None,
    ) -> None:
        self.rng, self.design, self.settings = rng, design, settings
        self.state = start_state(design.target, design.fixed.Q, design.Y)
        self.done = 0
        self.log_posterior: float | None = None  # of the state that the last block ended in
        self.draws: list[Draw] = []
        if saved is None:
            _place_start(rng, design, settings, self.state, crew)
        else:
            place_centers(design, self.state, saved.centers, saved.relevance)
        # The ridge starts wide: the data, not a narrow guess, should say how large coefficients are.
        self.hierarchy = start_hierarchy(
            self.state,
            design.fixed.R,
            np.full(design.Y.shape[1], 100.0),
            rate=1.0 + float(self.state.k[0]),
            relative=settings.relative_ridge,
        )
        self.record = start_record(self.state, 1)
        if saved is not None:
            self._go_on(saved)

    def _go_on(self, saved: SavedSampler) -> None:
        saved.generator.put_into(self.rng)
        self.done = saved.done
        self.draws = [] if saved.draws is None else list(saved.draws)
        self.hierarchy.ridge.delta_squared[:] = saved.delta_squared
        self.hierarchy.sigma_squared[:] = saved.sigma_squared
        self.hierarchy.rate[:] = saved.rate
        self.record.counts[:] = saved.counts

    @property
    def saved(self) -> SavedSampler:
        """Copy the chain; only where the factor has just been built anew, or at the end."""
        return SavedSampler(
            done=self.done,
            generator=GeneratorState.of(self.rng),
            centers=self.state.centers[: self.state.k[0]].copy(),
            relevance=self.state.relevance.copy(),
            delta_squared=self.hierarchy.ridge.delta_squared.copy(),
            sigma_squared=self.hierarchy.sigma_squared.copy(),
            rate=self.hierarchy.rate.copy(),
            counts=self.record.counts.copy(),
            draws=Draws.of(self.draws) if self.draws else None,
        )

    def progress(self, number: int) -> Progress:
        """Say how it is going."""
        counts = self.record.counts.sum(axis=0)
        acceptance = float(counts[ACCEPTED] / max(counts[CHOSEN], 1))
        log_posterior = np.nan if self.log_posterior is None else self.log_posterior
        return Progress(number, self.done, int(self.state.k[0]), log_posterior, 1.0, acceptance)

    @property
    def stretch(self) -> Stretch:
        """Hand over what there is."""
        unconverged = None
        if not self.draws and self.log_posterior is not None:
            unconverged = self._draw(self.log_posterior)
        return Stretch(self.draws, unconverged, self.done, self.record.counts)

    def run(self) -> Iterator[bool]:
        """Run the chain, and keep draws; yield after every block whether the factor is new."""
        settings, state = self.settings, self.state
        between = settings.steps_between_draws
        n_total = settings.n_warmup + settings.n_draws * between
        halts = {*range(between, settings.n_warmup, between), *range(settings.n_warmup, n_total + 1, between)} - {0}
        rebuilds = set(range(ITERATIONS_BETWEEN_REBUILDS, n_total, ITERATIONS_BETWEEN_REBUILDS))
        n_wanted = 1
        for stop in sorted(stop for stop in halts | rebuilds if stop > self.done):
            afresh = True
            while self.done < stop:
                began, before = perf_counter(), self.done
                pause = min(next_pause(before, n_wanted, settings.tuning), stop)
                log_posterior = self._run_block(pause, afresh=afresh)
                afresh = False
                n_wanted = next_length(self.done - before, perf_counter() - began)
                if self.done < stop:
                    yield False
            if stop in rebuilds:
                place_centers(self.design, state, state.centers[: state.k[0]].copy())
            if stop in halts and stop > settings.n_warmup:
                self.draws.append(self._draw(log_posterior))
            yield stop in rebuilds

    def _run_block(self, stop: int, *, afresh: bool) -> float:
        log_posterior = float(
            run_sample_block(
                self.rng,
                self.design.target,
                self.settings.prior,
                self.settings.tuning,
                self.state,
                self.hierarchy,
                self.record,
                stop - self.done,
                self.done,
                STEPS_BETWEEN_GIBBS,
                afresh,
            )
        )
        self.done, self.log_posterior = stop, log_posterior
        return log_posterior

    def _draw(self, log_posterior: float) -> Draw:
        return make_draw(self.design, self.settings.prior, self.state, self.hierarchy, log_posterior)


def next_pause(done: int, n_wanted: int, tuning: Tuning) -> int:
    """Find where a block of about n_wanted iterations may end: right after a Gibbs step or a metric move.

    There no proposals are left over, so that a chain is the same to the last bit however its blocks fall.
    """
    every = (STEPS_BETWEEN_GIBBS, tuning.steps_between_metric_moves)
    first = min(steps * (done // steps + 1) for steps in every)
    return max(first, *(steps * ((done + n_wanted) // steps) for steps in every))


def run_posterior_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: SamplerSettings,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
    logbook: Logbook | None = None,
    saved: SavedChain | SavedSampler | None = None,
) -> Stretch:
    """Run one chain: warm up, then keep a draw every so many iterations."""
    before = saved if isinstance(saved, SavedSampler) else None
    if crew.should_stop:
        return unbegun(before)
    with crew.working():
        rng = np.random.default_rng(seed)
        chain = Sampler(rng, design, settings, crew, before)
        if not crew.go_on():
            return chain.stretch
        for rebuilt in chain.run():
            if listener is not None and listener(chain.progress(number)):
                crew.stop("Stopped by the callback")
            if logbook is not None and rebuilt and logbook.wants(number):
                logbook.note(number, chain.saved)
            if not crew.go_on():
                break
        if logbook is not None and crew.go_on():
            logbook.note(number, chain.saved)
        return chain.stretch


def _place_start(rng: np.random.Generator, design: Design, settings: SamplerSettings, state: State, crew: Crew) -> None:
    """Put the state at the given centres, or at a random number of random ones; with a learned metric, downhill.

    It stays empty if the crew is to stop meanwhile.
    """
    if settings.start is not None:
        starts = [design.join(settings.start)]
    else:
        starts = [starting_centers(rng, design, many=design.learns_metric) for _ in range(count_starts(design))]
    centers, state.relevance[:] = starts[0], starting_relevance(design)
    if design.learns_metric and len(centers) > 0:

        def descend(landscape: Landscape, centers: Floats, relevance: Floats) -> Place:
            return landscape.ascend(landscape.independent(centers, relevance), STARTING_STEPS, crew.go_on)

        found = downhill(rng, design, Landscape.of(design, rng), starts, descend, crew.go_on)
        centers, state.relevance[:] = found.centers, found.relevance
    if not crew.should_stop:
        place_independent_centers(design, state, centers)


def make_draw(design: Design, prior: Prior, state: State, hierarchy: Hierarchy, log_posterior: float) -> Draw:
    """Copy what prediction needs of the present state."""
    ridge = hierarchy.ridge
    k = int(state.k[0])
    m = design.target.m_fixed + k
    centers, sharpness = design.split(state.centers[:k])
    K = np.triu(ridge.K[:, :m, :m].transpose(0, 2, 1))
    return Draw(
        centers_unit=centers.copy(),
        sharpness=sharpness.copy(),
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
    return make_network(design, draw.centers_unit, draw.sharpness, draw.relevance, draw.mean)
