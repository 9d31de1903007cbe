"""Which criterion, which basis, which metric, which estimator? ``python -m benchmarks.choosing``.

Small data sets whose truth is known. Errors are root mean squared errors to the truth, as ratios to the first line of
each table on the same data: the median over seeds, and the worst; k and CPU seconds are medians. The last table has the
errors themselves, on data where there is nothing to find.
"""

import argparse
import warnings
from collections.abc import Callable
from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor, BayesianRegressor, Radial
from saltus.datasets import make_robot_arm, robot_arm_position
from saltus.demo import PAPER_PRIORS

N_NEW = 1000


class Task(NamedTuple):
    """Rows to fit, and new inputs with their true outputs."""

    X: np.ndarray
    Y: np.ndarray
    X_new: np.ndarray
    truth: np.ndarray


def robot_arm(seed):
    X, Y = make_robot_arm(200, random_state=seed)
    X_new, _ = make_robot_arm(N_NEW, random_state=1000 + seed)
    return Task(X, Y, X_new, robot_arm_position(X_new))


def friedman(seed):
    X, y = make_friedman1(200, n_features=10, noise=1.0, random_state=seed)
    return Task(X, y, *make_friedman1(N_NEW, n_features=10, noise=0.0, random_state=1000 + seed))


def from_function(function, n_rows, n_inputs, noise):
    """Make a task of uniform inputs in [-1, 1] and a function of them, with noise."""

    def make(seed):
        rng = np.random.default_rng(seed)
        X, X_new = rng.uniform(-1, 1, (n_rows, n_inputs)), rng.uniform(-1, 1, (N_NEW, n_inputs))
        return Task(X, function(X) + noise * rng.standard_normal(n_rows), X_new, function(X_new))

    return make


def kinks(X):
    return np.abs(X[:, 0]) + np.maximum(X[:, 1] - 0.3, 0)


TASKS: dict[str, Callable[[int], Task]] = {
    "robot arm": robot_arm,
    "Friedman 1": friedman,
    "30 rows": from_function(lambda X: np.sinc(3 * X[:, 0]), 30, 1, 0.1),
    "kinks": from_function(kinks, 200, 2, 0.05),
    "a line": from_function(lambda X: X[:, 0] - X[:, 1], 100, 3, 0.5),
}

# Of each table: label -> estimator. The first line is what the others are compared with.
TABLES: dict[str, dict[str, Callable[[], AnnealedRegressor | BayesianRegressor]]] = {
    "criteria": {
        "aicc": lambda: AnnealedRegressor("gaussian"),
        "aic": lambda: AnnealedRegressor("gaussian", criterion="aic"),
        "hqc": lambda: AnnealedRegressor("gaussian", criterion="hqc"),
        "bic": lambda: AnnealedRegressor("gaussian", criterion="bic"),
        "ebic": lambda: AnnealedRegressor("gaussian", criterion="ebic"),
    },
    "bases": {
        name: lambda name=name: AnnealedRegressor(name)
        for name in ("gaussian", "inverse_multiquadric", "multiquadric", "thin_plate", "cubic", "linear")
    },
    "metrics": {
        name: lambda name=name: AnnealedRegressor(Radial("gaussian", metric=name))
        for name in ("learned", "standardized", "mahalanobis")
    },
    "estimators": {
        "annealed": lambda: AnnealedRegressor("gaussian"),
        "annealed, combine=best": lambda: AnnealedRegressor("gaussian", combine="best"),
        "bayes": lambda: BayesianRegressor("gaussian"),
        "bayes, the papers' priors": lambda: BayesianRegressor(**PAPER_PRIORS),
    },
}


def size(model) -> float:
    if isinstance(model, BayesianRegressor):
        return sum(k * share for k, share in model.posterior_k_.items())
    return getattr(model, "n_terms_", 0)


def measure(model, task: Task) -> tuple[float, float, float]:
    """Fit; return the error to the truth, the size, and CPU seconds."""
    began = process_time()
    model.fit(task.X, task.Y)
    seconds = process_time() - began
    return np.sqrt(((model.predict(task.X_new) - task.truth) ** 2).mean()), size(model), seconds


def print_table(title: str, makers, seeds: int) -> None:
    print(f"\n| {title}, {seeds} seeds | " + " | ".join(TASKS) + " |\n" + "|---" * (len(TASKS) + 1) + "|", flush=True)
    first: dict[str, np.ndarray] = {}
    for label, make in makers.items():
        cells = []
        for name, make_task in TASKS.items():
            found = [measure(make().set_params(random_state=seed), make_task(seed)) for seed in range(seeds)]
            errors, sizes, seconds = np.array(found).T
            ratios = errors / first.setdefault(name, errors)
            cells.append(
                f"{np.median(ratios):.2f} to {ratios.max():.3g}, k {np.median(sizes):.0f}, {np.median(seconds):.1f} s"
            )
        print(f"| {label} | " + " | ".join(cells) + " |", flush=True)


def print_little_to_find(seeds: int) -> None:
    """Fit a line with noise, where every term is a false alarm, with more and more rows."""
    print(f"\n| rows, {seeds} seeds | criterion | fits with k > 0 | error | worst | error of the line |")
    print("|---" * 6 + "|")
    for n_rows in (50, 100, 300, 1000):
        make_task = from_function(lambda X: X[:, 0] - X[:, 1], n_rows, 3, 0.5)
        for criterion in ("aicc", "bic", "ebic"):
            found = []
            for seed in range(seeds):
                task = make_task(seed)
                model = AnnealedRegressor("gaussian", criterion=criterion, n_iter=5000, random_state=seed)
                line, _, _ = measure(LinearRegression(), task)
                found.append((*measure(model, task)[:2], line))
            errors, sizes, lines = np.array(found).T
            print(
                f"| {n_rows} | {criterion} | {np.sum(sizes > 0)} | {np.median(errors):.3f} | {errors.max():.2f} "
                f"| {np.median(lines):.3f} |",
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--tables", nargs="+", choices=[*TABLES, "line"], default=[*TABLES, "line"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    task = robot_arm(0)
    for basis in ("gaussian", "cubic"):
        AnnealedRegressor(basis, n_iter=10).fit(task.X, task.Y)  # compiles
        BayesianRegressor(basis, n_iter=10).fit(task.X, task.Y)
    with threadpool_limits(1):
        for title in options.tables:
            if title == "line":
                print_little_to_find(options.seeds)
            else:
                print_table(title, TABLES[title], options.seeds)


if __name__ == "__main__":
    main()
