"""A model that is an average over draws of a posterior. What it answers when it is asked."""

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.engine.drivers.outputs import PosteriorChain, SamplerSettings
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import Trace
from saltus.engine.results.network import Network
from saltus.engine.results.predictive import Predictive
from saltus.estimators.arguments import check_count
from saltus.estimators.base import NetworkRegressor
from saltus.estimators.fitted import Paths
from saltus.estimators.prior import PriorDraw, draw_prior
from saltus.families.terms import join_terms
from saltus.families.words import InputUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    import xarray
    from matplotlib.axes import Axes

    from saltus.inspection.curves import Curve
    from saltus.inspection.summary import Summary
    from saltus.onnx.graph import Graph


class SampledModel(NetworkRegressor):
    """A regressor that averages over draws, with all methods of the interface of models."""

    n_iter: int | str
    n_iter_: int
    n_draws: int
    n_chains_: int
    max_time: float | None
    chains_: tuple[PosteriorChain, ...]
    effective_parameters_: Any
    map_estimate_: Network
    _predictive: Predictive

    _gives_intervals: ClassVar[bool] = True
    _onnx_outputs: ClassVar[dict[str, str]] = {
        "mean": "The mean of a new y",
        "std": "Its standard deviation, noise included",
    }

    def to_datatree(
        self,
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        posterior_predictive: bool = False,
        random_state: int | np.random.RandomState | None = 0,
    ) -> "xarray.DataTree":
        """Export the draws in the layout that ArviZ reads.

        Parameters
        ----------
        X, y : array-like, optional
            The rows that the model was fitted to; a model does not keep them. With these rows the result has log
            likelihoods, so that ArviZ can compare models by leaving rows out.
        posterior_predictive : bool, default=False
            Whether a new y is drawn for each row of X under each draw.
        random_state : int, RandomState instance or None, default=0
            Seed of the coefficients, which are drawn given the terms and the noise of each draw.

        Returns
        -------
        tree : xarray.DataTree
            With the groups `posterior` (k, sigma_squared, g or, under a ridge, delta_squared and rate, and what terms
            share, such as the relevance of a learned metric), `terms` (for each term whether it exists, since draws
            have different numbers of terms, and what its family names, such as centers and widths of radial terms; in
            the user's units, NaN where there is no term) and `sample_stats` (lp); with X and y also `log_likelihood`
            and `observed_data`, and `posterior_predictive` if asked for. Needs the extra `xarray`.
        """
        check_is_fitted(self)
        from saltus.inspection.datatree import describe_draws

        return describe_draws(self, rng_of(random_state), X, y, posterior_predictive=posterior_predictive)

    def sample_prior(
        self,
        X: ArrayLike,
        n_draws: int = 100,
        random_state: int | np.random.RandomState | None = 0,
        *,
        n_outputs: int = 1,
        noise_variance: float | ArrayLike | None = None,
    ) -> list[PriorDraw]:
        """Draw networks and noise from the prior, without any y. The model itself does not change, fitted or not.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            The inputs of the rows that a fit would have: terms are where they are, and enough of them see each term.
        n_draws : int, default=100
        random_state : int, RandomState instance or None, default=0
        n_outputs : int, default=1
            The number of outputs that y would have.
        noise_variance : float or array-like of shape (n_outputs,), default=None
            The variance of the noise. None: it is drawn from its prior where `noise_shape` and `noise_scale` are both
            positive, in units of the variance of y; otherwise that prior is improper, and the variance is 1.

        Returns
        -------
        draws : list of PriorDraw
            Each has `n_terms`, `predict(X)`, `noise_variance` and `network`. The mean of y is taken to be 0. Functions
            are in the unit in which the noise has the variance `noise_variance`: the prior of the coefficients is
            relative to it. If that is 1 by default, functions are in standard deviations of the noise. Under a g-prior,
            the coefficients of the linear term have a flat prior, so functions are drawn without it: over the rows of X
            they have the mean 0 and, with linear="all", no slope.
        """
        n = check_count("n_draws", n_draws)
        return draw_prior(self, rng_of(random_state), X, n_draws=n, n_outputs=n_outputs, noise_variance=noise_variance)

    @abstractmethod
    def _prior_settings(self, design: Design) -> SamplerSettings:
        """Say what the prior is, in settings of a chain of no length."""

    @abstractmethod
    def _has_ridge(self, chooses_inputs: bool) -> bool:
        """Say whether the prior of the coefficients is the hierarchical ridge."""

    @property
    def _single_network(self) -> Network:
        """The one of the draw with the highest density."""
        return self.map_estimate_

    @property
    def _input_use(self) -> InputUse:
        features = self._predictive.features
        draws = [chain.draws for chain in self.chains_]
        n_terms, shared = (np.concatenate([getattr(each, name) for each in draws]) for name in ("n_terms", "shared"))
        terms = join_terms([each.all_terms for each in draws])
        return features.mixture.inspection.use_in_draws(features.box, n_terms, terms, shared)

    @property
    def _largest_network(self) -> int:
        return max(int(chain.draws.n_terms.max()) for chain in self.chains_)

    @property
    def _paths(self) -> Paths:
        draws = [chain.draws for chain in self.chains_]
        traces = tuple(
            Trace(np.arange(len(each)), each.n_terms.astype(np.int32), each.log_posterior, np.ones(len(each)))
            for each in draws
        )
        return Paths(traces, tuple(chain.moves for chain in self.chains_), best=None, unit="draw")

    @property
    def _ended_early(self) -> bool:
        return self.max_time is None and lacks_draws(self)

    def _predict_mean(self, inputs: Floats) -> Floats:
        return np.concatenate([mixture.moments()[0] for _, mixture in self._predictive.mixtures(inputs)])

    def _predict_band(self, inputs: Floats, coverage: float = 0.9, *, of: str = "y") -> tuple[Floats, Floats, Floats]:
        parts = [
            (mixture.moments()[0], *self._predictive.interval(mixture, coverage, of=of))
            for _, mixture in self._predictive.mixtures(inputs)
        ]
        mean, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, low, high

    def _weighted_networks(self) -> "Iterator[tuple[float, Network]]":
        for network in self._predictive.networks():
            yield 1.0 / len(self._predictive.draws), network

    def _average(self, grid: Floats, rows: Floats, output: int, coverage: float) -> "Curve":
        from saltus.inspection.curves import average_posterior

        return average_posterior(self._predictive, grid, rows, output, coverage)

    def _other_places(self) -> Floats | None:
        features = self._predictive.features
        terms = join_terms([chain.draws.all_terms for chain in self.chains_])
        return features.mixture.inspection.places(features.box, terms)

    def _summarize(self) -> "Summary":
        from saltus.inspection.summary import summarize_posterior

        return summarize_posterior(self)

    def _which_network(self) -> str:
        from saltus.inspection.formula import describe_most_probable

        return describe_most_probable(len(self._predictive.draws))

    def _how_it_predicts(self) -> str:
        return f"the average over {len(self._predictive.draws)} draws of the posterior"

    def _draw_size(self, ax: "Axes") -> "Axes":
        from saltus.plots.size import draw_posterior

        return draw_posterior(ax, self)

    def _add_to_graph(self, graph: "Graph", X: str) -> tuple[str, ...]:
        from saltus.onnx.posterior import add_moments

        return add_moments(graph, X, self._predictive)


def lacks_draws(model: SampledModel) -> bool:
    """Say whether the fit ended with fewer draws or chains than were asked for."""
    n_draws = min(model.n_draws, model.n_iter_)
    return len(model.chains_) < model.n_chains_ or len(model.chains_[0].draws) < n_draws


def rng_of(random_state: int | np.random.RandomState | None) -> np.random.Generator:
    """Make a generator of what scikit-learn takes for one."""
    return np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1, size=4))
