"""A chain between rounds, how chains run, and what one has to do in a round."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from saltus._typing import Floats
from saltus.engine.drivers.checkpoints import GeneratorState, Halfway, SavedChain
from saltus.engine.drivers.schedules import Schedule
from saltus.engine.kernels.state import Tuning
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import ChainResult
from saltus.engine.search.landscape import Candidate
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy
from saltus.families.terms import TermSet

# Traces longer than this are thinned.
LONGEST_TRACE = 100_000
# The trace of rounds keeps one iteration in so many.
TRACE_STRIDE = 10

# Networks kept along the way, at iterations that grow geometrically.
N_SNAPSHOTS = 100

# Where a round samples, it stays at temperature 1 for this share of its iterations. So many networks are taken from
# there to predict, at even distances, once the chain has left its start behind. 4 are as good as 20.
SHARE_AT_ONE, N_DRAWS, SHARE_OF_WARM_UP = 0.8, 4, 0.3

# Seconds that a search has at least.
SHORTEST_SEARCH = 1e-3

# The iterations of a round that consists of hops alone.
HOPS_ALONE = 0


def left_of(max_seconds: float | None, seconds_used: float) -> float | None:
    """Say how many seconds are left, next to none at least; None: as many as it takes."""
    return None if max_seconds is None else max(max_seconds - seconds_used, SHORTEST_SEARCH)


@dataclass(frozen=True)
class Settings:
    """How chains run."""

    n_iter: int | None  # None: in rounds, until most chains are near the best or `patience` rounds improved nothing
    schedule: Schedule | None  # None: by the cost of a term
    tuning: Tuning
    start: Floats | None  # (k, inputs that vary) in the unit cube, or None for a random start
    descend: bool  # whether to descend from the start, and eliminate what is not needed
    polish: bool  # whether to do so at the end of a round
    patience: int | None = 1  # None: no end but that of the time
    max_seconds: float | None = None
    seconds_used: float = 0.0  # of these, before chains began
    policy: SearchPolicy = DEFAULT_POLICY
    share_of_time: float = 1.0  # of the seconds, what chains have: all, or what is left by what comes after
    grows: bool = False  # whether chains grow networks from nothing: rounds are then as many as `patience`, and short

    @property
    def seconds_left(self) -> float | None:
        """The seconds that chains have; None: as many as they need."""
        seconds = None if self.max_seconds is None else self.share_of_time * self.max_seconds
        return left_of(seconds, self.seconds_used)

    @property
    def mark(self) -> str:
        """What a checkpoint depends on, written down."""
        start = None if self.start is None else self.start.tobytes()
        schedule = self.schedule
        plain = replace(self, start=None, schedule=None, max_seconds=None, seconds_used=0.0)
        return repr((plain, start, type(schedule).__qualname__, vars(schedule) if schedule else None))

    def resolution(self, design: Design) -> float:
        """Say how near two values of log pi are that are as good as the same."""
        return self.policy.resolution(design.problem.n_total)

    def iterations_of_round(self, history: Sequence[float], design: Design) -> int:
        """Choose how long the next round is, given the best value after each of those before."""
        if self.n_iter is not None:
            return self.n_iter
        if self.patience is None and self.polish and history:
            return HOPS_ALONE
        if self.grows:
            return self.policy.iterations_after_growth(design.problem.n_total, design.k_max)
        n_stale = 0
        for before, after in zip(history[-2::-1], history[:0:-1], strict=True):
            if after >= before + self.resolution(design) or n_stale >= self.policy.most_doublings:
                break
            n_stale += 1
        return self.iterations_of_first_round(design) * 2 ** min(n_stale, self.policy.most_doublings)

    def iterations_of_first_round(self, design: Design) -> int:
        """Say how many iterations the first round of a fit without a given length has."""
        return self.policy.iterations_of_first_round(len(design.rows))


@dataclass(frozen=True)
class Chain:
    """A chain between rounds, or in the middle of one."""

    rng: np.random.Generator
    terms: TermSet | None = None  # of the best state so far
    result: ChainResult | None = None
    variant: int = 0  # which of the variants of the design
    halfway: Halfway | None = None
    is_done: bool = False  # with the present round
    standing: Candidate | None = None  # where hops go on from; a chain that is resumed begins them at its best

    def saved(self, *, is_done: bool = False) -> SavedChain:
        """Copy what is needed to go on."""
        generator = GeneratorState.of(self.rng)
        return SavedChain(generator, self.terms, self.result, self.variant, is_done, self.halfway)

    @classmethod
    def restored(cls, saved: SavedChain) -> "Chain":
        """Make a chain of what was saved."""
        rng = saved.generator.make()
        return cls(rng, saved.terms, saved.result, saved.variant, saved.halfway, saved.is_done)


@dataclass(frozen=True)
class RoundTask:
    """What a chain has to do in a round."""

    chain: Chain
    designs: Design  # with all variants
    settings: Settings
    n_iter: int
    number: int = 0  # of the chain

    @property
    def design(self) -> Design:
        """The design of the chain's variant."""
        return self.designs.variants[self.chain.variant]

    @property
    def is_hops_alone(self) -> bool:
        """Whether nothing is annealed in this round."""
        return self.n_iter == HOPS_ALONE

    @property
    def samples(self) -> bool:
        """Whether networks are averaged that the chain passes through at temperature 1."""
        settings = self.settings
        is_long = self.n_iter >= settings.policy.fewest_iterations_to_sample
        return settings.grows and settings.schedule is None and is_long

    @property
    def tuning(self) -> Tuning:
        """How the chain moves. Where it samples, pi is the mass of each number of terms, not a density of sets.

        As a density of sets, pi holds hundreds of terms down by k!, which no criterion asks for. Noisy functions, seeds
        22 and 23, and small tables, splits 11 to 13, geometric means of the errors: .809 and .258 so, .820 and .271
        otherwise.
        """
        return self.settings.tuning._replace(counts_orders=self.samples)

    @property
    def draw_iterations(self) -> frozenset[int]:
        """When to keep a network that predicts, counted within the round."""
        if not self.samples:
            return frozenset()
        shares = np.linspace(SHARE_OF_WARM_UP, SHARE_AT_ONE, N_DRAWS)
        return frozenset((shares * self.n_iter).astype(int).tolist())

    @property
    def n_before(self) -> int:
        """The iterations that the chain has done in earlier rounds."""
        return 0 if self.chain.result is None else self.chain.result.n_iter

    @property
    def stride(self) -> int:
        """The iterations between two entries of the trace."""
        return -(-self.n_iter // LONGEST_TRACE) if self.settings.n_iter is not None else TRACE_STRIDE

    @property
    def snapshot_iterations(self) -> frozenset[int]:
        """When to keep the network, counted within the round."""
        return _snapshot_iterations(self.n_iter, many=self.settings.n_iter is not None) | self.draw_iterations


@cache
def _snapshot_iterations(n_iter: int, many: bool) -> frozenset[int]:
    """Choose when to keep the network: often, or only at the ends of a round."""
    if n_iter == HOPS_ALONE:
        return frozenset()
    if not many:
        return frozenset({0, n_iter})
    return frozenset({0, n_iter, *np.geomspace(1, n_iter, N_SNAPSHOTS).round().astype(int).tolist()})
