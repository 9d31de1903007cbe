"""The full posterior on the robot arm: ``python -m benchmarks.bayes --data robot_arm.csv``.

Errors on rows 201-400 (A) and 401-600 (B) and coverage of 90 % intervals, beside the median single annealed network of
the same run; then iterations a second of the sampler beside the annealed chain, on one thread. `--tables` prints other
tables of the posterior, too: calibration, with the usual chains and with long ones, many inputs, and thresholds.
"""

import argparse
import subprocess
import sys
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from saltus import AnnealedRegressor, BayesianRegressor, Constant, Radial
from saltus.demo import PAPER_OPTIONS, PAPER_PRIORS, generate, read_csv
from saltus.plots import summed_mse

A, B = slice(200, 400), slice(400, 600)


def fit_seconds(model, X, Y) -> float:
    began = perf_counter()
    model.fit(X, Y)
    return perf_counter() - began


def accepted(chain) -> float:
    counts = chain.moves.values()
    return sum(move.accepted for move in counts) / sum(move.chosen for move in counts)


# Other tables of the posterior, each a command of its own.
OTHERS = {
    "calibration": ["benchmarks.calibration"],
    "calibration of long chains": ["benchmarks.calibration", "--times", "10", "--seeds", "3"],
    "many inputs": ["benchmarks.calibration", "--many-inputs"],
    "thresholds": ["benchmarks.thresholds"],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--tables", nargs="+", default=["papers"], choices=["papers", *OTHERS], help="what to measure")
    options = parser.parse_args()
    for name in options.tables:
        if name in OTHERS:
            print(f"{name}:", flush=True)
            subprocess.run([sys.executable, "-m", *OTHERS[name]], check=True)
    if "papers" not in options.tables:
        return
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = generate(0) if options.data is None else read_csv(options.data)
    X, Y = data.X, data.Y
    train = X[:200], Y[:200]
    BayesianRegressor(**PAPER_PRIORS, n_iter=10).fit(*train)
    AnnealedRegressor("gaussian", n_iter=10).fit(*train)

    print(f"{data.source}\n{'basis':>10} {'iterations':>10} {'seed':>4} {'mean k':>7} {'A':>8} {'B':>8} {'covered':>8} "
          f"{'annealed A':>11} {'annealed B':>11} {'seconds':>8}")  # fmt: skip
    for basis in (Radial("cubic", metric="standardized"), Radial("gaussian", width=1.5, metric="standardized")):
        for n_iter in options.iterations:
            for seed in range(options.seeds):
                model = BayesianRegressor(
                    **{**PAPER_PRIORS, "basis": basis}, n_iter=n_iter, n_draws=250, n_jobs=-1, random_state=seed
                )
                seconds = fit_seconds(model, *train)
                errors = [summed_mse(Y[part], model.predict(X[part])) for part in (A, B)]
                low, high = model.predict_interval(X[200:], 0.9)
                covered = ((low <= Y[200:]) & (Y[200:] <= high)).mean()
                annealed = AnnealedRegressor(
                    **{**PAPER_OPTIONS, "basis": basis, "criterion": "mdl", "n_iter": n_iter, "n_jobs": -1},
                    random_state=seed,
                )
                networks = [chain.best.network for chain in annealed.fit(*train).result_.chains]
                single = [np.median([summed_mse(Y[part], net.predict(X[part])) for net in networks]) for part in (A, B)]
                mean_k = np.mean(np.concatenate([chain.draws.n_terms for chain in model.chains_]))
                print(f"{basis.name:>10} {n_iter:10d} {seed:4d} {mean_k:7.1f} {errors[0]:8.5f} {errors[1]:8.5f} "
                      f"{covered:8.3f} {single[0]:11.5f} {single[1]:11.5f} {seconds:8.2f}", flush=True)  # fmt: skip

    print("iterations a second on one thread, at a like number of terms; effective draws of k a second:")
    print(f"{'k_max':>6} {'sampler':>9} {'mean k':>7} {'accepted':>9} {'effective':>9}   then ratio to annealed, "
          f"its mean k and accepted: with its schedule, at T = 1")  # fmt: skip
    n_iter = 1_000_000
    for k_max in (12, 25):
        bayes = BayesianRegressor(
            **PAPER_PRIORS, k_max=k_max, n_iter=n_iter, n_warmup=0, n_draws=250, n_chains=1, random_state=0
        )
        sampler = min(fit_seconds(bayes, *train) for _ in range(3))
        chain = bayes.chains_[0]
        effective = next(d.ess_bulk for d in bayes.diagnostics_ if d.name == "k")
        line = (
            f"{k_max:6d} {n_iter / sampler:9.0f} {chain.draws.n_terms.mean():7.1f} {accepted(chain):9.3f} "
            f"{effective / sampler:9.0f}  "
        )
        for schedule in ("geometric", Constant(1.0)):
            annealed = AnnealedRegressor(
                **{**PAPER_OPTIONS, "criterion": 0, "schedule": schedule, "n_iter": n_iter, "k_max": k_max},
                n_chains=1,
                random_state=0,
            )
            seconds = min(fit_seconds(annealed, *train) for _ in range(3))
            chain = annealed.result_.chains[0]
            line += f" {seconds / sampler:9.2f} {chain.trace.n_terms.mean():6.1f} {accepted(chain):6.3f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
