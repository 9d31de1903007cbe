"""Signals out of noise, beside wavelet thresholding: ``python -m benchmarks.wavelets``.

Donoho and Johnstone's four signals (Biometrika 81, 1994) at 1 024 even rows, the standard deviation of the signal 7
times that of the noise. Root mean square errors to the signal over that of PyWavelets with their universal threshold,
soft, with the sym8 wavelet, periodic, the noise from the finest details; geometric means over seeds. Beside it the same
with hard thresholds.
"""

import argparse
import warnings
from time import process_time

import numpy as np
import pywt
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from benchmarks.compare.functions import blocks, bumps, doppler, heavisine
from saltus import AnnealedRegressor, BayesianRegressor

N, RATIO = 1024, 7.0
WAVELET = "sym8"
SIGNALS = {"Blocks": blocks, "Bumps": bumps, "HeaviSine": heavisine, "Doppler": doppler}


def by_threshold(y: np.ndarray, kind: str) -> np.ndarray:
    """Shrink the details of a wavelet transform."""
    smooth, *details = pywt.wavedec(y, WAVELET, mode="periodization")
    noise = np.median(np.abs(details[-1])) / 0.6745
    threshold = noise * np.sqrt(2 * np.log(y.size))
    kept = [smooth, *(pywt.threshold(each, threshold, kind) for each in details)]
    return pywt.waverec(kept, WAVELET, mode="periodization")


def measure(name: str, seed: int, basis: list[str]) -> dict[str, tuple[float, float]]:
    """Find the error and the CPU seconds of each method."""
    x = (np.arange(N) + 0.5)[:, None] / N
    signal = SIGNALS[name](x).ravel()
    signal *= RATIO / signal.std()
    y = signal + np.random.default_rng([seed, *name.encode()]).standard_normal(N)
    models = {
        f"{kind.__name__} {each}": kind(each, random_state=seed)
        for each in basis
        for kind in (AnnealedRegressor, BayesianRegressor)
    }
    methods = {kind: lambda kind=kind: by_threshold(y, kind) for kind in ("soft", "hard")}
    methods |= {said: lambda model=model: model.fit(x, y).predict(x) for said, model in models.items()}
    found = {}
    for said, predict in methods.items():
        began = process_time()
        found[said] = float(np.sqrt(np.mean((predict() - signal) ** 2))), process_time() - began
    return found


def main() -> None:
    """Print a row for each method: ratios on each signal, their geometric mean, CPU seconds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--basis", nargs="+", default=["auto", "wavelets"])
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    found = {name: [measure(name, seed, options.basis) for seed in seeds] for name in SIGNALS}
    print(f"{'':28}" + "".join(f"{name:>11}" for name in SIGNALS) + f"{'all':>8}{'CPU s':>8}")
    for said in found["Blocks"][0]:
        logs = {name: np.log([one[said][0] / one["soft"][0] for one in found[name]]) for name in SIGNALS}
        ratios = [np.exp(np.mean(each)) for each in logs.values()]
        seconds = np.mean([one[said][1] for name in SIGNALS for one in found[name]])
        shown = "".join(f"{ratio:11.2f}" for ratio in ratios)
        print(f"{said:28}{shown}{np.exp(np.mean(np.log(ratios))):8.2f}{seconds:8.2f}", flush=True)


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        main()
