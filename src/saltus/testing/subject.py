"""A family under examination: rows, some terms, and columns of these."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.user.family import UserFamily
from saltus.families.user.layout import Layout

# Terms of each number of inputs.
N_TERMS = 12


class Term(NamedTuple):
    """A term: its inputs and its parameters."""

    inputs: Ints  # (g,)
    parameters: Floats  # (p,)

    def with_parameter(self, i: int, value: float) -> "Term":
        """Exchange one parameter."""
        parameters = self.parameters.copy()
        parameters[i] = value
        return Term(self.inputs, parameters)


@dataclass(frozen=True)
class Subject:
    """A family, rows (N, d) to evaluate it at, and terms that were drawn."""

    family: UserFamily
    X: Floats
    terms: tuple[Term, ...]

    @classmethod
    def of(cls, rng: np.random.Generator, family: UserFamily, X: Floats) -> "Subject":
        """Draw terms of every number of inputs."""
        layout, terms = Layout.of(family), []
        for g in range(1, min(int(family.max_inputs), X.shape[1]) + 1):
            for _ in range(N_TERMS):
                inputs = rng.choice(X.shape[1], g, replace=False)
                terms.append(Term(inputs, rng.random(layout.n_parameters(g))))
        return cls(family, X, tuple(terms))

    @property
    def name(self) -> str:
        """The name of the class."""
        return type(self.family).__name__

    @property
    def layout(self) -> Layout:
        """The parameters of a term."""
        return Layout.of(self.family)

    @property
    def sizes(self) -> list[int]:
        """The numbers of inputs that terms have."""
        return sorted({len(term.inputs) for term in self.terms})

    def arguments(self, term: Term, X: Floats | None = None) -> tuple[Floats, Floats, Floats]:
        """Make what the methods of a family are given, as copies."""
        rows = self.X if X is None else X
        ranges = np.stack([self.X.min(axis=0), self.X.max(axis=0)])
        return rows[:, term.inputs], term.parameters.copy(), ranges[:, term.inputs]

    def column(self, term: Term, X: Floats | None = None) -> Floats:
        """Evaluate a term, at all rows or others."""
        return np.asarray(self.family.column(*self.arguments(term, X)), dtype=np.float64)

    def parameters(self, sort: str = "all") -> Iterator[tuple[Term, int, str]]:
        """Go through the parameters of all terms, or those of a sort: each with its number and its name."""
        for term in self.terms:
            g = len(term.inputs)
            which = {
                "all": np.ones(term.parameters.size, dtype=bool),
                "periodic": self.layout.is_periodic(g),
                "smooth": self.layout.is_smooth(g),
            }[sort]
            names = self.layout.names(g)
            yield from ((term, int(i), names[i]) for i in np.flatnonzero(which))
