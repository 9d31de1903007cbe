"""How large and how small the values of a column may be."""

from collections.abc import Iterable, Sequence

import numpy as np

from saltus._typing import Floats

# Squares and products of values within these bounds can be represented.
SMALLEST_VALUE, LARGEST_VALUE = 1e-140, 1e140


def check_magnitude(values: Floats, places: Sequence[str]) -> None:
    """Raise if the squares of a column of values (N, n) overflow or vanish; places say where each column is."""
    for place, size in zip(places, np.abs(values).max(axis=0).tolist(), strict=True):
        if size > LARGEST_VALUE:
            raise ValueError(
                f"{place} holds values as large as {size:.3g}, whose squares overflow. Rescale it to stay below "
                f"{LARGEST_VALUE:g}."
            )
        if 0 < size < SMALLEST_VALUE:
            raise ValueError(
                f"{place} holds nothing larger than {size:.3g}, whose squares vanish. Rescale it to reach above "
                f"{SMALLEST_VALUE:g}."
            )


def places_of(source: str, names: Iterable[object] | None, n_columns: int) -> list[str]:
    """Say where the columns of X or y are: by their names, or by their numbers where they have none."""
    if names is not None:
        return [f"The column {str(name)!r} of {source}" for name in names]
    return [source] if n_columns == 1 else [f"{source}[:, {j}]" for j in range(n_columns)]
