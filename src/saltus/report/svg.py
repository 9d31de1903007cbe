"""Figures as inline SVG: text stays text, colours follow the page, ids are unique, and there is a text alternative."""

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from saltus.plots.style import BLUE, GREEN, ORANGE, PINK, SKY, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE_SIZE = (4.5, 3.2)  # inches: as wide as a phone, so that letters are there as large as on paper
INK, GRID = "#101418", "#b0b4b8"
# The page says what these are, for light and for dark.
VARIABLES = {
    INK: "--ink",
    GRID: "--grid",
    BLUE: "--blue",
    ORANGE: "--orange",
    GREEN: "--green",
    PINK: "--pink",
    SKY: "--sky",
}
THEME: dict[str, Any] = {
    "svg.fonttype": "none",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": GRID,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}

_REFERENCE = re.compile(r"^#([\w.-]+)$|url\(#([\w.-]+)\)")
_COLOR = re.compile("|".join(VARIABLES), re.IGNORECASE)


def draw_svg(name: str, draw: "Callable[[Axes], str]", *, title: str) -> str:
    """Draw a picture in the colours of the page. `draw` says what it shows, `name` makes its ids unique there."""
    style, figures = require_matplotlib("style"), require_matplotlib("figure")
    with style.context(["default", THEME | {"svg.hashsalt": name}]), warnings.catch_warnings():
        # Letters that matplotlib has no font for are drawn by the browser, which has.
        warnings.filterwarnings("ignore", message=r"Glyph .* missing from font")
        figure = figures.Figure(figsize=FIGURE_SIZE, layout="constrained")
        description = draw(figure.subplots())
        written = io.BytesIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    return inline_svg(written.getvalue(), name, title=title, description=description)


def inline_svg(svg: bytes, name: str, *, title: str, description: str) -> str:
    """Turn an SVG file into an element of a page."""
    root = ElementTree.fromstring(svg)
    values = [value for element in root.iter() for value in element.attrib.values()]
    referenced = {found.group(1) or found.group(2) for value in values for found in _REFERENCE.finditer(value)}
    for element in root.iter():
        element.tag = _without_namespace(element.tag)
        element.attrib = {
            _without_namespace(key): _adapt(_without_namespace(key), value, name)
            for key, value in element.attrib.items()
            if key != "id" or value in referenced
        }
    _remove(root, "metadata")
    _remove(root, "style")  # of all elements of the page: it has its own
    for size in ("width", "height"):
        del root.attrib[size]
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title", "aria-describedby": f"{name}-description"}
    for position, (tag, kind, text) in enumerate((("title", "title", title), ("desc", "description", description))):
        child = ElementTree.Element(tag, {"id": f"{name}-{kind}"})
        child.text = text
        root.insert(position, child)
    return ElementTree.tostring(root, encoding="unicode")


def _adapt(key: str, value: str, name: str) -> str:
    """Make ids unique, and colours those of the page."""
    if key == "id":
        return f"{name}-{value}"
    value = _REFERENCE.sub(lambda found: found.group().replace("#", f"#{name}-"), value)
    if key == "style":
        return _COLOR.sub(lambda color: f"var({VARIABLES[color.group().lower()]})", value)
    return value


def _without_namespace(tag: str) -> str:
    return tag.rpartition("}")[2]


def _remove(root: ElementTree.Element, tag: str) -> None:
    for parent in root.iter():
        for child in parent.findall(tag):
            parent.remove(child)
