"""Networks as nodes of an ONNX graph, in float64. Needs the extra `onnx`.

Two rules keep onnxruntime's optimizer from spoiling it. A constant factor never stands next to a MatMul: the two are
fused, and the factor becomes a float32. Nor does a Transpose: older releases have no float64 kernel for what they are
fused to. Factors are therefore multiplied into the matrices here, and axes are laid out so that products need none.

Shapes below: N rows, B networks or draws at once, c outputs, k basis functions, q coordinates of the metric.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from onnx import NodeProto, TensorProto, helper, numpy_helper

from saltus._typing import Bools, Floats, Ints
from saltus.engine.problem.design import Box
from saltus.engine.results.network import Network
from saltus.families import Basis
from saltus.families.radial import CUBIC, GAUSSIAN, INVERSE_MULTIQUADRIC, LINEAR, MULTIQUADRIC, THIN_PLATE

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

    def _new_name(self) -> str:
        self._n_names += 1
        return f"{self._prefix}{self._n_names}"


def _thin_plate(graph: Graph, s: str) -> str:
    # At r = 0 this is 0 times the logarithm of the smallest number: 0, as it should be.
    logarithm = graph.add("Log", graph.add("Max", s, graph.number(np.finfo(np.float64).tiny)))
    return graph.add("Mul", graph.add("Mul", s, graph.number(0.5)), logarithm)


def _multiquadric(graph: Graph, s: str) -> str:
    return graph.add("Sqrt", graph.add("Add", s, graph.number(1.0)))


# phi as a function of s = r^2, by the code of the basis.
PROFILES: dict[int, Callable[[Graph, str], str]] = {
    LINEAR: lambda graph, s: graph.add("Sqrt", s),
    CUBIC: lambda graph, s: graph.add("Mul", s, graph.add("Sqrt", s)),
    THIN_PLATE: _thin_plate,
    GAUSSIAN: lambda graph, s: graph.add("Exp", graph.add("Mul", s, graph.number(-0.5))),
    MULTIQUADRIC: _multiquadric,
    INVERSE_MULTIQUADRIC: lambda graph, s: graph.add("Reciprocal", _multiquadric(graph, s)),
}


@dataclass(frozen=True)
class Metric:
    """Distances in n networks: r^2 = sharpness^2 sum_i (relevance_i (v_i - mu_i))^2, v = base u, u in the unit cube."""

    base: Floats  # (q, d_varying)
    relevance: Floats  # (n, q)

    @classmethod
    def of(cls, base: Floats, relevance: Floats) -> "Metric":
        """Keep the coordinates that any network uses, or one if none is used."""
        used: Bools = (relevance != 0).any(axis=0) & (base != 0).any(axis=1)
        used[:1] |= not used.any()
        return cls(base[used], relevance[:, used])

    @classmethod
    def of_networks(cls, networks: Sequence[Network]) -> "Metric":
        """Find what networks have in common."""
        factors = np.array([network.to_metric for network in networks])
        if (factors == factors[0]).all():
            return cls.of(factors[0], np.ones(factors.shape[:2]))
        # Only a learned metric differs between networks, and that is diagonal.
        return cls.of(np.eye(factors.shape[1]), np.diagonal(factors, axis1=1, axis2=2))

    def add_coordinates(self, graph: Graph, shifted: str, box: Box) -> str:
        """Add v (N, q) at rows that are given relative to the lower corner of the box."""
        return graph.add(
            "MatMul", shifted, graph.constant(on_all_features(self.base.T, box.varies) / box.width[:, None])
        )

    def stack_centers(self, centers_unit: Sequence[Floats], k: int) -> Floats:
        """Take the centres of each network to its own coordinates, padded to k: (n, 1, q, k)."""
        stacked = np.zeros((len(centers_unit), 1, len(self.base), k))
        for j, centers in enumerate(centers_unit):
            stacked[j, 0, :, : len(centers)] = self.relevance[j, :, None] * (self.base @ centers.T)
        return stacked

    def stack_sharpness(self, sharpness: Sequence[Floats], k: int) -> Floats | None:
        """Square the sharpnesses of each network, padded to k: (n, 1, 1, k); None where all are 1."""
        if all((each == 1.0).all() for each in sharpness):
            return None
        stacked = np.zeros((len(sharpness), 1, 1, k))
        for j, each in enumerate(sharpness):
            stacked[j, 0, 0, : len(each)] = each**2
        return stacked


def add_average(graph: Graph, X: str, networks: Sequence[Network], weights: Floats) -> str:
    """Add the weighted average of networks at X (N, d); return the name of y (N, c)."""
    box, outputs, means = networks[0].box, networks[0].outputs, networks[0].means
    shifted = graph.add("Sub", X, graph.constant(box.lower))
    constant = np.einsum("n,nc->c", weights, [network.constant for network in networks])
    slope = np.einsum("n,ndc->dc", weights, [network.slope for network in networks])
    y = graph.add(
        "MatMul",
        graph.add("Sub", shifted, graph.constant(on_all_features(means, box.varies) * box.width)),
        graph.constant(on_all_features(slope * outputs.scale, box.varies) / box.width[:, None]),
    )
    y = graph.add("Add", y, graph.constant(outputs.mean + outputs.scale * constant))
    k = max(len(network.centers_unit) for network in networks)
    if k == 0:
        return y
    metric = Metric.of_networks(networks)
    coefficients = np.zeros((len(networks), 1, k, len(outputs.scale)))
    for j, network in enumerate(networks):
        coefficients[j, 0, : len(network.coefficients)] = weights[j] * network.coefficients * outputs.scale
    sharpness = metric.stack_sharpness([network.sharpness for network in networks], k)
    phi = add_basis_functions(
        graph,
        networks[0].basis,
        metric.add_coordinates(graph, shifted, box),
        graph.constant(metric.stack_centers([network.centers_unit for network in networks], k)),
        None if (metric.relevance == 1.0).all() else graph.constant(metric.relevance[:, None, None, :]),
        None if sharpness is None else graph.constant(sharpness),
        metric.relevance.shape[1],
    )
    return graph.add("Add", y, graph.sum(graph.add("MatMul", phi, graph.constant(coefficients)), 0, 1))


def add_basis_functions(
    graph: Graph, basis: Basis, coordinates: str, centers: str, relevance: str | None, sharpness: str | None, q: int
) -> str:
    """Add phi (B, 1, N, k) at coordinates (N, q), for centres (B, 1, q, k).

    Relevances are (B, 1, 1, q), squared sharpnesses (B, 1, 1, k); None is 1.
    Squared differences are summed, as |x|^2 + |mu|^2 - 2 x'mu would cancel near a centre. One coordinate after the
    other, that takes no more memory than phi.
    """
    if relevance is not None:
        coordinates = graph.add("Mul", coordinates, relevance)
    each = zip(graph.split(coordinates, [1] * q, axis=-1), graph.split(centers, [1] * q, axis=2), strict=True)
    squared = graph.total([graph.square(graph.add("Sub", v, mu)) for v, mu in each])
    if sharpness is not None:
        squared = graph.add("Mul", squared, sharpness)
    return PROFILES[basis.code](graph, squared)


def on_all_features(values: Floats, varies: Bools) -> Floats:
    """Put values (d_varying, ...) where they belong among all features (d, ...), with 0 for constant ones."""
    spread_out = np.zeros((len(varies), *values.shape[1:]))
    spread_out[varies] = values
    return spread_out
