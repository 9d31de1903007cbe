"""Real tables beside CatBoost with its defaults: ``python -m benchmarks.real --data DIR --splits 10 11``.

DIR and splits are those of the suite `tables` of `benchmarks.compare`. Errors are root mean squares over the spread
of y in training. Columns: AnnealedRegressor; its best network with 10 and 30 terms alone; its CPU seconds; terms of a
network, in the mean; BayesianRegressor, where there are no more rows than asked for, its CPU seconds, and the share
of new y in its 95 % intervals; CatBoost, where it is installed. One thread each.
"""

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.compare.tasks import table
from saltus import AnnealedRegressor, BayesianRegressor

try:
    from catboost import CatBoostRegressor
except ImportError:
    CatBoostRegressor = None


def measure(path: Path, split: int, basis, most_rows: int) -> list[float]:
    rows = table(path, split)
    X, y, X_test, y_test = rows.X, rows.Y[:, 0], rows.X_test, rows.Y_test[:, 0]

    def error(model) -> float:
        return float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)) / y.std())

    began = process_time()
    model = AnnealedRegressor(basis, random_state=0).fit(X, y)
    seconds = process_time() - began
    small = [error(model.with_terms(min(k, model.path_[0].n_terms))) if model.path_ else np.nan for k in (10, 30)]
    n_terms = float(np.mean([network.n_terms for network in model.networks_]))
    bayes, seconds_of_bayes, inside = np.nan, np.nan, np.nan
    if len(X) <= most_rows:
        began = process_time()
        sampled = BayesianRegressor(basis, random_state=0).fit(X, y)
        bayes, seconds_of_bayes = error(sampled), process_time() - began
        low, high = sampled.predict_interval(X_test, 0.95)
        inside = float(np.mean((low <= y_test) & (y_test <= high)))
    peer = np.nan
    if CatBoostRegressor is not None:
        options = {"verbose": 0, "thread_count": 1, "random_seed": 0, "allow_writing_files": False}
        peer = error(CatBoostRegressor(**options).fit(X, y))
    return [error(model), *small, seconds, n_terms, bayes, seconds_of_bayes, inside, peer]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, nargs="+", default=[10])
    parser.add_argument("--sets", nargs="+", help="names of files, without .csv.gz; by default all")
    parser.add_argument("--basis", nargs="+", default=["auto"])
    parser.add_argument("--bayes-rows", type=int, default=6000, help="the most rows for a BayesianRegressor")
    options = parser.parse_args()
    basis = options.basis[0] if len(options.basis) == 1 else options.basis
    names = options.sets or sorted(path.name.removesuffix(".csv.gz") for path in options.data.glob("*.csv.gz"))
    titles = ("annealed", "10", "30", "CPU s", "terms", "Bayesian", "CPU s", "inside", "CatBoost")
    print(f"{'set':>12}" + "".join(f"{title:>9}" for title in titles))
    ratios, of_bayes = [], []
    for name in names:
        rows = [measure(options.data / f"{name}.csv.gz", split, basis, options.bayes_rows) for split in options.splits]
        mean = np.mean(rows, axis=0)
        ratios.append(mean[0] / mean[-1])
        of_bayes.append(mean[5] / mean[-1])
        print(f"{name:>12}" + "".join(f"{value:9.3f}" for value in mean), flush=True)
    print(f"geometric mean of the ratios to CatBoost: annealed {np.exp(np.mean(np.log(ratios))):.3f}", end="")
    print(f", Bayesian {np.exp(np.nanmean(np.log(of_bayes))):.3f}")


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
