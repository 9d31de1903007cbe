"""Models from files."""

from pathlib import Path

import saltus
from saltus.estimators import Regressor

ZIP = b"PK\x03\x04"


def load_model(path: Path) -> Regressor:
    """Load a model; of a file that is none, such as a table, say what was to be given."""
    if path.is_file():
        with path.open("rb") as file:
            if file.read(len(ZIP)) != ZIP:
                raise ValueError(
                    f"{path} is no model file, such as `saltus fit` writes. Where a table is given, too, the model "
                    f"comes first."
                )
    return saltus.load(path)
