"""L-BFGS within bounds, compiled: a projected quasi-Newton method that raises log pi.

Coordinates at a bound that the gradient would push across it are held. The others move along the quasi-Newton
direction, back onto the bounds where they cross them, and no further than an Armijo condition allows.

Against SciPy's L-BFGS-B with a gradient in NumPy, 60 evaluations take 1/20 of the time of 60 steps at N = 200, k = 10,
and 1/4 at N = 2 000, k = 15. The ends of 300 are as good.
"""

from typing import NamedTuple

import numpy as np

from saltus._jit import by_reference, entry_point, kernel, source_digest
from saltus._typing import Floats, Ints
from saltus._vectors import add_multiple, dot
from saltus.engine.problem.problem import Problem
from saltus.engine.search.gradient import Work, value_and_gradient

# Pairs that are remembered.
MEMORY = 20
# A step must gain this share of what the gradient promises, and is cut until it does, so many times.
SUFFICIENT, MOST_CUTS = 1e-4, 20
# A step that gains less than this share of the value is the last.
SMALLEST_GAIN = 2e-9
# So is one to where the gradient is no longer than this.
FLAT = 1e-5
# No coordinate moves farther in a step.
FARTHEST = 1.0
# Pairs of less curvature than this say nothing.
STRAIGHT = 1e-12


@by_reference
class Search(NamedTuple):
    """Where a search is, what it remembers, and the point it tries next. Mutated by `descend`."""

    low: Floats  # (n,)
    high: Floats  # (n,)
    x: Floats  # (n,)
    value: Floats  # (1,), minus infinity before the first evaluation
    gradient: Floats  # (n,)
    steps: Floats  # (MEMORY, n), differences of points
    bends: Floats  # (MEMORY, n), less the differences of gradients
    along: Floats  # (2, MEMORY)
    n_pairs: Ints  # (1,), ever entered since memory was last cleared
    direction: Floats  # (n,)
    length: Floats  # (1,), of the next step, in units of the direction
    n_cuts: Ints  # (1,), of its length
    trial: Floats  # (n,)
    trial_gradient: Floats  # (n,)


def start_search(low: Floats, high: Floats, x: Floats) -> Search:
    """Allocate a search that begins at x."""
    n = x.size
    return Search(
        low=low,
        high=high,
        x=x.copy(),
        value=np.full(1, -np.inf),
        gradient=np.zeros(n),
        steps=np.empty((MEMORY, n)),
        bends=np.empty((MEMORY, n)),
        along=np.empty((2, MEMORY)),
        n_pairs=np.zeros(1, dtype=np.int64),
        direction=np.zeros(n),
        length=np.zeros(1),
        n_cuts=np.zeros(1, dtype=np.int64),
        trial=x.copy(),
        trial_gradient=np.empty(n),
    )


@kernel
def hold(search: Search) -> float:
    """Set the direction to the gradient, 0 where a bound is in the way; return its squared length. O(n).

    Memory forgets what it knew about coordinates that are held.
    """
    x, gradient, direction = search.x, search.gradient, search.direction
    for i in range(x.size):
        held = (x[i] <= search.low[i] and gradient[i] < 0.0) or (x[i] >= search.high[i] and gradient[i] > 0.0)
        direction[i] = 0.0 if held else gradient[i]
        if held:
            for which in range(min(search.n_pairs[0], MEMORY)):
                search.steps[which, i] = 0.0
                search.bends[which, i] = 0.0
    return dot(direction, direction, x.size)


