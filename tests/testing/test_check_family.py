"""check_family passes families that are well, and finds what is wrong with others: one bug each."""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pytest

from saltus import UserFamily
from saltus.testing import FamilyError, check_family
from tests.families.user.families import Constantly, OwnRidge, Stairs, Turns


@dataclass(frozen=True)
class Well(UserFamily):
    """A bump along one or two inputs, over a slope."""

    width: float = 0.3
    max_inputs: int = 2

    parameter_names = ("slope",)
    input_parameter_names = ("place",)

    def column(self, X, parameters, ranges):
        share = (X - ranges[0]) / (ranges[1] - ranges[0])
        bump = np.exp(-0.5 * (((share - parameters[1:]) / self.width) ** 2).sum(axis=1))
        return bump + parameters[0] * share.mean(axis=1)

    def derivatives(self, X, parameters, ranges):
        share = (X - ranges[0]) / (ranges[1] - ranges[0])
        z = (share - parameters[1:]) / self.width
        bump = np.exp(-0.5 * (z**2).sum(axis=1))
        return np.column_stack([share.mean(axis=1), bump[:, None] * z / self.width])


class Named(Well):
    parameter_names = "slope"


class NamedTwice(Well):
    parameter_names = ("place",)


class NotThere(Well):
    periodic = ("phase",)


class NoInputs(Well):
    max_inputs = 0


class Elsewhere(Well):
    extrapolate = "anywhere"


class Raising(Well):
    def column(self, X, parameters, ranges):
        return np.linalg.inv(X)


class Matrix(Well):
    def column(self, X, parameters, ranges):
        return X


class Infinite(Well):
    def column(self, X, parameters, ranges):
        with np.errstate(all="ignore"):
            return super().column(X, parameters, ranges) + 0 * np.log(X[:, 0] - ranges[0, 0])


class InfiniteAtAnEnd(Well):
    def column(self, X, parameters, ranges):
        with np.errstate(divide="ignore"):
            return super().column(X, parameters, ranges) / (np.float64(parameters[0]) > 0)


class AtRandom(Well):
    def column(self, X, parameters, ranges):
        return super().column(X, parameters, ranges) + np.random.default_rng().random(len(X))


class Writing(Well):
    def column(self, X, parameters, ranges):
        X -= ranges[0]
        return super().column(X + ranges[0], parameters, ranges)


class WritingParameters(Well):
    def column(self, X, parameters, ranges):
        parameters[0] *= 1.0 + 1e-9
        return super().column(X, parameters, ranges)


class Sorted(Well):
    def column(self, X, parameters, ranges):
        return np.sort(super().column(X, parameters, ranges))


class Centred(Well):
    def column(self, X, parameters, ranges):
        column = super().column(X, parameters, ranges)
        return column - column.mean()


class Flat(Well):
    def column(self, X, parameters, ranges):
        return np.full(len(X), 1 + parameters.sum())


class Tiny(Well):
    def column(self, X, parameters, ranges):
        return 1e-4 * super().column(X, parameters, ranges)


class Huge(Well):
    def column(self, X, parameters, ranges):
        return 1e4 * super().column(X, parameters, ranges)


class Needle(Well):
    """One that hardly any row sees."""

    input_parameter_names = ()

    def column(self, X, parameters, ranges):
        share = (X[:, 0] - ranges[0, 0]) / (ranges[1, 0] - ranges[0, 0])
        return np.exp(-0.5 * ((share - parameters[0]) / 1e-3) ** 2) + 0.05 * share

    derivatives = UserFamily.derivatives


class FreeRoot(Well):
    extrapolate = "free"

    def column(self, X, parameters, ranges):
        with np.errstate(invalid="ignore"):
            return super().column(X, parameters, ranges) + np.sqrt(X[:, 0] - ranges[0, 0])


class Idle(Well):
    parameter_names = ("slope", "idle")

    def column(self, X, parameters, ranges):
        return super().column(X, np.delete(parameters, 1), ranges)

    derivatives = UserFamily.derivatives


class FirstAlone(Well):
    input_parameter_names = ()

    def column(self, X, parameters, ranges):
        return np.cos(3 * parameters[0] * X[:, 0])

    derivatives = UserFamily.derivatives


class NotPeriodic(Well):
    periodic = ("slope",)


class WrongDerivative(Well):
    def derivatives(self, X, parameters, ranges):
        found = super().derivatives(X, parameters, ranges)
        found[:, -1] *= -1
        return found


class FlatDerivatives(Well):
    def derivatives(self, X, parameters, ranges):
        return super().derivatives(X, parameters, ranges)[:, 0]


class CountsHalf(Well):
    def count_parameters(self, n_inputs):
        return n_inputs / 2


class CountsDown(Well):
    def count_parameters(self, n_inputs):
        return 5 - n_inputs


class Wordless(Well):
    def describe(self):
        return ""


class Nameless(Well):
    def formula(self, names, parameters, ranges, number):
        return "a term"


@dataclass(frozen=True)
class WithList(Well):
    widths: list = field(default_factory=list)


@dataclass(frozen=True)
class NeverEqual(Well):
    def __eq__(self, other):
        return self is other

    __hash__ = object.__hash__


@dataclass(frozen=True)
class WithFile(Well):
    file: object = field(default_factory=lambda: open(__file__), compare=False)  # noqa: SIM115


@dataclass(frozen=True)
class Forgetful(Well):
    """Comes back from another process with another width."""

    def __reduce__(self):
        return type(self), (0.1,)


