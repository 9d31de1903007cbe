"""Radial terms as nodes of an ONNX graph. Nothing here needs onnx itself.

Shapes below: N rows, n networks of which B are evaluated at once, k terms each, q coordinates of the metric. One that
is missing is left out of distances.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus._typing import Bools, Floats
from saltus.families.profiles import Graph, Profile
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.radial.family import FittedRadial


@dataclass(frozen=True)
class RadialStack:
    """The terms of n networks, padded to k each: r^2 = sharpness^2 sum_i (relevance_i (v_i - mu_i))^2, v = base u.

    Squared differences are summed, as |x|^2 + |mu|^2 - 2 x'mu would cancel near a centre. One coordinate after the
    other, that takes no more memory than the columns.
    """

    profile: Profile
    base: Floats  # (q, v)
    centers: Floats  # (n, 1, q, k)
    relevance: Floats | None  # (n, 1, 1, q); None is 1
    sharpness: Floats | None  # (n, 1, 1, k), squared; None is 1

    @classmethod
    def of(
        cls,
        families: Sequence["FittedRadial"],
        terms: Sequence[TermSet],
        *,
        same_relevance: bool,
    ) -> "RadialStack":
        """Stack the terms of networks, with as many coordinates as any of them uses, or one if none is used.

        With `same_relevance`, relevances that all networks have in common go into the base.
        """
        shared = [each.shared for each in terms]
        base, relevance = families[0].to_metric, np.array(shared)
        if same_relevance:
            factors = np.array(
                [each[:, None] * family.to_metric for each, family in zip(shared, families, strict=True)]
            )
            if (factors == factors[0]).all():
                base, relevance = factors[0], np.ones(factors.shape[:2])
            else:
                # Only a learned metric differs between networks, and that is diagonal.
                base, relevance = np.eye(factors.shape[1]), np.diagonal(factors, axis1=1, axis2=2)
        used: Bools = (relevance != 0).any(axis=0) & (base != 0).any(axis=1)
        used[:1] |= not used.any()
        base, relevance = base[used], relevance[:, used]
        decoded = [family.decode(each.parameters) for family, each in zip(families, terms, strict=True)]
        k = max(map(len, terms))
        centers, sharpness = np.zeros((len(families), 1, len(base), k)), np.zeros((len(families), 1, 1, k))
        for j, (center, sharp) in enumerate(decoded):
            centers[j, 0, :, : len(center)] = relevance[j, :, None] * (base @ center.T)
            sharpness[j, 0, 0, : len(sharp)] = sharp**2
        has_widths = any((sharp != 1.0).any() for _, sharp in decoded)
        has_relevance = not same_relevance or not (relevance == 1.0).all()
        return cls(
            profile=families[0].radial.profile,
            base=base,
            centers=centers,
            relevance=relevance[:, None, None, :] if has_relevance else None,
            sharpness=sharpness if has_widths else None,
        )

    def part(self, rows: Any, k: int) -> "RadialStack":
        """Take some of the networks, padded to k terms."""
        sharpness = None if self.sharpness is None else self.sharpness[rows][..., :k]
        if sharpness is not None and ((sharpness == 1.0) | (self._padding(rows, k))).all():
            sharpness = None
        relevance = None if self.relevance is None else self.relevance[rows]
        return replace(self, centers=self.centers[rows][..., :k], relevance=relevance, sharpness=sharpness)

    def _padding(self, rows: Any, k: int) -> Bools:
        assert self.sharpness is not None
        return self.sharpness[rows][..., :k] == 0.0

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""
        named = {"centers": self.centers, "relevance": self.relevance, "sharpness": self.sharpness}
        return {name: array for name, array in named.items() if array is not None}

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add v (N, q), then whether it is known, 1 or 0, at rows (N, d) relative to the lower corner of the box."""
        to_base = np.zeros((len(varies), len(self.base)))
        to_base[np.flatnonzero(varies)[: self.base.shape[1]]] = self.base.T
        is_known = graph.is_known(shifted)
        known = graph.add("Where", is_known, shifted, graph.constant(np.zeros(len(varies))))
        v = graph.add("MatMul", known, graph.constant(to_base / box_width[:, None]))
        gaps = graph.double(graph.add("Not", is_known))
        n_missing = graph.add("MatMul", gaps, graph.constant((to_base != 0).astype(np.float64)))
        return graph.add("Concat", v, graph.double(graph.add("Equal", n_missing, graph.number(0.0))), axis=-1)

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k) at coordinates (N, 2 q), given the names of arrays of B networks."""
        q = len(self.base)
        coordinates, is_known = graph.split(coordinates, [q, q], -1)
        if "relevance" in names:
            coordinates = graph.add("Mul", coordinates, names["relevance"])
        along = zip(
            graph.split(coordinates, [1] * q, -1),
            graph.split(names["centers"], [1] * q, 2),
            graph.split(is_known, [1] * q, -1),
            strict=True,
        )
        squared = graph.total(
            [graph.add("Mul", graph.square(graph.add("Sub", v, mu)), known) for v, mu, known in along]
        )
        if "sharpness" in names:
            squared = graph.add("Mul", squared, names["sharpness"])
        return self.profile.add_nodes(graph, squared)
