"""The options of a model, and the code that makes it again."""

from dataclasses import is_dataclass
from inspect import Parameter, signature
from textwrap import shorten
from typing import Any

import numpy as np

from saltus.estimators import NetworkRegressor
from saltus.inspection.document import TextTable
from saltus.report.source import reading_code

# Larger arrays, and families that hold them, have a name in the code instead of being written out.
LARGEST_ARRAY = 60
LONGEST_TEXT = 20 * LARGEST_ARRAY
LONGEST_CELL = 100
PLAIN = (bool, int, float, str, type(None))


def option_table(model: NetworkRegressor) -> TextTable:
    """List all options with their defaults; those that differ are marked."""
    changed = changed_options(model)
    rows = [
        (name, _in_short(_plain(getattr(model, name))), repr(parameter.default), "changed" * (name in changed))
        for name, parameter in _parameters(model).items()
    ]
    caption = f"All options of {type(model).__name__}; {len(changed)} of {len(rows)} differ from the default."
    return TextTable(caption, [("option", ""), ("value", ""), ("default", ""), ("differs", "")], rows)


def changed_options(model: NetworkRegressor) -> dict[str, Any]:
    """Take the options that differ from their default."""
    values = {name: _plain(getattr(model, name)) for name in _parameters(model)}
    return {name: value for name, value in values.items() if repr(value) != repr(_parameters(model)[name].default)}


def recipe_code(model: NetworkRegressor) -> str:
    """Write the code that reads the rows and fits the model again."""
    imports, arguments, blanks = {"saltus": {type(model).__name__}}, [], []
    for name, value in changed_options(model).items():
        if isinstance(value, np.random.RandomState):
            continue
        arguments.append(f"{name}={_in_code(name, value)}")
        if _is_large(value):
            blanks.append(f"{name} = ...  # too large to print: put what the fit was given")
            continue
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, (*PLAIN, np.ndarray)):
                home = type(part).__module__
                imports.setdefault("saltus" if home.startswith("saltus.") else home, set()).add(type(part).__name__)
    lines = ["import pandas as pd"]
    if any("np.array(" in argument for argument in arguments):
        lines.insert(0, "import numpy as np")
    lines += [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(imports.items())]
    notes = model.data_notes_
    data = "X, y" if notes.total_weight == notes.n_rows else "X, y, sample_weight"
    fit = f"model = {type(model).__name__}({', '.join(arguments)}).fit({data})"
    return "\n".join([*lines, "", *reading_code(model), "", *blanks, fit])


def recipe_caveats(model: NetworkRegressor) -> list[str]:
    """Say what may keep that code from giving the same model to the last bit."""
    caveats = []
    if model.random_state is None:
        caveats.append("No random_state was given: another fit draws other random numbers.")
    elif not isinstance(_plain(model.random_state), int):
        caveats.append("random_state was a generator, whose state before the fit is not known: another fit differs.")
    if model._ended_early:
        caveats.append("The fit was ended early; this code does not end it at the same point.")
    if getattr(model, "max_time", None) is not None:
        caveats.append("max_time was set: how far a search gets in that time depends on the machine.")
    large = [name for name, value in changed_options(model).items() if _is_large(value)]
    if large:
        caveats.append(f"What was given as {' and '.join(large)} is too large to print: set it in the code.")
    return caveats or ["The same versions on the same kind of processor give the same model, to the last bit."]


def _parameters(model: NetworkRegressor) -> dict[str, Parameter]:
    return dict(signature(type(model)).parameters)


def _plain(value: Any) -> Any:
    """Turn NumPy's scalars, lists and frames into what the code is written with."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple) and any(isinstance(part, str) or is_dataclass(part) for part in value):
        return list(value)  # of families
    return np.asarray(value) if hasattr(value, "__len__") and not isinstance(value, str) else value


def _is_large(value: Any) -> bool:
    return value.size > LARGEST_ARRAY if isinstance(value, np.ndarray) else len(repr(value)) > LONGEST_TEXT


def _in_short(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"array of shape {value.shape}"
    return shorten(repr(value), LONGEST_CELL, placeholder=" ...") if _is_large(value) else repr(value)


def _in_code(name: str, value: Any) -> str:
    if _is_large(value):
        return name
    return f"np.array({value.tolist()!r})" if isinstance(value, np.ndarray) else repr(value)
