"""Cooling schedules: iteration -> temperature."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from saltus._typing import Floats, Ints, is_number


class Schedule(Protocol):
    """Something that says how hot the chain is."""

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations, which run from 0 to n_iter - 1."""


def _check(**temperatures: float) -> None:
    for name, value in temperatures.items():
        if not (is_number(value) and 0 < value < np.inf):
            raise ValueError(f"The {name} temperature of a schedule must be positive. Got {value!r}.")


@dataclass(frozen=True)
class Linear:
    """T falls by the same amount at every iteration; the authors' own, from 1 to 0.1."""

    start: float = 1.0
    end: float = 0.1

    def __post_init__(self) -> None:
        _check(start=self.start, end=self.end)

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations."""
        return self.start + (self.end - self.start) * (iteration / max(n_iter - 1, 1))


@dataclass(frozen=True)
class Geometric:
    """T falls by the same factor at every iteration."""

    start: float = 2.0
    end: float = 0.1

    def __post_init__(self) -> None:
        _check(start=self.start, end=self.end)

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations."""
        return self.start * (self.end / self.start) ** (iteration / max(n_iter - 1, 1))


@dataclass(frozen=True)
class StayThenCool:
    """T stays for a share of the iterations, then falls by the same factor at every one."""

    start: float = 1.0
    end: float = 0.1
    share: float = 0.8

    def __post_init__(self) -> None:
        _check(start=self.start, end=self.end)

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations."""
        cooled = np.maximum(iteration / max(n_iter - 1, 1) - self.share, 0.0) / (1.0 - self.share)
        return self.start * (self.end / self.start) ** cooled


@dataclass(frozen=True)
class Logarithmic:
    """T = start ln 2 / ln(i + 2): the slow cooling under which annealing is known to converge."""

    start: float = 1.0

    def __post_init__(self) -> None:
        _check(start=self.start)

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations."""
        return self.start * np.log(2.0) / np.log(iteration + 2.0)


@dataclass(frozen=True)
class Constant:
    """T stays where it is: at 1, the chain samples the posterior whose mode is sought."""

    value: float = 1.0

    def __post_init__(self) -> None:
        _check(value=self.value)

    def temperature(self, iteration: Ints, n_iter: int) -> Floats:
        """Temperature at each of the iterations."""
        return np.full(iteration.shape, self.value)


SCHEDULES = {"linear": Linear, "geometric": Geometric, "logarithmic": Logarithmic, "constant": Constant}


def temperatures(schedule: Schedule, iteration: Ints, n_iter: int) -> Floats:
    """Ask a schedule for its temperatures, and check them."""
    temperature = np.asarray(schedule.temperature(iteration, max(n_iter, 1)), dtype=np.float64)
    if temperature.shape != iteration.shape or not (np.isfinite(temperature) & (temperature > 0)).all():
        raise ValueError(
            f"schedule.temperature must return a positive number for each of the {iteration.size} iterations it is "
            f"given. Got {temperature!r} from {schedule!r}."
        )
    return temperature


def resolve_schedule(schedule: str | Schedule) -> Schedule:
    """Turn a name into a schedule with its default temperatures; leave a schedule as it is."""
    if isinstance(schedule, type):
        raise ValueError(f"schedule must be a name or an object such as Geometric(start=2, end=0.1). Got {schedule!r}.")
    return SCHEDULES[schedule]() if isinstance(schedule, str) else schedule
