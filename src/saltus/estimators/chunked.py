"""Fits to rows that dask holds, in an array or a data frame, and predictions for these.

Imported where rows are of that sort alone.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import dask
import numpy as np
from dask import array as da

from saltus._typing import Floats, Ints
from saltus.engine.rows.chunks import ChunkedRows
from saltus.engine.rows.extremes import Ends, Extremes
from saltus.engine.rows.refinement import draw_rows
from saltus.engine.rows.rows import Block
from saltus.estimators.checks import TrainingData, check_data, read_inputs, read_targets
from saltus.estimators.many_rows import Reading, is_chunked, many_rows
from saltus.estimators.unseen import means_for_new_gaps

if TYPE_CHECKING:
    from saltus.estimators.base import NetworkRegressor
    from saltus.estimators.searched import SearchedModel


class FirstLook(NamedTuple):
    """What a first pass finds out about a chunk."""

    n_rows: int  # that count
    total_weight: float
    ends: Ends | None


def from_chunks(model: "SearchedModel", X: Any, y: Any, sample_weight: Any) -> Reading:
    """Learn how to read the columns from some of the rows, which a search sees, and let all others be asked."""
    chunks = chunks_of(X, y, sample_weight)
    lengths = dask.compute(*(dask.delayed(_length)(number, *chunk) for number, chunk in enumerate(chunks)))
    n_rows = sum(lengths)
    numbers = draw_rows(np.random.default_rng(n_rows), n_rows, model._policy.rows_of_a_search)
    data = check_data(model, *_gather(chunks, lengths, numbers))
    reader = dask.delayed(_only_reader(model), pure=False)
    blocks = [dask.delayed(_read)(reader, *chunk) for chunk in chunks]
    looks = dask.compute(*map(dask.delayed(_look), blocks))
    found = [look.ends for look in looks if look.ends is not None]
    if not found:
        raise ValueError("No row of X has a target and a weight above 0. A fit needs at least 2.")
    ends = found[0]
    for each in found[1:]:
        ends = Extremes().merge(ends, each)
    rows = ChunkedRows(blocks, [look.n_rows for look in looks])
    rows.n_passes = 3  # for the lengths, some rows, and the first look
    drawn = Block(data.X, data.Y, data.weight)
    seen = Block(*(np.concatenate(both) for both in zip(drawn, ends.rows(drawn), strict=True)))
    total = float(sum(look.total_weight for look in looks))
    _note_all(model, seen, rows.n_rows, total)
    part = TrainingData(seen.X, seen.Y, seen.weight, data.n_levels, data.single_output)
    return Reading(part, many_rows(model, rows, total, seen))


def chunks_of(X: Any, y: Any, sample_weight: Any) -> list[tuple[Any, ...]]:
    """Take collections apart, into delayed chunks of X, y and the weights, which are None where there are none."""
    given = {"X": X, "y": y} | ({} if sample_weight is None else {"sample_weight": sample_weight})
    strange = [name for name, each in given.items() if not is_chunked(each)]
    if strange:
        raise TypeError(
            f"X is a dask collection, and {strange[0]} is of type {type(given[strange[0]]).__name__}. Give "
            f"{strange[0]} as a dask collection with the same chunks of rows."
        )
    are_arrays = {isinstance(each, da.Array) for each in given.values()}
    if len(are_arrays) > 1:
        raise TypeError("Of X, y and sample_weight some are dask arrays and some dask data frames. Give all of a sort.")
    parts = _chunks_of_arrays(given) if are_arrays == {True} else _chunks_of_frames(given)
    return parts if sample_weight is not None else [(*part, None) for part in parts]


def _chunks_of_arrays(given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Cut arrays alike."""
    X = given["X"].rechunk(dict.fromkeys(range(1, given["X"].ndim), -1))
    # A pass, where an array does not know how long its chunks are.
    X = X.compute_chunk_sizes() if np.isnan(X.shape[0]) else X
    others = [_with_chunks(name, array, X) for name, array in given.items() if name != "X"]
    return list(zip(*(np.ravel(each.to_delayed()).tolist() for each in (X, *others)), strict=True))


