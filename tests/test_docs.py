"""Every Python block of the README and the docs runs, and what they say of the project is so."""

import ast
import doctest
import re
import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.exceptions import ConvergenceWarning

import saltus.datasets
import saltus.estimators.annealed
import saltus.estimators.bayesian
import saltus.families.product.family
import saltus.families.radial.family
import saltus.families.ridge.family
import saltus.families.user.family
import saltus.plots
import saltus.testing.check

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))

# Pages that say that a warning may come: how far chains come in a given time depends on the machine, and with 100
# inputs they are slow to agree.
SPEAK_OF_WARNINGS = ("long_fits.md", "many_inputs.md")

# What makes an example short, besides few iterations.
SHORT = {"gaussian_process": {"sizes": (40, 60), "seeds": (0,)}}


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    """None of them shows the reader a warning that chains have not converged, if its page does not speak of it."""
    monkeypatch.chdir(tmp_path)
    namespace = {}
    with warnings.catch_warnings():
        if page.name not in SPEAK_OF_WARNINGS:
            warnings.simplefilter("error", ConvergenceWarning)
        for number, block in enumerate(blocks(page)):
            exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_readme_carries_the_lines_to_paste():
    lines = (ROOT / "README.md").read_text("utf-8")
    assert re.search(r"<!-- demo -->\n```bash\npython3 -m venv .*saltus demo\n```", lines)
    assert re.search(r"<!-- test -->\n```bash\npython3 -m venv .*pytest.*\n```", lines)


def test_docstring_examples_run():
    families = (saltus.families.radial.family, saltus.families.product.family, saltus.families.ridge.family)
    own = (saltus.families.user.family, saltus.testing.check)
    for module in (*families, *own, saltus.estimators.annealed, saltus.estimators.bayesian):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_draw_their_picture(example, tmp_path):
    picture = tmp_path / "picture.png"
    runpy.run_path(str(example))["main"](picture, n_iter=2000, **SHORT.get(example.stem, {}))
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_gallery_has_every_example(example):
    gallery = (ROOT / "docs" / "gallery.md").read_text("utf-8")
    assert f"](images/{example.stem}.png)" in gallery
    assert f"{{literalinclude}} ../examples/{example.name}" in gallery


def test_each_picture_has_its_dark_variant():
    dark = runpy.run_path(str(ROOT / "docs" / "dark.py"))
    light = dark["light_pictures"]()
    assert len(light) > 10
    for path in light:
        drawn = np.asarray(dark["darken"](path).convert("RGB"), dtype=float)
        with Image.open(dark["dark_name"](path)) as kept:
            difference = np.abs(np.asarray(kept.convert("RGB"), dtype=float) - drawn)
        assert difference.mean() < 1, f"{path.name} has changed: python docs/dark.py"
        assert np.median(drawn) < 40  # most of it is background
    shown = {name for page in PAGES for name in re.findall(r"images/(\w+)\.png", page.read_text())}
    assert {path.stem for path in light} == {name for name in shown if not name.endswith("_dark")}


def test_the_readme_shows_its_picture_in_the_dark():
    readme = (ROOT / "README.md").read_text()
    light, dark = (
        re.search(r'<img src="(\S+)"', readme)[1],
        re.search(r'\(prefers-color-scheme: dark\)" srcset="(\S+)"', readme)[1],
    )
    assert dark == light.replace(".png", "_dark.png")
    assert (ROOT / dark).exists()


def test_the_reference_has_every_public_name():
    reference = (ROOT / "docs" / "api.rst").read_text("utf-8")
    public = {f"saltus.{name}" for name in saltus.__all__ if name != "__version__"}
    public |= {f"saltus.plots.{name}" for name in saltus.plots.__all__}
    public |= {f"saltus.testing.{name}" for name in saltus.testing.__all__}
    public |= {f"saltus.datasets.{name}" for name in ("make_robot_arm", "robot_arm_position")}
    assert public <= set(re.findall(r"^\.\. auto\w+:: (\S+)$", reference, re.MULTILINE))


def test_every_method_is_in_the_reference():
    reference = (ROOT / "docs" / "api.rst").read_text("utf-8")
    for kind in (saltus.AnnealedRegressor, saltus.BayesianRegressor):
        listed = re.search(rf"autoclass:: saltus\.{kind.__name__}\n   :members: (.*)$", reference, re.MULTILINE)
        ours = {
            name
            for parent in kind.__mro__
            if parent.__module__.startswith("saltus.")
            for name in vars(parent)
            if not name.startswith(("_", "set_")) and callable(getattr(kind, name))
        }
        assert set(listed[1].split(", ")) == ours


def test_promises_are_tested():
    promised = re.findall(r"`(test_\w+)` in `(\S+\.py)`", (ROOT / "docs" / "promises.md").read_text("utf-8"))
    assert len(promised) > 50
    for path in {path for _, path in promised}:
        tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {name for name, other in promised if other == path} <= defined, path
