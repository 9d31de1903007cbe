"""Figures as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from saltus.plots import require_matplotlib
from saltus.storage.atomic import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def check_picture(path: Path) -> None:
    """Raise if matplotlib is missing, or cannot draw into a file of such a name."""
    known = require_matplotlib("backend_bases").FigureCanvasBase.get_supported_filetypes()
    if _format(path) not in known:
        raise ValueError(f"The name {path} does not end like that of a picture: {', '.join(sorted(known))}.")


def save_picture(figure: "Figure", path: Path) -> None:
    """Draw into a file, whole or not at all."""
    with replacing(path) as file:
        figure.savefig(file, format=_format(path), dpi=120)


def _format(path: Path) -> str:
    return path.suffix.lower().removeprefix(".")
