"""What a default fit costs at most: ``python -m benchmarks.budget``.

10 000 rows and 20 inputs, noise of a tenth of the spread, and truths that ask for as many terms as there may be: a sum
of 300 boxes in four inputs each; two waves in all inputs; thirty sigmoids in all inputs; Friedman 1; and noise alone.
CPU seconds on one thread, error to the truth over its spread, and the terms of the best network or of a draw. Beside
it the same fits with half of the rows: a budget that grows no faster than N log N more than halves.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor, BayesianRegressor

N_INPUTS, N_BOXES, N_SIGMOIDS, NOISE = 20, 300, 30, 0.1


def boxes(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    total = np.zeros(len(X))
    for _ in range(N_BOXES):
        inputs, low = rng.choice(N_INPUTS, 4, replace=False), 0.6 * rng.random(4)
        total += rng.standard_normal() * ((X[:, inputs] > low) & (X[:, inputs] < low + 0.4)).all(axis=1)
    return total


def waves(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    first, second = rng.standard_normal((2, N_INPUTS))
    return np.sin(3 * X @ first) + np.cos(4 * X @ second)


def sigmoids(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    slopes = 6 * rng.standard_normal((N_INPUTS, N_SIGMOIDS)) / np.sqrt(N_INPUTS)
    return np.tanh((X - 0.5) @ slopes) @ rng.standard_normal(N_SIGMOIDS)


def friedman(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def nothing(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return np.zeros(len(X))


TRUTHS = {"boxes": boxes, "waves": waves, "sigmoids": sigmoids, "Friedman 1": friedman, "noise": nothing}
MODELS = {"annealed": AnnealedRegressor, "bayes": BayesianRegressor}


def measure(name: str, model: str, n_rows: int, seed: int) -> tuple[float, float, float]:
    """Find the CPU seconds of a fit, its error, and how many terms it has."""
    rng = np.random.default_rng(seed)
    X = rng.random((2 * n_rows, N_INPUTS))
    truth = TRUTHS[name](rng, X)
    spread = truth.std() or 1.0
    y = truth + NOISE * spread * rng.standard_normal(2 * n_rows)
    began = process_time()
    fitted = MODELS[model](random_state=seed).fit(X[:n_rows], y[:n_rows])
    seconds = process_time() - began
    error = np.sqrt(np.mean((fitted.predict(X[n_rows:]) - truth[n_rows:]) ** 2)) / spread
    sizes = getattr(fitted, "posterior_k_", None)
    n_terms = fitted.n_terms_ if sizes is None else sum(k * share for k, share in sizes.items())
    return seconds, error, n_terms


def main() -> None:
    """Print a line for each truth, model and number of rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 5_000])
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=TRUTHS)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for model in options.models:
        measure("Friedman 1", model, 1_200, options.seed)  # which compiles
    print(f"{'truth':>12}{'model':>10}{'rows':>8}{'CPU s':>8}{'error':>8}{'terms':>7}")
    for name in options.truths:
        for model in options.models:
            for n_rows in options.rows:
                seconds, error, n_terms = measure(name, model, n_rows, options.seed)
                print(f"{name:>12}{model:>10}{n_rows:8d}{seconds:8.1f}{error:8.3f}{n_terms:7.0f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
