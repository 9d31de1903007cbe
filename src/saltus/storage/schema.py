"""What a model file may hold: which classes, which fields, of which types and shapes.

To let models hold something new, add a line: a dataclass to `CLASSES`, a fitted attribute to the table of its
regressor. Types and axes are those that the classes themselves declare.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, TypedDict, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from saltus._typing import Floats
from saltus.engine.drivers.checkpoints import (
    Checkpoint,
    GeneratorState,
    Halfway,
    SavedChain,
    SavedRecord,
    SavedRung,
    SavedSampler,
)
from saltus.engine.drivers.outputs import PosteriorChain
from saltus.engine.drivers.schedules import Constant, Geometric, Linear, Logarithmic
from saltus.engine.problem.scaling import Box, OutputScale
from saltus.engine.results.chains import AnnealResult, BestState, ChainResult, MoveCount, Snapshot, Trace
from saltus.engine.results.draws import Draws
from saltus.engine.results.network import Network
from saltus.engine.results.predictive import Features, Predictive
from saltus.engine.search.paths import SizePath
from saltus.estimators import AnnealedRegressor, BayesianRegressor
from saltus.estimators.notes import ColumnNotes, DataNotes
from saltus.families import (
    FAMILIES,
    FAMILY_ATTRIBUTES,
    FAMILY_POSTERIOR_ATTRIBUTES,
    FITTED_FAMILIES,
    PARTS_OF_FAMILIES,
    Family,
    FittedFamily,
    UserFamily,
)
from saltus.inspection.diagnostics import Diagnostic
from saltus.reading import READERS, TableReader
from saltus.reading.forms import NumberForm
from saltus.storage.truths import LARGEST_SCALED, MAY_BE_INFINITE, SCALED, TRUTHS

# Letters that mean the same in all of a model: d inputs, v of which vary, q coordinates that a family takes these to,
# c outputs, f columns of the linear term. Any other letter is a size within one object.
SHARED_SIZES = frozenset("dvqcf")

# That of a random generator's state; what else is counted is far below.
LARGEST_INTEGER = 2**128

# The dataclasses that a model may be made of. Fields that are arrays say which axes they have.
CLASSES: tuple[type, ...] = (
    AnnealResult,
    BestState,
    Box,
    ChainResult,
    Checkpoint,
    ColumnNotes,
    Constant,
    DataNotes,
    Diagnostic,
    Draws,
    Features,
    GeneratorState,
    Geometric,
    Halfway,
    Linear,
    Logarithmic,
    MoveCount,
    Network,
    OutputScale,
    PosteriorChain,
    Predictive,
    SavedChain,
    SavedRecord,
    SavedRung,
    SavedSampler,
    SizePath,
    Snapshot,
    Trace,
    TableReader,
    NumberForm,
    *READERS,
    *FAMILIES,
    *FITTED_FAMILIES,
    *PARTS_OF_FAMILIES,
)


class Fitted(TypedDict):
    """The fitted attributes of every regressor. A model with one output has no axis c."""

    _reader: TableReader
    _single_output: bool
    data_notes_: DataNotes
    feature_names_in_: NotRequired[Annotated[NDArray[np.object_], "u"]]
    n_features_in_: int
    noise_variance_: Annotated[float | Floats, "c"]


class FittedAnnealed(Fitted):
    """Those of AnnealedRegressor."""

    _n_total: float
    _path: SizePath | None
    criterion_value_: float
    intercept_: Annotated[float | Floats, "c"]
    linear_coef_: Annotated[Floats, "cd"]
    log_posterior_: float
    n_terms_: int
    n_iter_: int
    networks_: Annotated[tuple[Network, ...], "n"]
    result_: AnnealResult
    term_coef_: Annotated[Floats, "cl"]
    weights_: Annotated[Floats, "n"]


class FittedBayesian(Fitted):
    """Those of BayesianRegressor."""

    _predictive: Predictive
    chains_: tuple[PosteriorChain, ...]
    diagnostics_: tuple[Diagnostic, ...]
    effective_parameters_: Annotated[float | Floats, "c"]
    map_estimate_: Network
    n_chains_: int
    n_iter_: int
    n_warmup_: int
    posterior_k_: dict[int, float]
    status_: str


def _with_attributes(table: type, attributes: Mapping[str, str]) -> type:
    """Add the fitted attributes that families give, which depend on the family."""
    kept = get_type_hints(table, include_extras=True)  # which keeps NotRequired
    added = {name: NotRequired[Annotated[Floats, letters]] for name, letters in attributes.items()}
    made: type = TypedDict(table.__name__, {**kept, **added})  # type: ignore[misc]
    return made


FITTED: dict[type, type] = {
    AnnealedRegressor: _with_attributes(FittedAnnealed, FAMILY_ATTRIBUTES),
    BayesianRegressor: _with_attributes(FittedBayesian, FAMILY_POSTERIOR_ATTRIBUTES),
}

# By name, as files know them.
REGRESSORS = {each.__name__: each for each in FITTED}
PARTS = {each.__name__: each for each in CLASSES}

# The classes that stand for a protocol.
IMPLEMENTATIONS: dict[Any, tuple[type, ...]] = {Family: FAMILIES, FittedFamily: FITTED_FAMILIES}


def _draws_sizes(draws: Draws) -> dict[str, int]:
    m, c = draws.n_columns, draws.S.shape[1]
    return {"k": int(draws.n_terms.sum()), "m": int(m.sum()), "w": int(c * (m**2).sum())}


def _regressor_sizes(model: Any) -> dict[str, int]:
    return {
        "d": len(model.data_notes_.inputs.names),
        "u": model._reader.n_columns,
        **({"c": 1} if model._single_output else {}),
    }


# Sizes that are not the length of an array, but must agree with the lengths of some.
SIZES: dict[type, Callable[[Any], dict[str, int]]] = {
    AnnealedRegressor: lambda model: {**_regressor_sizes(model), "k": model.n_terms_},
    BayesianRegressor: _regressor_sizes,
    Box: lambda box: {"v": int(box.varies.sum())},
    DataNotes: lambda notes: {"d": len(notes.inputs.names), "c": len(notes.outputs.names)},
    Draws: _draws_sizes,
    Features: lambda features: {"f": 1 + len(features.kept)},
}


def fitted_names(regressor: type) -> frozenset[str]:
    """Name the fitted attributes that files of a regressor may hold."""
    return frozenset(get_type_hints(FITTED[regressor]))


def check_types(owner: type, values: Mapping[str, Any]) -> None:
    """Raise TypeError unless `values` are the fields of `owner`, of the types that it declares."""
    table = FITTED.get(owner, owner)
    hints = _hints(table)
    required: frozenset[str] = getattr(table, "__required_keys__", frozenset())
    missing, unknown = required - values.keys(), values.keys() - hints.keys()
    if missing or unknown:
        raise TypeError(f"{owner.__name__} with{'out' if missing else ''} {', '.join(sorted(missing or unknown))}")
    for name, value in values.items():
        if not conforms(value, hints[name]):
            raise TypeError(f"{owner.__name__}.{name} is not {hints[name]} but {type(value).__name__}")


def check_sizes(part: Any, shared: dict[str, int]) -> None:
    """Raise ValueError unless the arrays of `part` fit each other, and the sizes that all of a model shares.

    Sizes that `part` is the first to show are added to `shared`.
    """
    owner = type(part)
    if owner in TRUTHS and not TRUTHS[owner](part):
        raise ValueError(f"{owner.__name__} counts or refers to what is not there")
    _check_finite(part)
    own: dict[str, int] = {}
    for letter, size in _sizes(part):
        known = shared if letter in SHARED_SIZES else own
        if known.setdefault(letter, size) != size:
            raise ValueError(f"{owner.__name__} has arrays that do not fit: {letter} is {known[letter]} and {size}")


def _check_finite(part: Any) -> None:
    """Raise ValueError where prediction would meet numbers that are none."""
    owner = type(part)
    if owner in MAY_BE_INFINITE:
        return
    largest = LARGEST_SCALED if owner in SCALED else np.inf
    for name in _shapes(part):
        value = getattr(part, name)
        is_array = isinstance(value, np.ndarray) and value.dtype == np.float64
        if is_array and not (np.abs(value) < largest).all():  # as NaN is not
            raise ValueError(f"{owner.__name__}.{name} has numbers that are not finite, or too large")


def _sizes(part: Any) -> Iterator[tuple[str, int]]:
    """Go through the sizes that a part shows, each under its letter."""
    owner = type(part)
    if owner in SIZES:
        yield from SIZES[owner](part).items()
    for name, letters in _shapes(part).items():
        value = getattr(part, name)
        if value is None:
            continue
        shape = (len(value),) if isinstance(value, tuple) else np.shape(value)
        if len(shape) != len(letters):
            raise ValueError(f"{owner.__name__}.{name} should have {len(letters)} axes and has the shape {shape}")
        yield from zip(letters, shape, strict=True)


def _shapes(part: Any) -> dict[str, str]:
    """Collect the letters of the axes of the arrays that a part has."""
    owner = type(part)
    has_no_outputs = owner in FITTED and part._single_output
    axes = _axes(FITTED.get(owner, owner))
    return {
        name: letters.replace("c", "") if has_no_outputs else letters
        for name, letters in axes.items()
        if hasattr(part, name)
    }


@cache
def _axes(table: type) -> dict[str, str]:
    """Collect the letters of the axes of the arrays that parts may have."""
    axes = {}
    for name, hint in get_type_hints(table, include_extras=True).items():
        hint = get_args(hint)[0] if get_origin(hint) is NotRequired else hint
        if get_origin(hint) is Annotated:
            axes[name] = hint.__metadata__[0]
    return axes


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
    if hint is int:
        return type(value) in (int, np.int64) and abs(int(value)) < LARGEST_INTEGER
    if hint is float:
        return type(value) in (float, np.float64) or conforms(value, int)
    if hint is UserFamily:
        return isinstance(value, UserFamily)
    return type(value) in IMPLEMENTATIONS.get(hint, (hint,))
