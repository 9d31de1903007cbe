"""Model files: parameters and fitted attributes, in the zip of `saltus.storage.container`."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from saltus._paths import check_path
from saltus.estimators.base import NetworkRegressor
from saltus.families import UserFamily
from saltus.storage.atomic import replacing
from saltus.storage.container import FileError, pack, read, unpack
from saltus.storage.encoding import Decoder, Encoder
from saltus.storage.schema import REGRESSORS, check_sizes, check_types, fitted_names

FORMAT = "saltus model"

# What scikit-learn's `set_callbacks` leaves on a model is not part of what was fitted.
CALLBACKS = "_skl_callbacks"


def save(model: NetworkRegressor, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file; see :meth:`saltus.AnnealedRegressor.save`."""
    check_is_fitted(model)
    model._validate_params()
    encoder = Encoder()
    content = _pack(model, encoder)
    try:
        unpack(FORMAT, io.BytesIO(content), _build, encoder.families)  # what cannot be read is not written
    except FileError as error:
        raise FileError(f"The model cannot be saved: its file {error}") from error
    with replacing(path) as file:
        file.write(content)


def load(path: str | os.PathLike[str], *, families: Sequence[UserFamily] = ()) -> Any:
    """Read a model that :meth:`saltus.AnnealedRegressor.save` wrote.

    Nothing in a file is executed: a model is made of numbers, names and classes of this library.

    Parameters
    ----------
    path : str or path-like
    families : sequence of UserFamily, default=()
        The families of your own that the model has, with the options that they had, as a file holds no code. Families
        that the model does not have may be among them.

    Returns
    -------
    model : AnnealedRegressor or BayesianRegressor
        It predicts what the saved model predicted, to the last bit.

    Raises
    ------
    FileError
        If the file is damaged, is no model file, is larger than 1 GiB, or was written in a newer format; or if it has
        terms of a family of your own that was not given.
    """
    path = check_path(path, "path")
    strange = [each for each in families if not isinstance(each, UserFamily)]
    if strange:
        raise TypeError(f"families must be families of your own, such as [MyFamily()]. Got {strange[0]!r}.")
    return read(FORMAT, path, _build, families)


def _pack(model: NetworkRegressor, encoder: Encoder | None = None) -> bytes:
    """Write a model as the bytes of a file; an encoder that is given has afterwards seen all of it."""
    encoder = Encoder() if encoder is None else encoder
    estimator = type(model)
    if estimator not in REGRESSORS.values():
        raise FileError(f"Only {' and '.join(REGRESSORS)} can be saved, got {estimator.__name__}. Pickle it instead.")
    parameters = model.get_params(deep=False)
    left_out = {*parameters, CALLBACKS}
    attributes = _detach_draws({name: value for name, value in vars(model).items() if name not in left_out})
    unknown = sorted(attributes.keys() - fitted_names(estimator))
    if unknown:
        raise FileError(f"No model file has room for {', '.join(unknown)}. Delete it, or pickle the model.")
    values = {
        "regressor": estimator.__name__,
        "parameters": _encode_all(encoder, parameters),
        "attributes": _encode_all(encoder, attributes),
    }
    return pack(FORMAT, values, encoder)


def _encode_all(encoder: Encoder, values: Mapping[str, Any]) -> dict[str, Any]:
    encoded = {}
    for name, value in sorted(values.items()):  # in the order of their names, not that of earlier fits
        try:
            encoded[name] = encoder.encode(value)
        except TypeError as error:
            raise FileError(f"{name} holds {error}, which no model file can. Change it, or pickle the model.") from None
    return encoded


def _build(decoder: Decoder, document: Mapping[str, Any]) -> NetworkRegressor:
    """Make a model of its parameters and fitted attributes, all checked."""
    estimator = REGRESSORS[document["regressor"]]
    model: NetworkRegressor = estimator(**decoder.decode_all(document["parameters"]))
    model._validate_params()
    attributes = decoder.decode_all(document["attributes"])
    check_types(estimator, attributes)
    model.__dict__.update(_attach_draws(attributes))
    check_sizes(model, decoder.shared_sizes)
    return model


def _detach_draws(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the draws that predict: they are views of those of the chains."""
    if "_predictive" not in attributes:
        return dict(attributes)
    return {**attributes, "_predictive": replace(attributes["_predictive"], draws=())}


def _attach_draws(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Put back what `_detach_draws` left out."""
    if "_predictive" not in attributes:
        return dict(attributes)
    draws = tuple(draw for chain in attributes["chains_"] for draw in chain.draws)
    return {**attributes, "_predictive": replace(attributes["_predictive"], draws=draws)}
