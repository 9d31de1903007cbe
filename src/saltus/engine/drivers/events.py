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
    n_passes : int
        How often all rows were asked, where these refine what a search among some found; 0 before that.
    """

    chain: int
    iteration: int
    n_terms: int
    best: float
    temperature: float
    acceptance: float
    n_passes: int = 0


# Told of progress, at least once a block; returns whether the fit should stop.
Listener = Callable[[Progress], bool]
