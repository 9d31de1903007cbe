"""A model that a search found: one network, or an average of the best. What it answers when it is asked."""

from abc import abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.engine.results.chains import AnnealResult
from saltus.engine.results.network import Network
from saltus.engine.search.paths import SizePath
from saltus.estimators.base import NetworkRegressor
from saltus.estimators.checks import check_data
from saltus.estimators.fitted import Paths
from saltus.estimators.many_rows import Reading, in_memory, is_chunked
from saltus.estimators.sizes import Size, model_with_terms, sizes_of
from saltus.families.words import InputUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from saltus.inspection.curves import Curve
    from saltus.inspection.summary import Summary
    from saltus.onnx.graph import Graph


class SearchedModel(NetworkRegressor):
    """A regressor whose networks were found by a search, with all methods of the interface of models."""

    networks_: tuple[Network, ...]
    weights_: Floats
    result_: AnnealResult
    _path: SizePath | None  # the best network with fewer and fewer terms
    _n_total: float  # the sum of the weights

    @abstractmethod
    def _keep_result(self, result: AnnealResult, networks: tuple[Network, ...], weights: Floats) -> None:
        """Keep a result, and the networks that predict, as fitted attributes."""

    _gives_intervals: ClassVar[bool] = False
    _onnx_outputs: ClassVar[dict[str, str]] = {"y": "The prediction"}

    def _read(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Reading:
        if is_chunked(X):
            from saltus.estimators.chunked import from_chunks

            return from_chunks(self, X, y, sample_weight)
        return in_memory(self, check_data(self, X, y, sample_weight))

    @property
    def path_(self) -> tuple[Size, ...]:
        """What each number of terms costs, from that of the best network down to none.

        Terms go out one by one, the cheapest to lose first. See :meth:`with_terms`.
        """
        check_is_fitted(self)
        return () if self._path is None else sizes_of(self._path, self._n_total)

    def with_terms(self, n_terms: int) -> Self:
        """Make a smaller model: the best network with all but so many of its terms taken out.

        Parameters
        ----------
        n_terms : int
            The number of terms, from 0 to that of the best network.

        Returns
        -------
        model : regressor
            A fitted model of its own, which predicts with that network alone.
        """
        check_is_fitted(self)
        return model_with_terms(self, n_terms)

    @property
    def _single_network(self) -> Network:
        """The best."""
        return self.result_.chains[self.result_.best_chain].best.network

    @property
    def _input_use(self) -> InputUse:
        network = self._single_network
        return network.mixture.inspection.use(network.box, network.terms)

    @property
    def _largest_network(self) -> int:
        """That of the best, which the model is described by."""
        return self._single_network.n_terms

    @property
    def _paths(self) -> Paths:
        chains = self.result_.chains
        traces, moves = tuple(chain.trace for chain in chains), tuple(chain.moves for chain in chains)
        return Paths(traces, moves, best=self.result_.best_chain, unit="iteration")

    @property
    def _ended_early(self) -> bool:
        return self.result_.ended_early != ""

    def _predict_mean(self, inputs: Floats) -> Floats:
        networks = zip(self.weights_, self.networks_, strict=True)
        return np.sum([weight * network.predict(inputs) for weight, network in networks], axis=0)

    def _predict_band(self, inputs: Floats, coverage: float = 0.9, *, of: str = "y") -> tuple[Floats, Floats, Floats]:
        if of != "y":
            raise ValueError(
                f"{type(self).__name__} gives no intervals of the function: it knows the noise alone. Got of={of!r}. "
                f"Fit a BayesianRegressor for these."
            )
        mean = self._predict_mean(inputs)
        reach = float(ndtri(0.5 + 0.5 * coverage)) * np.sqrt(np.atleast_1d(self.noise_variance_))
        return mean, mean - reach, mean + reach

    def _weighted_networks(self) -> "Iterator[tuple[float, Network]]":
        yield from zip(self.weights_.tolist(), self.networks_, strict=True)

    def _average(self, grid: Floats, rows: Floats, output: int, coverage: float) -> "Curve":
        from saltus.inspection.curves import average_networks

        return average_networks(self, grid, rows, output)

    def _other_places(self) -> Floats | None:
        return None

    def _summarize(self) -> "Summary":
        from saltus.inspection.summary import summarize_search

        return summarize_search(self)

    def _which_network(self) -> str:
        from saltus.inspection.formula import describe_best

        return describe_best(self.weights_)

    def _how_it_predicts(self) -> str:
        sizes = [network.n_terms for network in self.networks_]
        if len(sizes) == 1:
            return f"a network with {sizes[0]} terms"
        return f"the weighted average of {len(sizes)} networks with {min(sizes)} to {max(sizes)} terms"

    def _draw_size(self, ax: "Axes") -> "Axes":
        from saltus.plots.size import draw_criterion

        return draw_criterion(ax, self)

    def _add_to_graph(self, graph: "Graph", X: str) -> tuple[str, ...]:
        from saltus.onnx.graph import add_average

        return (add_average(graph, X, self.networks_, self.weights_),)
