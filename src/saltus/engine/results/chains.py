"""What a fit leaves behind besides its network."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats, Ints
from saltus.engine.kernels.moves import ALL_MOVES, MOVES
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, FEASIBLE
from saltus.engine.problem.criteria import count_near
from saltus.engine.results.network import Network


@dataclass(frozen=True)
class Trace:
    """The path of a chain, thinned where it is long: the iteration, and the state and the temperature after it."""

    iteration: Annotated[Ints, "n"]
    n_terms: Annotated[NDArray[np.int32], "n"]
    log_posterior: Annotated[Floats, "n"]
    temperature: Annotated[Floats, "n"]


@dataclass(frozen=True)
class MoveCount:
    """How often a move was chosen, was feasible (its columns may still coincide), and was accepted."""

    chosen: int
    feasible: int
    accepted: int

    def __add__(self, other: "MoveCount") -> "MoveCount":
        return MoveCount(self.chosen + other.chosen, self.feasible + other.feasible, self.accepted + other.accepted)

    @property
    def acceptance(self) -> float:
        """The share of chosen moves that were accepted."""
        return self.accepted / self.chosen if self.chosen else 0.0


def count_moves(counts: Ints) -> dict[str, MoveCount]:
    """Name the rows of a record's counts."""
    return {
        name: MoveCount(int(row[CHOSEN]), int(row[FEASIBLE]), int(row[ACCEPTED]))
        for name, row in zip(ALL_MOVES, counts, strict=True)
        if name in MOVES or row[CHOSEN] > 0
    }


@dataclass(frozen=True)
class BestState:
    """The best state that a chain visited."""

    network: Network
    variant: int  # of the family, which the chain searched among
    rss: Annotated[Floats, "c"]  # residual sums of squares in the user's units
    log_posterior: float
    iteration: int  # the number of iterations before the chain reached it; 0 at the start

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return self.network.n_terms


@dataclass(frozen=True)
class Snapshot:
    """The network after so many iterations, least-squares coefficients included."""

    iteration: int
    network: Network
    log_posterior: float = -np.inf
    predicts: bool = False  # whether it was drawn at temperature 1, to be averaged


@dataclass(frozen=True)
class ChainResult:
    """One chain."""

    trace: Trace
    moves: dict[str, MoveCount]
    best: BestState
    best_by_n_terms: dict[int, float]  # the best log posterior seen with each number of terms
    local_optima: tuple[BestState, ...]  # where it was polished, at the end of each round; or only the best
    snapshots: tuple[Snapshot, ...]
    n_iter: int

    @property
    def status(self) -> str:
        """Say in words how the chain went."""
        return (
            f"The chain ran {spaced(self.n_iter)} iterations and reached its best model after "
            f"{spaced(self.best.iteration)} of them."
        )


def join_rounds(before: ChainResult, after: ChainResult) -> ChainResult:
    """Join what a chain did before and in one more round, which started from its best state."""
    n_before = before.n_iter
    sizes = {*before.best_by_n_terms, *after.best_by_n_terms}
    best = before.best
    if after.best.log_posterior > best.log_posterior:
        best = replace(after.best, iteration=n_before + after.best.iteration)
    names = [*before.moves, *(name for name in after.moves if name not in before.moves)]
    nothing = MoveCount(0, 0, 0)
    return ChainResult(
        trace=Trace(
            np.concatenate([before.trace.iteration, n_before + after.trace.iteration]),
            np.concatenate([before.trace.n_terms, after.trace.n_terms]),
            np.concatenate([before.trace.log_posterior, after.trace.log_posterior]),
            np.concatenate([before.trace.temperature, after.trace.temperature]),
        ),
        moves={name: before.moves.get(name, nothing) + after.moves.get(name, nothing) for name in names},
        best=best,
        best_by_n_terms={
            k: max(rounds.best_by_n_terms.get(k, -np.inf) for rounds in (before, after)) for k in sorted(sizes)
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
        Why the search ended, and how many chains ended near the best log posterior, in words.
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
        *,
        ending: str,
        near: float,
        remedy: str,
        ended_early: str = "",
    ) -> "AnnealResult":
        """Find the best chain and say how many are near it.

        Parameters
        ----------
        ending : str
            Why the search ended, a sentence.
        near : float
            How near values of log pi are that are as good as the same.
        remedy : str
            What may find a better model.
        ended_early : str
            Who ended it before its time, in words.
        """
        values = np.array([chain.best.log_posterior for chain in chains])
        best = int(values.argmax())
        n_near = count_near(values, near)
        n_terms = chains[best].best.n_terms
        status = (
            f"{ending} Chain {best} ran {spaced(chains[best].n_iter)} iterations and found the best model, with log "
            f"posterior {values[best]:.6g} and {n_terms} term{'s' * (n_terms != 1)}."
        )
        if len(chains) > 1:
            status += f" {n_near} of {len(chains)} chains ended within {near:.3g} of this log posterior."
        if n_near == 1 and len(chains) > 1:
            status += f" As no other chain came so near, {remedy} may find a better model."
        return cls(chains, best, status, ended_early)


def spaced(number: int) -> str:
    """Write a whole number with spaces between thousands."""
    return f"{number:,}".replace(",", " ")
