"""How a sampler runs, and what it hands over: chains of draws, or the states that they were stopped in."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.drivers.checkpoints import SavedSampler
from saltus.engine.kernels.gibbs import Prior
from saltus.engine.kernels.state import Tuning
from saltus.engine.results.chains import MoveCount, count_moves
from saltus.engine.results.draws import Draw, Draws
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy


@dataclass(frozen=True)
class SamplerSettings:
    """How chains of the posterior run."""

    n_warmup: int
    n_draws: int
    steps_between_draws: int
    tuning: Tuning
    prior: Prior
    start: Floats | None  # (k, inputs that vary) in the unit cube, or None for a random start
    relative_ridge: bool  # whether coefficients belong to what is not linear of terms' columns
    has_g_prior: bool = False
    fixed_g: float | None = None  # None: g has a prior
    policy: SearchPolicy = DEFAULT_POLICY
    temperatures: tuple[float, ...] = (1.0,)  # of a chain, which is 1, and its hotter copies, rising

    @property
    def n_total(self) -> int:
        """The iterations of a chain, warm-up included."""
        return self.n_warmup + self.n_draws * self.steps_between_draws


@dataclass(frozen=True)
class PosteriorChain:
    """One chain of the posterior."""

    draws: Draws
    moves: dict[str, MoveCount]


@dataclass(frozen=True)
class SamplerOutput:
    """What a chain has when it ends: draws, or where it was stopped before its first, the state it was in."""

    draws: list[Draw]
    unconverged: Draw | None
    n_done: int  # iterations
    counts: Ints  # of proposals


@dataclass(frozen=True)
class Posterior:
    """All chains of a sampler, the same number of draws of each."""

    chains: tuple[PosteriorChain, ...]
    ended_early: str  # by Ctrl-C or a callback, in words; empty where by neither
    out_of_time: bool  # whether draws are missing as the time was over
    n_unconverged: int | None  # iterations done where chains were stopped before any draw, and each has its last state


def cut_to_one_length(outputs: Sequence[SamplerOutput]) -> tuple[PosteriorChain, ...]:
    """Keep as many draws as possible, the same number of each chain, where chains were stopped."""
    lengths = np.sort([len(output.draws) for output in outputs])[::-1]
    length = int(lengths[(lengths * np.arange(1, len(lengths) + 1)).argmax()])
    return tuple(
        PosteriorChain(Draws.of(output.draws[:length]), count_moves(output.counts))
        for output in outputs
        if len(output.draws) >= length
    )


def unbegun(saved: SavedSampler | None) -> SamplerOutput:
    """Hand over what a chain had when it was saved, if it was."""
    if saved is None:
        return SamplerOutput([], None, 0, np.zeros((0, 3), dtype=np.int64))
    return SamplerOutput([] if saved.draws is None else list(saved.draws), None, saved.done, saved.counts)


def unconverged_chains(outputs: Sequence[SamplerOutput]) -> tuple[PosteriorChain, ...]:
    """Keep the state of each chain that was stopped before its first draw; those that have not begun have none."""
    chains = tuple(
        PosteriorChain(Draws.of([output.unconverged]), count_moves(output.counts))
        for output in outputs
        if output.unconverged is not None
    )
    if not chains:
        raise KeyboardInterrupt("The sampler was stopped before its chains had begun.")
    return chains
