"""Regression networks that choose their own size.

The public names are loaded on first use, so that ``import saltus`` and the command line stay light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.engine.drivers.events import Progress
    from saltus.engine.drivers.schedules import Constant, Geometric, Linear, Logarithmic
    from saltus.estimators import (
        AnnealedRegressor,
        BayesianRegressor,
        DependentFeaturesWarning,
        EarlyEndWarning,
        ManyInputsWarning,
        MissingTargetWarning,
        UnreadableValuesWarning,
        UnseenValuesWarning,
        WildValuesWarning,
    )
    from saltus.families import Product, Radial, Ridge, UserFamily
    from saltus.onnx.export import export_onnx
    from saltus.storage.container import FileError
    from saltus.storage.files import load

__version__ = "0.1.0"

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
    "ManyInputsWarning",
    "MissingTargetWarning",
    "Product",
    "Progress",
    "Radial",
    "Ridge",
    "UnreadableValuesWarning",
    "UnseenValuesWarning",
    "UserFamily",
    "WildValuesWarning",
    "__version__",
    "export_onnx",
    "load",
]

_HOME = {
    "AnnealedRegressor": "saltus.estimators",
    "BayesianRegressor": "saltus.estimators",
    "DependentFeaturesWarning": "saltus.estimators",
    "EarlyEndWarning": "saltus.estimators",
    "ManyInputsWarning": "saltus.estimators",
    "MissingTargetWarning": "saltus.estimators",
    "UnreadableValuesWarning": "saltus.estimators",
    "UnseenValuesWarning": "saltus.estimators",
    "WildValuesWarning": "saltus.estimators",
    "FileError": "saltus.storage.container",
    "load": "saltus.storage.files",
    "export_onnx": "saltus.onnx.export",
    "Progress": "saltus.engine.drivers.events",
    "Product": "saltus.families",
    "Radial": "saltus.families",
    "Ridge": "saltus.families",
    "UserFamily": "saltus.families",
    "Constant": "saltus.engine.drivers.schedules",
    "Geometric": "saltus.engine.drivers.schedules",
    "Linear": "saltus.engine.drivers.schedules",
    "Logarithmic": "saltus.engine.drivers.schedules",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'saltus' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
