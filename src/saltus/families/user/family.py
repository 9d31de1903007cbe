"""What the author of a family writes, in NumPy alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from saltus._typing import Floats
from saltus.families.inputs import FamilyRows
from saltus.families.profiles import Graph
from saltus.families.user.differences import central_differences
from saltus.families.user.layout import Layout, check_layout
from saltus.families.user.ranges import InputRanges

if TYPE_CHECKING:
    from saltus.families.user.fitted import FittedUser


@dataclass(frozen=True)
class UserFamily:
    """A family of terms of your own: subclass it and write `column`; see the guide `your_own_family`.

    A term of the family has some inputs, which the search chooses, and continuous parameters, each between 0 and 1.
    Before data are seen, every number of inputs up to `max_inputs` is as probable as another, every choice of so many
    inputs in any order too, and every parameter is uniform. Terms are born, die, walk, grow by an input, shrink and
    descend as those of any other family, and mix with these.

    A family is a value: two are equal if they are of one class and have equal options. Options are the fields of a
    frozen dataclass, ``@dataclass(frozen=True)``; a family without options needs no decorator.

    Attributes
    ----------
    parameter_names : tuple of str
        The parameters of a term.
    input_parameter_names : tuple of str
        The parameters that a term has in addition for each of its inputs.
    periodic : tuple of str
        The names of parameters for which 0 and 1 mean the same: walks wrap around.
    not_smooth : tuple of str
        The names of parameters at which a column jumps when they change: descents do not change these.
    max_inputs : int
        The largest number of inputs of a term.
    extrapolate : {"hold", "free"}
        Beyond the range of the training rows, a term keeps its value at the edge ("hold") or continues ("free").

    Notes
    -----
    The methods below are given

    - ``X`` (N, g): the inputs of the term, in the user's units;
    - ``parameters`` (p,): those of `parameter_names`, then, for each input in the order of the columns of X, those of
      `input_parameter_names`; each in [0, 1];
    - ``ranges`` (2, g): the lowest and the highest value of each of these inputs among the rows of the fit, to turn
      parameters into places, widths and slopes in the user's units.

    Terms should be about as large as 1 in the range of the data: coefficients have a prior that says so, and a term
    with a sum of squares below 3 over the rows is refused. Methods are called from several threads, and must change
    neither their arguments nor the family.

    Examples
    --------
    >>> import numpy as np
    >>> from saltus import UserFamily
    >>> class Decay(UserFamily):
    ...     '''Exponential decay along one input.'''
    ...
    ...     parameter_names = ("rate",)
    ...
    ...     def column(self, X, parameters, ranges):
    ...         low, high = ranges[:, 0]
    ...         return np.exp(-(0.1 + 10.0 * parameters[0]) * (X[:, 0] - low) / (high - low))
    >>> Decay()
    Decay()
    """

    parameter_names: ClassVar[tuple[str, ...]] = ()
    input_parameter_names: ClassVar[tuple[str, ...]] = ()
    periodic: ClassVar[tuple[str, ...]] = ()
    not_smooth: ClassVar[tuple[str, ...]] = ()

    # Without a type, these are no fields of a dataclass, and may be made some.
    max_inputs = 1
    extrapolate = "hold"

    is_radial: ClassVar[bool] = False
    needs_numbers: ClassVar[bool] = True
    n_columns: ClassVar[int] = 1
    known_cost: ClassVar[int | None] = None

    def column(self, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
        """Evaluate a term at N rows: (N,). The one method that a family must have.

        The value at a row must depend on that row alone. A term that is not finite at some row is refused.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method column(self, X, parameters, ranges). Write it.")

    def derivatives(self, X: Floats, parameters: Floats, ranges: Floats) -> Floats:
        """Differentiate the column by each parameter: (N, p), for descents.

        By default by central differences, which take 2 p columns; 0 for what is not smooth.
        """
        return central_differences(self, X, parameters, ranges)

    def count_parameters(self, n_inputs: int) -> int:
        """Say for how many parameters a term of so many inputs counts in the criterion, its coefficient aside."""
        return len(self.parameter_names) + n_inputs * len(self.input_parameter_names)

    def formula(self, names: Sequence[str], parameters: Floats, ranges: Floats, number: str) -> str:
        """Write a term as a formula of inputs with these names, its numbers by ``format(value, number)``.

        By default the name of the class with its inputs, and the parameters as they are.
        """
        written = ", ".join(
            f"{name} = {format(value, number)}"
            for name, value in zip(Layout.of(self).names(len(names)), parameters.tolist(), strict=True)
        )
        return f"{type(self).__name__}({', '.join(names)}{'; ' if written else ''}{written})"

    def describe(self) -> str:
        """Say in words what a term is: by default the first line of the docstring of the class."""
        own = type(self).__dict__.get("__doc__") or ""
        # A dataclass without a docstring has one that is its signature.
        first = own.strip().partition("\n")[0]
        return first if first and not first.startswith(f"{type(self).__name__}(") else type(self).__name__

    def add_nodes(
        self, graph: Graph, X: Sequence[str], parameters: Sequence[str], ranges: Sequence[Sequence[str]]
    ) -> str:
        """Add nodes that evaluate the column to an ONNX graph, and return the name of their result.

        `X`, `parameters` and both rows of `ranges` are lists of the names of arrays, which broadcast against each
        other. By default an error: a family without this method cannot be exported.
        """
        raise NotImplementedError(
            f"{self!r} has no method add_nodes, so that its terms cannot be exported to ONNX. Write one that adds the "
            f"nodes of its column (see saltus.UserFamily.add_nodes), or fit with families of the library alone."
        )

    def variants(self, *, several: bool) -> tuple[Self, ...]:
        """List what chains may be made of: nothing is left open."""
        return (self,)

    def fit(self, rows: FamilyRows) -> "FittedUser":
        """Fit to rows."""
        from saltus.families.user.fitted import FittedUser

        check_layout(self)
        return FittedUser(self, InputRanges.of(rows))
