"""Networks as nodes of an ONNX graph, in float64. Needs the extra `onnx`.

Two rules keep onnxruntime's optimizer from spoiling it. A constant factor never stands next to a MatMul: the two are
fused, and the factor becomes a float32. Nor does a Transpose: older releases have no float64 kernel for what they are
fused to. Factors are therefore multiplied into the matrices here, and axes are laid out so that products need none.

Shapes below: N rows, B networks or draws at once, c outputs, k terms.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from saltus._typing import Bools, Floats, Ints
from saltus.engine.results.network import Network

# The oldest version in which every node below exists as it is written, and as it still is.
OPSET = 13


class Graph:
    """Nodes and constants under construction. Every value has a name of its own, which the methods return."""

    def __init__(self, prefix: str = "v") -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        self._prefix = prefix
        self._n_names = 0

    def constant(self, value: Floats | Ints) -> str:
        """Add a constant."""
        name = self._new_name()
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output."""
        return self.add_many(1, operator, *inputs, **attributes)[0]

    def add_many(self, n_outputs: int, operator: str, *inputs: str, **attributes: Any) -> list[str]:
        """Add a node with `n_outputs` outputs."""
        outputs = [self._new_name() for _ in range(n_outputs)]
        self.nodes.append(helper.make_node(operator, inputs, outputs, name=f"{operator}_{outputs[0]}", **attributes))
        return outputs

    def number(self, value: float) -> str:
        """Add a constant that is a single number."""
        return self.constant(np.array(value, dtype=np.float64))

    def split(self, value: str, sizes: Sequence[int], axis: int) -> list[str]:
        """Split along an axis."""
        if len(sizes) == 1:
            return [value]
        return self.add_many(len(sizes), "Split", value, self.constant(np.array(sizes)), axis=axis)

    def sum(self, value: str, *axes: int) -> str:
        """Sum over axes, which vanish."""
        return self.add("ReduceSum", value, self.constant(np.array(axes)), keepdims=0)

    def square(self, value: str) -> str:
        """Square each element."""
        return self.add("Mul", value, value)

    def total(self, values: Sequence[str]) -> str:
        """Add values up."""
        result = values[0]
        for value in values[1:]:
            result = self.add("Add", result, value)
        return result

    def double(self, value: str) -> str:
        """Turn what is true into 1 and what is false into 0."""
        return self.add("Cast", value, to=TensorProto.DOUBLE)

    def is_known(self, value: str) -> str:
        """Say where a value is not missing: NaN alone differs from itself."""
        return self.add("Equal", value, value)

    def known(self, value: str, otherwise: Floats) -> str:
        """Put something where a value is missing."""
        return self.add("Where", self.is_known(value), value, self.constant(otherwise))

    def _new_name(self) -> str:
        self._n_names += 1
        return f"{self._prefix}{self._n_names}"


def add_average(graph: Graph, X: str, networks: Sequence[Network], weights: Floats) -> str:
    """Add the weighted average of networks at X (N, d); return the name of y (N, c)."""
    box, outputs, means = networks[0].box, networks[0].outputs, networks[0].means
    shifted = graph.add("Sub", X, graph.constant(box.lower))
    at_means = on_all_features(means, box.varies) * box.width
    constant = np.einsum("n,nc->c", weights, [network.constant for network in networks])
    slope = np.einsum("n,ndc->dc", weights, [network.slope for network in networks])
    y = graph.add(
        "MatMul",
        graph.add("Sub", graph.known(shifted, at_means), graph.constant(at_means)),
        graph.constant(on_all_features(slope * outputs.scale, box.varies) / box.width[:, None]),
    )
    y = graph.add("Add", y, graph.constant(outputs.mean + outputs.scale * constant))
    if max(network.n_terms for network in networks) == 0:
        return y
    stack = networks[0].mixture.inspection.stack(
        [network.mixture for network in networks], [network.terms for network in networks], same_shared=True
    )
    coefficients = np.zeros((len(networks), 1, stack.n_columns, len(outputs.scale)))
    for j, network in enumerate(networks):
        coefficients[j, 0, stack.columns_of(j)] = weights[j] * network.coefficients * outputs.scale
    coordinates = stack.add_coordinates(graph, shifted, box.width, box.varies)
    names = {name: graph.constant(array) for name, array in stack.arrays.items()}
    columns = stack.add_columns(graph, coordinates, names)
    return graph.add("Add", y, graph.sum(graph.add("MatMul", columns, graph.constant(coefficients)), 0, 1))


def on_all_features(values: Floats, varies: Bools) -> Floats:
    """Put values (d_varying, ...) where they belong among all features (d, ...), with 0 for constant ones."""
    spread_out = np.zeros((len(varies), *values.shape[1:]))
    spread_out[varies] = values
    return spread_out
