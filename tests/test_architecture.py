"""What docs/architecture.md says of the code, checked."""

import ast
import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "saltus"
FILES = sorted(SOURCE.rglob("*.py"))
MOST_LINES, MOST_METHODS = 400, 12

# Words that only a family of radial terms has a use for.
RADIAL_WORDS = re.compile(r"relevance|sharpness|to_metric|own_widths|learns_metric|centers_unit", re.IGNORECASE)
ABOVE = ("engine", "storage", "onnx", "inspection", "plots", "report")


def test_every_file_is_met_once_on_the_walk():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    walk = page.partition("## The walk of a row")[2].partition("## Where would it go?")[0]
    met = Counter(re.findall(r"`([\w/]+\.py)`", walk))
    there = {path.relative_to(SOURCE).as_posix() for path in FILES}
    assert there - met.keys() == set()
    assert met.keys() - there == set()
    assert {name: n for name, n in met.items() if n > 1} == {}


def test_nothing_outside_families_knows_what_is_radial():
    knowing = [
        f"{path.relative_to(SOURCE)}:{number}"
        for path in FILES
        if path.relative_to(SOURCE).parts[0] in ABOVE
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if RADIAL_WORDS.search(line)
    ]
    assert knowing == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_files_are_short_or_say_why_not(path):
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) <= MOST_LINES or "lines" in lines[0]


def test_classes_are_small_or_say_why_not():
    large = {}
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                n_methods = sum(isinstance(each, ast.FunctionDef) for each in node.body)
                if n_methods > MOST_METHODS and "methods" not in (ast.get_docstring(node) or "").partition("\n")[0]:
                    large[node.name] = n_methods
    assert large == {}


def test_layers_point_down():
    """A module imports nothing, when it is imported itself, from a room above its own."""
    order = [
        ("families",),
        ("reading",),
        ("engine/kernels", "engine/problem"),
        ("engine/search", "engine/results"),
        ("engine/rows",),
        ("engine/drivers",),
        ("estimators",),
        ("inspection", "storage", "onnx"),
        ("plots",),
        ("report",),
        ("cli", "demo"),
    ]
    level = {room: number for number, rooms in enumerate(order) for room in rooms}

    def level_of(module):
        parts = module.split(".")[1:]
        return level.get("/".join(parts[:2]), level.get(parts[0], -1)) if parts else -1

    upward = []
    for path in FILES:
        own = level_of("saltus." + ".".join(path.relative_to(SOURCE).with_suffix("").parts))
        if own < 0:
            continue
        for node in ast.parse(
            path.read_text("utf-8")
        ).body:  # what is imported inside functions is imported when called
            if (
                isinstance(node, ast.ImportFrom)
                and (node.module or "").startswith("saltus.")
                and own < level_of(node.module)
            ):
                upward.append(f"{path.relative_to(SOURCE)} imports {node.module}")
    assert upward == []
