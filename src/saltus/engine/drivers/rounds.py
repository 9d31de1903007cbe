"""One round of one chain: annealed in blocks from where it stands, and downhill from where that ends."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from time import perf_counter

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.drivers.checkpoints import GeneratorState, Halfway, Logbook, SavedChain, SavedRecord
from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.schedules import Geometric, Schedule
from saltus.engine.drivers.stop import Crew
from saltus.engine.kernels.chain import (
    ACCEPTED,
    CHOSEN,
    Tuning,
    run_block,
    run_learned_block,
    start_record,
    start_state,
)
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import BestState, ChainResult, Snapshot, Trace, count_moves, join_rounds
from saltus.engine.search.hops import HEAT, hop
from saltus.engine.search.pruning import Landscape, Place
from saltus.engine.search.starts import (
    cost_of_a_basis,
    count_starts,
    downhill,
    note_improvement,
    place_centers,
    place_independent_centers,
    present_network,
    present_state,
    starting_centers,
    starting_relevance,
)

# A block of steps runs without looking up for about this many seconds.
BLOCK_SECONDS = 0.03

# The factor is built anew from its columns at multiples of this many iterations, so that rounding cannot
# build up. A multiple of the iteration, not of the block: a chain is the same however its blocks fall.
ITERATIONS_BETWEEN_REBUILDS = 10_000

# Traces longer than this are thinned.
LONGEST_TRACE = 100_000
# The trace of rounds keeps one iteration in so many.
TRACE_STRIDE = 10

# Networks kept along the way, at iterations that grow geometrically.
N_SNAPSHOTS = 100

# A schedule that is left to us starts at one of these multiples of what one more basis function costs, drawn for each
# round, and ends at the other. Which start is best depends on the problem: on robot arm data with a cubic basis the
# hottest, on Friedman 1 the coldest.
HOTTEST, COLDEST = (1 / 2, 1.0, 2.0), 1 / 80

# Fits without a given length run in rounds of this many iterations, each from the best state of the chain; of twice as
# many after a round that brought nothing, and so on up to the longest.
ITERATIONS_A_ROUND, MOST_DOUBLINGS = 20_000, 4
# They are shorter in proportion where there are more rows than this, but not below the fewest: there, descents go
# farther in the same time. Friedman 1 with 20 000 rows and 10 inputs, mean error to the truth and CPU seconds over
# seeds 20-23: .0543 and 49 with rounds of 20 000 iterations, .0537 and 38 with 10 000, .0538 and 36 with 5 000.
MOST_ROWS_OF_LONG_ROUNDS, FEWEST_ITERATIONS_A_ROUND = 10_000, 400
# Rounds that are longer than the first go on with hops, one for so many iterations more.
ITERATIONS_A_HOP = 1000
# The iterations of a round that consists of hops alone.
HOPS_ALONE = 0
# Where time alone ends a fit, a chain hops for this share of it before it is another's turn.
SHARE_A_TURN = 1 / 64

# Values of log pi nearer than this are the same.
ROUNDING_ERROR = 1e-6


@dataclass(frozen=True)
class Settings:
    """How chains run."""

    n_iter: int | None  # None: in rounds, until chains agree or `patience` rounds brought nothing, or time is over
    schedule: Schedule | None  # None: by the cost of a basis function
    tuning: Tuning
    start: Floats | None  # (k, inputs that vary) in the unit cube, or None for a random start
    descend: bool  # whether to go downhill from the start, and eliminate what is not needed
    polish: bool  # whether to do so at the end of a round
    patience: int | None = 1  # None: no end but that of the time
    max_seconds: float | None = None

    def iterations_of_round(self, history: Sequence[float], design: Design) -> int:
        """Choose how long the next round is, given the best value after each of those before."""
        if self.n_iter is not None:
            return self.n_iter
        if self.patience is None and self.polish and history:
            return HOPS_ALONE
        n_stale = 0
        for before, after in zip(history[-2::-1], history[:0:-1], strict=True):
            if after >= before + design.resolution:
                break
            n_stale += 1
        return iterations_of_first_round(design) * 2 ** min(n_stale, MOST_DOUBLINGS)


def iterations_of_first_round(design: Design) -> int:
    """Say how many iterations the first round of a fit without a given length has."""
    share = min(MOST_ROWS_OF_LONG_ROUNDS / len(design.rows), 1.0)
    return max(int(ITERATIONS_A_ROUND * share), min(FEWEST_ITERATIONS_A_ROUND, ITERATIONS_A_ROUND))


@dataclass(frozen=True)
class Chain:
    """A chain between rounds, or in the middle of one."""

    rng: np.random.Generator
    centers: Floats | None = None  # the best state so far, (k, d) and (q,)
    relevance: Floats | None = None
    result: ChainResult | None = None
    kind: int = 0  # which of the kinds of design
    halfway: Halfway | None = None
    is_done: bool = False  # with the present round
    standing: Place | None = None  # where hops go on from; a chain that is resumed begins them at its best

    def saved(self, *, is_done: bool = False) -> SavedChain:
        """Copy what is needed to go on."""
        generator = GeneratorState.of(self.rng)
        return SavedChain(generator, self.centers, self.relevance, self.result, self.kind, is_done, self.halfway)

    @classmethod
    def restored(cls, saved: SavedChain) -> "Chain":
        """Make a chain of what was saved."""
        rng = saved.generator.make()
        return cls(rng, saved.centers, saved.relevance, saved.result, saved.kind, saved.halfway, saved.is_done)


class LeftOutError(Exception):
    """A round was not needed any more before it had begun."""


class Round:
    """A round under way. Mutable: `run` carries it on."""

    def __init__(
        self,
        chain: Chain,
        designs: Design,
        settings: Settings,
        n_iter: int,
        crew: Crew,
        number: int = 0,
        listener: Listener | None = None,
    ) -> None:
        self.chain, self.settings, self.n_iter, self.crew = chain, settings, n_iter, crew
        self.number, self.listener = number, listener
        self.designs, self.design = designs, designs.kinds[chain.kind]
        design = self.design
        self.rng = chain.rng
        self.n_before = 0 if chain.result is None else chain.result.n_iter
        self.stride = -(-n_iter // LONGEST_TRACE) if settings.n_iter is not None else TRACE_STRIDE
        self.halts = _snapshot_iterations(n_iter, many=settings.n_iter is not None)
        self.landscape = Landscape.of(design, self.rng) if settings.descend or settings.polish else None
        self.optima: list[BestState] = []
        self.standing = chain.standing
        self.n_hops = self.n_taken = 0
        self.heat = 0.0  # of the last hop, in units of log pi
        self.leave_if_not_needed()
        self.state = start_state(design.target, design.fixed.Q, design.Y)
        self.has_begun = False
        self.leave_if_not_needed()
        if chain.halfway is None:
            self._begin()
        else:
            self._go_on(chain.halfway)
        self.has_begun = True

    def leave_if_not_needed(self) -> None:
        """Leave before the first iteration if it is time to stop, and there is something to show without this round."""
        if not self.crew.go_on() and (self.chain.result is not None or self.crew.can_spare(self)):
            raise LeftOutError

    def _begin(self) -> None:
        chain, design, state = self.chain, self.design, self.state
        if chain.centers is None or chain.relevance is None:
            self._place_start()
        else:
            place_centers(design, state, chain.centers, chain.relevance)
        self.done = 0
        self.record = start_record(state, -(-self.n_iter // self.stride))
        self.started_at = float(state.log_posterior[0])
        self.snapshots: list[Snapshot] = []
        cost = cost_of_a_basis(design, int(state.k[0]), state.relevance)
        self.hottest = HOTTEST[self.rng.integers(len(HOTTEST))] * cost
        self.coldest = COLDEST * cost

    def _go_on(self, halfway: Halfway) -> None:
        place_centers(self.design, self.state, halfway.centers, halfway.relevance)
        halfway.generator.put_into(self.rng)
        self.done = halfway.done
        self.record = halfway.record.restore()
        self.started_at = halfway.started_at
        self.snapshots = list(halfway.snapshots)
        self.hottest, self.coldest = halfway.hottest, halfway.coldest

    @property
    def schedule(self) -> Schedule:
        """How the temperature falls."""
        return self.settings.schedule or Geometric(self.hottest, self.coldest)

    @property
    def halfway(self) -> Halfway:
        """Copy the round; only where the factor has just been built anew."""
        return Halfway(
            done=self.done,
            generator=GeneratorState.of(self.rng),
            centers=self.state.centers[: self.state.k[0]].copy(),
            relevance=self.state.relevance.copy(),
            record=SavedRecord.of(self.record),
            snapshots=tuple(self.snapshots),
            started_at=self.started_at,
            hottest=self.hottest,
            coldest=self.coldest,
        )

    def go_on(self) -> bool:
        """Tell how it is going, and say whether to go on: what descents ask again and again."""
        self.tell()
        return self.crew.go_on()

    def _descend(self, landscape: Landscape, centers: Floats, relevance: Floats) -> Place:
        """Go downhill and eliminate what is not needed."""
        return landscape.prune(landscape.place(centers, relevance), self.go_on)

    def _place_start(self) -> None:
        """Put the state where the chain starts."""
        design, settings = self.design, self.settings
        relevance = starting_relevance(design)
        if settings.start is not None:
            centers = design.join(settings.start)
        elif settings.descend and self.landscape is not None:
            starts = [starting_centers(self.rng, design, many=True) for _ in range(count_starts(design))]
            found = downhill(self.rng, design, self.landscape, starts, self._descend, self.go_on)
            centers, relevance = found.centers, found.relevance
        else:
            centers = starting_centers(self.rng, design, many=False)
        self.leave_if_not_needed()
        self.state.relevance[:] = relevance
        place_independent_centers(design, self.state, centers)

    def run(self) -> Iterator[int]:
        """Run the chain; yield the number of iterations done, at the start and after every block."""
        design, state = self.design, self.state
        halts = sorted(self.halts)
        run = run_learned_block if design.learns_metric else run_block
        n_wanted = 1
        yield self.done
        while self.done < self.n_iter:
            until_rebuild = ITERATIONS_BETWEEN_REBUILDS - self.done % ITERATIONS_BETWEEN_REBUILDS
            n_most = min(until_rebuild, halts[bisect_right(halts, self.done)] - self.done)
            temperature = temperatures(self.schedule, np.arange(self.done, self.done + n_most), self.n_iter)
            began = perf_counter()
            n_done = run(
                self.rng,
                design.target,
                self.settings.tuning,
                state,
                self.record,
                temperature,
                min(n_wanted, n_most),
                self.done,
                self.stride,
            )
            n_wanted = next_length(n_done, perf_counter() - began)
            self.done += n_done
            if self.done % ITERATIONS_BETWEEN_REBUILDS == 0:
                place_centers(design, state, state.centers[: state.k[0]].copy())
            yield self.done

    def tell(self) -> None:
        """Tell the listener how it is going."""
        if self.listener is not None and self.listener(self.progress):
            self.crew.stop("Stopped by the callback")

    @property
    def progress(self) -> Progress:
        """How it is going. A descent is cold; before a round has begun there is nothing but the linear term."""
        if not self.has_begun:
            best = float(self.state.log_posterior[0]) + self.design.log_posterior_shift
            return Progress(self.number, self.n_before, int(self.state.k[0]), best, temperature=0.0, acceptance=0.0)
        if self.n_hops > 0:
            temperature, n_accepted, n_chosen = self.heat, self.n_taken, self.n_hops
        else:
            last = np.array([max(self.done - 1, 0)])
            temperature = float(temperatures(self.schedule, last, self.n_iter)[0])
            counts = self.record.counts.sum(axis=0)
            n_accepted, n_chosen = counts[ACCEPTED], counts[CHOSEN]
        return Progress(
            chain=self.number,
            iteration=self.n_before + self.done,
            n_bases=int(self.record.best_k[0]),
            best=self._best,
            temperature=temperature,
            acceptance=float(n_accepted / max(n_chosen, 1)),
        )

    def polish(self) -> None:
        """Go downhill from the best state and from the last, or one of them; enter what is found into the record."""
        state, record, settings = self.state, self.record, self.settings
        if self.landscape is None or not settings.polish or self.n_iter == HOPS_ALONE:
            return
        places = []
        if record.best_log_posterior[0] > self.started_at + ROUNDING_ERROR or not settings.descend:
            places.append((record.best_centers[: record.best_k[0]].copy(), record.best_relevance.copy()))
        if settings.n_iter is None and not (places and self.landscape.has_many_rows):
            places.append((state.centers[: state.k[0]].copy(), state.relevance.copy()))
        for centers, relevance in places:
            if not self.crew.go_on():
                break
            start = self.landscape.place(centers, relevance)
            found = self.landscape.prune(start, self.go_on)
            if not self.crew.go_on() and found.log_posterior <= start.log_posterior:
                break  # not worth a factor
            self.optima.append(self._enter(found))

    def hop(self) -> Iterator[int]:
        """Go from one local optimum to the next; yield after each hop."""
        start = self._start_of_hops()
        if self.landscape is None or start is None:
            return
        at = self.landscape.place(*start)
        record = self.record
        best = self.landscape.value(record.best_centers[: record.best_k[0]], record.best_relevance)
        cost = cost_of_a_basis(self.design, len(at.centers), at.relevance)
        entered: list[BestState] = []
        for share_of_cost in self._heats():
            self.heat = share_of_cost * cost
            found = hop(self.rng, self.landscape, at, cost, self.go_on)
            self.n_hops += 1
            if found.log_posterior > at.log_posterior - self.heat * self.rng.standard_exponential():
                at = found
                self.n_taken += 1
            if at.log_posterior > best + ROUNDING_ERROR:
                best = at.log_posterior
                entered.append(self._enter(at))
            yield self.done
            if not self.crew.go_on():
                break
        self.standing = at
        self.optima.extend(entered[-1:])

    def _start_of_hops(self) -> tuple[Floats, Floats] | None:
        """Find the centres and relevances that hops start from."""
        if self.n_iter == HOPS_ALONE:
            # Where they ended in the last turn of this chain, or where it stands.
            if self.standing is not None:
                return self.standing.centers, self.standing.relevance
            return self.state.centers[: self.state.k[0]].copy(), self.state.relevance.copy()
        if not self.optima:
            return None
        start = max(self.optima, key=lambda optimum: optimum.log_posterior)
        return start.places, start.relevance

    def _heats(self) -> Iterator[float]:
        """Say how hot each hop is: less and less in the course of the round, or of the time that was given."""
        hottest, coldest = HEAT
        if self.n_iter == HOPS_ALONE:
            until = self.crew.share_of_time + SHARE_A_TURN
            while (share := self.crew.share_of_time) < until:
                yield hottest * (coldest / hottest) ** share
        elif self.settings.n_iter is None:
            n_more = self.n_iter - iterations_of_first_round(self.design)
            yield from np.geomspace(hottest, coldest, max(n_more // ITERATIONS_A_HOP, 0))

    def _enter(self, place: Place) -> BestState:
        """Make a local optimum the state, and enter it into the record."""
        self.state.relevance[:] = place.relevance
        place_independent_centers(self.design, self.state, place.centers)
        note_improvement(self.state, self.record, self.done)
        return present_state(self.design, self.state, self.done)

    def end(self) -> Chain:
        """Return the chain as it stands after the round."""
        chain = self._end()
        return replace(chain, standing=self.standing if chain.kind == self.chain.kind else None)

    def _end(self) -> Chain:
        state, record, before, optima = self.state, self.record, self.chain.result, self.optima
        if self.crew.should_stop and before is not None and self._best <= before.best.log_posterior:
            return replace(self.chain, result=join_rounds(before, self._result(before.best, optima)))
        best_centers = record.best_centers[: record.best_k[0]].copy()
        if not (self.crew.should_stop and state.log_posterior[0] == record.best_log_posterior[0]):
            place_centers(self.design, state, best_centers, record.best_relevance)
        result = self._result(present_state(self.design, state, int(record.best_iteration[0])), optima)
        if before is not None:
            result = join_rounds(before, result)
            if before.best.log_posterior == result.best.log_posterior:
                # Another start was no better.
                best = result.best
                return Chain(self.rng, best.places, best.relevance, result, self.designs.kind_of(best.places))
        return Chain(self.rng, best_centers, state.relevance.copy(), result, self.chain.kind)

    @property
    def _best(self) -> float:
        return float(self.record.best_log_posterior[0]) + self.design.log_posterior_shift

    def _result(self, best: BestState, optima: list[BestState]) -> ChainResult:
        """Report on a round, given its best state."""
        record, shift = self.record, self.design.log_posterior_shift
        index = np.arange(0, self.done, self.stride)
        return ChainResult(
            trace=Trace(
                iteration=index + 1,
                n_bases=record.trace_k[: index.size],
                log_posterior=record.trace_log_posterior[: index.size] + shift,
                temperature=temperatures(self.schedule, index, self.n_iter),
            ),
            moves=count_moves(record.counts),
            best=best,
            best_by_n_bases={k: float(value) + shift for k, value in enumerate(record.best_by_k) if np.isfinite(value)},
            local_optima=tuple(optima) or (best,),
            snapshots=tuple(self.snapshots),
            n_iter=self.done,
        )


def run_round(
    chain: Chain,
    design: Design,
    settings: Settings,
    n_iter: int,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
    logbook: Logbook | None = None,
) -> Chain:
    """Anneal for n_iter iterations from the best state of the chain, or its start; go downhill from where that ends."""
    if chain.is_done or crew.need_not_begin or (crew.should_stop and chain.result is not None):
        return chain
    with crew.working():
        before = chain.saved()
        try:
            this = Round(chain, design, settings, n_iter, crew, number, listener)
            this.leave_if_not_needed()
        except LeftOutError:
            return chain
        for done in this.run():
            if done in this.halts and (not this.snapshots or this.snapshots[-1].iteration < this.n_before + done):
                this.snapshots.append(Snapshot(this.n_before + done, present_network(this.design, this.state)))
            this.tell()
            rebuilt = done % ITERATIONS_BETWEEN_REBUILDS == 0 and done < n_iter
            if logbook is not None and rebuilt and logbook.wants(number):
                logbook.note(number, replace(before, halfway=this.halfway))
            if crew.should_stop:
                break
        this.polish()
        for _ in this.hop():
            this.tell()
        after = this.end()
        if logbook is not None and not crew.should_stop and (n_iter != HOPS_ALONE or logbook.wants(number)):
            logbook.note(number, after.saved(is_done=True))
        return after


def temperatures(schedule: Schedule, iteration: Ints, n_iter: int) -> Floats:
    """Ask a schedule for its temperatures, and check them."""
    temperature = np.asarray(schedule.temperature(iteration, max(n_iter, 1)), dtype=np.float64)
    if temperature.shape != iteration.shape or not (np.isfinite(temperature) & (temperature > 0)).all():
        raise ValueError(
            f"schedule.temperature must return a positive number for each of the {iteration.size} iterations it is "
            f"given. Got {temperature!r} from {schedule!r}."
        )
    return temperature


@cache
def _snapshot_iterations(n_iter: int, many: bool) -> frozenset[int]:
    """Choose when to keep the network: often, or only at the ends of a round."""
    if n_iter == HOPS_ALONE:
        return frozenset()
    if not many:
        return frozenset({0, n_iter})
    return frozenset({0, n_iter, *np.geomspace(1, n_iter, N_SNAPSHOTS).round().astype(int).tolist()})


def next_length(n_done: int, seconds: float) -> int:
    """Choose the length of the next block, growing slowly: the first call may include compilation."""
    wanted = int(n_done * BLOCK_SECONDS / max(seconds, 1e-9))
    return min(max(wanted, 1), 4 * n_done)
