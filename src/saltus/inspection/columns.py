"""What there is to say of the columns of a fit, as tables: numbers, then categories."""

from saltus.estimators.notes import DataNotes
from saltus.inspection.document import Cell, TextTable, one_line, percent

# Of a category, so many of the most frequent levels are named.
MOST_LEVELS = 5


def column_tables(notes: DataNotes) -> list[TextTable]:
    """List where the values of each column lie; of categories, how frequent their levels are."""
    has_gaps = bool((notes.inputs.missing > 0).any())
    columns = [("column", ""), ("role", "")] + [(name, ".4g") for name in ("lowest", "mean", "std. dev.", "highest")]
    numbers: list[tuple[Cell, ...]] = []
    categories: list[tuple[Cell, ...]] = []
    for role, part in (("input", notes.inputs), ("output", notes.outputs)):
        for j, name in enumerate(part.names):
            if part.levels[j]:
                categories.append((name, len(part.levels[j]), _frequent(part.levels[j], part.shares[j])))
            else:
                values = (float(part.min[j]), float(part.mean[j]), float(part.std[j]), float(part.max[j]))
                numbers.append((name, role, *values, *([percent(float(part.missing[j]))] if has_gaps else [])))
    columns += [("missing", ".1f")] if has_gaps else []
    tables = [TextTable("The values of each column.", columns, numbers)] if numbers else []
    if categories:
        names = [("category", ""), ("levels", "d"), ("most frequent", "")]
        caption = "The levels of each category, and the shares of rows that have them."
        tables.append(TextTable(caption, names, categories))
    return tables


def _frequent(levels: tuple[str, ...], shares: tuple[float, ...]) -> str:
    order = sorted(range(len(levels)), key=lambda code: -shares[code])
    named = [f"{one_line(levels[code])} {percent(shares[code])}" for code in order[:MOST_LEVELS]]
    return ", ".join([*named, *(["..."] if len(levels) > MOST_LEVELS else [])])
