"""The guide says what its code prints, and what it says is so."""

import contextlib
import io
import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[3] / "docs" / "your_own_family.md").read_text("utf-8")


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Run the blocks of the guide; return what is there afterwards, and what was printed."""
    namespace, printed = {}, io.StringIO()
    folder = tmp_path_factory.mktemp("guide")
    with contextlib.chdir(folder), contextlib.redirect_stdout(printed):
        for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
            exec(compile(block, "your_own_family.md", "exec"), namespace)
    return namespace, printed.getvalue()


def without_digits(text):
    """Leave numbers out: the last digits of a fit are those of one kind of processor."""
    return re.sub(r"\d+(\.\d+)?", "#", text)


def test_the_guide_shows_what_its_code_prints(ran):
    shown = re.findall(r"^```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(shown) == 2
    for text in shown:
        assert without_digits(text) in without_digits(ran[1])


def test_a_family_takes_thirty_lines():
    first = re.search(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert len(first.splitlines()) <= 30


def test_a_family_of_one_s_own_pays(ran):
    """It needs fewer terms than the library's families, and has written what was put in."""
    sizes = [int(n) for n in re.findall(r"(\d+) terms, R2", ran[1])]
    scores = [float(score) for score in re.findall(r"R2 = (0\.\d+)", ran[1])]
    assert len(sizes) == 4
    assert sizes[0] < min(sizes[1:])
    assert scores[0] >= max(scores[1:])


def test_the_terms_of_the_guide_are_those_that_were_found(ran):
    namespace, _ = ran
    family, X, y = namespace["Saturation"](), namespace["X"], namespace["y"]
    model = namespace["AnnealedRegressor"](family, criterion="bic", random_state=0).fit(X, y)
    network = model._single_network
    (table, *_) = network.mixture.inspection.numbers(network.box, network.terms).tables(
        ["dose", "other_dose", "age"], ["y"], network.term_coef, ".3g"
    )
    text, coefficient = re.search(r"`(dose\^\S+ / \(.*?\))` with the coefficient (\S+)\.", PAGE).groups()
    found = [row for row in table.rows if row[1].startswith("dose^")]
    assert len(found) == 1
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*", found[0][1])]
    assert numbers == pytest.approx([float(number) for number in re.findall(r"\d+\.?\d*", text)], rel=0.05)
    assert found[0][2] == pytest.approx(float(coefficient), rel=0.05)
