"""What a model file may hold: which classes, which fields, of which types and shapes.

To let models hold something new, add a line: a dataclass to `SHAPES`, a fitted attribute to the table of its regressor.
Types are those that the classes themselves declare.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats
from saltus.engine.drivers.checkpoints import Checkpoint, GeneratorState, Halfway, SavedChain, SavedRecord, SavedSampler
from saltus.engine.drivers.sample import PosteriorChain
from saltus.engine.drivers.schedules import Constant, Geometric, Linear, Logarithmic
from saltus.engine.problem.design import Box, OutputScale
from saltus.engine.results.chains import AnnealResult, BestState, ChainResult, MoveCount, Snapshot, Trace
from saltus.engine.results.draws import Draws
from saltus.engine.results.network import Network
from saltus.engine.results.predictive import Features, Predictive
from saltus.estimators import AnnealedRegressor, BayesianRegressor
from saltus.estimators.notes import ColumnNotes, DataNotes
from saltus.families import Basis, Radial
from saltus.inspection.diagnostics import Diagnostic

# Letters that mean the same in all of a model: d inputs, v of which vary, q coordinates of the metric, c outputs,
# f columns of the linear term. Any other letter is a size within one object.
SHARED_SIZES = frozenset("dvqcf")

# The dataclasses that a model may be made of, and the shapes of their arrays.
SHAPES: dict[type, dict[str, str]] = {
    AnnealResult: {},
    BestState: {"places": "ks", "relevance": "q", "rss": "c"},
    Box: {"lower": "d", "width": "d", "varies": "d"},
    ChainResult: {},
    Checkpoint: {},
    ColumnNotes: {"names": "n", "min": "n", "mean": "n", "std": "n", "max": "n"},
    Constant: {},
    DataNotes: {},
    Diagnostic: {},
    Draws: {
        "n_bases": "n",
        "centers_unit": "kv",
        "sharpness": "k",
        "relevance": "nq",
        "mean": "mc",
        "K": "w",
        "S": "nc",
        "delta_squared": "nc",
        "sigma_squared": "nc",
        "rate": "n",
        "log_posterior": "n",
    },
    Features: {"to_metric": "qv", "means": "v", "spreads": "v", "kept": "e"},
    GeneratorState: {},
    Geometric: {},
    Halfway: {"centers": "ks", "relevance": "q"},
    Linear: {},
    Logarithmic: {},
    MoveCount: {},
    Network: {
        "to_metric": "qv",
        "means": "v",
        "constant": "c",
        "slope": "vc",
        "centers_unit": "kv",
        "sharpness": "k",
        "coefficients": "kc",
    },
    OutputScale: {"mean": "c", "scale": "c"},
    PosteriorChain: {},
    Predictive: {},
    Radial: {},
    SavedChain: {"centers": "ks", "relevance": "q"},
    SavedRecord: {
        "best_centers": "ms",
        "best_k": "i",
        "best_relevance": "q",
        "best_log_posterior": "i",
        "best_iteration": "i",
        "best_by_k": "b",
        "counts": "gh",
        "trace_k": "n",
        "trace_log_posterior": "n",
    },
    SavedSampler: {
        "centers": "ks",
        "relevance": "q",
        "delta_squared": "c",
        "sigma_squared": "c",
        "rate": "i",
        "counts": "gh",
    },
    Snapshot: {},
    Trace: {"iteration": "n", "n_bases": "n", "log_posterior": "n", "temperature": "n"},
}


class Fitted(TypedDict):
    """The fitted attributes of every regressor. A model with one output has no axis c."""

    _single_output: bool
    data_notes_: DataNotes
    feature_names_in_: NotRequired[Annotated[NDArray[np.object_], "d"]]
    n_features_in_: int
    noise_variance_: Annotated[float | Floats, "c"]
    relevance_: NotRequired[Annotated[Floats, "d"]]


class FittedAnnealed(Fitted):
    """Those of AnnealedRegressor."""

    basis_coef_: Annotated[Floats, "ck"]
    centers_: Annotated[Floats, "kd"]
    criterion_value_: float
    intercept_: Annotated[float | Floats, "c"]
    linear_coef_: Annotated[Floats, "cd"]
    log_posterior_: float
    metric_: Annotated[Floats, "dd"]
    n_bases_: int
    n_iter_: int
    networks_: Annotated[tuple[Network, ...], "n"]
    result_: AnnealResult
    weights_: Annotated[Floats, "n"]
    widths_: Annotated[Floats, "k"]


class FittedBayesian(Fitted):
    """Those of BayesianRegressor."""

    _predictive: Predictive
    chains_: tuple[PosteriorChain, ...]
    diagnostics_: tuple[Diagnostic, ...]
    inclusion_: NotRequired[Annotated[Floats, "d"]]
    map_estimate_: Network
    n_warmup_: int
    posterior_k_: dict[int, float]
    status_: str


FITTED: dict[type, type] = {AnnealedRegressor: FittedAnnealed, BayesianRegressor: FittedBayesian}

# By name, as files know them.
REGRESSORS = {kind.__name__: kind for kind in FITTED}
PARTS = {kind.__name__: kind for kind in SHAPES}

# The classes that stand for a protocol.
IMPLEMENTATIONS: dict[Any, tuple[type, ...]] = {Basis: (Radial,)}


def _draws_sizes(draws: Draws) -> dict[str, int]:
    k, f, c = draws.n_bases, draws.m_fixed, draws.S.shape[1]
    return {"f": f, "k": int(k.sum()), "m": int((k + f).sum()), "w": int(c * ((k + f) ** 2).sum())}


def _regressor_sizes(model: Any) -> dict[str, int]:
    return {"d": model.n_features_in_, **({"c": 1} if model._single_output else {})}


# Sizes that are not the length of an array, but must agree with the lengths of some.
SIZES: dict[type, Callable[[Any], dict[str, int]]] = {
    AnnealedRegressor: lambda model: {**_regressor_sizes(model), "k": model.n_bases_},
    BayesianRegressor: _regressor_sizes,
    Box: lambda box: {"v": int(box.varies.sum())},
    DataNotes: lambda notes: {"d": len(notes.inputs.names), "c": len(notes.outputs.names)},
    Draws: _draws_sizes,
    Features: lambda features: {"f": 1 + len(features.kept)},
}

# What else prediction relies on.
TRUTHS: dict[type, Callable[[Any], bool]] = {
    AnnealResult: lambda result: 0 <= result.best_chain < len(result.chains),
    AnnealedRegressor: lambda model: len(model.networks_) > 0,
    BayesianRegressor: lambda model: len(model.chains_) > 0,
    Draws: lambda draws: bool((draws.n_bases >= 0).all()),
    Features: lambda features: bool((np.diff(features.kept, prepend=-1, append=len(features.means)) > 0).all()),
    Predictive: lambda predictive: predictive.degrees > 0,
    SavedRecord: lambda record: record.best_k.shape == (1,) and 0 <= record.best_k[0] <= len(record.best_centers),
}


def fitted_names(regressor: type) -> frozenset[str]:
    """Name the fitted attributes that files of a regressor may hold."""
    return frozenset(get_type_hints(FITTED[regressor]))


def check_types(kind: type, values: Mapping[str, Any]) -> None:
    """Raise TypeError unless `values` are the fields of `kind`, of the types that it declares."""
    table = FITTED.get(kind, kind)
    hints = _hints(table)
    required: frozenset[str] = getattr(table, "__required_keys__", frozenset())
    missing, unknown = required - values.keys(), values.keys() - hints.keys()
    if missing or unknown:
        raise TypeError(f"{kind.__name__} with{'out' if missing else ''} {', '.join(sorted(missing or unknown))}")
    for name, value in values.items():
        if not conforms(value, hints[name]):
            raise TypeError(f"{kind.__name__}.{name} is not {hints[name]} but {type(value).__name__}")


def check_sizes(part: Any, shared: dict[str, int]) -> None:
    """Raise ValueError unless the arrays of `part` fit each other, and the sizes that all of a model shares.

    Sizes that `part` is the first to show are added to `shared`.
    """
    kind = type(part)
    if kind in TRUTHS and not TRUTHS[kind](part):
        raise ValueError(f"{kind.__name__} counts or refers to what is not there")
    own: dict[str, int] = {}
    for letter, size in _sizes(part):
        known = shared if letter in SHARED_SIZES else own
        if known.setdefault(letter, size) != size:
            raise ValueError(f"{kind.__name__} has arrays that do not fit: {letter} is {known[letter]} and {size}")


def _sizes(part: Any) -> Iterator[tuple[str, int]]:
    """Go through the sizes that a part shows, each under its letter."""
    kind = type(part)
    if kind in SIZES:
        yield from SIZES[kind](part).items()
    for name, letters in (_fitted_shapes(part) if kind in FITTED else SHAPES[kind]).items():
        value = getattr(part, name)
        if value is None:
            continue
        shape = (len(value),) if isinstance(value, tuple) else np.shape(value)
        if len(shape) != len(letters):
            raise ValueError(f"{kind.__name__}.{name} should have {len(letters)} axes and has the shape {shape}")
        yield from zip(letters, shape, strict=True)


def _fitted_shapes(model: Any) -> dict[str, str]:
    """Collect the shapes of the fitted attributes that a model has."""
    shapes = {}
    for name, hint in get_type_hints(FITTED[type(model)], include_extras=True).items():
        hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        if get_origin(hint) is Annotated and hasattr(model, name):
            shapes[name] = hint.__metadata__[0].replace("c", "" if model._single_output else "c")
    return shapes


@cache
def _hints(table: type) -> dict[str, Any]:
    return get_type_hints(table)


def conforms(value: Any, hint: Any) -> bool:
    """Say whether a value is what a type hint promises; an integer is a float, as in the language."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return any(conforms(value, option) for option in arguments)
    if origin is Literal:
        return isinstance(value, str) and value in arguments
    if origin is np.ndarray:
        return isinstance(value, np.ndarray) and value.dtype == get_args(arguments[1])[0]
    if origin is tuple:
        return type(value) is tuple and all(conforms(item, arguments[0]) for item in value)
    if origin is dict:
        return type(value) is dict and all(
            conforms(key, arguments[0]) and conforms(item, arguments[1]) for key, item in value.items()
        )
    if hint in (int, float):
        return isinstance(value, Integral if hint is int else Real) and not isinstance(value, bool)
    return type(value) in IMPLEMENTATIONS.get(hint, (hint,))
