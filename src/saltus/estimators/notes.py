"""What a model remembers of the data it was fitted to: names and ranges, no rows."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from saltus._typing import Floats
from saltus.families.inputs import moments_of_present
from saltus.families.words import InputName


@dataclass(frozen=True)
class ColumnNotes:
    """Notes on n columns: names, ranges and means, with rows counted by their weight.

    The values of a category are its codes; its `mean` is the most frequent code, and its `std` is 1.
    """

    names: Annotated[tuple[str, ...], "n"]
    min: Annotated[Floats, "n"]
    mean: Annotated[Floats, "n"]
    std: Annotated[Floats, "n"]
    max: Annotated[Floats, "n"]
    missing: Annotated[Floats, "n"]  # the share of rows that lack the value
    levels: Annotated[tuple[tuple[str, ...], ...], "n"]  # what the levels of a category are called; () for a number
    shares: Annotated[tuple[tuple[float, ...], ...], "n"]  # of the rows, those of each level

    @classmethod
    def of(
        cls, names: Sequence[str], values: Floats, weight: Floats, levels: Sequence[Sequence[str]] | None = None
    ) -> "ColumnNotes":
        """Describe the columns of values (N, n), NaN where one is missing, whose rows have weight (N,)."""
        mean, std = moments_of_present(values, weight)
        low, high = np.nanmin(values, axis=0, initial=np.inf), np.nanmax(values, axis=0, initial=-np.inf)
        missing = np.array([np.average(np.isnan(column), weights=weight) for column in values.T])
        labels = tuple(map(tuple, levels or [()] * len(names)))
        shares: list[tuple[float, ...]] = [() for _ in names]
        for j, of_input in enumerate(labels):
            if of_input:
                count = np.bincount(values[:, j].astype(np.int64), weights=weight, minlength=len(of_input))
                shares[j] = tuple((count / count.sum()).tolist())
                low[j], mean[j], std[j], high[j] = 0.0, count.argmax(), 1.0, len(of_input) - 1.0
        return cls(tuple(names), low, mean, std, high, missing, labels, tuple(shares))

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        """Draw values (n, d) that are typical, each on its own: normal within the range, or a level."""
        places = np.clip(rng.normal(self.mean, self.std, (n, len(self.names))), self.min, self.max)
        for j, shares in enumerate(self.shares):
            if shares:
                places[:, j] = rng.choice(len(shares), n, p=shares)
        return places

    def grid(self, j: int, n: int) -> Floats:
        """List n values along the range of a column, or its levels, of many the n most frequent."""
        if not self.shares[j]:
            return np.linspace(self.min[j], self.max[j], n)
        return np.sort(np.argsort(self.shares[j], kind="stable")[::-1][:n]).astype(np.float64)


@dataclass(frozen=True)
class DataNotes:
    """Notes on the training rows; rows of weight 0 are not counted.

    Attributes
    ----------
    n_rows : int
    total_weight : float
        The sum of the sample weights, or n_rows without them.
    inputs, outputs : ColumnNotes
        The inputs that were made of the columns of X, and the columns of y: their names, smallest values, means,
        standard deviations and largest values, the shares of rows that lack the value, and the levels of categories.
    left_out : dict of str to str
        The columns of X that are not used, each with the reason.
    """

    n_rows: int
    total_weight: float
    inputs: ColumnNotes
    outputs: ColumnNotes
    left_out: dict[str, str]

    @property
    def is_curve(self) -> bool:
        """Whether there is one input, a number, over which the prediction is a curve."""
        return len(self.inputs.names) == 1 and not self.inputs.levels[0]

    @property
    def input_names(self) -> tuple[InputName, ...]:
        """The names of the columns of X, or x0, x1, ...; each knows what its levels are called."""
        return tuple(map(InputName.of, self.inputs.names, self.inputs.levels))

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
