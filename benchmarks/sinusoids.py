"""How often is the right number of sinusoids found? ``python -m benchmarks.sinusoids``.

Three sinusoids of amplitude 1 and random phase in 64 even rows, two of them nearer than the rows can resolve by their
periodogram: their frequencies are 0.9/64 cycles a row apart. The signal-to-noise ratio is that of one of them,
10 log10(1 / (2 sigma^2)). Beside the estimators, sinusoids taken one by one at the highest peak of the zero-padded
periodogram of the residuals, all refitted by least squares each time, as many as BIC wants at three parameters each.
"""

import argparse
import warnings
from collections.abc import Callable
from time import process_time

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from saltus import AnnealedRegressor, BayesianRegressor

N = 64
FREQUENCIES = np.array([0.2, 0.2 + 0.9 / N, 0.35])
RATIOS = (0.0, 3.0, 6.0, 10.0)
MOST_SINUSOIDS, PADDED = 10, 2**14
N_PARAMETERS = 3  # of a sinusoid: its frequency, amplitude and phase


def realisation(seed: int, ratio: float) -> np.ndarray:
    """Draw y (N,) at a signal-to-noise ratio in decibels."""
    rng = np.random.default_rng([seed, int(10 * ratio)])
    angle = 2 * np.pi * (np.outer(np.arange(N), FREQUENCIES) + rng.random(FREQUENCIES.size))
    return np.cos(angle).sum(axis=1) + np.sqrt(0.5 * 10 ** (-ratio / 10)) * rng.standard_normal(N)


def by_peaks(y: np.ndarray, seed: int) -> int:
    """Count the sinusoids that BIC wants of those taken one by one at the highest peak of the periodogram."""
    t, columns, residuals, values = np.arange(N), [np.ones(N)], y - y.mean(), []
    for k in range(MOST_SINUSOIDS + 1):
        values.append(0.5 * N * np.log((residuals**2).sum()) + 0.5 * N_PARAMETERS * k * np.log(N))
        frequency = np.abs(np.fft.rfft(residuals, PADDED))[1:-1].argmax() + 1
        columns += [np.cos(2 * np.pi * frequency / PADDED * t), np.sin(2 * np.pi * frequency / PADDED * t)]
        D = np.array(columns).T
        residuals = y - D @ np.linalg.lstsq(D, y, rcond=None)[0]
    return int(np.argmin(values))


def by_annealing(y: np.ndarray, seed: int) -> int:
    """Count the terms of the best network."""
    model = AnnealedRegressor("waves", criterion="bic", linear="none", random_state=seed)
    return int(model.fit(np.arange(N)[:, None], y).n_terms_)


def by_sampling(y: np.ndarray, seed: int) -> int:
    """Find the most probable number of terms."""
    model = BayesianRegressor("waves", linear="none", random_state=seed).fit(np.arange(N)[:, None], y)
    return max(model.posterior_k_, key=model.posterior_k_.__getitem__)


METHODS: dict[str, Callable[[np.ndarray, int], int]] = {
    "peaks and BIC": by_peaks,
    "AnnealedRegressor": by_annealing,
    "BayesianRegressor": by_sampling,
}


def count(name: str, seed: int, ratio: float) -> tuple[int, float]:
    """Find how many sinusoids a method finds, and in how many CPU seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = process_time()
        return METHODS[name](realisation(seed, ratio), seed), process_time() - began


def main() -> None:
    """Print the shares of realisations with the right number, and the numbers found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=200, help="realisations at each ratio")
    parser.add_argument("--first-seed", type=int, default=0, help="development used 1000 and up")
    parser.add_argument("--ratios", type=float, nargs="+", default=RATIOS, help="in decibels")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print(f"{'dB':>5}  {'method':18} {'right':>6}  {'0, 1, 2 ... found':32} CPU s")
    for ratio in options.ratios:
        for name in options.methods:
            found = Parallel(n_jobs=options.jobs)(delayed(count)(name, seed, ratio) for seed in seeds)
            numbers, seconds = zip(*found, strict=True)
            shown = " ".join(map(str, np.bincount(numbers, minlength=7)))
            right = np.mean(np.array(numbers) == FREQUENCIES.size)
            print(f"{ratio:5.1f}  {name:18} {right:6.3f}  {shown:32} {np.median(seconds):.2f}", flush=True)


if __name__ == "__main__":
    main()
