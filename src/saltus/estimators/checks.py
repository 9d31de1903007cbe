"""What `fit` and `predict` are given, checked by scikit-learn's rules and ours."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_array,
    check_consistent_length,
    validate_data,
)

from saltus._typing import Bools, Floats, Ints
from saltus.estimators.notes import ColumnNotes, DataNotes, given_output_names, name_inputs, name_outputs
from saltus.estimators.unseen import settle_unseen
from saltus.reading import Column, ColumnTable, TableReader, columns_of, is_table, take_table, unmasked
from saltus.reading.arrays import READ_BY_COLUMN, refuse_what_has_no_rows
from saltus.reading.columns import make_column, quote
from saltus.reading.forms import find_number_forms
from saltus.reading.learning import numbers_the_rows
from saltus.reading.readers import numbers_of

# Squares and products of values within these bounds can be represented.
SMALLEST_VALUE, LARGEST_VALUE = 1e-140, 1e140

# So many rows can still be counted one by one in 64 bits.
MOST_ROWS = 1e15

# How scikit-learn reads inputs that are numbers.
READ = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
HOW_TO_CLASSIFY = (
    "saltus does not offer classification yet. Of two classes, the probability of one can be predicted: make y a "
    "number that is 0 or 1."
)
HOW_TO_COUNT_TIME = "Count the time from a date of your choice, in days for instance."
HOW_TO_WRITE_NUMBERS = "Write them with a point before decimals and nothing between thousands."
INFINITE_REMEDY = "Correct it, or make it missing."


class MissingTargetWarning(UserWarning):
    """The target is missing in some rows, which were left out of a fit."""


class WildValuesWarning(UserWarning):
    """An input has a few values so far from all others that they count as the nearest of the others."""


class UnreadableValuesWarning(UserWarning):
    """Rows to be predicted have text that is not written as in the training rows; the text counts as missing."""


@dataclass(frozen=True)
class TrainingData:
    """What `fit` was given, checked; rows of weight 0 and rows without a target are gone."""

    X: Floats  # (N, d), numbers and codes of levels
    Y: Floats  # (N, c)
    weight: Floats  # (N,)
    n_levels: Ints  # (d,), of inputs that are categories; 0 for numbers
    single_output: bool  # y was one-dimensional


def check_data(estimator: Any, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingData:
    """Check what `fit` was given, by scikit-learn's rules and ours, and note on the estimator what it was."""
    X, given = take_table(X), y
    X, y, sample_weight = without_missing_targets(X, read_targets(estimator, y), sample_weight)
    columns, outputs = check_columns_and_targets(estimator, X, y)
    weight = _check_frequencies(sample_weight, outputs)
    present = weight > 0
    reader, inputs = learn_inputs(estimator, columns, weight, present)
    data = TrainingData(
        inputs,
        outputs.reshape(len(weight), -1)[present],
        weight[present],
        reader.n_levels,
        single_output=np.ndim(outputs) == 1,
    )
    check_magnitude(data.Y, label_columns("y", given_output_names(given, data.Y.shape[1]), data.Y.shape[1]))
    estimator.data_notes_ = DataNotes(
        n_rows=len(data.X),
        total_weight=float(data.weight.sum()),
        inputs=ColumnNotes.of(reader.names, data.X, data.weight, reader.levels),
        outputs=ColumnNotes.of(name_outputs(given, data.Y.shape[1]), data.Y, data.weight),
        left_out=reader.left_out,
    )
    estimator._reader = reader
    return data


def check_columns_and_targets(estimator: Any, X: ArrayLike, y: ArrayLike) -> tuple[Floats | tuple[Column, ...], Floats]:
    """Check X, numbers (N, u) or the columns of a table that has others too, and y, (N,) or (N, c)."""
    if not (is_table(X) or asks_for_categories(estimator)):
        options = {"multi_output": True, "y_numeric": True, "ensure_min_samples": 2, **READ}
        with np.errstate(invalid="ignore"):  # scikit-learn looks for infinity by a sum, which of two signs is NaN
            inputs, outputs = validate_data(estimator, X, y, **options)
        return inputs, np.asarray(outputs, dtype=np.float64)
    columns = _check_table(estimator, X, fewest_rows=2, reset=True)
    with np.errstate(invalid="ignore"):
        outputs = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y", estimator=estimator)
    check_consistent_length(columns[0].values, outputs)
    return columns, outputs


