"""Every Python block of the README and the docs runs, and what they say of the project is so."""

import doctest
import re
import runpy
from pathlib import Path

import pytest

import saltus.bases.radial
import saltus.regressors.annealed
import saltus.regressors.bayesian

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for number, block in enumerate(blocks(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_the_readme_carries_the_lines_to_paste():
    lines = (ROOT / "README.md").read_text()
    assert re.search(r"<!-- demo -->\n```bash\npython3 -m venv .*saltus demo\n```", lines)
    assert re.search(r"<!-- test -->\n```bash\npython3 -m venv .*pytest.*\n```", lines)


def test_docstring_examples_run():
    for module in (saltus.bases.radial, saltus.regressors.annealed, saltus.regressors.bayesian):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_draw_their_picture(example, tmp_path):
    picture = tmp_path / "picture.png"
    runpy.run_path(str(example))["main"](picture, n_iter=2000)
    assert picture.read_bytes().startswith(b"\x89PNG")