@kernel
def find_direction(search: Search) -> None:
    """Multiply the direction by the inverse Hessian that the pairs suggest. O(n MEMORY)."""
    direction, along, n_pairs = search.direction, search.along, search.n_pairs[0]
    n = direction.size
    n_kept = min(n_pairs, MEMORY)
    scale = 0.0
    for turn in range(2 * n_kept):
        # From the newest to the oldest, and back.
        which = (n_pairs - 1 - min(turn, 2 * n_kept - 1 - turn)) % MEMORY
        step, bend = search.steps[which], search.bends[which]
        if turn < n_kept:
            curvature, squared = dot(step, bend, n), dot(bend, bend, n)
            along[0, which] = 0.0
            along[1, which] = 0.0
            if curvature > STRAIGHT * squared:
                along[0, which] = dot(step, direction, n) / curvature
                along[1, which] = 1.0 / curvature
                if scale == 0.0:
                    scale = curvature / squared
            add_multiple(-along[0, which], bend, direction)
        else:
            if turn == n_kept:
                add_multiple(scale - 1.0, direction, direction)
            add_multiple(along[0, which] - dot(bend, direction, n) * along[1, which], step, direction)


@kernel
def set_trial(search: Search) -> float:
    """Set the trial point, within bounds; return what the gradient promises there. O(n)."""
    promised = 0.0
    for i in range(search.x.size):
        ahead = search.x[i] + search.length[0] * search.direction[i]
        search.trial[i] = min(max(ahead, search.low[i]), search.high[i])
        promised += search.gradient[i] * (search.trial[i] - search.x[i])
    return promised


@kernel
def take_step(search: Search, value: float) -> bool:
    """Move to the trial point and remember the pair; False where log pi did not curve down. Mutates. O(n)."""
    which = search.n_pairs[0] % MEMORY
    step, bend = search.steps[which], search.bends[which]
    for i in range(step.size):
        step[i] = search.trial[i] - search.x[i]
        bend[i] = search.gradient[i] - search.trial_gradient[i]
        search.x[i] = search.trial[i]
        search.gradient[i] = search.trial_gradient[i]
    search.value[0] = value
    if not dot(step, bend, step.size) > 0.0:
        return False
    search.n_pairs[0] += 1
    return True


@kernel
def set_out(search: Search) -> bool:
    """Choose the next trial point; False where log pi is flat."""
    squared = hold(search)
    if not squared > FLAT * FLAT:
        return False
    find_direction(search)
    search.n_cuts[0] = 0
    farthest = FARTHEST
    for i in range(search.x.size):
        farthest = max(farthest, abs(search.direction[i]))
    search.length[0] = FARTHEST / farthest if search.n_pairs[0] > 0 else FARTHEST / np.sqrt(squared)
    return set_trial(search) > 0.0


@kernel
def decide(search: Search, found: float) -> bool:
    """Take the step to the trial point or cut it, and choose the next; False where the search is at its end."""
    before = search.value[0]
    promised = set_trial(search)
    gain = found - before
    if found > -np.inf and not gain < SUFFICIENT * promised:
        bent = take_step(search, found)
        if gain <= SMALLEST_GAIN * max(abs(found), 1.0):
            return False
        if not bent and before > -np.inf:
            # As steep as before: on, and faster.
            search.length[0] *= 2.0
            search.n_cuts[0] = 0
            if set_trial(search) > 0.0:
                return True
    elif before > -np.inf and search.n_cuts[0] < MOST_CUTS:
        # To the top of the parabola through what is known.
        search.length[0] *= min(max(0.5 * promised / (promised - gain), 0.1), 0.5)
        search.n_cuts[0] += 1
        set_trial(search)
        return True
    elif search.n_pairs[0] == 0:
        return False
    else:
        search.n_pairs[0] = 0
    while not set_out(search):
        if search.n_pairs[0] == 0:
            return False
        search.n_pairs[0] = 0
    return True


def _compile_descend(digest: str):  # type: ignore[no-untyped-def]
    @entry_point
    def descend(problem: Problem, penalty: float, work: Work, search: Search, n_evaluations: int) -> bool:
        """Evaluate so many points, each better than the last that was taken; False where the search is at its end.

        Mutates the search. Afterwards x is the best point, and the work is that of the last. O(N m (m + q)) each.
        """
        sources = digest  # noqa: F841  # a part of the cache's key
        for _ in range(n_evaluations):
            found = value_and_gradient(problem, penalty, search.trial, work, search.trial_gradient)
            if not decide(search, found):
                return False
        return True

    return descend


descend = _compile_descend(source_digest())
