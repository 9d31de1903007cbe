"""Fitted models as ONNX models and files, alone or in a scikit-learn pipeline. Needs the extra `onnx`."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from saltus.estimators.base import NetworkRegressor
from saltus.storage.atomic import replacing

if TYPE_CHECKING:
    from onnx import ModelProto

# The largest message that Protocol Buffers can write.
LARGEST_MODEL = 2**31 - 1


def make_onnx(model: NetworkRegressor, dtype: DTypeLike = np.float64) -> "ModelProto":
    """Write a fitted model as an ONNX model; see :meth:`AnnealedRegressor.to_onnx`."""
    check_is_fitted(model)
    return _part("model").make_model(model, _check_dtype(dtype))


def export_onnx(
    model: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    dtype: DTypeLike = np.float64,
    overwrite: bool = False,
) -> None:
    """Write a fitted model to an ONNX file, whole or not at all.

    Parameters
    ----------
    model : AnnealedRegressor, BayesianRegressor or estimator that contains one
        A pipeline or another estimator of scikit-learn is converted by skl2onnx, which must be installed. Its outputs
        have the shape (n_samples, n_outputs).
    path : str or path
    dtype : {np.float64, np.float32}, default=np.float64
        The type of inputs and outputs; see :meth:`AnnealedRegressor.to_onnx`.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.
    """
    if not overwrite and os.path.lexists(path):
        raise FileExistsError(f"{os.fspath(path)} exists. Choose another name, or replace it with overwrite=True.")
    if isinstance(model, NetworkRegressor):
        exported = make_onnx(model, dtype)
    else:
        check_is_fitted(model)
        exported = _part("pipeline").convert(model, _check_dtype(dtype))
    size = exported.ByteSize()
    if size > LARGEST_MODEL:
        raise ValueError(
            f"The ONNX model has {size} bytes, and the format allows {LARGEST_MODEL}. Fit with fewer draws: they take "
            f"almost all of it."
        )
    with replacing(path) as file:
        file.write(exported.SerializeToString())


def register_with_skl2onnx() -> None:
    """Teach skl2onnx the regressors, so that ``skl2onnx.to_onnx`` converts pipelines that contain them.

    Outputs have the shape (n_samples, n_outputs), as those of its other regressors. For a BayesianRegressor the option
    ``return_std`` adds the standard deviation. :func:`export_onnx` registers by itself.
    """
    _part("pipeline").register()


def _part(name: str) -> Any:
    """Import a module that needs an optional package."""
    try:
        return import_module(f"saltus.onnx.{name}")
    except ModuleNotFoundError as error:
        if error.name == "skl2onnx":
            raise ImportError("Export of a pipeline needs skl2onnx. Install it with: pip install skl2onnx.") from error
        if error.name == "onnx":
            raise ImportError("Export to ONNX needs onnx. Install it with: pip install 'saltus[onnx]'.") from error
        raise


def _check_dtype(dtype: DTypeLike) -> "np.dtype[Any]":
    if np.dtype(dtype) not in (np.float64, np.float32):
        raise ValueError(f"dtype must be np.float64 or np.float32. Got {dtype!r}.")
    return np.dtype(dtype)