class NotInAFit(Well):
    """Wants its rows to be writeable, as those of a fit are not."""

    def column(self, X, parameters, ranges):
        if not X.flags.writeable:
            raise ValueError("in a fit")
        return super().column(X, parameters, ranges)


@dataclass(frozen=True)
class WithFunction(Well):
    function: object = np.exp


class WrongNodes(Turns):
    def add_nodes(self, graph, X, parameters, ranges):
        return graph.add("Neg", super().add_nodes(graph, X, parameters, ranges))


class NoNodes(Turns):
    def add_nodes(self, graph, X, parameters, ranges):
        return graph.add("Sum of things", *X)


@pytest.mark.parametrize("family", [Well(), Turns(), Turns(1.0, 1), Stairs(), Constantly()], ids=repr)
def test_families_that_are_well_pass(family):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_family(family)


def test_rows_may_be_given(rng):
    class Root(Well):
        """Not defined between 0 and 1."""

        def column(self, X, parameters, ranges):
            return super().column(X, parameters, ranges) + np.sqrt(X[:, 0] - 5)

        derivatives = UserFamily.derivatives

    with np.errstate(invalid="ignore"), pytest.raises(FamilyError, match="not finite"):
        check_family(Root(), fit=False)
    check_family(Root(), rng.uniform(5, 6, (60, 2)), fit=False)
    for X in (rng.random(60), rng.random((10, 2)), np.ones((60, 2)), np.full((60, 2), np.nan)):
        with pytest.raises(ValueError, match="at least 20 rows of finite numbers, and inputs that vary"):
            check_family(Root(), X, fit=False)


@pytest.mark.parametrize("given", [Well, "hinges", None])
def test_what_is_no_family_is_refused(given):
    with pytest.raises(TypeError, match="an object of a subclass of UserFamily"):
        check_family(given)


BROKEN = {
    Named: "parameter_names must be a tuple of names. Got 'slope'",
    NamedTwice: "two parameters of one name",
    NotThere: "calls 'phase' periodic or not smooth",
    Elsewhere: "extrapolate must be one of hold, free",
    Raising: "column raised LinAlgError",
    Matrix: r"one value for each row, shape \(150,\). Got \(150, ",
    Infinite: "is not finite at 1 of 150 rows",
    InfiniteAtAnEnd: "is not finite at 150 of 150 rows",
    AtRandom: "gives another column when it is called again",
    Writing: "changes its argument X",
    WritingParameters: "changes its argument parameters",
    Sorted: "rows that are given in another order",
    Centred: "rows that are given without the others",
    Flat: "is constant over the rows for 100% of terms",
    Tiny: r"about as large as 1 .* Got 0.000\d+",
    Huge: r"about as large as 1 .* Got \d",
    Needle: "sum of squares below 3",
    FreeRoot: "not finite beyond the range of the data",
    Idle: "parameter idle of Idle changes no column",
    FirstAlone: "does not use input 2 of 2",
    NotPeriodic: "slope of NotPeriodic is called periodic, and columns at 0 and at 1 differ",
    WrongDerivative: "derivatives by place disagree with differences",
    FlatDerivatives: r"a column for each parameter, shape \(150, 2\). Got \(150,\)",
    CountsHalf: "whole number, 0 or more. Got 0.5",
    CountsDown: "must not fall as a term has more inputs",
    Wordless: "describe must return a sentence",
    Nameless: "text with the names of the inputs. Got 'a term'",
    WithList: "has no hash",
    NeverEqual: "A copy of .* is another family",
    WithFile: "options of WithFile cannot be sent to another process",
    Forgetful: "A copy of .* is another family",
}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_one_bug_is_found_alone(broken):
    with pytest.raises(FamilyError, match=BROKEN[broken]) as info:
        check_family(broken(), fit=False)
    assert len(info.value.problems) == 1
    assert broken.__name__ in str(info.value)
    assert all(problem.endswith((".", "]")) for problem in info.value.problems)


def test_several_bugs_are_listed_together():
    class Both(Wordless):
        def count_parameters(self, n_inputs):
            return -1

    with pytest.raises(FamilyError, match=r"2 problem\(s\)") as info:
        check_family(Both(), fit=False)
    assert len(info.value.problems) == 2


def test_a_number_of_inputs_that_cannot_be_is_found():
    with pytest.raises(FamilyError, match="max_inputs must be a whole number of inputs"):
        check_family(Well(max_inputs=0))


def test_jumps_are_warned_of():
    class Jumping(Stairs):
        not_smooth = ()

    with pytest.warns(UserWarning, match=r"jump as the parameter direction passes 0\.5"):
        check_family(OwnRidge(), fit=False)
    with pytest.warns(UserWarning, match=r"jump as the parameter threshold passes [01].*add threshold to not_smooth"):
        check_family(Jumping(), fit=False)


@pytest.mark.parametrize(
    ("family", "match"),
    [
        (WithFunction(), "cannot be saved and read"),
        (WrongNodes(), r"nodes of WrongNodes.add_nodes predict something else than column"),
        (NoNodes(), r"add_nodes does not make a graph"),
        (NotInAFit(), r"cannot be fitted: RuntimeError: NotInAFit\(.*ValueError: in a fit"),
    ],
    ids=repr,
)
def test_a_small_model_shows_what_else_is_wrong(family, match):
    check_family(family, fit=False)
    with pytest.raises(FamilyError, match=match):
        check_family(family)
