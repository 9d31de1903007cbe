"""From the columns of a table as they come to numbers and codes: text, categories, dates and gaps."""

from saltus.reading.arrays import take_table, unmasked
from saltus.reading.columns import Column, ColumnTable, columns_of, is_table
from saltus.reading.reader import TableReader
from saltus.reading.readers import READERS

__all__ = ["READERS", "Column", "ColumnTable", "TableReader", "columns_of", "is_table", "take_table", "unmasked"]
