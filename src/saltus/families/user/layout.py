"""The parameters of a term of a user's family: which there are, in which order, and of which sort."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from saltus._typing import Bools
from saltus.families.options import EXTRAPOLATE


class HasLayout(Protocol):
    """What says which parameters terms have."""

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Those of a term."""

    @property
    def input_parameter_names(self) -> tuple[str, ...]:
        """Those of each of its inputs."""

    @property
    def periodic(self) -> tuple[str, ...]:
        """Those that wrap around."""

    @property
    def not_smooth(self) -> tuple[str, ...]:
        """Those that descents leave alone."""

    @property
    def max_inputs(self) -> int:
        """The largest number of inputs of a term."""

    @property
    def extrapolate(self) -> str:
        """What a term does beyond the rows."""


@dataclass(frozen=True)
class Layout:
    """The parameters of a term: its own, then those of its first input, of its second, and so on."""

    own: tuple[str, ...]
    of_an_input: tuple[str, ...]
    periodic: tuple[str, ...]
    not_smooth: tuple[str, ...]

    @classmethod
    def of(cls, family: HasLayout) -> "Layout":
        """Read it off a family."""
        return cls(
            tuple(family.parameter_names),
            tuple(family.input_parameter_names),
            tuple(family.periodic),
            tuple(family.not_smooth),
        )

    def n_parameters(self, n_inputs: int) -> int:
        """Count the parameters of a term of so many inputs."""
        return len(self.own) + n_inputs * len(self.of_an_input)

    def _in_order(self, n_inputs: int) -> tuple[str, ...]:
        return (*self.own, *self.of_an_input * n_inputs)

    def names(self, n_inputs: int) -> list[str]:
        """Name the parameters of a term of so many inputs; with the number of the input where it has several."""
        numbered = [f"{name}{i + 1}" for i in range(n_inputs) for name in self.of_an_input]
        return [*self.own, *(numbered if n_inputs > 1 else self.of_an_input)]

    def is_periodic(self, n_inputs: int) -> Bools:
        """Say which parameters of a term of so many inputs wrap around."""
        return np.array([name in self.periodic for name in self._in_order(n_inputs)], dtype=bool)

    def is_smooth(self, n_inputs: int) -> Bools:
        """Say which parameters of a term of so many inputs a descent may change."""
        return np.array([name not in self.not_smooth for name in self._in_order(n_inputs)], dtype=bool)


def check_layout(family: HasLayout) -> None:
    """Raise ValueError where what a family says of its parameters, or an option that all have, cannot be."""
    name, layout = type(family).__name__, Layout.of(family)
    for attribute in ("parameter_names", "input_parameter_names", "periodic", "not_smooth"):
        given = getattr(family, attribute)
        if isinstance(given, str) or not all(isinstance(each, str) and each for each in given):
            raise ValueError(f"{name}.{attribute} must be a tuple of names. Got {given!r}.")
    known = (*layout.own, *layout.of_an_input)
    if len(set(known)) < len(known):
        raise ValueError(f"{name} has two parameters of one name. Got {known!r}. Give each a name of its own.")
    strange = [each for each in (*layout.periodic, *layout.not_smooth) if each not in known]
    if strange:
        raise ValueError(
            f"{name} calls {strange[0]!r} periodic or not smooth, and has no parameter of that name. Got the names "
            f"{known!r}. Use one of them."
        )
    most = family.max_inputs
    if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 1:
        raise ValueError(f"{name}.max_inputs must be a whole number of inputs, 1 or more. Got {most!r}.")
    if family.extrapolate not in EXTRAPOLATE:
        raise ValueError(f"{name}.extrapolate must be one of {', '.join(EXTRAPOLATE)}. Got {family.extrapolate!r}.")