def read_targets(estimator: Any, y: Any) -> Any:
    """Take y as it is if it is numbers; read numbers of other sorts and in text, NaN where one is missing, or raise."""
    if y is None:
        raise ValueError(
            f"This {type(estimator).__name__} estimator requires y to be passed, but the target y is None."
        )
    if sparse.issparse(y):
        raise TypeError("y is sparse, and has to be dense. Pass y.toarray().")
    refuse_what_has_no_rows("y", y)
    if hasattr(y, "columns") and not len(y.columns):
        raise ValueError("y is a data frame without columns. Give it one for each output.")
    try:
        values = unmasked(y)
    except ValueError:  # lists of different lengths, of which the checks to come have something to say
        return y
    if values.dtype.kind not in READ_BY_COLUMN or values.ndim == 0 or values.size == 0:
        is_wide = getattr(getattr(y, "dtype", None), "itemsize", 0) > values.dtype.itemsize
        return values if is_wide or isinstance(y, np.ma.MaskedArray) else y
    columns = [_read_target(column) for column in values.reshape(len(values), -1).T]
    return np.column_stack(columns).reshape(values.shape)


def _read_target(values: NDArray[Any]) -> Floats:
    if values.dtype.kind == "m":
        raise _is_no_target("spans of time", values[0], HOW_TO_COUNT_TIME)
    try:
        column = make_column("y", values)
    except TypeError as error:
        raise TypeError(str(error).replace("the column 'y' of X", "y")) from error
    if column.is_numbers:
        return column.values
    if column.is_dates:
        raise _is_no_target("dates", values[0], HOW_TO_COUNT_TIME)
    cells = [str(value) for value in column.present()]
    forms = find_number_forms(cells)
    if len(forms) > 1:
        raise _is_no_target("numbers that can be read in several ways", cells[0], HOW_TO_WRITE_NUMBERS)
    if not forms:
        text = next((cell for cell in cells if not find_number_forms([cell])), cells[0])
        raise _is_no_target("text", text, HOW_TO_CLASSIFY)
    return numbers_of(column, forms[0])


def _is_no_target(what: str, example: Any, remedy: str) -> ValueError:
    return ValueError(f"y holds {what}, such as {quote(str(example))}, and a regressor predicts numbers. {remedy}")


def _check_table(estimator: Any, X: Any, *, fewest_rows: int, reset: bool) -> tuple[Column, ...]:
    """Check the shape of a table and the names of its columns; what its cells hold is for readers."""
    if isinstance(X, ColumnTable):
        _check_names(estimator, X, reset=reset)
    else:
        validate_data(estimator, X, skip_check_array=True, reset=reset)
    columns = columns_of(X)
    n_rows = len(columns[0]) if columns else 0
    if n_rows < fewest_rows:
        raise ValueError(
            f"Found array with {n_rows} sample(s) (shape=({n_rows}, {len(columns)})) while a minimum of {fewest_rows} "
            f"is required by {type(estimator).__name__}."
        )
    for column in columns:
        if column.is_numbers and np.isinf(column.values).any():
            raise ValueError(f"Input X contains infinity in its column {column.name!r}. {INFINITE_REMEDY}")
    return columns


def _refuse_infinity(reader: TableReader, columns: tuple[Column, ...]) -> None:
    for each in reader.numbers.values():
        if np.isinf(numbers_of(columns[each.column], each.form)).any():
            raise ValueError(f"Input X contains infinity in its column {each.name!r}. {INFINITE_REMEDY}")


