"""How a table is read: which columns become which inputs, as `fit` found out, and `predict` does again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from saltus._typing import Bools, Floats, Ints
from saltus.reading.columns import Column
from saltus.reading.learning import find_range, learn_column, numbers_the_rows
from saltus.reading.readers import WEEKDAYS, CategoryReader, NumberReader, Reader, label_of, names_of

FROM_DTYPE = "from_dtype"
# So many unseen levels of a column are named.
MOST_SHOWN = 3


@dataclass(frozen=True)
class TableReader:
    """Reads a table of u columns as d inputs, numbers first; it has methods for all who ask what these are.

    Attributes
    ----------
    readers : tuple of Reader
        What reads a column each.
    order : ndarray of shape (d,)
        The inputs in their order, counted as readers give them.
    left_out : dict of str to str
        Columns that are not used, and why.
    n_columns : int
        u.
    """

    readers: tuple[Reader, ...]
    order: Annotated[Ints, "d"]
    left_out: dict[str, str]
    n_columns: int

    @classmethod
    def of_numbers(cls, X: Floats, names: Sequence[str], weight: Floats) -> "TableReader":
        """Take the columns of X (N, u) as they are, but for wild numbers. Those that say nothing are inputs by name."""
        left_out = {}
        for name, values in zip(names, X.T, strict=True):
            said = say_nothing(values)
            if said is not None:
                left_out[name] = said
        ranges = [find_range(values, weight) for values in X.T]
        readers = tuple(NumberReader(j, names[j], None, *each) for j, each in enumerate(ranges))
        return cls(readers, np.arange(len(readers)), left_out, len(readers))

    @classmethod
    def learn(
        cls, columns: Sequence[Column], weight: Floats, categorical_features: str | ArrayLike | None = FROM_DTYPE
    ) -> "TableReader":
        """Find out how to read columns, whose rows have weights (N,) > 0."""
        is_category = find_categories(categorical_features, [column.name for column in columns])
        may_be_category = categorical_features is not None
        readers: list[Reader] = []
        numbering: list[Reader] = []
        left_out: dict[str, str] = {}
        for number, column in enumerate(columns):
            found = learn_column(
                column, number, weight, is_category=is_category[number], may_be_category=may_be_category
            )
            if isinstance(found, NumberReader) and found.form is None:
                found = say_nothing(column.values) or found
            if isinstance(found, str):
                left_out[column.name] = found
            elif not column.is_wanted and column.is_numbers and numbers_the_rows(column, column.values):
                left_out[column.name] = "it numbers the rows; give it another name to keep it"
                numbering.append(found)
            else:
                readers.append(found)
        if not readers and len(numbering) == 1:
            # Where nothing else is there to predict from, it is more than a number: a time, or an order.
            readers = numbering
            del left_out[numbering[0].name]
        if not readers:
            why = " ".join(f"{name}: {reason}." for name, reason in left_out.items())
            raise ValueError(f"No column of X can be used. {why}")
        of_categories = np.array([len(levels) > 0 for reader in readers for levels in reader.levels])
        return cls(tuple(readers), np.argsort(of_categories, kind="stable"), left_out, len(columns))

    @property
    def takes_numbers(self) -> bool:
        """Whether all columns are inputs, in their order and without a change but at wild numbers."""
        plain = all(isinstance(each, NumberReader) and each.form is None for each in self.readers)
        return plain and len(self.readers) == self.n_columns

    @property
    def places(self) -> tuple[tuple[int, ...], ...]:
        """Where the inputs of each reader are among all inputs."""
        place, ends = np.argsort(self.order), np.cumsum([len(reader.names) for reader in self.readers])
        return tuple(tuple(each.tolist()) for each in np.split(place, ends[:-1]))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the inputs."""
        names = names_of(self.readers)
        return tuple(names[i] for i in self.order)

    @property
    def levels(self) -> tuple[tuple[str, ...], ...]:
        """The names of the levels of each input; () for numbers."""
        levels = [each for reader in self.readers for each in reader.levels]
        return tuple(levels[i] for i in self.order)

    @property
    def n_levels(self) -> Ints:
        """How many levels each input has, (d,); 0 for numbers."""
        return np.array([len(each) for each in self.levels], dtype=np.int64)

    @property
    def is_sound(self) -> bool:
        """Whether readers refer to columns and levels that there are: those of a file may not."""
        n_inputs = len(names_of(self.readers))
        in_order = sorted(self.order.tolist()) == list(range(n_inputs)) and n_inputs > 0
        columns = [reader.column for reader in self.readers]
        within = all(0 <= column < self.n_columns for column in columns) and len(set(columns)) == len(columns)
        return in_order and within and all(_is_sound(reader) for reader in self.readers)

    @property
    def held(self) -> tuple[Floats, Floats]:
        """The ranges (d,) that numbers are held to; infinite where they are not."""
        ends = np.array(
            [
                (reader.low, reader.high) if isinstance(reader, NumberReader) else (-np.inf, np.inf)
                for reader in self.readers
                for _ in reader.names
            ]
        )[self.order]
        return ends[:, 0], ends[:, 1]

    def read_numbers(self, X: Floats) -> Floats:
        """Read X (N, u) where all columns are numbers."""
        low, high = self.held
        return np.clip(X, low, high) if np.isfinite(low).any() or np.isfinite(high).any() else X

    def read(self, columns: Sequence[Column]) -> Floats:
        """Make inputs (N, d) of columns."""
        return np.column_stack([reader.read(column) for reader, column in self._paired(columns)])[:, self.order]

    def unreadable(self, columns: Sequence[Column]) -> dict[str, tuple[int, str]]:
        """Count the cells of each column that are no number or date as they should be, with an example of each."""
        found = {}
        for reader, column in self._paired(columns):
            if isinstance(reader, CategoryReader):
                continue
            rows = np.flatnonzero(reader.is_unreadable(column))
            if rows.size:
                found[reader.name] = int(rows.size), str(column.values[rows[0]])
        return found

    def unseen(self, columns: Sequence[Column]) -> dict[str, tuple[int, list[str], str]]:
        """Count the cells of each category whose level the training rows did not have.

        Beside their number are the first few of these levels, and the level that they count as.
        """
        found = {}
        for reader, column in self._paired(columns):
            if not isinstance(reader, CategoryReader):
                continue
            is_new = reader.is_unseen(column)
            if is_new.any():
                levels = dict.fromkeys(map(label_of, column.as_objects().values[is_new].tolist()))
                found[reader.name] = int(is_new.sum()), list(levels)[:MOST_SHOWN], reader.labels[reader.other]
        return found

    def _paired(self, columns: Sequence[Column]) -> Iterator[tuple[Reader, Column]]:
        for reader in self.readers:
            yield reader, columns[reader.column]

    @property
    def numbers(self) -> dict[str, NumberReader]:
        """The columns that are numbers, by their names."""
        return {reader.name: reader for reader in self.readers if isinstance(reader, NumberReader)}


