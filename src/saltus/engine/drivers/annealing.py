"""The annealed part of a round: blocks of iterations, from hot to cold."""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import numpy as np

from saltus._compile import prepare
from saltus.engine.drivers.blocks import ITERATIONS_BETWEEN_REBUILDS, next_length
from saltus.engine.drivers.chain import SHARE_AT_ONE, RoundTask
from saltus.engine.drivers.checkpoints import Halfway
from saltus.engine.drivers.events import Progress
from saltus.engine.drivers.schedules import Geometric, Schedule, StayThenCool, temperatures
from saltus.engine.kernels.chain import run_block, run_block_with_shared_moves
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, Record, State, make_workspace, start_record
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import BestState, Snapshot
from saltus.engine.search.landscape import Candidate
from saltus.engine.search.starts import (
    note_improvement,
    present_network,
    present_state,
    set_independent_terms,
    set_terms,
)
from saltus.families.terms import terms_as_value

# A schedule that is left to us starts at one of these multiples of what one more term costs, drawn for each
# round, and ends at the other. Which start is best depends on the problem: on robot arm data with a cubic basis the
# hottest, on Friedman 1 the coldest.
HOTTEST, COLDEST = (1 / 2, 1.0, 2.0), 1 / 80


def block_of(design: Design) -> Callable[..., int]:
    """Choose the entry point that runs a block of iterations."""
    block: Callable[..., int] = run_block_with_shared_moves if design.mixture.moves_shared else run_block
    return block


def prepare_block(task: RoundTask, state: State) -> None:
    """Begin to compile what runs the iterations, while the descents that come first are compiled and run."""
    problem, tuning = task.design.problem, task.tuning
    work, record = make_workspace(problem, state, n_edits=1), start_record(state, 1)
    prepare(block_of(task.design), task.chain.rng, problem, tuning, state, work, record, np.ones(1), 1, 0, 1)


class Annealing:
    """The annealed part of a round, under way. Mutable: `run` carries it on."""

    def __init__(
        self,
        task: RoundTask,
        state: State,
        record: Record,
        *,
        hottest: float,  # the first temperature of a schedule that was left to us
        coldest: float,
        started_at: float,  # log pi where the round started
        done: int = 0,
        snapshots: Sequence[Snapshot] = (),
    ) -> None:
        self.task, self.state, self.record = task, state, record
        self.work = make_workspace(task.design.problem, state)
        self.hottest, self.coldest, self.started_at = hottest, coldest, started_at
        self.done, self.snapshots = done, list(snapshots)

    @classmethod
    def begun(cls, task: RoundTask, state: State) -> "Annealing":
        """Begin at a state. Mutates the generator of the chain."""
        cost = task.design.cost_of_a_term(terms_as_value(state.terms))
        rng = task.chain.rng
        return cls(
            task,
            state,
            start_record(state, -(-task.n_iter // task.stride)),
            hottest=HOTTEST[rng.integers(len(HOTTEST))] * cost,
            coldest=COLDEST * cost,
            started_at=float(state.log_posterior[0]),
        )

    @classmethod
    def resumed(cls, task: RoundTask, state: State, halfway: Halfway) -> "Annealing":
        """Go on in the middle of a round. Mutates the state, and the generator of the chain."""
        set_terms(task.design, state, halfway.terms)
        halfway.generator.put_into(task.chain.rng)
        return cls(
            task,
            state,
            halfway.record.restore(),
            hottest=halfway.hottest,
            coldest=halfway.coldest,
            started_at=halfway.started_at,
            done=halfway.done,
            snapshots=halfway.snapshots,
        )

    @property
    def schedule(self) -> Schedule:
        """How the temperature falls."""
        if self.task.samples:
            return StayThenCool(1.0, min(self.coldest, 1.0), SHARE_AT_ONE)
        return self.task.settings.schedule or Geometric(self.hottest, self.coldest)

    @property
    def best(self) -> float:
        """Log pi of the best state of the round, for the outputs in the user's units."""
        return float(self.record.best_log_posterior[0]) + self.task.design.log_posterior_shift

    @property
    def is_at_rebuild(self) -> bool:
        """Whether the factor has just been built anew, so that the chain is a value: before the end of the round."""
        return self.done % ITERATIONS_BETWEEN_REBUILDS == 0 and self.done < self.task.n_iter

    def run(self) -> Iterator[None]:
        """Run the chain; yield at the start and after every block. A round of hops alone has neither."""
        task, state = self.task, self.state
        if task.is_hops_alone:
            return
        halts = sorted(task.snapshot_iterations)
        n_wanted = 1
        self._keep_snapshot()
        yield
        while self.done < task.n_iter:
            until_rebuild = ITERATIONS_BETWEEN_REBUILDS - self.done % ITERATIONS_BETWEEN_REBUILDS
            n_most = min(until_rebuild, halts[bisect_right(halts, self.done)] - self.done)
            began, before = perf_counter(), self.done
            self._run_block(n_most, n_wanted)
            n_wanted = next_length(self.done - before, perf_counter() - began, task.settings.policy.block_seconds)
            if self.done % ITERATIONS_BETWEEN_REBUILDS == 0:
                set_terms(task.design, state, terms_as_value(state.terms))
            self._keep_snapshot()
            yield

    def _run_block(self, n_most: int, n_wanted: int) -> None:
        """Run as many iterations as wanted, or about so many where proposals are drawn several at a time."""
        task = self.task
        self.done += block_of(task.design)(
            task.chain.rng,
            task.design.problem,
            task.tuning,
            self.state,
            self.work,
            self.record,
            temperatures(self.schedule, np.arange(self.done, self.done + n_most), task.n_iter),
            min(n_wanted, n_most),
            self.done,
            task.stride,
        )

    def _keep_snapshot(self) -> None:
        """Keep the network where it is time to, once."""
        iteration = self.task.n_before + self.done
        is_new = not self.snapshots or self.snapshots[-1].iteration < iteration
        if self.done in self.task.snapshot_iterations and is_new:
            design = self.task.design
            network = present_network(design, self.state)
            log_posterior = float(self.state.log_posterior[0]) + design.log_posterior_shift
            predicts = self.done in self.task.draw_iterations
            self.snapshots.append(Snapshot(iteration, network, log_posterior, predicts))

    def progress(self) -> Progress:
        """Say how it is going."""
        last = np.array([max(self.done - 1, 0)])
        counts = self.record.counts.sum(axis=0)
        acceptance = float(counts[ACCEPTED] / max(counts[CHOSEN], 1))
        return self.progress_at(float(temperatures(self.schedule, last, self.task.n_iter)[0]), acceptance)

    def progress_at(self, temperature: float, acceptance: float) -> Progress:
        """Say how the round is going, at a temperature and with a share of proposals accepted."""
        iteration = self.task.n_before + self.done
        n_terms = int(self.record.best.k[0])
        return Progress(self.task.number, iteration, n_terms, self.best, temperature, acceptance)

    def enter(self, optimum: Candidate) -> BestState:
        """Make a local optimum the state, and enter it into the record."""
        set_independent_terms(self.task.design, self.state, optimum.terms)
        note_improvement(self.state, self.record, self.done)
        return present_state(self.task.design, self.state, self.done)
