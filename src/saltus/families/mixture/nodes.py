"""Terms of several families as nodes of one ONNX graph."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.family import TermStack
from saltus.families.profiles import Graph
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.mixture.mixture import FittedMixture


@dataclass(frozen=True)
class MixtureStack:
    """The columns of n networks: those of the first family, padded to the same number, then those of the next."""

    stacks: tuple[TermStack, ...]
    sizes: tuple[int, ...]  # columns of each family
    families: tuple[Ints, ...]  # of the columns of each network
    numbers: tuple[int, ...]  # of the families that have terms

    @classmethod
    def of(cls, mixtures: Sequence["FittedMixture"], terms: Sequence[TermSet], *, same_shared: bool) -> "MixtureStack":
        """Stack the terms of networks."""
        stacks, sizes, numbers = [], [], []
        for family in range(len(mixtures[0].members)):
            own = [mixture.own(each, family) for mixture, each in zip(mixtures, terms, strict=True)]
            members = [mixture.members[family] for mixture in mixtures]
            if max(map(len, own)) > 0 or len(mixtures[0].members) == 1:
                stacks.append(members[0].inspection.stack(members, own, same_shared=same_shared))
                sizes.append(max(map(len, own)) * members[0].n_columns)
                numbers.append(family)
        # The columns of a term follow each other: each is of the family of its term.
        n_columns = mixtures[0].n_columns
        families = tuple(np.repeat(each.family, n_columns[each.family]) for each in terms)
        return cls(tuple(stacks), tuple(sizes), families, tuple(numbers))

    @property
    def n_columns(self) -> int:
        """The columns of each network, padded."""
        return sum(self.sizes)

    def columns_of(self, network: int) -> Ints:
        """Find which columns are those of a network, in their order."""
        columns = np.zeros(self.families[network].size, dtype=np.int64)
        first = 0
        for number, size in zip(self.numbers, self.sizes, strict=True):
            which = np.flatnonzero(self.families[network] == number)
            columns[which] = first + np.arange(which.size)
            first += size
        return columns

    def part(self, rows: Ints) -> "MixtureStack":
        """Take some of the networks, padded to as many columns as they need."""
        families = tuple(self.families[row] for row in rows)
        sizes = tuple(max(int((each == number).sum()) for each in families) for number in self.numbers)
        stacks = tuple(stack.part(rows, size) for stack, size in zip(self.stacks, sizes, strict=True))
        kept = [i for i, size in enumerate(sizes) if size > 0]
        return MixtureStack(
            tuple(stacks[i] for i in kept),
            tuple(sizes[i] for i in kept),
            families,
            tuple(self.numbers[i] for i in kept),
        )

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""
        named = zip(self.numbers, self.stacks, strict=True)
        return {f"{number}_{name}": array for number, stack in named for name, array in stack.arrays.items()}

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> dict[int, str]:
        """Add what families take of rows (N, d) that are given relative to the lower corner of the box: their names."""
        named = zip(self.numbers, self.stacks, strict=True)
        return {number: stack.add_coordinates(graph, shifted, box_width, varies) for number, stack in named}

    def add_columns(self, graph: Graph, coordinates: dict[int, str], names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k), given the names of arrays of B networks."""
        columns = []
        for number, stack in zip(self.numbers, self.stacks, strict=True):
            own = {name: names[f"{number}_{name}"] for name in stack.arrays}
            columns.append(stack.add_columns(graph, coordinates[number], own))
        return columns[0] if len(columns) == 1 else graph.add("Concat", *columns, axis=-1)
