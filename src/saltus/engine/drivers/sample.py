"""The sampling driver: chains of the full posterior, and what is kept of them."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from time import monotonic, perf_counter

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from saltus._typing import Floats
from saltus.engine.drivers.anneal import shares_memory
from saltus.engine.drivers.blocks import next_length
from saltus.engine.drivers.checkpoints import (
    Checkpoint,
    Checkpointer,
    GeneratorState,
    SavedChain,
    SavedRung,
    SavedSampler,
)
from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.halts import is_drawn_at, is_rebuilt_at, next_stop
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.drivers.outputs import (
    Posterior,
    SamplerOutput,
    SamplerSettings,
    cut_to_one_length,
    unbegun,
    unconverged_chains,
)
from saltus.engine.drivers.steppers import GStepper, RidgeStepper, Stepper, Walk
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.drivers.tempering import Rung, run_rungs
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, State, make_workspace, start_record, start_state
from saltus.engine.problem.design import Design, charging_for_sets
from saltus.engine.problem.span import GPrior
from saltus.engine.results.draws import Draw, Draws
from saltus.engine.results.network import Network, make_network
from saltus.engine.search.growth import grow, grow_and_descend, grow_best
from saltus.engine.search.landscape import Candidate, Landscape
from saltus.engine.search.policy import SearchPolicy
from saltus.engine.search.pruning import descend, independent
from saltus.engine.search.starts import (
    MOST_STARTING_TERMS,
    count_starts,
    descend_from_starts,
    set_independent_terms,
    set_terms,
    starting_terms,
)
from saltus.families.terms import TermSet, terms_as_value

# Quasi-Newton steps from a start, where families want a descent.
STARTING_STEPS = 50
# Under a g-prior none is needed where the warm-up has so many iterations for each term of a start. Noisy functions,
# seeds 22 and 23: .749 of a Gaussian process's error without, .747 with. Airfoil, with 100 terms and 14 000 iterations:
# .186 of the spread of y without, .160 with.
WARM_UP_A_TERM = 1_000

# Where time is short, a chain draws after this share of it: warm-up is half of n_iter, a third of all.
SHARE_OF_WARMUP = 1 / 3


def sample_posterior(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: SamplerSettings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
    checkpointer: Checkpointer | None = None,
    resumed: Checkpoint | None = None,
    max_seconds: float | None = None,
    may_cut_warmup: bool = False,
) -> Posterior:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise.

    With `resumed`, chains go on from there. Ctrl-C ends it with the draws that chains have, if they are on threads; so
    do `max_seconds`, of which warm-up then has no more than a third if it may be cut.
    """
    stop_signal = StopSignal(max_seconds)
    deadlines = share_time(max_seconds, len(seeds), n_jobs)
    saved = [None] * len(seeds) if resumed is None else list(resumed.chains)
    if checkpointer is not None:
        checkpointer.begin(saved)
    jobs = (
        delayed(run_posterior_chain)(
            seed,
            design,
            settings,
            stop_signal,
            number,
            listener,
            checkpointer,
            saved[number],
            deadlines[number],
            may_cut_warmup,
        )
        for number, seed in enumerate(seeds)
    )
    with stop_signal.heeding_interrupts() if shares_memory() else nullcontext():
        try:
            outputs = Parallel(n_jobs=n_jobs, prefer="threads")(jobs)
        finally:
            stop_signal.close()
            if checkpointer is not None:
                checkpointer.close()
    is_complete = all(len(output.draws) == settings.n_draws for output in outputs)
    out_of_time = max_seconds is not None and not stop_signal.stopped_by and not is_complete
    if any(output.draws for output in outputs):
        return Posterior(cut_to_one_length(outputs), stop_signal.stopped_by, out_of_time, None)
    n_done = max((output.n_done for output in outputs), default=0)
    return Posterior(unconverged_chains(outputs), stop_signal.stopped_by, out_of_time, n_done)


