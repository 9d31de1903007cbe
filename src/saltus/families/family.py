"""What a family of terms supplies. Nobody outside this package asks it but the mixture of a fit."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.free import FreeTerms
from saltus.families.inputs import FamilyRows
from saltus.families.profiles import Graph
from saltus.families.terms import TermSet
from saltus.families.words import Numbers, PageTerms


class Family(Protocol):
    """A family as a user chooses it: a value, with its options."""

    @property
    def is_radial(self) -> bool:
        """Whether terms have a centre and share a metric."""

    @property
    def needs_numbers(self) -> bool:
        """Whether terms are functions of numbers, and not of categories."""

    @property
    def n_columns(self) -> int:
        """How many columns a term has: one or two."""

    @property
    def known_cost(self) -> int | None:
        """How many parameters a term should count for, its coefficients aside, where that is known; None: it is not."""

    def variants(self, *, several: bool) -> "tuple[Family, ...]":
        """List what chains may be made of, where the options leave that open: `several` variants, or the best guess."""

    def fit(self, rows: FamilyRows) -> "FittedFamily":
        """Fit to rows."""


class FamilySearch(Protocol):
    """What descents ask."""

    def free(self, data: Any, terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes, given what kernels see of the rows; with `raw`, as it is."""


class TermNumbers(Protocol):
    """The terms of a network as the numbers of a formula, in the user's units."""

    @property
    def sum_html(self) -> str:
        """How the sum of the terms is written, after the linear term."""

    def columns(self, X: Floats) -> Floats:
        """Evaluate the columns of the terms at X (N, d): (N, q)."""

    def rounded(self, digits: int) -> "TermNumbers":
        """Keep so many significant digits of every number."""

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""

    def cells_of_inputs(self) -> tuple[str, str, list[str | float]] | None:
        """Say what there is to add to a table of inputs: a caption, the name of a column, and its cells (d,)."""

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the terms with their coefficients (c, q), and what they share."""

    def narrowest(self) -> Floats | None:
        """Find how narrow the narrowest term is along each input (d,), in its unit; None where terms have no width."""

    def for_page(self) -> list[tuple[Ints, PageTerms]] | None:
        """Give the columns to a page that evaluates them, with their numbers among all q; None where no page can."""


class TermStack(Protocol):
    """The columns of the terms of n networks, padded to the same number, for an ONNX graph."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""

    def part(self, rows: Ints, k: int) -> "TermStack":
        """Take some of the networks, padded to k columns."""

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add what all networks take of rows (N, d) that are given relative to the lower corner of the box."""

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k), given the names of arrays of B networks."""


class FamilyInspection(Protocol):
    """What summaries, reports, files of draws and pictures ask, in the user's units."""

    @property
    def can_be_shifted(self) -> bool:
        """Whether `numbers` are right for inputs that are counted from another origin, with the box that these have."""

    def numbers(self, box: UnitBox, terms: TermSet) -> TermNumbers:
        """Write the terms as the numbers of a formula."""

    def uses(self, box: UnitBox, terms: TermSet) -> Bools:
        """Say which inputs (k, d) each term uses."""

    def strength(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it; 0 where they do not."""

    def places(self, box: UnitBox, terms: TermSet) -> Floats:
        """Say where in the space of inputs the terms are: (k, d), NaN along inputs where they are nowhere."""

    def stack(self, families: Sequence[Any], terms: Sequence[TermSet], *, same_shared: bool) -> TermStack:
        """Stack the terms of networks for an ONNX graph; `same_shared` where these may share the same."""


class FittedFamily(Protocol):
    """A family on given data, with all methods that the mixture asks. A value, which a model keeps and a file holds."""

    @property
    def geometry(self) -> int:
        """Its number in the registry."""

    @property
    def n_columns(self) -> int:
        """How many columns a term has: one or two."""

    @property
    def n_choices(self) -> int:
        """The number of discrete choices of a term."""

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term, each in [0, 1]."""

    @property
    def n_decoded(self) -> int:
        """The numbers that kernels evaluate a term from."""

    @property
    def starting_shared(self) -> Floats:
        """The shared parameters (s,) that descents start from."""

    @property
    def n_switches(self) -> int:
        """The number of shared parameters that may be in or out; 0 where they are given."""

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for, its coefficients aside: at least, and at most."""

    @property
    def coefficient_scale(self) -> float:
        """What coefficients inside are divided by to be in the user's units."""

    @property
    def coefficient_spread(self) -> float:
        """The standard deviation of coefficients before data are seen, in those of the output; infinite: any."""

    @property
    def widest_spread(self) -> float:
        """The largest that it may be where data ask for more: finite for hinges and for what goes on beyond them."""

    @property
    def search(self) -> Any:
        """What descents ask: see FamilySearch."""

    @property
    def inspection(self) -> Any:
        """What summaries, reports and pictures ask: see FamilyInspection."""

    @property
    def smallest_complement(self) -> float:
        """The smallest sum of squares, over the rows, of 1 less a column that is let in.

        A step that all rows but one are behind is, beside the constant, one that a single row sees.
        """

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Choose the smallest squared norm of a column that is let in, with a ridge on its coefficient or without."""

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms with the right number of choices and parameters could be its own."""

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""

    def columns(self, U: Floats, terms: TermSet) -> Floats:
        """Evaluate the columns of the terms at rows U (N, v) of the unit cube: (N, q)."""
