"""What a family of terms supplies."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from saltus._typing import Bools, Floats, Ints
from saltus.families.box import UnitBox
from saltus.families.profiles import Graph
from saltus.families.registry import Families
from saltus.families.words import InputUse, Numbers


class Family(Protocol):
    """A family as a user chooses it: a value, with its options."""

    def variants(self, *, several: bool) -> tuple["Family", ...]:
        """List what chains may be made of, where the options leave that open: `several` variants, or the best guess."""

    def fit(self, U: Floats, weight: Floats, box_width: Floats, varies: Bools, *, rescale: bool) -> "FittedFamily":
        """Fit to rows U (N, v) of the unit cube, whose sides are `box_width` (v,) in the user's units."""


class FreeParameters(Protocol):
    """What a descent changes, as a point x within bounds."""

    @property
    def families(self) -> Families:
        """What kernels see, for parameters scaled like x."""

    @property
    def x(self) -> Floats:
        """The point (n,): own parameters of the terms, then shared ones."""

    @property
    def low(self) -> Floats:
        """Its lower bounds (n,)."""

    @property
    def high(self) -> Floats:
        """Its upper bounds (n,)."""

    @property
    def shared(self) -> Floats:
        """The shared parameters in use."""

    def unpack(self, x: Floats) -> tuple[Floats, Floats]:
        """Find the parameters (k, p) and shared parameters (s,) at a point."""


class FamilySearch(Protocol):
    """What descents, starts and hops ask."""

    def sample(self, families: Families, rows: Ints) -> Families:
        """Take some rows, rounded, in tiles."""

    def with_free_shared(
        self, families: Families, parameters: Floats, shared: Floats
    ) -> tuple[Families, Floats, Floats]:
        """Free the shared parameters even where they are given: the families, the point x, those in use."""

    def in_use(self, families: Families, shared: Floats) -> Families:
        """Keep what makes a difference under these shared parameters."""

    def free(self, families: Families, parameters: Floats, shared: Floats) -> FreeParameters | None:
        """Pack what a descent changes; None where that is nothing."""

    def columns_of_rows(self, families: Families, root_weight: Floats, parameters: Floats, shared: Floats) -> Floats:
        """Evaluate the terms at the rows of a fit, times the roots of their weights: (N, k), padded."""

    def without_one_shared(self, shared: Floats) -> list[Floats]:
        """List shared parameters with one of those in use less, for a search to try."""

    def parameters_of_rows(self, families: Families, rows: Ints) -> Floats:
        """Find the parameters (n, p) of terms that sit on rows."""

    def prepare_start(self, parameters: Floats) -> Floats:
        """Make drawn parameters (k, p) fit for a descent to start from. Mutates and returns them."""

    def order_by_distance(self, families: Families, parameters: Floats, shared: Floats, point: Floats) -> Ints:
        """List terms from the nearest to a point (p,) to the farthest."""

    def shake_shared(self, rng: np.random.Generator, shared: Floats) -> Floats:
        """Disturb the shared parameters."""


class TermNumbers(Protocol):
    """The terms of a network as the numbers of a formula, in the user's units."""

    @property
    def sum_html(self) -> str:
        """How the sum of the terms is written, after the linear term."""

    def columns(self, X: Floats) -> Floats:
        """Evaluate the terms at X (N, d): (N, k)."""

    def rounded(self, digits: int) -> "TermNumbers":
        """Keep so many significant digits of every number."""

    def html(self) -> str:
        """Write what a term is, and what its symbols mean."""

    def cells_of_inputs(self) -> tuple[str, str, list[str | float]] | None:
        """Say what there is to add to a table of inputs: a caption, the name of a column, and its cells (d,)."""

    def tables(
        self, input_names: Sequence[str], output_names: Sequence[str], coefficients: Floats, number: str
    ) -> list[Numbers]:
        """List the terms with their coefficients (c, k), and what they share."""


class TermStack(Protocol):
    """The terms of n networks, padded to the same number, for an ONNX graph."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """What differs between networks, by name; the first axis is theirs."""

    def part(self, rows: Ints, k: int) -> "TermStack":
        """Take some of the networks, padded to k terms."""

    def add_coordinates(self, graph: Graph, shifted: str, box_width: Floats, varies: Bools) -> str:
        """Add what all networks take of rows (N, d) that are given relative to the lower corner of the box."""

    def add_columns(self, graph: Graph, coordinates: str, names: dict[str, str]) -> str:
        """Add the columns (B, 1, N, k), given the names of arrays of B networks."""


class FamilyInspection(Protocol):
    """What summaries, reports, files of draws and pictures ask, in the user's units."""

    def numbers(self, box: UnitBox, parameters: Floats, shared: Floats) -> TermNumbers:
        """Write the terms as the numbers of a formula."""

    def attributes(self, box: UnitBox, parameters: Floats, shared: Floats) -> dict[str, Floats]:
        """Name what an estimator keeps of its best network."""

    def posterior_attributes(self, box: UnitBox, shared: Floats) -> dict[str, Floats]:
        """Name what an estimator keeps of the shared parameters (n, s) of its draws."""

    def use(self, box: UnitBox, parameters: Floats, shared: Floats) -> InputUse:
        """Say which inputs (d,) terms with parameters (k, p) use, and how much, given shared ones (s,)."""

    def use_in_draws(self, box: UnitBox, n_terms: Ints, parameters: Floats, shared: Floats) -> InputUse:
        """Say how probable it is that terms use each input, and how much: n draws of n_terms (n,) terms each."""

    def strength(self, box: UnitBox, parameters: Floats, shared: Floats) -> Floats:
        """Say how strongly the terms depend on each input (d,), for one unit of it; 0 where they do not."""

    def places(self, box: UnitBox, parameters: Floats) -> Floats:
        """Say where in the space of inputs the terms are: (k, d)."""

    def variables(self, box: UnitBox, parameters: Floats, shared: Floats) -> dict[str, tuple[tuple[str, ...], Floats]]:
        """Name the variables of draws, with the names of their last axes: of terms (n, p), and shared ones (..., s)."""

    def stack(
        self, families: Sequence[Any], parameters: Sequence[Floats], shared: Sequence[Floats], *, same_shared: bool
    ) -> TermStack:
        """Stack the terms of networks for an ONNX graph; `same_shared` where these may have shared parameters alike."""


class FittedFamily(Protocol):
    """A family on given data. A value, which a model keeps and a file holds."""

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term, each in [0, 1]."""

    @property
    def starting_shared(self) -> Floats:
        """The shared parameters (s,) that descents start from."""

    @property
    def n_choices(self) -> int:
        """The number of shared parameters that may be in or out; 0 where they are given."""

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for, its coefficients aside: at least, and at most."""

    @property
    def coefficient_scale(self) -> float:
        """What coefficients inside are divided by to be in the user's units."""

    @property
    def search(self) -> FamilySearch:
        """What descents, starts and hops ask."""

    @property
    def inspection(self) -> FamilyInspection:
        """What summaries, reports and pictures ask."""

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Choose the smallest squared norm of a column that is let in, with a ridge on its coefficient or without."""

    def encode(self, centers: Floats) -> Floats:
        """Make parameters (k, p) of points (k, v) of the unit cube that a user gave as a start."""

    def families(self, U: Floats, like: Families | None = None) -> Families:
        """Prepare rows U (N, v) of the unit cube for kernels, or share those that another variant has prepared."""

    def columns(self, U: Floats, parameters: Floats, shared: Floats) -> Floats:
        """Evaluate the terms at rows U (N, v) of the unit cube: (N, k)."""
