"""Draws from the prior of a BayesianRegressor, for those who want to see what it expects before it has seen a y."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from saltus._blas import single_threaded_blas
from saltus._typing import Floats
from saltus.engine.drivers.outputs import SamplerSettings
from saltus.engine.drivers.prior import draw_from_prior
from saltus.engine.problem.design import Design
from saltus.engine.problem.scaling import OutputScale
from saltus.engine.results.network import Network
from saltus.estimators.checks import check_data, check_inputs

if TYPE_CHECKING:
    from saltus.estimators.sampled import SampledModel


@dataclass(frozen=True)
class PriorDraw:
    """One draw from the prior of a :class:`saltus.BayesianRegressor`: see its method `sample_prior`.

    Attributes
    ----------
    network : Network
        The terms and all coefficients: `network.n_terms`, `network.terms`, `network.term_coef`.
    noise_variance : float or ndarray of shape (n_outputs,)
        The variance of the noise.
    prior_width : float or ndarray of shape (n_outputs,)
        The width of the prior of the coefficients: g of a g-prior, delta^2 of a ridge.
    rate : float
        L, the mean of k in the Poisson prior before that is cut at k_max; 0 under a g-prior.
    """

    network: Network
    noise_variance: Any
    prior_width: Any
    rate: float
    _model: "SampledModel"  # knows the names of the inputs

    @property
    def n_terms(self) -> int:
        """The number of terms."""
        return self.network.n_terms

    def predict(self, X: ArrayLike) -> Floats:
        """Evaluate the function, which is the mean of y, at any inputs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._model._squeeze(self.network.predict(check_inputs(self._model, X)))


def draw_prior(
    model: "SampledModel",
    rng: np.random.Generator,
    X: ArrayLike,
    *,
    n_draws: int,
    n_outputs: int,
    noise_variance: float | ArrayLike | None,
) -> list[PriorDraw]:
    """Draw from the prior of a model, which stays as it is, at inputs X."""
    _check_count("n_draws", n_draws)
    _check_count("n_outputs", n_outputs)
    asked = clone(model).set_params(init="empty")  # no search for a start
    asked._validate_params()
    design = design_at(asked, X, n_outputs)
    settings = asked._prior_settings(design)
    _check_rate(settings)
    variance = resolve_variance(noise_variance, settings, n_outputs)
    with single_threaded_blas():
        found = [draw_from_prior(rng, design, settings, variance) for _ in range(n_draws)]
    return [
        PriorDraw(network, asked._squeeze_outputs(noise), asked._squeeze_outputs(width), rate, asked)
        for network, noise, width, rate in found
    ]


def design_at(asked: "SampledModel", X: ArrayLike, n_outputs: int) -> Design:
    """Prepare inputs as `fit` would, for rows that all have another y. Notes their names on the model that is asked."""
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
    data = check_data(asked, X, np.arange(n_rows, dtype=np.float64), None)
    asked._single_output = n_outputs == 1
    data = replace(data, Y=np.tile(data.Y, n_outputs), single_output=n_outputs == 1)
    design = asked._make_design(data)
    # There is no y whose mean and spread could be put back.
    return replace(design, outputs=OutputScale(np.zeros(n_outputs), np.ones(n_outputs)))


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ValueError(f"{name} must be a whole number, 1 or more. Got {value!r}.")


def _check_rate(settings: SamplerSettings) -> None:
    if not settings.has_g_prior and settings.prior.e2 == 0:
        raise ValueError("With rate_rate=0 the prior of the number of terms is improper. Give a positive rate_rate.")


def resolve_variance(
    noise_variance: float | ArrayLike | None, settings: SamplerSettings, n_outputs: int
) -> Floats | None:
    """Find the variances (n_outputs,) that were asked for; if none, 1, or None where their prior is proper."""
    prior = settings.prior
    if noise_variance is None:
        return None if prior.v0 > 0 and prior.g0 > 0 else np.ones(n_outputs)
    variance = np.asarray(noise_variance, dtype=np.float64)
    if variance.shape not in ((), (n_outputs,)) or not ((variance > 0) & np.isfinite(variance)).all():
        raise ValueError(
            f"noise_variance must be a positive number, or one for each of n_outputs={n_outputs} outputs. "
            f"Got {noise_variance!r}."
        )
    return np.broadcast_to(variance, n_outputs).copy()