def share_time(max_seconds: float | None, n_chains: int, n_jobs: int | None) -> list[float]:
    """Say until when each chain may run, by the monotonic clock: chains that run in turn have equal shares."""
    if max_seconds is None:
        return [np.inf] * n_chains
    now, n_at_once = monotonic(), effective_n_jobs(n_jobs)
    n_turns = -(-n_chains // n_at_once)
    return [now + max_seconds * (number // n_at_once + 1) / n_turns for number in range(n_chains)]


class Sampler:
    """A chain of the posterior under way. Mutable: `run` carries it on."""

    def __init__(
        self,
        rng: np.random.Generator,
        design: Design,
        settings: SamplerSettings,
        stop_signal: StopSignal,
        saved: SavedSampler | None,
    ) -> None:
        self.settings = settings
        self.rungs = [make_rung(rng, design, settings, settings.temperatures[0])]
        self.done = 0
        self.draws_from = np.inf  # when to draw, by the clock, even if warm-up is not over
        self.log_posterior: float | None = None  # of the state that the last block ended in
        self.draws: list[Draw] = []
        if saved is None:
            if design.mixture.wants_descent:
                self.stepper.prepare(self.walk)
            _place_start(rng, self.stepper, settings, self.walk.state, stop_signal)
        else:
            set_terms(self.stepper.design, self.walk.state, saved.terms)
        self.stepper.begin(self.walk.state)
        # Hotter copies begin without terms: what they come upon is not what the start was grown to.
        for temperature in settings.temperatures[1:]:
            its_own = np.random.default_rng(rng.integers(2**63, size=4))
            self.rungs.append(make_rung(its_own, design, settings, temperature))
            _put(self.rungs[-1], design.mixture.empty(), self.stepper.above)
        if saved is not None:
            self._go_on(saved)

    @property
    def stepper(self) -> Stepper:
        """What moves the chain at temperature 1."""
        return self.rungs[0].stepper

    @property
    def walk(self) -> Walk:
        """Where the chain at temperature 1 is."""
        return self.rungs[0].walk

    def _go_on(self, saved: SavedSampler) -> None:
        saved.generator.put_into(self.walk.rng)
        self.done = saved.done
        # Draws of a warm-up that was cut are dropped: it goes on.
        n_draws = max(saved.done - self.settings.n_warmup, 0) // self.settings.steps_between_draws
        self.draws = [] if saved.draws is None or n_draws == 0 else list(saved.draws)[-n_draws:]
        above = saved.prior_width, saved.sigma_squared, saved.rate
        _put(self.rungs[0], saved.terms, above)
        for rung, copy in zip(self.rungs[1:], saved.hotter, strict=True):
            copy.generator.put_into(rung.walk.rng)
            _put(rung, copy.terms, (copy.prior_width, *above[1:]))
        self.walk.record.counts[:] = saved.counts

    @property
    def saved(self) -> SavedSampler:
        """Copy the chain; only where the factor has just been built anew, or at the end."""
        prior_width, sigma_squared, rate = self.stepper.above
        return SavedSampler(
            done=self.done,
            generator=GeneratorState.of(self.walk.rng),
            terms=terms_as_value(self.walk.state.terms),
            prior_width=prior_width,
            sigma_squared=sigma_squared,
            rate=rate,
            counts=self.walk.record.counts.copy(),
            draws=Draws.of(self.draws) if self.draws else None,
            hotter=tuple(
                SavedRung(
                    GeneratorState.of(rung.walk.rng), terms_as_value(rung.walk.state.terms), rung.stepper.above[0]
                )
                for rung in self.rungs[1:]
            ),
        )

    def progress(self, number: int) -> Progress:
        """Say how it is going."""
        counts = self.walk.record.counts.sum(axis=0)
        acceptance = float(counts[ACCEPTED] / max(counts[CHOSEN], 1))
        log_posterior = np.nan if self.log_posterior is None else self.log_posterior
        return Progress(number, self.done, int(self.walk.state.terms.k[0]), log_posterior, 1.0, acceptance)

    @property
    def output(self) -> SamplerOutput:
        """Hand over what there is."""
        unconverged = None
        if not self.draws and self.log_posterior is not None:
            unconverged = self._draw(self.log_posterior)
        return SamplerOutput(self.draws, unconverged, self.done, self.walk.record.counts)

    def run(self) -> Iterator[bool]:
        """Run the chain, and keep draws; yield after every block whether the factor is new."""
        settings = self.settings
        between = settings.steps_between_draws
        n_total = settings.n_total
        every = self.stepper.every(settings.tuning)
        n_wanted = 1
        while (stop := next_stop(self.done, settings.n_warmup, between, n_total)) is not None:
            afresh = True
            while self.done < stop:
                began, before = perf_counter(), self.done
                pause = min(next_pause(before, n_wanted, every), stop)
                log_posterior = self._run_block(pause, afresh=afresh)
                afresh = False
                n_wanted = next_length(self.done - before, perf_counter() - began, settings.policy.block_seconds)
                if self.done < stop:
                    yield False
            if is_rebuilt_at(stop, n_total):
                for rung in self.rungs:
                    set_terms(rung.stepper.design, rung.walk.state, terms_as_value(rung.walk.state.terms))
            may_draw = stop > settings.n_warmup or self.draws or monotonic() >= self.draws_from
            if is_drawn_at(stop, settings.n_warmup, between) and may_draw:
                self.draws.append(self._draw(log_posterior))
            yield is_rebuilt_at(stop, n_total)
            if len(self.draws) == settings.n_draws:
                return

    def _run_block(self, stop: int, *, afresh: bool) -> float:
        log_posterior = run_rungs(self.rungs, self.done, stop, afresh=afresh)
        self.done, self.log_posterior = stop, log_posterior
        return log_posterior

    def _draw(self, log_posterior: float) -> Draw:
        return self.stepper.draw(self.walk, log_posterior)


def make_stepper(design: Design, settings: SamplerSettings, temperature: float = 1.0) -> Stepper:
    """Make what moves a chain under the prior of the settings; under a ridge there is no other temperature than 1."""
    prior = settings.prior
    if settings.has_g_prior:
        return GStepper(design, GPrior.of(design, prior.v0, prior.g0, settings.fixed_g), temperature)
    return RidgeStepper(design, prior, relative=settings.relative_ridge)


def make_rung(rng: np.random.Generator, design: Design, settings: SamplerSettings, temperature: float) -> Rung:
    """Make a chain without terms."""
    stepper = make_stepper(design, settings, temperature)
    design, tuning = stepper.design, settings.tuning
    if temperature != 1.0:
        tuning = tuning._replace(two_stage=False)
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    work, record = make_workspace(design.problem, state), start_record(state, 1)
    return Rung(temperature, stepper, Walk(rng, tuning, state, work, record))


def _put(rung: Rung, terms: TermSet, above: tuple[Floats, Floats, Floats]) -> None:
    """Put a chain where terms and what is above them are."""
    rung.stepper.restore(*above)
    set_terms(rung.stepper.design, rung.walk.state, terms)


def next_pause(done: int, n_wanted: int, every: Sequence[int]) -> int:
    """Find where a block of about n_wanted iterations may end: at a multiple of one of some numbers of them.

    There no proposals are left over, so that a chain is the same to the last bit however its blocks fall.
    """
    first = min(steps * (done // steps + 1) for steps in every)
    return max(first, *(steps * ((done + n_wanted) // steps) for steps in every))


def run_posterior_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: SamplerSettings,
    stop_signal: StopSignal,
    number: int = 0,
    listener: Listener | None = None,
    checkpointer: Checkpointer | None = None,
    saved: SavedChain | SavedSampler | None = None,
    deadline: float = np.inf,
    may_cut_warmup: bool = False,
) -> SamplerOutput:
    """Run one chain until the deadline, if it comes to that: warm up, then keep a draw every so many iterations."""
    before = saved if isinstance(saved, SavedSampler) else None
    if can_leave(stop_signal, number):
        return unbegun(before)
    begun = monotonic()
    with stop_signal.working():
        monitor = Monitor(stop_signal, listener)
        rng = np.random.default_rng(seed)
        chain = Sampler(rng, design, settings, stop_signal, before)
        if can_leave(stop_signal, number):
            return chain.output
        if may_cut_warmup:
            chain.draws_from = begun + SHARE_OF_WARMUP * (deadline - begun)
        for rebuilt in chain.run():
            monitor.tell(lambda: chain.progress(number))
            if checkpointer is not None and rebuilt and checkpointer.is_due(number):
                checkpointer.save(number, chain.saved)
            if not stop_signal.go_on() or monotonic() >= deadline:
                break
        if checkpointer is not None and stop_signal.go_on() and chain.done == settings.n_total:
            checkpointer.save(number, chain.saved)
        return chain.output


def can_leave(stop_signal: StopSignal, number: int) -> bool:
    """Say whether a chain with nothing to show can leave: it was asked to, or time is up and another will show some."""
    if not stop_signal.should_stop:
        return False
    return (stop_signal.is_here and stop_signal.stopped_by != "") or stop_signal.may_leave(number)


def _place_start(
    rng: np.random.Generator, stepper: Stepper, settings: SamplerSettings, state: State, stop_signal: StopSignal
) -> None:
    """Put the state at the given terms, at random ones, or where a network of terms that choose their inputs grows to.

    Where families want it, at the end of a descent from there. It is empty if it is time to stop meanwhile.
    """
    design = stepper.design
    mixture = design.mixture
    if settings.start is not None:
        starts = [mixture.encode(settings.start)]
    elif mixture.chooses_inputs:
        # Under a ridge nothing is charged for a term, so that it would not end by itself.
        if settings.has_g_prior:
            starts = [_grow_under_g(rng, stepper, settings.policy, state, stop_signal)]
            design = stepper.design
        else:
            starts = [grow(rng, design, state, settings.policy, stop_signal.go_on, most=MOST_STARTING_TERMS)[0]]
    else:
        many = mixture.wants_descent
        starts = [starting_terms(rng, design, many=many) for _ in range(count_starts(design))]
    terms = starts[0]
    # A long warm-up leaves a grown start behind without, and a descent may blow the last bits of the data up.
    is_long = settings.has_g_prior and settings.n_warmup >= WARM_UP_A_TERM * len(terms)
    has_descended = settings.has_g_prior and design.descends[0]
    if mixture.wants_descent and len(terms) > 0 and not is_long and not has_descended:

        def take_steps(landscape: Landscape, terms: TermSet) -> Candidate:
            return descend(landscape, independent(landscape, terms), STARTING_STEPS, stop_signal.go_on)

        finest = Landscape.of(design, rng, policy=settings.policy)
        terms = descend_from_starts(rng, design, finest, starts, take_steps, stop_signal.go_on).terms
    set_independent_terms(design, state, mixture.empty() if stop_signal.should_stop else terms)


def _grow_under_g(
    rng: np.random.Generator, stepper: Stepper, policy: SearchPolicy, state: State, stop_signal: StopSignal
) -> TermSet:
    """Grow a network, which may descend; where its residuals ask for a wider prior of coefficients, widen it and go on.

    The borehole function without noise, 1 000 rows, variance left unexplained: 2e-5 under g = N, 1e-7 so.
    """
    # A term that is the best of many that were drawn stands for so little of nu; so does a set of levels.
    charge = float(np.log(max(policy.candidates_of(int(stepper.design.box.varies.sum())), 1)))
    if stepper.design.descends[0]:
        landscape = Landscape.of(stepper.design, rng, policy=policy)
        n_terms = policy.terms_of_long_descent(stepper.design.problem.n_total)
        terms = grow_and_descend(rng, stepper.design, landscape, state, stop_signal.go_on, n_terms).terms
    else:
        terms = grow_best(rng, charging_for_sets(stepper.design), state, policy, stop_signal.go_on, charge=charge)
    while stop_signal.go_on():
        set_terms(stepper.design, state, terms)
        if not stepper.widen(state):
            break
        design = charging_for_sets(stepper.design)
        terms = grow_best(rng, design, state, policy, stop_signal.go_on, charge=charge, start=terms)
    return terms


def network_of_draw(design: Design, draw: Draw) -> Network:
    """Build the network whose coefficients are the posterior mean given the terms of a draw."""
    return make_network(design, draw.terms, draw.mean)
