"""What a fit leaves behind besides its network."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats, Ints
from saltus.engine.kernels.chain import ACCEPTED, CHOSEN, FEASIBLE
from saltus.engine.kernels.moves import METRIC_MOVES, MOVES
from saltus.engine.problem.criteria import SAME, count_near
from saltus.engine.results.network import Network


@dataclass(frozen=True)
class Trace:
    """The path of a chain, thinned where it is long: its state after so many iterations, and how hot the last was."""

    iteration: Ints
    n_bases: NDArray[np.int32]
    log_posterior: Floats
    temperature: Floats


@dataclass(frozen=True)
class MoveCount:
    """How often a move was chosen, could be made (or only nearly: columns may coincide), and was accepted."""

    chosen: int
    feasible: int
    accepted: int

    def __add__(self, other: "MoveCount") -> "MoveCount":
        return MoveCount(self.chosen + other.chosen, self.feasible + other.feasible, self.accepted + other.accepted)

    @property
    def acceptance(self) -> float:
        """Accepted, as a share of chosen."""
        return self.accepted / self.chosen if self.chosen else 0.0


def count_moves(counts: Ints) -> dict[str, MoveCount]:
    """Name the rows of a record's counts."""
    return {
        name: MoveCount(int(row[CHOSEN]), int(row[FEASIBLE]), int(row[ACCEPTED]))
        for name, row in zip((*MOVES, *METRIC_MOVES), counts, strict=True)
        if name in MOVES or row[CHOSEN] > 0
    }


@dataclass(frozen=True)
class BestState:
    """The best state that a chain visited."""

    network: Network
    places: Floats  # (k, d), of its basis functions, as the chain knows them
    relevance: Floats  # (q,), of a learned metric; otherwise 1
    rss: Floats  # (c,), residual sums of squares in the user's units
    log_posterior: float
    iteration: int  # how many were done when it was reached; 0 is the start

    @property
    def n_bases(self) -> int:
        """The number of basis functions."""
        return len(self.network.centers_unit)


@dataclass(frozen=True)
class Snapshot:
    """The network after so many iterations, least-squares coefficients included."""

    iteration: int
    network: Network


@dataclass(frozen=True)
class ChainResult:
    """One chain."""

    trace: Trace
    moves: dict[str, MoveCount]
    best: BestState
    best_by_n_bases: dict[int, float]  # the best log posterior seen with each number of basis functions
    local_optima: tuple[BestState, ...]  # where it was polished, at the end of each round; or only the best
    snapshots: tuple[Snapshot, ...]
    n_iter: int

    @property
    def status(self) -> str:
        """How it went, in words."""
        return f"Finished {self.n_iter} iterations; the best state was reached after {self.best.iteration}."


def join_rounds(before: ChainResult, after: ChainResult) -> ChainResult:
    """Join what a chain did before and in one more round, which started from its best state."""
    n_before = before.n_iter
    sizes = {*before.best_by_n_bases, *after.best_by_n_bases}
    best = before.best
    if after.best.log_posterior > best.log_posterior:
        best = replace(after.best, iteration=n_before + after.best.iteration)
    names = [*before.moves, *(name for name in after.moves if name not in before.moves)]
    nothing = MoveCount(0, 0, 0)
    return ChainResult(
        trace=Trace(
            np.concatenate([before.trace.iteration, n_before + after.trace.iteration]),
            np.concatenate([before.trace.n_bases, after.trace.n_bases]),
            np.concatenate([before.trace.log_posterior, after.trace.log_posterior]),
            np.concatenate([before.trace.temperature, after.trace.temperature]),
        ),
        moves={name: before.moves.get(name, nothing) + after.moves.get(name, nothing) for name in names},
        best=best,
        best_by_n_bases={
            k: max(rounds.best_by_n_bases.get(k, -np.inf) for rounds in (before, after)) for k in sorted(sizes)
        },
        local_optima=before.local_optima + after.local_optima,
        snapshots=before.snapshots + after.snapshots[1:],
        n_iter=n_before + after.n_iter,
    )


@dataclass(frozen=True)
class AnnealResult:
    """All chains of a fit.

    Attributes
    ----------
    chains : tuple of ChainResult
    best_chain : int
        The chain with the best state.
    status : str
        How the fit ended and whether the chains agree, in words.
    ended_early : str
        Who ended it before its time, in words; empty where nobody did.
    """

    chains: tuple[ChainResult, ...]
    best_chain: int
    status: str
    ended_early: str = ""

    @classmethod
    def from_chains(
        cls,
        chains: tuple[ChainResult, ...],
        ending: str = "Finished",
        ended_early: str = "",
        remedy: str = "a larger n_iter",
        near: float = SAME,
    ) -> "AnnealResult":
        """Find the best chain and say how many others are near it, with a remedy. `ending`: why the fit ended."""
        values = np.array([chain.best.log_posterior for chain in chains])
        best = int(values.argmax())
        n_agree = count_near(values, near)
        n_bases = chains[best].best.n_bases
        status = (
            f"{ending}: {chains[best].n_iter} iterations on {len(chains)} chain{'s' * (len(chains) > 1)}. Best log "
            f"posterior {values[best]:.6g} with {n_bases} basis function{'s' * (n_bases != 1)} (chain {best}); "
            f"{n_agree} of {len(chains)} within {near:.3g} of it."
        )
        if n_agree == 1 and len(chains) > 1:
            status += f" No two chains agree: {remedy} is likely to find a better model."
        return cls(chains, best, status, ended_early)
