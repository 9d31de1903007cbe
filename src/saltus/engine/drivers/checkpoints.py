"""The latest of every chain, kept so that a fit can go on after the process died.

A chain in the middle of a round is a value at the iterations where its factor is built anew from its terms: terms,
shared parameters, the state of its generator and its record are then all there is. So a fit that goes on from there
goes on to the last bit as if it had never stopped.
"""

import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats, Ints
from saltus.engine.kernels.state import Record
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import ChainResult, Snapshot
from saltus.engine.results.draws import Draws
from saltus.families.terms import Terms, TermSet

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

    best_k: Annotated[Ints, "i"]
    best_family: Annotated[Ints, "m"]
    best_choices: Annotated[Ints, "my"]
    best_parameters: Annotated[Floats, "mp"]
    best_shared: Annotated[Floats, "s"]
    best_log_posterior: Annotated[Floats, "i"]
    best_iteration: Annotated[Ints, "i"]
    best_by_k: Annotated[Floats, "b"]
    counts: Annotated[Ints, "gh"]
    trace_k: Annotated[NDArray[np.int32], "n"]
    trace_log_posterior: Annotated[Floats, "n"]

    @classmethod
    def of(cls, record: Record) -> "SavedRecord":
        """Copy a record."""
        best = {f"best_{name}": array.copy() for name, array in record.best._asdict().items()}
        return cls(**best, **{name: array.copy() for name, array in record._asdict().items() if name != "best"})

    def restore(self) -> Record:
        """Make a record of it."""
        best = Terms(**{name: getattr(self, f"best_{name}").copy() for name in Terms._fields})
        return Record(best, **{name: getattr(self, name).copy() for name in Record._fields if name != "best"})


@dataclass(frozen=True)
class Halfway:
    """A chain in the middle of a round."""

    done: int
    generator: GeneratorState
    terms: TermSet
    record: SavedRecord
    snapshots: tuple[Snapshot, ...]
    started_at: float  # log pi where the round started
    hottest: float  # the first temperature of a schedule that was left to us
    coldest: float


@dataclass(frozen=True)
class SavedChain:
    """A chain where a round begins, and how far it has come in it."""

    generator: GeneratorState
    terms: TermSet | None
    result: ChainResult | None
    variant: int = 0  # which of the variants of the design
    is_done: bool = False  # with the present round: what is above is then after it
    halfway: Halfway | None = None


@dataclass(frozen=True)
class SavedRung:
    """A hotter copy of a chain of the posterior."""

    generator: GeneratorState
    terms: TermSet
    prior_width: Annotated[Floats, "c"]


@dataclass(frozen=True)
class SavedSampler:
    """A chain of the posterior, somewhere on its way."""

    done: int  # iterations
    generator: GeneratorState
    terms: TermSet
    prior_width: Annotated[Floats, "c"]
    sigma_squared: Annotated[Floats, "c"]
    rate: Annotated[Floats, "i"]
    counts: Annotated[Ints, "gh"]  # of proposals
    draws: Draws | None  # None: there are none yet
    hotter: tuple[SavedRung, ...] = ()


@dataclass(frozen=True)
class Checkpoint:
    """All chains of a fit, each somewhere on its way; None where a chain of the posterior has not begun."""

    fingerprint: str  # of the data and the options
    history: tuple[float, ...]  # the best value after each round before
    chains: tuple[SavedChain | SavedSampler | None, ...]


class Checkpointer:
    """Keeps the latest of every chain, and writes it when one of them has news, once in so many seconds."""

    def __init__(self, write: Callable[[Checkpoint], None], fingerprint: str, seconds: float) -> None:
        self._write = write
        self._fingerprint = fingerprint
        self._seconds = seconds
        self._lock = Lock()
        self._history: tuple[float, ...] = ()
        self._chains: list[SavedChain | SavedSampler | None] = []
        self._last: dict[int, float] = {}
        self._has_warned = False

    def begin(self, chains: Sequence[SavedChain | SavedSampler | None], history: Sequence[float] = ()) -> None:
        """Keep all chains where a fit or a round of it begins."""
        with self._lock:
            self._history, self._chains = tuple(history), list(chains)
            for number in range(len(chains)):
                self._last.setdefault(number, monotonic())

    def is_due(self, number: int) -> bool:
        """Say whether it is time to save a chain again."""
        return monotonic() - self._last[number] >= self._seconds

    def save(self, number: int, chain: SavedChain | SavedSampler) -> None:
        """Keep one chain, and write all."""
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
            if not self._has_warned:
                warnings.warn(f"The checkpoint could not be written: {error}. The fit goes on.", stacklevel=2)
            self._has_warned = True


def fingerprint(data: Sequence[NDArray[Any]], design: Design, options: str) -> str:
    """Tell data, as they were given, and options from others.

    Not by what chains see of data alone: those are scaled, and other units may come to the same numbers.
    """
    digest = hashlib.sha256(options.encode())
    box, outputs = design.box, design.outputs
    _add(digest, (*data, box.lower, box.width, box.varies, box.n_levels, outputs.mean, outputs.scale, design.Y))
    for variant in design.variants:
        problem = variant.problem
        _add(digest, (problem.root_weight, *problem.families.arrays, *problem.criterion[:2], problem.rss_floor))
        digest.update(repr((variant.mixture, problem.n_total, problem.criterion.n_own_a_term)).encode())
    return digest.hexdigest()


def _add(digest: "hashlib._Hash", arrays: Sequence[NDArray[Any]]) -> None:
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
