"""What chains tell while they run."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How a chain is going.

    Attributes
    ----------
    chain : int
        Which chain tells.
    iteration : int
        Iterations that it has done.
    n_terms : int
        The number k of terms of the best state it has found in this round; when sampling, of the present one.
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
