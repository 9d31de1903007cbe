"""A zoo of small problems, for tests that should hold whatever the data: each has a name, a truth, and noise."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from saltus.datasets import robot_arm_position


@dataclass(frozen=True)
class Problem:
    """Rows to fit: X (N, d), NaN where a value is missing, Y (N, c), weights (N,); levels of categories (d,)."""

    X: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    n_levels: np.ndarray | None = None


@dataclass(frozen=True)
class Source:
    """Where rows come from."""

    n_rows: int
    draw_inputs: Callable[[np.random.Generator, int], np.ndarray]
    truth: Callable[[np.ndarray], np.ndarray]  # (N, d) -> (N, c)
    noise: float
    heaviest: int = 1  # weights are whole numbers from 1 to this
    n_levels: tuple[int, ...] | None = None  # of inputs that are categories, 0 for numbers
    gaps: float = 0.0  # the share of rows in which the first input is missing

    def draw(self, rng, n_rows=None):
        """Draw rows."""
        X = self.draw_inputs(rng, self.n_rows if n_rows is None else n_rows)
        Y = self.truth(X)
        weight = rng.integers(1, self.heaviest, len(X), endpoint=True).astype(float)
        Y = Y + self.noise * rng.standard_normal(Y.shape) / np.sqrt(weight)[:, None]
        if self.gaps > 0:
            X[rng.random(len(X)) < self.gaps, 0] = np.nan
        return Problem(X, Y, weight, None if self.n_levels is None else np.array(self.n_levels))


def cube(n_inputs, low=0.0, high=1.0):
    return lambda rng, n: rng.uniform(low, high, (n, n_inputs))


def columns(*functions):
    return lambda X: np.stack([function(X) for function in functions], axis=1)


def with_constant_and_dependent(rng, n):
    """Two inputs that say something, one that is constant, and one that is a sum of the two."""
    X = rng.uniform(-1, 1, (n, 2))
    return np.column_stack([X[:, 0], np.full(n, 7.0), X[:, 1], X[:, 0] + 2 * X[:, 1]])


def table(*n_levels):
    """Draw numbers, and codes where an input has levels."""
    return lambda rng, n: np.column_stack([rng.integers(0, m, n) if m > 0 else rng.random(n) for m in n_levels])


def robot_arm_inputs(rng, n):
    first = rng.uniform(0.453, 1.932, n) * rng.choice([-1, 1], n)
    return np.column_stack([first, rng.uniform(0.534, 3.142, n)])


PROBLEMS = {
    "a line": Source(60, cube(1), columns(lambda X: X[:, 0]), 0.3),
    "sinc": Source(100, cube(1, -3, 3), columns(lambda X: np.sinc(X[:, 0])), 0.1),
    "two bumps": Source(
        100,
        cube(1),
        columns(lambda X: np.exp(-0.5 * ((X[:, 0] - 0.3) / 0.06) ** 2) + np.exp(-0.5 * ((X[:, 0] - 0.7) / 0.2) ** 2)),
        0.1,
    ),
    "two outputs": Source(
        80, cube(2, -2, 3), columns(lambda X: np.sin(2 * X[:, 0]) + X[:, 1], lambda X: np.abs(X[:, 0] - X[:, 1])), 0.1
    ),
    "weights": Source(70, cube(2), columns(lambda X: np.sin(6 * X[:, 0]) * X[:, 1]), 0.3, heaviest=3),
    "three inputs": Source(80, cube(3), columns(lambda X: np.sin(6 * X[:, 0]) * X[:, 1]), 0.1),
    "three inputs, two outputs": Source(
        60,
        lambda rng, n: rng.random((n, 3)) * [1.0, 10.0, 0.1],
        columns(lambda X: np.sin(5 * X[:, 0]) + 0.3 * X[:, 1], lambda X: X[:, 0] * X[:, 1]),
        0.1,
    ),
    "robot arm": Source(200, robot_arm_inputs, robot_arm_position, 0.05),
    "ten inputs": Source(
        100,
        cube(10),
        columns(lambda X: 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3]),
        1.0,
    ),
    "constant and dependent inputs": Source(
        80, with_constant_and_dependent, columns(lambda X: np.sin(4 * X[:, 0]) + X[:, 2] ** 2), 0.1
    ),
    "a small table": Source(
        80,
        table(0, 0, 5),
        columns(lambda X: np.sin(5 * X[:, 0]) + X[:, 1] * np.isin(X[:, 2], (1, 3))),
        0.1,
        n_levels=(0, 0, 5),
        gaps=0.25,
    ),
    "a table": Source(
        200,
        table(0, 0, 2, 70),
        columns(lambda X: np.sin(5 * X[:, 0]) + X[:, 1] * (X[:, 3] % 3), lambda X: X[:, 0] * X[:, 1] - (X[:, 2] == 1)),
        0.1,
        heaviest=3,
        n_levels=(0, 0, 2, 70),
        gaps=0.2,
    ),
    "nine rows": Source(9, cube(1), columns(lambda X: np.sin(4 * X[:, 0]), lambda X: np.cos(5 * X[:, 0])), 0.8),
    "nine weighted rows": Source(9, cube(1), columns(lambda X: np.sin(5 * X[:, 0])), 1.0, heaviest=3),
}


def make_problem(name, seed=0, *, n_rows=None, noise=None):
    """Draw a problem of the zoo; `noise` is added to that which it has."""
    rng = np.random.default_rng([seed, *name.encode()])
    problem = PROBLEMS[name].draw(rng, n_rows)
    if noise is None:
        return problem
    return replace(problem, Y=problem.Y + noise * rng.standard_normal(problem.Y.shape))
