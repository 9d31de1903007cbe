"""Parallel tempering: a chain of the posterior beside hotter copies of itself, with which it exchanges where it is.

The copy at temperature T has the law pi^(1/T), in the measure in which a birth has log_green -ln(k + 1); g is tempered
with the terms. Neighbours at temperatures T and T' exchange terms and g with probability

    min{1, exp((1/T - 1/T') (log pi' - log pi))}

so that the product of their laws stays, and that of the chain at temperature 1 is the posterior. Hot copies cross from
one description of a function to another, by states that a chain at temperature 1 hardly ever is in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from saltus.engine.drivers.steppers import Stepper, Walk
from saltus.engine.kernels.target import accept_exchange

# Iterations between two exchanges: as many as between two draws of g, so that blocks end there anyhow.
STEPS_BETWEEN_EXCHANGES = 200


@dataclass
class Rung:
    """A chain at one temperature. Mutable: an exchange gives it another state."""

    temperature: float
    stepper: Stepper
    walk: Walk

    def run(self, done: int, stop: int, *, afresh: bool) -> float:
        """Carry the chain on, as its stepper does; return log pi of where that is."""
        return self.stepper.run(self.walk, done, stop, afresh=afresh)


def log_exchange_ratio(temperatures: tuple[float, float], log_posteriors: tuple[float, float]) -> float:
    """Evaluate the logarithm of what an exchange multiplies the product of two chains' densities by."""
    return (1.0 / temperatures[0] - 1.0 / temperatures[1]) * (log_posteriors[1] - log_posteriors[0])


def run_rungs(rungs: Sequence[Rung], done: int, stop: int, *, afresh: bool) -> float:
    """Carry chains of rising temperatures on, with exchanges; return log pi of where the first is. Mutates them.

    Exchanges come at multiples of so many iterations, those of even and of odd pairs in turns.
    """
    if len(rungs) == 1:
        return rungs[0].run(done, stop, afresh=afresh)
    between = STEPS_BETWEEN_EXCHANGES
    while done < stop:
        pause = min(between * (done // between + 1), stop)
        values = [rung.run(done, pause, afresh=afresh) for rung in rungs]
        done, afresh = pause, False
        if done % between == 0:
            exchange(rungs, values, first=done // between % 2)
    return values[0]


def exchange(rungs: Sequence[Rung], log_posteriors: list[float], first: int) -> None:
    """Let neighbours exchange their states, from rung `first` on every other pair. Mutates rungs and values."""
    rng = rungs[0].walk.rng
    for i in range(first, len(rungs) - 1, 2):
        colder, hotter = rungs[i], rungs[i + 1]
        values = log_posteriors[i], log_posteriors[i + 1]
        log_ratio = log_exchange_ratio((colder.temperature, hotter.temperature), values)
        if accept_exchange(log_ratio, np.log(rng.random())):
            _exchange_states(colder, hotter)
            log_posteriors[i], log_posteriors[i + 1] = values[1], values[0]


def _exchange_states(one: Rung, other: Rung) -> None:
    above = one.stepper.above
    one.stepper.restore(*other.stepper.above)
    other.stepper.restore(*above)
    one.walk, other.walk = replace(one.walk, state=other.walk.state), replace(other.walk, state=one.walk.state)
