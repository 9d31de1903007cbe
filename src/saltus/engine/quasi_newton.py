"""L-BFGS within bounds, compiled: uphill on a surface by a projected quasi-Newton method.

Coordinates at a bound that the gradient would push across it are held. The others move along the quasi-Newton
direction, back onto the bounds where they cross them, and no further than an Armijo condition allows.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from saltus._jit import entry_point, glue, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus.engine.factor import dot
from saltus.engine.gradient import Surface, Work, look

# Pairs that are remembered.
MEMORY = 20
# A step must gain this share of what the gradient promises, and is halved or more until it does, so many times.
SUFFICIENT, MOST_CUTS = 1e-4, 20
# A step that gains less than this share of the value is the last.
GAIN = 2e-9
# So is one where no coordinate has a steeper gradient.
FLAT = 1e-5
# Pairs of less curvature than this say nothing.
STRAIGHT = 1e-12


class Search(NamedTuple):
    """Where a search is, and what it remembers. Mutated by `climb`."""

    low: Floats  # (n,)
    high: Floats  # (n,)
    x: Floats  # (n,)
    value: Floats  # (1,)
    gradient: Floats  # (n,)
    free: NDArray[np.bool_]  # (n,)
    direction: Floats  # (n,)
    trial: Floats  # (n,)
    trial_gradient: Floats  # (n,)
    steps: Floats  # (MEMORY, n), differences of points
    bends: Floats  # (MEMORY, n), less the differences of gradients
    along: Floats  # (2, MEMORY)
    n_pairs: Ints  # (1,), ever entered


def start_search(low: Floats, high: Floats, x: Floats) -> Search:
    """Allocate a search from x; its value and gradient are still to be set."""
    n = x.size
    return Search(
        low=low,
        high=high,
        x=np.clip(x, low, high),
        value=np.empty(1),
        gradient=np.empty(n),
        free=np.empty(n, dtype=np.bool_),
        direction=np.empty(n),
        trial=np.empty(n),
        trial_gradient=np.empty(n),
        steps=np.empty((MEMORY, n)),
        bends=np.empty((MEMORY, n)),
        along=np.empty((2, MEMORY)),
        n_pairs=np.zeros(1, dtype=np.int64),
    )


@glue
def find_free(search: Search) -> float:
    """Mark the coordinates that may move; return the steepest gradient along them."""
    x, gradient = search.x, search.gradient
    steepest = 0.0
    for i in range(x.size):
        held = (x[i] <= search.low[i] and gradient[i] < 0.0) or (x[i] >= search.high[i] and gradient[i] > 0.0)
        search.free[i] = not held
        if not held:
            steepest = max(steepest, abs(gradient[i]))
    return steepest


@kernel
def find_direction(search: Search) -> None:
    """Multiply the gradient by the inverse Hessian that the pairs suggest, along free coordinates. O(n MEMORY)."""
    direction, free, gradient, along = search.direction, search.free, search.gradient, search.along
    n = direction.size
    for i in range(n):
        direction[i] = gradient[i] if free[i] else 0.0
    n_pairs = search.n_pairs[0]
    n_kept = min(n_pairs, MEMORY)
    scale = 0.0
    for age in range(n_kept):
        which = (n_pairs - 1 - age) % MEMORY
        step, bend = search.steps[which], search.bends[which]
        curvature = 0.0
        squared = 0.0
        for i in range(n):
            if free[i]:
                curvature += step[i] * bend[i]
                squared += bend[i] * bend[i]
        if curvature > STRAIGHT * squared:
            if scale == 0.0:
                scale = curvature / squared
            weight = dot(step, direction, n) / curvature
            for i in range(n):
                if free[i]:
                    direction[i] -= weight * bend[i]
            along[0, which] = weight
            along[1, which] = 1.0 / curvature
        else:
            along[1, which] = 0.0
    if scale == 0.0:
        scale = 1.0 / np.sqrt(dot(direction, direction, n))
    for i in range(n):
        direction[i] *= scale
    for age in range(n_kept - 1, -1, -1):
        which = (n_pairs - 1 - age) % MEMORY
        if along[1, which] > 0.0:
            step, bend = search.steps[which], search.bends[which]
            weight = along[0, which] - dot(bend, direction, n) * along[1, which]
            for i in range(n):
                if free[i]:
                    direction[i] += weight * step[i]


@kernel
def find_step(surface: Surface, work: Work, search: Search) -> float:
    """Set the trial point along the direction; return its value, or minus infinity where none is better."""
    x, trial, direction, gradient = search.x, search.trial, search.direction, search.gradient
    value = search.value[0]
    length = 1.0
    for _ in range(MOST_CUTS):
        promised = 0.0
        for i in range(x.size):
            trial[i] = min(max(x[i] + length * direction[i], search.low[i]), search.high[i])
            promised += gradient[i] * (trial[i] - x[i])
        found = look(surface, trial, True, work, search.trial_gradient)
        if found >= value + SUFFICIENT * promised and promised > 0.0:
            return found
        cut = 0.2
        if np.isfinite(found) and promised > 0.0:
            # The top of the parabola through what is known.
            cut = min(max(0.5 * promised / (promised - (found - value)), 0.1), 0.5)
        length *= cut
    return -np.inf


@glue
def take_step(search: Search, value: float) -> None:
    """Move to the trial point and remember the pair. Mutates the search. O(n)."""
    which = search.n_pairs[0] % MEMORY
    step, bend = search.steps[which], search.bends[which]
    for i in range(step.size):
        step[i] = search.trial[i] - search.x[i]
        bend[i] = search.gradient[i] - search.trial_gradient[i]
        search.x[i] = search.trial[i]
        search.gradient[i] = search.trial_gradient[i]
    search.value[0] = value
    if dot(step, bend, step.size) > STRAIGHT * dot(bend, bend, step.size):
        search.n_pairs[0] += 1


def _compile_climb(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def climb(surface: Surface, work: Work, search: Search, n_steps: int) -> int:
        """Take so many steps uphill; return how many were taken: fewer where the search is at its end. Mutates it."""
        sources = digest  # noqa: F841  # a part of the cache's key
        for n_done in range(n_steps):
            if find_free(search) <= FLAT:
                return n_done
            find_direction(search)
            found = find_step(surface, work, search)
            if found == -np.inf and search.n_pairs[0] > 0:
                search.n_pairs[0] = 0
                find_direction(search)
                found = find_step(surface, work, search)
            if found == -np.inf:
                return n_done
            gain = found - search.value[0]
            take_step(search, found)
            if gain <= GAIN * max(abs(found), 1.0):
                return n_done
        return n_steps

    return climb


climb = _compile_climb(source_digest())
