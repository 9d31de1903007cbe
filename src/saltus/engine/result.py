"""What a fit leaves behind besides its network."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats, Ints
from saltus.engine.chain import ACCEPTED, CHOSEN, FEASIBLE
from saltus.engine.moves import MOVES
from saltus.engine.network import Network

# Chains whose best values are within this of each other are said to agree.
AGREEMENT = 1.0


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

    @property
    def acceptance(self) -> float:
        """Accepted, as a share of chosen."""
        return self.accepted / self.chosen if self.chosen else 0.0


def count_moves(counts: Ints) -> dict[str, MoveCount]:
    """Name the rows of a record's counts."""
    return {
        name: MoveCount(int(row[CHOSEN]), int(row[FEASIBLE]), int(row[ACCEPTED]))
        for name, row in zip(MOVES, counts, strict=True)
    }


@dataclass(frozen=True)
class BestState:
    """The best state that a chain visited."""

    network: Network
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
    snapshots: tuple[Snapshot, ...]
    n_iter: int
    status: str


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
    """

    chains: tuple[ChainResult, ...]
    best_chain: int
    status: str

    @classmethod
    def from_chains(cls, chains: tuple[ChainResult, ...]) -> "AnnealResult":
        """Find the best chain and say how far the others are from it."""
        values = np.array([chain.best.log_posterior for chain in chains])
        best = int(values.argmax())
        n_agree = int((values >= values[best] - AGREEMENT).sum())
        status = (
            f"Finished {chains[best].n_iter} iterations on {len(chains)} chain{'s' * (len(chains) > 1)}. Best log "
            f"posterior {values[best]:.6g} with {chains[best].best.n_bases} basis functions (chain {best}); "
            f"{n_agree} of {len(chains)} within {AGREEMENT:g} of it."
        )
        if n_agree == 1 and len(chains) > 1:
            status += " No two chains agree: a larger n_iter is likely to find a better model."
        return cls(chains, best, status)
