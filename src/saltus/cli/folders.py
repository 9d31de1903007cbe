"""``saltus fit`` for a folder of Parquet files, which may be larger than memory: by dask, file by file."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.cli.console import note
from saltus.cli.options import split_names
from saltus.cli.rows import Rows
from saltus.cli.tables import TableError
from saltus.engine.results.chains import spaced
from saltus.inspection.document import count, join_names, one_line
from saltus.reading import ColumnTable, columns_of

if TYPE_CHECKING:
    from saltus.estimators import NetworkRegressor

# So many rows at most are held out to test a model, and so many of the others are scored and drawn.
MOST_HELD_OUT, MOST_SHOWN = 100_000, 20_000


class Folder:
    """The rows of a folder: those that a model is fitted to, where they are, and those held out, in memory."""

    def __init__(self, path: Path, frame: Any, targets: Sequence[str], inputs: Sequence[str]) -> None:
        self.path, self.frame, self.targets, self.inputs = path, frame, list(targets), list(inputs)

    @classmethod
    def read(cls, options: argparse.Namespace) -> "Folder":
        """Look into a folder, and choose columns as options say."""
        path, targets = options.data, split_names(options.target)
        frame = _open(path)
        names = [str(name) for name in frame.columns]
        if not targets:
            raise TableError(f"Which column is to be predicted? Say so with --target. {path} has: {', '.join(names)}.")
        inputs, without = split_names(options.input), split_names(options.drop)
        for name in (*targets, *inputs, *without, *split_names(options.category)):
            if name not in names:
                raise TableError(f"{path} has no column {name!r}. It has: {', '.join(names)}.")
        chosen = inputs or [name for name in names if name not in (*targets, *without)]
        return cls(path, frame, targets, chosen)

    def split(self, test_share: float, seed: int) -> tuple[Any, Any, Rows, Rows]:
        """Draw the rows that are held out; return inputs and outputs of the others, some of these, and those."""
        import dask
        from dask import dataframe

        chunks = self.frame[[*self.inputs, *self.targets]].to_delayed()
        n_rows = sum(dask.compute(*map(dask.delayed(len), chunks)))
        self.n_rows = n_rows
        share = min(test_share, MOST_HELD_OUT / max(n_rows, 1))
        shown = min(1.0, MOST_SHOWN / max(n_rows, 1))
        parts = [dask.delayed(_parts, nout=3)(chunk, [seed, i], share, shown) for i, chunk in enumerate(chunks)]
        some = dask.compute(*[part[1] for part in parts])
        test = dask.compute(*[part[2] for part in parts])
        meta = self.frame[[*self.inputs, *self.targets]]._meta
        train = dataframe.from_delayed([part[0] for part in parts], meta=meta)
        y = train[self.targets[0]] if len(self.targets) == 1 else train[self.targets]
        return train[self.inputs], y, self._rows(some), self._rows(test)

    def _rows(self, parts: Sequence[Any]) -> Rows:
        import pandas

        table = pandas.concat(parts, ignore_index=True)
        y = table[self.targets].to_numpy(dtype=np.float64)
        has_target = ~np.isnan(y).any(axis=1)
        X = ColumnTable(columns_of(table[self.inputs])).take(has_target)
        y = y[has_target]
        return Rows(X, y[:, 0] if len(self.targets) == 1 else y)

    def describe(self, test: Rows, seed: int) -> list[str]:
        """Say in sentences what is predicted from what."""
        told = [
            f"{self.path}: {spaced(self.n_rows)} rows in {count(self.frame.npartitions, 'part')}, "
            f"{len(self.frame.columns)} columns.",
            f"{join_names(self.targets)} from {count(len(self.inputs), 'input')}: {join_names(self.inputs)}.",
        ]
        if not len(test):
            return [*told, "The model is fitted to all rows; none are held out to test it."]
        return [*told, f"{spaced(len(test))} rows, drawn by seed {seed}, are held out to test the model."]


def describe_left_out(model: "NetworkRegressor") -> list[str]:
    """Say which columns the fit found to say nothing."""
    return [f"Left out: {one_line(name)} ({why})." for name, why in model.data_notes_.left_out.items()]


def _open(path: Path) -> Any:
    try:
        from dask import dataframe
    except ImportError as error:
        raise ImportError(
            f"{path} is a folder, and a folder of Parquet files takes dask to read: pip install 'saltus[dask,parquet]'."
        ) from error
    files = sorted(path.rglob("*.parquet"))
    if not files:
        raise TableError(f"{path} is a folder without Parquet files. Give the name of a file, or of a folder of these.")
    note(f"{path} is read part by part: {count(len(files), 'file')}.")
    return dataframe.read_parquet([str(file) for file in files], split_row_groups="adaptive")


def _parts(chunk: Any, seed: Sequence[int], test_share: float, shown_share: float) -> tuple[Any, Any, Any]:
    """Split a chunk: rows to fit, some of these, and rows that are held out."""
    rng = np.random.default_rng(seed)
    chance = rng.random(len(chunk))
    train = chunk[chance >= test_share]
    return train, train[rng.random(len(train)) < shown_share], chunk[chance < test_share]
