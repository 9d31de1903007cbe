"""Products and ridges as nodes of an ONNX graph. Nothing here needs onnx itself.

Shapes below: N rows, n networks of which B are evaluated at once, k terms each, G factors of a term at most.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.inputs import InputScale
from saltus.families.line_profiles import LINE_PROFILES, NAMES
from saltus.families.profiles import Graph


@dataclass(frozen=True)
class LineStack:
    """The terms of n networks, padded to k each: the product over factors f of phi(x'w_f + c_f), x standardised."""

    scale: InputScale
    hold: bool
    weights: Floats  # (G, n, 1, v, k)
    constants: Floats  # (G, n, 1, 1, k)
    profiles: Ints  # (G, n, 1, 1, k); -1 where there is no such factor

    def part(self, rows: Any, k: int) -> "LineStack":
        """Take some of the networks, padded to k terms."""
        return replace(
            self,
            weights=self.weights[:, rows][..., :k],
            constants=self.constants[:, rows][..., :k],
            profiles=self.profiles[:, rows][..., :k],
        )

    def _codes(self, factor: int) -> list[int]:
        """List the profiles of one factor, -1 for none."""
        return np.unique(self.profiles[factor]).tolist()

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""
        named = {}
        for f in range(len(self.weights)):
            if self._codes(f) == [-1]:
                continue
            named[f"weights{f}"], named[f"constants{f}"] = self.weights[f], self.constants[f]
            if len(self._codes(f)) > 1:
                for code in self._codes(f):
                    named[f"mask{f}_{code}"] = (self.profiles[f] == code).astype(np.float64)
        return named

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add x (N, v) at rows (N, d) that are given relative to the lower corner of the box."""
        to_unit = np.zeros((len(varies), self.scale.n_inputs))
        to_unit[varies] = np.eye(self.scale.n_inputs)
        # Multiplied after the product: a constant that stands beside it would be made a float32.
        chosen = graph.add("MatMul", shifted, graph.constant(to_unit))
        scaled = graph.add("Div", chosen, graph.constant(box_width[varies]))
        x = graph.add(
            "Div", graph.add("Sub", scaled, graph.constant(self.scale.means)), graph.constant(self.scale.spreads)
        )
        if self.hold:
            x = graph.add("Min", graph.add("Max", x, graph.constant(self.scale.low)), graph.constant(self.scale.high))
        return x

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k) at coordinates (N, v), given the names of arrays of B networks."""
        product = ""
        for f in range(len(self.weights)):
            codes = self._codes(f)
            if codes == [-1]:
                continue
            z = graph.add("Add", graph.add("MatMul", coordinates, names[f"weights{f}"]), names[f"constants{f}"])
            if len(codes) == 1:
                value = LINE_PROFILES[NAMES[codes[0]]].add_nodes(graph, z)
            else:
                value = graph.total([self._masked(graph, z, code, names[f"mask{f}_{code}"]) for code in codes])
            product = graph.add("Mul", product, value) if product else value
        return product

    def _masked(self, graph: Graph, z: str, code: int, mask: str) -> str:
        """Add phi where a term has this profile, otherwise 0; where it has no such factor, 1."""
        if code < 0:
            return mask
        return graph.add("Mul", LINE_PROFILES[NAMES[code]].add_nodes(graph, z), mask)


def make_line_stack(
    scale: InputScale, factors: list[list[list[tuple[int, Floats, float]]]], *, hold: bool
) -> LineStack:
    """Stack the terms of networks, each a list of factors: the profile, w (v,) and c."""
    n, k = len(factors), max(map(len, factors), default=0)
    most = max((len(term) for terms in factors for term in terms), default=0)
    weights, constants = np.zeros((most, n, 1, scale.n_inputs, k)), np.zeros((most, n, 1, 1, k))
    profiles = np.full((most, n, 1, 1, k), -1)
    for network, terms in enumerate(factors):
        for j, term in enumerate(terms):
            for f, (profile, w, c) in enumerate(term):
                weights[f, network, 0, :, j], constants[f, network, 0, 0, j] = w, c
                profiles[f, network, 0, 0, j] = profile
    return LineStack(scale, hold, weights, constants, profiles)
