"""The code that reads the rows of a fit again: a model knows the names of their columns, and not where they are."""

import textwrap
from collections.abc import Sequence

from saltus.estimators import NetworkRegressor
from saltus.inspection.document import count
from saltus.reading.readers import MISSING, OTHER, CategoryReader, DateReader

FILE = "data.csv"
LINE_WIDTH = 80


def reading_code(model: NetworkRegressor) -> list[str]:
    """Write lines of code that make X and y, and `sample_weight` where there was one, of a file; pandas is imported."""
    notes = model.data_notes_
    has_names = hasattr(model, "feature_names_in_")
    columns = [str(name) for name in model.feature_names_in_] if has_names else _numbered(model)
    outputs = notes.output_names[0] if model._single_output else list(notes.output_names)
    before, after = _types(model, columns)
    lines = [
        f"# A model keeps no rows: save the {count(notes.n_rows, 'row')} of the fit as {FILE},",
        "# with the names of these columns in the first line.",
        f'table = pd.read_csv("{FILE}"{before}){after}',
        f"X = table[{in_lines(columns)}]{'' if has_names else '.to_numpy()'}",
        f"y = table[{outputs!r}]",
    ]
    if notes.total_weight != notes.n_rows:
        lines.append('sample_weight = table["sample_weight"]')
    return lines


def _numbered(model: NetworkRegressor) -> list[str]:
    return [f"x{j}" for j in range(model.n_features_in_)]


def _types(model: NetworkRegressor, columns: Sequence[str]) -> tuple[str, str]:
    """Write what pandas has to be told of columns: before it reads them, and after."""
    readers = model._reader.readers
    codes = [columns[each.column] for each in readers if isinstance(each, CategoryReader) and _has_codes(each)]
    dates = [columns[each.column] for each in readers if isinstance(each, DateReader) and not each.form]
    before, after = "", ""
    if codes:  # which would be numbers: 01 is not 1
        before += f", dtype={dict.fromkeys(codes, 'str')!r}"
        after = f".astype({dict.fromkeys(codes, 'category')!r})"
    if dates:
        before += f", parse_dates={dates!r}"
    return before, after


def _has_codes(reader: CategoryReader) -> bool:
    return all(map(_is_number, set(reader.labels) - {OTHER, MISSING}))


def _is_number(label: str) -> bool:
    try:
        float(label)
    except ValueError:
        return False
    return True


def in_lines(names: Sequence[str]) -> str:
    """Write a list of names as code, on several lines where it is long."""
    written = repr(list(names))
    if len(written) <= LINE_WIDTH - len("X = table[]"):
        return written
    # Names may hold blanks, which are no places to break at.
    blank = "\N{NO-BREAK SPACE}"
    parts = " ".join(f"{name!r},".replace(" ", blank) for name in names)
    lines = textwrap.wrap(parts, LINE_WIDTH - 4, break_long_words=False, break_on_hyphens=False)
    return "\n".join(["[", *(f"    {line}".replace(blank, " ") for line in lines), "]"])
