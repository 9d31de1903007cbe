"""What chains tell while they run."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """The progress of a chain, for a callback.

    Attributes
    ----------
    chain : int
        The number of the chain.
    iteration : int
        The number of iterations that the chain has done.
    n_terms : int
        The number k of terms of the best state that the chain found in this round; of a sampler, of the present state.
    best : float
        The log posterior of that state.
    temperature : float
        The present temperature; 0 in the descent that a chain starts with, 1 when sampling.
    acceptance : float
        The share of proposals accepted so far in this round.
    """

    chain: int
    iteration: int
    n_terms: int
    best: float
    temperature: float
    acceptance: float


# Told of progress, at least once a block; returns whether the fit should stop.
Listener = Callable[[Progress], bool]
