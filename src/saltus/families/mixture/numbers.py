"""Terms of several families as the numbers of one formula."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saltus._typing import Floats, Ints
from saltus.families.family import TermNumbers
from saltus.families.words import Numbers, PageTerms


@dataclass(frozen=True)
class MixtureNumbers:
    """The terms of each family, with the numbers of their columns among all q."""

    parts: tuple[tuple[Ints, TermNumbers], ...]
    n_columns: int  # q

    @property
    def sum_html(self) -> str:
        """How the sum of the terms is written, after the linear term."""
        return "".join(dict.fromkeys(numbers.sum_html for _, numbers in self.parts))

    def columns(self, X: Floats) -> Floats:
        """Evaluate the columns of the terms at X (N, d): (N, q)."""
        columns = np.empty((len(X), self.n_columns))
        for which, numbers in self.parts:
            columns[:, which] = numbers.columns(X)
        return columns

    def rounded(self, digits: int) -> "MixtureNumbers":
        """Keep so many significant digits of every number."""
        return replace(self, parts=tuple((which, numbers.rounded(digits)) for which, numbers in self.parts))

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""
        return "\n".join(dict.fromkeys(numbers.html() for _, numbers in self.parts))

    def narrowest(self) -> Floats | None:
        """Find how narrow the narrowest term is along each input (d,), in its unit; None where terms have no width."""
        found = [each for _, numbers in self.parts if (each := numbers.narrowest()) is not None]
        return np.min(found, axis=0) if found else None

    def cells_of_inputs(self) -> tuple[str, str, list[str | float]] | None:
        """Say what there is to add to a table of inputs: what the first family with something says."""
        return next((cells for _, numbers in self.parts if (cells := numbers.cells_of_inputs()) is not None), None)

    def for_page(self) -> list[tuple[Ints, PageTerms]] | None:
        """Give the columns of each family to a page that evaluates them; None where no page can."""
        found = []
        for which, numbers in self.parts:
            pages = numbers.for_page()
            if pages is None:
                return None
            found += [(which[own], page) for own, page in pages]
        return found

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the terms with their coefficients (c, q); families whose terms are alike in one table."""
        found: dict[str, Numbers] = {}
        for which, numbers in self.parts:
            for table in numbers.tables(input_names, output_names, coefficients[:, which], number):
                before = found.get(table.caption)
                if before is not None and before.columns == table.columns:
                    more = [(len(before.rows) + j, *row[1:]) for j, row in enumerate(table.rows, start=1)]
                    table = table._replace(rows=[*before.rows, *more])
                found[table.caption] = table
        return list(found.values())
