"""Terms of a user's family as nodes of an ONNX graph, where their author says how. Nothing here needs onnx itself.

Shapes below: N rows, n networks of which B are evaluated at once, k terms each, G inputs of a term at most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.profiles import Graph
from saltus.families.terms import TermSet
from saltus.families.user.family import UserFamily
from saltus.families.user.kernels import FIRST, SIZE
from saltus.families.user.layout import Layout
from saltus.families.user.ranges import InputRanges

if TYPE_CHECKING:
    from saltus.families.user.fitted import FittedUser


@dataclass(frozen=True)
class UserStack:
    """The terms of n networks, padded to k each."""

    family: UserFamily
    ranges: InputRanges
    hold: bool
    sizes: Ints  # (n, 1, 1, k), the number of inputs
    chosen: Floats  # (G, n, 1, v, k), 1 for the input that is the first, second, ... of a term, otherwise 0
    low: Floats  # (G, n, 1, 1, k), the range of that input
    high: Floats  # (G, n, 1, 1, k)
    parameters: Floats  # (p, n, 1, 1, k)

    def part(self, rows: Any, k: int) -> "UserStack":
        """Take some of the networks, padded to k terms."""
        return replace(
            self,
            sizes=self.sizes[rows][..., :k],
            chosen=self.chosen[:, rows][..., :k],
            low=self.low[:, rows][..., :k],
            high=self.high[:, rows][..., :k],
            parameters=self.parameters[:, rows][..., :k],
        )

    @property
    def _sizes(self) -> list[int]:
        """The numbers of inputs that terms have."""
        return np.unique(self.sizes).tolist()

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""
        most = max(self._sizes)
        named: dict[str, Floats] = {}
        for i in range(most):
            named |= {f"chosen{i}": self.chosen[i], f"low{i}": self.low[i], f"high{i}": self.high[i]}
        for i in range(Layout.of(self.family).n_parameters(most)):
            named[f"parameter{i}"] = self.parameters[i]
        if len(self._sizes) > 1:
            named["size"] = self.sizes.astype(np.float64)
        return named

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add x (N, v), in the user's units, at rows (N, d) that are given relative to the lower corner of the box."""
        ranges = self.ranges
        numbers = np.flatnonzero(varies)[: ranges.n_inputs]
        to_unit = np.zeros((len(varies), ranges.n_inputs))
        to_unit[numbers] = np.eye(ranges.n_inputs)
        # Divided after the product: a constant that stands beside it would be made a float32.
        at_means = np.zeros(len(varies))
        at_means[numbers] = ranges.unit_mean * box_width[numbers]
        known = graph.add("Where", graph.is_known(shifted), shifted, graph.constant(at_means))
        chosen = graph.add("MatMul", known, graph.constant(to_unit))
        unit = graph.add("Div", chosen, graph.constant(box_width[numbers]))
        above = graph.add("Sub", unit, graph.constant(ranges.unit_low))
        share = graph.add("Div", above, graph.constant(ranges.unit_high - ranges.unit_low))
        low, span = graph.constant(ranges.low), graph.constant(ranges.high - ranges.low)
        x = graph.add("Add", graph.add("Mul", share, span), low)
        if self.hold:
            x = graph.add("Min", graph.add("Max", x, low), graph.constant(ranges.high))
        return x

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k) at coordinates (N, v), given the names of arrays of B networks."""
        inputs = [graph.add("MatMul", coordinates, names[f"chosen{i}"]) for i in range(max(self._sizes))]
        values = [self._add_terms(graph, g, inputs, names) for g in self._sizes]
        if len(values) == 1:
            return values[0]
        # Chosen, not multiplied by 0: a term of fewer inputs may not be finite with more.
        zero, half = graph.number(0.0), graph.number(0.5)
        chosen = []
        for g, value in zip(self._sizes, values, strict=True):
            off = graph.add("Abs", graph.add("Sub", names["size"], graph.number(float(g))))
            chosen.append(graph.add("Where", graph.add("Less", off, half), value, zero))
        return graph.total(chosen)

    def _add_terms(self, graph: Graph, g: int, inputs: list[str], names: dict[str, str]) -> str:
        """Add the columns as if all terms had g inputs."""
        parameters = [names[f"parameter{i}"] for i in range(Layout.of(self.family).n_parameters(g))]
        ranges = [[names[f"{end}{i}"] for i in range(g)] for end in ("low", "high")]
        return self.family.add_nodes(graph, inputs[:g], parameters, ranges)


def make_user_stack(family: "FittedUser", terms: Sequence[TermSet]) -> UserStack:
    """Stack the terms of networks. Where one has fewer than others, copies of a term follow: these are finite."""
    n, k, ranges = len(terms), max(map(len, terms)), family.ranges
    most = family.most_inputs
    sizes = np.ones((n, 1, 1, k), dtype=np.int64)
    chosen = np.zeros((most, n, 1, ranges.n_inputs, k))
    low, high = np.zeros((most, n, 1, 1, k)), np.ones((most, n, 1, 1, k))
    parameters = np.zeros((family.n_parameters, n, 1, 1, k))
    some = next((each.take(slice(1)) for each in terms if len(each)), None)
    for network, each in enumerate(terms):
        for j in range(k):
            one = each.take(slice(j, j + 1)) if j < len(each) else some
            assert one is not None
            g = int(one.choices[0, SIZE])
            inputs = one.choices[0, FIRST : FIRST + g]
            sizes[network, 0, 0, j] = g
            chosen[np.arange(g), network, 0, inputs, j] = 1.0
            low[:g, network, 0, 0, j], high[:g, network, 0, 0, j] = ranges.low[inputs], ranges.high[inputs]
            parameters[:, network, 0, 0, j] = one.parameters[0]
    return UserStack(family.options, ranges, family.holds, sizes, chosen, low, high, parameters)
