"""Dark variants of the pictures in docs/images: ``python docs/dark.py`` writes one beside each that is drawn on white.

Light and dark change places, and every hue stays as it is.
"""

from pathlib import Path

import numpy as np
from PIL import Image

FOLDER = Path(__file__).with_name("images")
ENDING = "_dark"

# What white and black become.
BACKGROUND, INK = np.array([19.0, 20.0, 22.0]), np.array([230.0, 230.0, 230.0])
N_COLORS = 128


def light_pictures() -> list[Path]:
    """List the pictures that are drawn on white."""
    return sorted(path for path in FOLDER.glob("*.png") if not path.stem.endswith(ENDING))


def dark_name(path: Path) -> Path:
    """Name the dark variant of a picture."""
    return path.with_stem(path.stem + ENDING)


def darken(path: Path) -> Image.Image:
    """Draw a picture in the dark: a colour of lightness L, from 0 to 1, becomes the same hue with lightness 1 - L."""
    with Image.open(path) as picture:
        colors = np.asarray(picture.convert("RGB"), dtype=np.float64) / 255.0
    inverted = colors + 1.0 - colors.max(axis=2, keepdims=True) - colors.min(axis=2, keepdims=True)
    shown = np.rint(BACKGROUND + inverted * (INK - BACKGROUND)).astype(np.uint8)
    return Image.fromarray(shown).quantize(N_COLORS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    for path in light_pictures():
        darken(path).save(dark_name(path), optimize=True)
