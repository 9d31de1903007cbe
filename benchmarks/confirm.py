"""Does cross-validation confirm what a default fit finds? ``python -m benchmarks.confirm``.

Two questions. On pure noise, 200 rows with 20 inputs, how many terms are found (the truth is none)? On the diabetes
data of scikit-learn, is what is found beyond the linear model worth having: R2 over five folds, five times, beside
linear regression, and beside the best network without its last term, with_terms(k - 1).
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor, BayesianRegressor


def terms_in_noise(seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 20)), rng.standard_normal(200)
    annealed, bayesian = (each(random_state=seed).fit(X, y) for each in (AnnealedRegressor, BayesianRegressor))
    return float(annealed.n_terms_), sum(k * p for k, p in bayesian.posterior_k_.items())


def scores_on_diabetes(seed: int) -> list[float]:
    X, y = load_diabetes(return_X_y=True)
    predicted = np.zeros((5, len(y)))
    for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
        annealed = AnnealedRegressor(random_state=seed).fit(X[train], y[train])
        best = annealed.with_terms(annealed.n_terms_)
        fewer = annealed.with_terms(max(annealed.n_terms_ - 1, 0))
        bayesian = BayesianRegressor(random_state=seed).fit(X[train], y[train])
        models = (LinearRegression().fit(X[train], y[train]), fewer, best, annealed, bayesian)
        predicted[:, test] = [model.predict(X[test]) for model in models]
    return (1 - ((predicted - y) ** 2).mean(axis=1) / y.var()).tolist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--noise-seeds", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    found = np.mean([terms_in_noise(seed) for seed in range(options.noise_seeds)], axis=0)
    print(f"terms found in noise: annealed {found[0]:.2f}, Bayesian {found[1]:.2f} in the mean of the posterior")
    scores = np.array([scores_on_diabetes(seed) for seed in range(options.seeds)])
    error = scores.std(axis=0, ddof=1) / np.sqrt(options.seeds)
    titles = ("linear", "k - 1 terms", "best network", "annealed", "Bayesian")
    for title, mean, each in zip(titles, scores.mean(axis=0), error, strict=True):
        print(f"R2 on diabetes, {title:>12}: {mean:.4f} +- {each:.4f}")


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
