"""What summaries, pictures, reports and exports ask of a fitted model: one method for each way in which models differ.

Each estimator answers in its own way, so that nobody has to ask of which class a model is.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from saltus._typing import Floats
from saltus.engine.results.chains import MoveCount, Trace
from saltus.engine.results.network import Network
from saltus.families.words import InputUse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from saltus.inspection.curves import Curve
    from saltus.inspection.summary import Summary
    from saltus.onnx.graph import Graph


@dataclass(frozen=True)
class Paths:
    """The paths of all chains, as pictures show them."""

    traces: tuple[Trace, ...]
    moves: tuple[dict[str, MoveCount], ...]
    best: int | None  # the chain that found the model; None where all chains count alike
    unit: str  # what a trace goes along: iterations or draws


class FittedModel(ABC):
    """The interface: more than twelve methods, one for each way in which models differ.

    Inputs are checked; outputs have an axis of their own, even where there is one of them.
    """

    # Whether it knows where a new y will be. Otherwise its intervals are those of the noise alone.
    _gives_intervals: ClassVar[bool]

    # What the ONNX model gives: names, and what they mean.
    _onnx_outputs: ClassVar[dict[str, str]]

    @property
    @abstractmethod
    def _single_network(self) -> Network:
        """The one network that describes the model."""

    @property
    @abstractmethod
    def _input_use(self) -> InputUse:
        """How the terms use each input."""

    @property
    @abstractmethod
    def _largest_network(self) -> int:
        """The most terms that a network of the model has."""

    @property
    @abstractmethod
    def _paths(self) -> Paths:
        """How the chains went."""

    @property
    @abstractmethod
    def _ended_early(self) -> bool:
        """Whether Ctrl-C or a callback ended the fit before its time."""

    @abstractmethod
    def _predict_mean(self, inputs: Floats) -> Floats:
        """Predict the mean (N, c) of y at inputs (N, d)."""

    @abstractmethod
    def _predict_band(self, inputs: Floats, coverage: float = 0.9, *, of: str = "y") -> tuple[Floats, Floats, Floats]:
        """Predict y at inputs (N, d): its mean, and the ends of an interval of y or of the function; each (N, c)."""

    @abstractmethod
    def _weighted_networks(self) -> "Iterator[tuple[float, Network]]":
        """Go through the networks that predict, each with its weight; together they are the mean of y."""

    @abstractmethod
    def _average(self, grid: Floats, rows: Floats, output: int, coverage: float) -> "Curve":
        """Average one output over groups of rows (n * N, d), one group for each point of the grid (n,)."""

    @abstractmethod
    def _other_places(self) -> Floats | None:
        """List the places (K, d) of the terms of other networks that predict as well, where there are any."""

    @abstractmethod
    def _summarize(self) -> "Summary":
        """Say what was chosen and how sure that is."""

    @abstractmethod
    def _which_network(self) -> str:
        """Say what the single network has to do with predictions, in sentences."""

    @abstractmethod
    def _how_it_predicts(self) -> str:
        """Say what predictions are made of, as a noun."""

    @abstractmethod
    def _draw_size(self, ax: "Axes") -> "Axes":
        """Draw how many terms there are, and how sure that is."""

    @abstractmethod
    def _add_to_graph(self, graph: "Graph", X: str) -> tuple[str, ...]:
        """Add the nodes that predict to an ONNX graph; return the values (N, c) in the order of `_onnx_outputs`."""