def say_nothing(values: Floats) -> str | None:
    """Say why a column of numbers (N,) says nothing; None if it does."""
    is_gap = np.isnan(values)
    if is_gap.all():
        return "all of its values are missing"
    if not is_gap.any() and values.min() == values.max():
        return f"it is {values[0]:g} in every row"
    return None


def _is_sound(reader: Reader) -> bool:
    if isinstance(reader, CategoryReader):
        n = len(reader.labels)
        return n >= 2 and 0 <= reader.other < n and 0 <= reader.missing < n
    if isinstance(reader, NumberReader):
        return reader.low < reader.high
    return len(reader.parts) > 0 and 0 <= reader.missing <= len(WEEKDAYS)


def find_categories(categorical_features: Any, names: Sequence[str]) -> Bools:
    """Say which columns are categories by request, (u,): named, numbered, or marked by a truth each."""
    is_category = np.zeros(len(names), dtype=bool)
    if categorical_features is None or (isinstance(categorical_features, str) and categorical_features == FROM_DTYPE):
        return is_category
    try:
        given = np.asarray(categorical_features)
    except ValueError:  # lists of different lengths
        given = np.empty((0, 0))
    if given.ndim != 1 or given.dtype.kind not in "biuUO":
        raise ValueError(
            f"categorical_features must be 'from_dtype', None, or a list of names or numbers of columns, or of a truth "
            f"for each column. Got {categorical_features!r}."
        )
    if given.dtype.kind == "b":
        if len(given) != len(names):
            raise ValueError(f"categorical_features has {len(given)} truths, and X has {len(names)} columns.")
        return given.copy()
    for each in given.tolist():
        if isinstance(each, str) and each not in names:
            raise ValueError(f"categorical_features names {each!r}, and X has no such column: {', '.join(names)}.")
        if not isinstance(each, str) and not -len(names) <= each < len(names):
            raise ValueError(f"categorical_features has the number {each}, and X has {len(names)} columns.")
        is_category[list(names).index(each) if isinstance(each, str) else each] = True
    return is_category