def _chunks_of_frames(given: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Put the columns of data frames side by side, so that their partitions are the same, and take each apart again."""
    X, *others = given.values()
    columns = [[each] if each.ndim == 1 else [each[name] for name in each.columns] for each in others]
    names = [[f"{number} {i} {uuid4()}" for i in range(len(each))] for number, each in enumerate(columns)]
    of_each = dict(zip(chain(*names), chain(*columns), strict=True))
    taken = [
        (own, [each.name] if each.ndim == 1 else list(each.columns), each.ndim)
        for own, each in zip(names, others, strict=True)
    ]
    joined = X.assign(**of_each).to_delayed()
    return [tuple(dask.delayed(_apart, nout=1 + len(taken))(chunk, list(X.columns), taken)) for chunk in joined]


def _apart(chunk: Any, inputs: list[Any], taken: list[tuple[list[str], list[Any], int]]) -> tuple[Any, ...]:
    found = [chunk[inputs]]
    for own, called, ndim in taken:
        of_one = chunk[own].set_axis(called, axis=1)
        found.append(of_one if ndim == 2 else of_one.iloc[:, 0])
    return tuple(found)


def _with_chunks(name: str, array: Any, X: Any) -> Any:
    array = array.compute_chunk_sizes() if np.isnan(array.shape[0]) else array
    if array.shape[0] != X.shape[0]:
        raise ValueError(f"X has {X.shape[0]} rows, and {name} has {array.shape[0]}. Give a row of each for every row.")
    return array.rechunk((X.chunks[0], *((-1,) * (array.ndim - 1))))


def _length(number: int, X: Any, y: Any, weight: Any) -> int:
    lengths = {len(each) for each in (X, y, weight) if each is not None}
    if len(lengths) > 1:
        raise ValueError(
            f"In chunk {number}, X and y (and sample_weight) have different numbers of rows: {sorted(lengths)}. "
            f"Repartition them alike."
        )
    return lengths.pop()


def _gather(chunks: Sequence[tuple[Any, ...]], lengths: Sequence[int], numbers: Ints) -> list[Any]:
    """Take rows with these numbers, as they are."""
    ends = np.cumsum([0, *lengths])
    taken = []
    for number, chunk in enumerate(chunks):
        own = numbers[np.searchsorted(numbers, ends[number]) : np.searchsorted(numbers, ends[number + 1])]
        if own.size:
            taken.append(dask.delayed(_take)(own - ends[number], *chunk))
    parts = dask.compute(*taken)
    return [_join(each) for each in zip(*parts, strict=True)]


def _take(numbers: Ints, X: Any, y: Any, weight: Any) -> tuple[Any, ...]:
    return tuple(
        None if each is None else each.iloc[numbers] if hasattr(each, "iloc") else np.asarray(each)[numbers]
        for each in (X, y, weight)
    )


def _join(parts: Sequence[Any]) -> Any:
    if parts[0] is None:
        return None
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    import pandas

    return pandas.concat(parts, ignore_index=True)


def _only_reader(model: "NetworkRegressor") -> "NetworkRegressor":
    """Make a model that knows how to read X and nothing else, to travel to where rows are."""
    alone = type(model)()
    names = ("n_features_in_", "feature_names_in_", "_reader", "data_notes_")
    alone.__dict__.update({name: value for name, value in vars(model).items() if name in names})
    return alone


def _read(reader: "NetworkRegressor", X: Any, y: Any, weight: Any) -> Block:
    """Read a chunk; leave out rows that lack a target or have no weight."""
    targets = np.asarray(read_targets(reader, y), dtype=np.float64).reshape(len(X), -1)
    weights = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64).reshape(-1)
    if not (weights >= 0).all():
        raise ValueError("sample_weight says how often each row counts, and holds negative or missing values.")
    if np.isinf(targets).any():
        raise ValueError("Input y contains infinity. Correct it, or make it missing.")
    counts = ~np.isnan(targets).any(axis=1) & (weights > 0)
    inputs = read_inputs(reader, X)[0] if len(X) else np.empty((0, len(reader._reader.order)))
    # Where the rows that a search sees miss no value, a gap counts as it will in predictions.
    inputs = np.where(np.isnan(inputs), means_for_new_gaps(reader.data_notes_.inputs), inputs)
    return Block(inputs[counts], targets[counts], weights[counts])


def _look(block: Block) -> FirstLook:
    n = len(block.X)
    return FirstLook(n, float(block.weight.sum()), Extremes().ask(block) if n else None)


def _note_all(model: "SearchedModel", seen: Block, n_rows: int, total_weight: float) -> None:
    """Let the notes of the model be about all rows, as far as these were seen: means are of some."""
    notes = model.data_notes_
    is_number = np.array([not levels for levels in notes.inputs.levels])
    low, high = np.nanmin(seen.X, axis=0), np.nanmax(seen.X, axis=0)
    inputs = replace(
        notes.inputs, min=np.where(is_number, low, notes.inputs.min), max=np.where(is_number, high, notes.inputs.max)
    )
    model.data_notes_ = replace(notes, n_rows=n_rows, total_weight=total_weight, inputs=inputs)


def predict_chunks(model: "NetworkRegressor", X: Any) -> Any:
    """Predict, when the result is computed, for rows that dask holds."""
    n_outputs = len(model.data_notes_.output_names)
    single = model._single_output
    predict = partial(_predict, model)
    if isinstance(X, da.Array):
        X = X.rechunk({1: -1})
        like = np.empty(0) if single else np.empty((0, 0))
        if single:
            return X.map_blocks(predict, drop_axis=1, dtype=np.float64, meta=like)
        return X.map_blocks(predict, chunks=(X.chunks[0], (n_outputs,)), dtype=np.float64, meta=like)
    names = list(model.data_notes_.output_names)
    if single:
        return X.map_partitions(predict, meta=(names[0], np.float64))
    return X.map_partitions(predict, meta=dict.fromkeys(names, np.float64))


def _predict(model: "NetworkRegressor", X: Any) -> Any:
    """Predict for one chunk: an array, or a series or a data frame where rows are of one."""
    n_outputs = len(model.data_notes_.output_names)
    empty: Floats = np.empty(0) if model._single_output else np.empty((0, n_outputs))
    found = model.predict(X) if len(X) else empty
    if not hasattr(X, "iloc"):
        return found
    import pandas

    names = list(model.data_notes_.output_names)
    if found.ndim == 1:
        return pandas.Series(found, index=X.index, name=names[0])
    return pandas.DataFrame(found, index=X.index, columns=names)