def asks_for_categories(estimator: Any) -> bool:
    """Say whether columns of numbers are to be categories."""
    return not isinstance(estimator.categorical_features, str | None)


def _check_names(estimator: Any, X: ColumnTable, *, reset: bool) -> None:
    """Note the names of the columns of our own table, or find them to be those that were noted."""
    names = [column.name for column in X.columns]
    if reset:
        estimator.feature_names_in_, estimator.n_features_in_ = np.array(names, dtype=object), len(names)
    elif names != list(getattr(estimator, "feature_names_in_", names)) or len(names) != estimator.n_features_in_:
        raise ValueError(
            f"The columns of X should be {', '.join(estimator.feature_names_in_)}. Got {', '.join(names)}."
        )


def learn_inputs(
    estimator: Any, columns: Floats | tuple[Column, ...], weight: Floats, present: Bools
) -> tuple[TableReader, Floats]:
    """Find out how to read columns, and read the rows that are present."""
    if not isinstance(columns, tuple):
        columns = columns if present.all() else columns[present]
        if np.isnan(columns).all():
            raise ValueError("Every value of X is missing (NaN). A fit needs at least some.")
        given_names = getattr(estimator, "feature_names_in_", None)
        names = name_inputs(given_names, columns.shape[1])
        check_magnitude(columns, label_columns("X", given_names, columns.shape[1]))
        named = tuple(map(Column, names, columns.T))
        if given_names is None or not any(numbers_the_rows(column, column.values) for column in named):
            reader = TableReader.of_numbers(columns, names, weight[present])
            _warn_of_wild_values(reader, dict(zip(names, columns.T, strict=True)))
            return reader, reader.read_numbers(columns)
        columns = named
    else:
        columns = ColumnTable(columns).take(present).columns
    reader = TableReader.learn(columns, weight[present], estimator.categorical_features)
    _refuse_infinity(reader, columns)
    inputs = reader.read(columns)
    check_magnitude(inputs, label_columns("X", reader.names, inputs.shape[1]))
    numbers = reader.numbers.values()
    _warn_of_wild_values(reader, {each.name: numbers_of(columns[each.column], each.form) for each in numbers})
    return reader, inputs


def _warn_of_wild_values(reader: TableReader, values: dict[str, Floats]) -> None:
    for name, of_input in reader.numbers.items():
        column = values[name]
        wild = column[(column < of_input.low) | (column > of_input.high)]
        if wild.size:
            others = np.clip(column, of_input.low, of_input.high)
            warnings.warn(
                f"The input {name!r} is {wild[0]:g} in {_count_rows(wild.size)}, far from its other values, which are "
                f"between {np.nanmin(others):g} and {np.nanmax(others):g}. Such a value counts as the nearest of "
                f"these. If it is a mistake, correct it; if it stands for a missing value, use NaN.",
                WildValuesWarning,
                stacklevel=8,
            )


def _count_rows(n: int) -> str:
    return "one row" if n == 1 else f"the first of {n} rows"


def without_missing_targets(
    X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, stacklevel: int = 7
) -> tuple[ArrayLike, ArrayLike, ArrayLike | None]:
    """Leave out the rows whose target is missing, and say so."""
    try:
        target = np.asarray(y)
    except ValueError:
        return X, y, sample_weight  # the checks to come have something to say about that
    if target.dtype.kind != "f":
        return X, y, sample_weight
    is_missing = np.isnan(target) if target.ndim == 1 else np.isnan(target).any(axis=tuple(range(1, target.ndim)))
    if not np.ndim(target) or not is_missing.any() or is_missing.all() or len(target) != _num_samples(X):
        return X, y, sample_weight
    kept = np.flatnonzero(~is_missing)
    warnings.warn(
        f"The target is missing in {is_missing.sum()} of {len(target)} rows, which are left out of the fit.",
        MissingTargetWarning,
        stacklevel=stacklevel,
    )
    weight = None if sample_weight is None else _safe_indexing(np.asarray(sample_weight), kept)
    rows = X.take(kept) if isinstance(X, ColumnTable) else _safe_indexing(X, kept)
    return rows, _safe_indexing(y, kept), weight


