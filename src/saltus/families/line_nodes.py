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
class NodeFactor:
    """A factor: phi(x'w + c) of coordinates (m,), or at_gap where the coordinate `gap` is 1; -1: there is no such."""

    profile: int
    weights: Floats
    constant: float
    gap: int = -1
    at_gap: float = 0.0


@dataclass(frozen=True)
class Coordinates:
    """What factors are made of: standardised inputs (v,), 0 at gaps, then gaps, then levels of categories, 0 or 1."""

    scale: InputScale
    hold: bool

    @property
    def with_gaps(self) -> Ints:
        """The inputs that had gaps in the data."""
        return np.flatnonzero(self.scale.has_gaps)

    @property
    def categories(self) -> Ints:
        """The inputs that are categories."""
        return np.flatnonzero(self.scale.n_levels)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return self.scale.n_inputs + len(self.with_gaps) + int(self.scale.n_levels.sum())

    def gap_of(self, i: int) -> int:
        """Find the coordinate that is 1 where an input is missing; -1 where it never is."""
        return self.scale.n_inputs + int(np.searchsorted(self.with_gaps, i)) if self.scale.has_gaps[i] else -1

    def first_level_of(self, i: int) -> int:
        """Find the coordinate that is 1 where a category is its first level; those of others follow."""
        before = int(self.scale.n_levels[:i].sum())
        return self.scale.n_inputs + len(self.with_gaps) + before

    def unit(self, *coordinates: int) -> Floats:
        """Make weights (m,) that are 1 for some coordinates."""
        weights = np.zeros(self.size)
        weights[list(coordinates)] = 1.0
        return weights

    def add_nodes(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add the coordinates (N, m) at rows (N, d) that are given relative to the lower corner of the box."""
        scale = self.scale
        to_unit = np.zeros((len(varies), scale.n_inputs))
        to_unit[varies] = np.eye(scale.n_inputs)
        # A missing value times 0 would be missing.
        is_known = graph.is_known(shifted)
        means = np.zeros(len(varies))
        means[varies] = scale.means * box_width[varies]
        known = graph.add("Where", is_known, shifted, graph.constant(means))
        # Multiplied after the product: a constant that stands beside it would be made a float32.
        chosen = graph.add("MatMul", known, graph.constant(to_unit))
        scaled = graph.add("Div", chosen, graph.constant(box_width[varies]))
        x = graph.add("Div", graph.add("Sub", scaled, graph.constant(scale.means)), graph.constant(scale.spreads))
        if self.hold:
            x = graph.add("Min", graph.add("Max", x, graph.constant(scale.low)), graph.constant(scale.high))
        parts = [x]
        if self.with_gaps.size:
            is_gap = graph.double(graph.add("Not", is_known))
            parts.append(graph.add("MatMul", is_gap, graph.constant(to_unit[:, self.with_gaps])))
        for i in self.categories:
            code = graph.add("MatMul", known, graph.constant(to_unit[:, [i]]))
            levels = graph.constant(np.arange(float(scale.n_levels[i])))
            parts.append(graph.double(graph.add("Equal", code, levels)))
        return parts[0] if len(parts) == 1 else graph.add("Concat", *parts, axis=-1)


@dataclass(frozen=True)
class LineStack:
    """The terms of n networks, padded to k each: products over factors f of phi(x'w_f + c_f), x of m coordinates."""

    coordinates: Coordinates
    weights: Floats  # (G, n, 1, m, k)
    constants: Floats  # (G, n, 1, 1, k)
    profiles: Ints  # (G, n, 1, 1, k); -1 where there is no such factor
    gaps: Floats  # (G, n, 1, m, k), 1 for the coordinate that says where the input of a factor is missing
    at_gaps: Floats  # (G, n, 1, 1, k), what it is there

    def part(self, rows: Any, k: int) -> "LineStack":
        """Take some of the networks, padded to k terms."""
        return replace(
            self,
            weights=self.weights[:, rows][..., :k],
            constants=self.constants[:, rows][..., :k],
            profiles=self.profiles[:, rows][..., :k],
            gaps=self.gaps[:, rows][..., :k],
            at_gaps=self.at_gaps[:, rows][..., :k],
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
            if self.gaps[f].any():
                named[f"gaps{f}"], named[f"at_gaps{f}"] = self.gaps[f], self.at_gaps[f]
            if len(self._codes(f)) > 1:
                for code in self._codes(f):
                    named[f"mask{f}_{code}"] = (self.profiles[f] == code).astype(np.float64)
        return named

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add x (N, m) at rows (N, d) that are given relative to the lower corner of the box."""
        return self.coordinates.add_nodes(graph, shifted, box_width, varies)

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k) at coordinates (N, m), given the names of arrays of B networks."""
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
            if f"gaps{f}" in names:
                gap = graph.add("MatMul", coordinates, names[f"gaps{f}"])
                beyond = graph.add("Mul", gap, graph.add("Sub", names[f"at_gaps{f}"], value))
                value = graph.add("Add", value, beyond)
            product = graph.add("Mul", product, value) if product else value
        return product

    def _masked(self, graph: Graph, z: str, code: int, mask: str) -> str:
        """Add phi where a term has this profile, otherwise 0; where it has no such factor, 1."""
        if code < 0:
            return mask
        return graph.add("Mul", LINE_PROFILES[NAMES[code]].add_nodes(graph, z), mask)


def make_line_stack(coordinates: Coordinates, networks: list[list[list[NodeFactor]]]) -> LineStack:
    """Stack the terms of networks, each a list of factors."""
    n, k = len(networks), max(map(len, networks), default=0)
    most = max((len(term) for terms in networks for term in terms), default=0)
    weights, constants = np.zeros((most, n, 1, coordinates.size, k)), np.zeros((most, n, 1, 1, k))
    profiles = np.full((most, n, 1, 1, k), -1)
    gaps, at_gaps = np.zeros_like(weights), np.zeros_like(constants)
    for network, terms in enumerate(networks):
        for j, term in enumerate(terms):
            for f, factor in enumerate(term):
                weights[f, network, 0, : factor.weights.size, j] = factor.weights
                constants[f, network, 0, 0, j] = factor.constant
                profiles[f, network, 0, 0, j] = factor.profile
                if factor.gap >= 0:
                    gaps[f, network, 0, factor.gap, j], at_gaps[f, network, 0, 0, j] = 1.0, factor.at_gap
    return LineStack(coordinates, weights, constants, profiles, gaps, at_gaps)
