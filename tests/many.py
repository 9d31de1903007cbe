"""Searches to which a thousand rows are many."""

from saltus.engine.search.policy import SearchPolicy

N_ROWS = 1000
FEW = SearchPolicy(rows_at_first=100, many_rows=200)  # where a hundred rows are few
