"""Tables in files, CSV or Parquet: columns of numbers, and what is wrong with the others."""

from collections.abc import Collection, Sequence
from pathlib import Path

from saltus.cli.tables.cells import Grammar
from saltus.cli.tables.delimited import Dialect, read_delimited
from saltus.cli.tables.parquet import read_parquet
from saltus.cli.tables.table import Column, Table, TableError

__all__ = ["Column", "Dialect", "Table", "TableError", "read_table"]

# How files begin that are often taken for a table, and what to do with them.
NOT_TABLES = {
    b"PK\x03\x04": "a zip, such as an Excel workbook or a model file. Of a workbook, save a sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook. Save a sheet as CSV",
    b"\x1f\x8b": "compressed by gzip. Unpack it first",
    b"\x89PNG": "a picture",
    b"%PDF": "a PDF",
    b"\x89HDF": "an HDF5 file. Write the table as CSV or Parquet",
    b"<!DOCTYPE": "a web page. Was it downloaded without a login?",
    b"<html": "a web page. Was it downloaded without a login?",
}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
PARQUET = b"PAR1"


def read_table(
    path: Path,
    *,
    wanted: Collection[str] = (),
    as_text: Collection[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    missing: Sequence[str] = (),
    keep_rows: bool = False,
) -> Table:
    """Read a table; its content says whether it is CSV or Parquet.

    Parameters
    ----------
    path : Path
    wanted : collection of str
        Columns that are looked for. Where the file has one, its first line is a header even if all of it is numbers.
    as_text : collection of str
        Columns whose cells are kept as text even if all of them are numbers, such as 007.
    separator, decimal : str or None
        Of CSV: what stands between columns, and before decimals. None: found out.
    missing : sequence of str
        Words or numbers that stand for a missing value, besides an empty cell, NA, NaN, null and the like.

    keep_rows : bool, default=False
        Whether to keep the cells of all columns as text, too.

    Raises
    ------
    TableError
        If the file is no table, or a cell has no column.
    """
    if path.is_dir():
        raise TableError(f"{path} is a folder. Give the name of a file in it.")
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(PARQUET):
        return read_parquet(path, Grammar.of(missing), as_text=as_text, keep_rows=keep_rows)
    _refuse_strangers(path, head)
    return read_delimited(
        path,
        Dialect.of(separator, decimal),
        Grammar.of(missing),
        wanted=wanted,
        as_text=as_text,
        keep_rows=keep_rows,
    )


def _refuse_strangers(path: Path, head: bytes) -> None:
    if not head.strip():
        raise TableError(f"{path} is empty.")
    for beginning, what in NOT_TABLES.items():
        if head.startswith(beginning):
            raise TableError(f"{path} is not a CSV or Parquet file but {what}.")
    if b"\x00" in head and not head.startswith(UTF_16):
        raise TableError(f"{path} is not a CSV or Parquet file: it is not text.")