def check_inputs(estimator: Any, X: ArrayLike) -> Floats:
    """Check what `predict` was given, and read it as `fit` did: (N, d), numbers and codes of levels."""
    inputs, columns = read_inputs(estimator, X)
    for name, (n, example) in estimator._reader.unreadable(columns).items() if columns else ():
        warnings.warn(
            f"The column {name!r} holds {example!r} in {_count_rows(n)}, which is not written as in the training data, "
            f"and counts as missing.",
            UnreadableValuesWarning,
            stacklevel=3,
        )
    return settle_unseen(estimator, inputs, columns)


def read_inputs(estimator: Any, X: ArrayLike) -> tuple[Floats, tuple[Column, ...]]:
    """Read X as `fit` did, and give the columns that it came in; none where columns are inputs."""
    reader: TableReader = estimator._reader
    X = take_table(X)
    if reader.takes_numbers and not is_table(X):
        with np.errstate(invalid="ignore"):
            return reader.read_numbers(validate_data(estimator, X, reset=False, **READ)), ()
    columns = _check_table(estimator, X, fewest_rows=1, reset=False)
    _refuse_infinity(reader, columns)
    return reader.read(columns), columns


def seed_sequence(random_state: int | np.random.RandomState | None) -> np.random.SeedSequence:
    """Turn scikit-learn's idea of a seed into NumPy's, from which chains draw theirs."""
    words = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.SeedSequence([int(word) for word in words])


def read_weights(sample_weight: ArrayLike) -> ArrayLike:
    """Take weights that are numbers, one for each row, or raise."""
    if np.ma.is_masked(sample_weight):
        raise ValueError("sample_weight is masked in some rows. Give every row a weight; 0 leaves a row out.")
    weight = np.asarray(sample_weight)
    if weight.dtype.kind in "MmSU":
        raise ValueError(f"sample_weight must be numbers. Got {quote(str(weight.ravel()[0]))}.")
    return sample_weight


def _check_frequencies(sample_weight: ArrayLike | None, X: Floats) -> Floats:
    given = None if sample_weight is None else read_weights(sample_weight)
    weight: Floats = _check_sample_weight(given, X, dtype=np.float64, ensure_non_negative=True)
    if weight.max(initial=0.0) > MOST_ROWS / len(weight):
        raise ValueError(
            f"sample_weight says how often each row counts, and the sum over {len(weight)} rows must not be above "
            f"{MOST_ROWS:g}. Got a weight of {weight.max():.6g}. Divide all weights by the same number."
        )
    if weight.sum() < 2:
        raise ValueError(
            f"sample_weight says how often each row counts, and must add up to at least 2. Got a sum of "
            f"{weight.sum():.6g}."
        )
    return weight


def check_magnitude(values: Floats, labels: Sequence[str]) -> None:
    """Raise if the squares of a column of values (N, n) overflow or vanish; messages name it by its label."""
    # Column by column, so that no copy of them all is made.
    sizes = [float(np.nanmax(np.abs(column), initial=0.0)) for column in values.T]
    for label, size in zip(labels, sizes, strict=True):
        if size > LARGEST_VALUE:
            raise ValueError(
                f"{label} holds values as large as {size:.3g}, whose squares overflow. Rescale it to stay below "
                f"{LARGEST_VALUE:g}."
            )
        if 0 < size < SMALLEST_VALUE:
            raise ValueError(
                f"{label} holds nothing larger than {size:.3g}, whose squares vanish. Rescale it to reach above "
                f"{SMALLEST_VALUE:g}."
            )


def label_columns(source: str, names: Iterable[object] | None, n_columns: int) -> list[str]:
    """Label the columns of X or y by their names, or by their numbers where they have none."""
    if names is not None:
        return [f"The column {str(name)!r} of {source}" for name in names]
    return [source] if n_columns == 1 else [f"{source}[:, {j}]" for j in range(n_columns)]
