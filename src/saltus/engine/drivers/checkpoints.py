"""The latest of every chain, kept so that a fit can go on after the process died.

A chain in the middle of a round is a value at the iterations where its factor is built anew from its centres: centres,
relevances, the state of its generator and its record are then all there is. So a fit that goes on from there goes on
to the last bit as if it had never stopped.
"""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats, Ints
from saltus.engine.kernels.chain import Record
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import ChainResult, Snapshot
from saltus.engine.results.draws import Draws

GENERATOR = "PCG64"


@dataclass(frozen=True)
class GeneratorState:
    """The state of a random generator."""

    state: int
    increment: int
    has_half: int
    half: int

    @classmethod
    def of(cls, rng: np.random.Generator) -> "GeneratorState":
        """Take the present state."""
        whole: Any = rng.bit_generator.state
        return cls(whole["state"]["state"], whole["state"]["inc"], whole["has_uint32"], whole["uinteger"])

    def put_into(self, rng: np.random.Generator) -> None:
        """Make it the state of a generator. Mutates it."""
        rng.bit_generator.state = {
            "bit_generator": GENERATOR,
            "state": {"state": self.state, "inc": self.increment},
            "has_uint32": self.has_half,
            "uinteger": self.half,
        }

    def make(self) -> np.random.Generator:
        """Make a generator in this state."""
        rng = np.random.Generator(np.random.PCG64(0))
        self.put_into(rng)
        return rng


@dataclass(frozen=True)
class SavedRecord:
    """A copy of the record of a chain."""

    best_centers: Floats
    best_k: Ints
    best_relevance: Floats
    best_log_posterior: Floats
    best_iteration: Ints
    best_by_k: Floats
    counts: Ints
    trace_k: NDArray[np.int32]
    trace_log_posterior: Floats

    @classmethod
    def of(cls, record: Record) -> "SavedRecord":
        """Copy a record."""
        return cls(**{name: array.copy() for name, array in record._asdict().items()})

    def restore(self) -> Record:
        """Make a record of it."""
        return Record(**{name: getattr(self, name).copy() for name in Record._fields})


@dataclass(frozen=True)
class Halfway:
    """A chain in the middle of a round."""

    done: int
    generator: GeneratorState
    centers: Floats  # (k, d) in the unit cube
    relevance: Floats  # (q,)
    record: SavedRecord
    snapshots: tuple[Snapshot, ...]
    started_at: float  # log pi where the round started
    hottest: float  # the first temperature of a schedule that was left to us
    coldest: float


@dataclass(frozen=True)
class SavedChain:
    """A chain where a round begins, and how far it has come in it."""

    generator: GeneratorState
    centers: Floats | None
    relevance: Floats | None
    result: ChainResult | None
    kind: int = 0  # which of the kinds of design
    is_done: bool = False  # with the present round: what is above is then after it
    halfway: Halfway | None = None


@dataclass(frozen=True)
class SavedSampler:
    """A chain of the posterior, somewhere on its way."""

    done: int  # iterations
    generator: GeneratorState
    centers: Floats  # (k, d) in the unit cube
    relevance: Floats  # (q,)
    delta_squared: Floats  # (c,)
    sigma_squared: Floats  # (c,)
    rate: Floats  # (1,)
    counts: Ints  # of proposals
    draws: Draws | None  # None: there are none yet


@dataclass(frozen=True)
class Checkpoint:
    """All chains of a fit, each somewhere on its way; None where a chain of the posterior has not begun."""

    fingerprint: str  # of the data and the options
    history: tuple[float, ...]  # the best value after each round before
    chains: tuple[SavedChain | SavedSampler | None, ...]


class Logbook:
    """Keeps the latest of every chain, and has it written when one of them has news, once in so many seconds."""

    def __init__(self, write: Callable[[Checkpoint], None], fingerprint: str, seconds: float) -> None:
        self._write = write
        self._fingerprint = fingerprint
        self._seconds = seconds
        self._lock = Lock()
        self._history: tuple[float, ...] = ()
        self._chains: list[SavedChain | SavedSampler | None] = []
        self._last: dict[int, float] = {}

    def begin(self, chains: Sequence[SavedChain | SavedSampler | None], history: Sequence[float] = ()) -> None:
        """Take note of all chains where a fit or a round of it begins."""
        with self._lock:
            self._history, self._chains = tuple(history), list(chains)

    def wants(self, number: int) -> bool:
        """Say whether it is time to take note of a chain again."""
        return monotonic() - self._last.setdefault(number, monotonic()) >= self._seconds

    def note(self, number: int, chain: SavedChain | SavedSampler) -> None:
        """Take note of one chain, and write all."""
        with self._lock:
            self._chains[number] = chain
            self._write_now()
            self._last[number] = monotonic()

    def close(self) -> None:
        """Write what is there."""
        with self._lock:
            self._write_now()

    def _write_now(self) -> None:
        try:
            self._write(Checkpoint(self._fingerprint, self._history, tuple(self._chains)))
        except OSError as error:
            warnings.warn(f"The checkpoint could not be written: {error}. The fit goes on.", stacklevel=2)


def fingerprint(design: Design, options: str) -> str:
    """Tell data and options from others."""
    digest = hashlib.sha256(options.encode())
    target = design.target
    for array in (target.X_metric, target.root_weight, target.to_metric, target.penalty, design.Y, target.rss_floor):
        digest.update(repr(array.shape).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    digest.update(repr((design.basis, target.n_total, design.metric_scale, len(design.kinds))).encode())
    return digest.hexdigest()
