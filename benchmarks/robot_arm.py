"""The robot arm: ``python -m benchmarks.robot_arm --data robot_arm.csv``.

Cubic basis, Euclidean distance on raw inputs, MDL, 8 chains: the best log posterior, k, and the errors on rows
201-400 (A) and 401-600 (B), for several lengths and seeds. Without --data, the generator's data.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np

from saltus import AnnealedRegressor, Radial
from saltus.demo import PAPER_OPTIONS, generate, read_csv
from saltus.plots import summed_mse


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--criterion", default="mdl")
    parser.add_argument("--iterations", type=int, nargs="+", default=[200, 2_000, 20_000, 200_000])
    options = parser.parse_args()
    data = generate(0) if options.data is None else read_csv(options.data)
    X, Y = data.X, data.Y
    basis = Radial("cubic", metric="euclidean")
    AnnealedRegressor("gaussian", n_iter=1).fit(X[:200], Y[:200])
    print(f"{data.source}, {options.criterion}, 8 chains")
    print(f"{'iterations':>10} {'seed':>4} {'k':>3} {'log posterior':>14} {'worst chain':>12} "
          f"{'A':>8} {'B':>8} {'seconds':>8}")  # fmt: skip
    for n_iter in options.iterations:
        rows = []
        for seed in range(options.seeds):
            began = perf_counter()
            model = AnnealedRegressor(
                **{**PAPER_OPTIONS, "basis": basis, "criterion": options.criterion, "n_iter": n_iter},
                n_chains=8,
                random_state=seed,
                n_jobs=-1,
            ).fit(X[:200], Y[:200])
            seconds = perf_counter() - began
            values = [chain.best.log_posterior for chain in model.result_.chains]
            errors = [summed_mse(Y[part], model.predict(X[part])) for part in (slice(200, 400), slice(400, 600))]
            rows.append((model.n_terms_, model.log_posterior_, min(values), *errors, seconds))
            print("{:10d} {:4d} {:3d} {:14.2f} {:12.2f} {:8.5f} {:8.5f} {:8.2f}".format(n_iter, seed, *rows[-1]))
        print("{:>10} {:>4} {:3.0f} {:14.2f} {:12.2f} {:8.5f} {:8.5f} {:8.2f}".format(
            "median", "", *np.median(rows, axis=0)), flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
