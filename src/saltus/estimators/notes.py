"""What a model remembers of the data it was fitted to: names and ranges, no rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from saltus._typing import Floats


@dataclass(frozen=True)
class ColumnNotes:
    """Of some columns: their names and, each (n,) and with rows counted by their weight, where their values lie."""

    names: Annotated[tuple[str, ...], "n"]
    min: Annotated[Floats, "n"]
    mean: Annotated[Floats, "n"]
    std: Annotated[Floats, "n"]
    max: Annotated[Floats, "n"]

    @classmethod
    def of(cls, names: Sequence[str], values: Floats, weight: Floats) -> "ColumnNotes":
        """Describe the columns of values (N, n), whose rows have weight (N,)."""
        mean = np.average(values, axis=0, weights=weight)
        std = np.sqrt(np.average((values - mean) ** 2, axis=0, weights=weight))
        return cls(tuple(names), values.min(axis=0), mean, std, values.max(axis=0))


@dataclass(frozen=True)
class DataNotes:
    """Notes on the rows that `fit` was given; those of weight 0 are not counted.

    Attributes
    ----------
    n_rows : int
    total_weight : float
        The sum of the sample weights, or n_rows without them.
    inputs, outputs : ColumnNotes
        The columns of X and of y: names, smallest value, mean, standard deviation and largest value.
    """

    n_rows: int
    total_weight: float
    inputs: ColumnNotes
    outputs: ColumnNotes

    @property
    def input_names(self) -> tuple[str, ...]:
        """The names of the columns of X, or x0, x1, ..."""
        return self.inputs.names

    @property
    def output_names(self) -> tuple[str, ...]:
        """The names of y, if it had any; otherwise y, or y0, y1, ..."""
        return self.outputs.names


def name_inputs(feature_names: Iterable[str] | None, n_features: int) -> list[str]:
    """Take scikit-learn's feature names, or number the inputs where it found none."""
    return [f"x{j}" for j in range(n_features)] if feature_names is None else [str(name) for name in feature_names]


def given_output_names(y: object, n_outputs: int) -> list[str] | None:
    """Take the name of a series, or those of the columns of a data frame; None where an output has none."""
    names = list(getattr(y, "columns", [getattr(y, "name", None)]))
    return names if len(names) == n_outputs and all(isinstance(name, str) and name for name in names) else None


def name_outputs(y: object, n_outputs: int) -> list[str]:
    """Take the names that outputs were given, or number them."""
    return given_output_names(y, n_outputs) or (["y"] if n_outputs == 1 else [f"y{i}" for i in range(n_outputs)])
