"""Regression networks that choose their own size.

The public names are loaded on first use, so that ``import saltus`` and the command line stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.bases import Radial
    from saltus.container import FileError
    from saltus.engine.events import Progress
    from saltus.files import load
    from saltus.onnx_export import export_onnx
    from saltus.regressors import AnnealedRegressor, BayesianRegressor, DependentFeaturesWarning, EarlyEndWarning
    from saltus.schedules import Constant, Geometric, Linear, Logarithmic

__version__ = "0.1.0.dev0"

__all__ = [
    "AnnealedRegressor",
    "BayesianRegressor",
    "Constant",
    "DependentFeaturesWarning",
    "EarlyEndWarning",
    "FileError",
    "Geometric",
    "Linear",
    "Logarithmic",
    "Progress",
    "Radial",
    "__version__",
    "export_onnx",
    "load",
]

_HOME = {
    "AnnealedRegressor": "saltus.regressors",
    "BayesianRegressor": "saltus.regressors",
    "DependentFeaturesWarning": "saltus.regressors",
    "EarlyEndWarning": "saltus.regressors",
    "FileError": "saltus.container",
    "load": "saltus.files",
    "export_onnx": "saltus.onnx_export",
    "Progress": "saltus.engine.events",
    "Radial": "saltus.bases",
    "Constant": "saltus.schedules",
    "Geometric": "saltus.schedules",
    "Linear": "saltus.schedules",
    "Logarithmic": "saltus.schedules",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'saltus' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
