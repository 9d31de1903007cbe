"""Tables as they come, beside boosted trees: ``python -m benchmarks.tables --seeds 0 1 2``.

Five generated tables with text, categories, dates, gaps, numbers written as text and columns that say nothing, whose
truth is known. saltus is given the table as it is. Peer: scikit-learn's HistGradientBoostingRegressor with native
categories and gaps, tuned, 20 random candidates in 3-fold cross-validation; it is given numbers that are written as
text as numbers, dates as what the calendar says of them, and of a category with more than 255 levels the mean of y
(TargetEncoder). Errors are root mean squares to the truth, noise left out, over the spread of the truth in test rows.
"""

import argparse
import warnings
from collections.abc import Callable
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import loguniform, randint
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import TargetEncoder
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor, BayesianRegressor

MOST_NATIVE_LEVELS = 255


class Table(NamedTuple):
    """A table, its truth (N,), the standard deviation of its noise, and how many of its rows are for training."""

    X: pd.DataFrame
    truth: np.ndarray
    noise: float
    n_train: int


def houses(rng: np.random.Generator, n_train: int = 2000, n_test: int = 2000) -> Table:
    """Prices of houses: areas that sum to totals, 25 neighbourhoods, grades, gaps that mean "there is none"."""
    n = n_train + n_test
    towns = np.array(
        [f"{a}{b}" for a in ("North", "South", "East", "West", "Old") for b in ("gate", "hill", "ford", "wood", "port")]
    )
    level = rng.normal(0, 0.25, towns.size)
    town = rng.choice(towns.size, n, p=rng.dirichlet(np.full(towns.size, 2.0)))
    first, second = rng.gamma(12, 10, n), np.where(rng.random(n) < 0.55, 0.0, rng.gamma(9, 8, n))
    cellar = np.where(rng.random(n) < 0.12, np.nan, rng.gamma(8, 11, n))
    year = rng.integers(1900, 2021, n)
    grade = rng.choice(["poor", "fair", "typical", "good", "excellent"], n, p=[0.04, 0.16, 0.5, 0.23, 0.07])
    garage = rng.choice(["attached", "detached", "built-in", None], n, p=[0.55, 0.25, 0.08, 0.12])
    sold = pd.Timestamp("2006-01-01") + pd.to_timedelta(rng.integers(0, 1825, n), unit="D")
    total = first + second
    worth = {"poor": -0.3, "fair": -0.12, "typical": 0.0, "good": 0.15, "excellent": 0.35}
    log_price = (
        11.6
        + 0.65 * np.log(total / 150)
        + level[town]
        + np.vectorize(worth.get)(grade)
        + 0.0016 * np.clip(year - 1945, 0, 60)
        + np.where(year > 2005, 0.08, 0.0)
        + np.where(np.isnan(cellar), -0.1, 0.0009 * np.nan_to_num(cellar))
        + np.array([{"attached": 0.06, "built-in": 0.1, "detached": 0.0, None: -0.12}[each] for each in garage])
        + 0.03 * np.sin(2 * np.pi * (sold.dayofyear - 80) / 365.25)
        + 0.02 * (sold.year - 2006)
        + 0.0012 * np.clip(total - 160, 0, None) * (level[town] > 0.1)
    )
    X = pd.DataFrame(
        {
            "order": np.arange(1, n + 1),
            "town": towns[town],
            "first floor": first.round(),
            "second floor": second.round(),
            "living area": (first.round() + second.round()),
            "cellar": cellar.round(),
            "built": year,
            "grade": grade,
            "garage": garage,
            "tax": [f"${value:,.0f}" for value in 900 * np.exp(rng.normal(0, 0.4, n)) * total / 100],
            "sold": sold,
            "street": rng.choice(["paved", "gravel"], n, p=[0.99, 0.01]),
            "country": "here",
            **{f"noise {j}": rng.normal(size=n) for j in range(5)},
        }
    )
    return Table(X, np.asarray(log_price), 0.1, n_train)


def meters(rng: np.random.Generator, n_train: int = 4000, n_test: int = 4000) -> Table:
    """Make power drawn hour by hour: a day, a week, a year, a temperature with gaps, three kinds of buildings."""
    n = n_train + n_test
    when = pd.Timestamp("2019-01-01") + pd.to_timedelta(np.sort(rng.choice(3 * 8766, n, replace=False)), unit="h")
    kind = rng.choice(["office", "school", "flat"], n, p=[0.4, 0.25, 0.35])
    hour, day = when.hour.to_numpy() + 0.0, when.dayofyear.to_numpy()
    season = np.cos(2 * np.pi * (day - 200) / 365.25)
    temperature = 10 + 9 * season + 4 * np.cos(2 * np.pi * (hour - 15) / 24) + rng.normal(0, 3, n)
    working = (when.dayofweek < 5) & (hour >= 8) & (hour < 18)
    home = np.exp(-0.5 * ((hour - 20) / 2.5) ** 2)
    truth = (
        np.where(kind == "office", 3.0 * working, 0.0)
        + np.where(kind == "school", 2.0 * working * (np.abs(season) < 0.95), 0.0)
        + np.where(kind == "flat", 2.0 * home, 0.0)
        + 0.12 * np.clip(14 - temperature, 0, None)
        + np.where(kind == "office", 0.15, 0.04) * np.clip(temperature - 21, 0, None)
    )
    seen = np.where(rng.random(n) < 0.15, np.nan, temperature.round(1))
    X = pd.DataFrame(
        {
            "when": when, "kind": pd.Categorical(kind),
            "temperature": [None if np.isnan(t) else f"{t} °C" for t in seen],
            "wind": rng.gamma(2, 2, n).round(1), "meter": rng.choice([f"M{j:02}" for j in range(40)], n),
        }
    )  # fmt: skip
    shuffled = rng.permutation(n)
    return Table(X.iloc[shuffled].reset_index(drop=True), np.asarray(truth)[shuffled], 0.4, n_train)


def levels(rng: np.random.Generator, n_train: int = 6000, n_test: int = 3000) -> Table:
    """Make a category of 1 000 levels with effects of their own, and one of 60 whose levels change a slope."""
    n = n_train + n_test
    effects, slopes = rng.normal(0, 0.7, 1000), rng.choice([0.0, 0.8], 60)
    part, maker = rng.choice(1000, n, p=rng.dirichlet(np.full(1000, 1.5))), rng.integers(60, size=n)
    load, speed = rng.uniform(-2, 2, n), rng.uniform(-2, 2, n)
    truth = effects[part] + slopes[maker] * load + np.where(load > 0.5, np.sin(2 * speed), 0.0)
    X = pd.DataFrame(
        {"part": [f"P{j:04}" for j in part], "maker": [f"firm {j}" for j in maker], "load": load, "speed": speed}
    )
    X.loc[rng.random(n) < 0.1, "speed"] = np.nan
    return Table(X, truth, 0.5, n_train)


def clinic(rng: np.random.Generator, n_train: int = 500, n_test: int = 3000) -> Table:
    """Make a small study: tests are made for a reason, so that gaps tell; groups differ; many columns are idle."""
    n = n_train + n_test
    age, weight = rng.uniform(20, 85, n), rng.normal(75, 14, n)
    sex, ward = rng.choice(["f", "m"], n), rng.choice(list("ABCDEF"), n)
    smoker = rng.choice(["never", "former", "daily"], n, p=[0.55, 0.25, 0.2])
    marker = np.exp(rng.normal(0.5, 0.6, n)) * np.where(smoker == "daily", 1.6, 1.0)
    tested = rng.random(n) < 1 / (1 + np.exp(-(marker - 1.5)))
    truth = (
        0.04 * np.clip(age - 45, 0, None)
        + 0.02 * (weight - 75) * (sex == "m")
        + np.where(smoker == "daily", 0.8, 0.0)
        + 0.9 * np.log(marker)
        + np.where(np.isin(ward, ["B", "E"]), 0.5, 0.0)
    )
    X = pd.DataFrame(
        {
            "patient": [f"{j:05}-{rng.integers(10**6)}" for j in range(n)],
            "age": age.round(), "weight": [f"{w:.1f} kg" for w in weight], "sex": sex, "ward": ward,
            "smoker": pd.Categorical(smoker), "marker": np.where(tested, marker.round(2), np.nan),
            "admitted": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            **{f"item {j}": rng.choice(["yes", "no", None], n, p=[0.4, 0.5, 0.1]) for j in range(8)},
            **{f"value {j}": rng.normal(size=n) for j in range(6)},
        }
    )  # fmt: skip
    return Table(X, np.asarray(truth), 0.5, n_train)


def rules(rng: np.random.Generator, n_train: int = 3000, n_test: int = 3000) -> Table:
    """Make what trees are made for: thresholds and sets of levels, up to three at a time, and gaps everywhere."""
    n = n_train + n_test
    numbers = rng.uniform(0, 1, (n, 6))
    colour, shape = rng.choice(list("abcdefghij"), n), rng.choice(["round", "square", "flat", "long"], n)
    truth = (
        2.0 * ((numbers[:, 0] > 0.5) & np.isin(colour, list("abc")))
        - 1.5 * ((numbers[:, 1] < 0.3) & (shape != "flat"))
        + 1.0 * ((numbers[:, 2] > 0.7) & (numbers[:, 0] < 0.6) & np.isin(colour, list("cdef")))
        + 0.8 * (numbers[:, 3] > 0.4)
    )
    X = pd.DataFrame({**{f"x{j}": numbers[:, j] for j in range(6)}, "colour": colour, "shape": pd.Categorical(shape)})
    X = X.mask(pd.DataFrame(rng.random(X.shape) < 0.05, columns=X.columns))
    return Table(X, truth, 0.5, n_train)


TABLES: dict[str, Callable[[np.random.Generator], Table]] = {
    each.__name__: each for each in (houses, meters, levels, clinic, rules)
}


def prepare_for_trees(X: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Turn dates into what the calendar says, written numbers into numbers, text into categories; name large ones."""
    made, large = {}, []
    for name, column in X.items():
        if pd.api.types.is_datetime64_any_dtype(column):
            at = column.dt
            made |= {f"{name}.days": column.astype("int64"), f"{name}.year": at.year, f"{name}.month": at.month}
            made |= {f"{name}.day": at.dayofyear, f"{name}.weekday": at.dayofweek, f"{name}.hour": at.hour}
            continue
        if not pd.api.types.is_numeric_dtype(column):
            text = column.astype(object)
            bare = text.where(text.isna(), text.astype(str).str.replace(r"[$,]| kg| °C", "", regex=True))
            numbers = pd.to_numeric(bare, errors="coerce")
            if numbers.notna().sum() == text.notna().sum():
                made[name] = numbers
                continue
            if text.nunique() > MOST_NATIVE_LEVELS:
                large.append(name)
                made[name] = text
                continue
            column = text.astype("category")
        made[name] = column
    frame = pd.DataFrame(made)
    unique = [name for name in large if frame[name].nunique() == len(frame)]
    return frame.drop(columns=unique), [name for name in large if name not in unique]


def tuned_trees(X: pd.DataFrame, y: np.ndarray, large: list[str], seed: int) -> RandomizedSearchCV:
    """Tune boosted trees, with what the comparison tunes."""
    trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=seed, early_stopping=False)
    encoder = make_column_transformer(
        (TargetEncoder(target_type="continuous", random_state=seed), large),
        remainder="passthrough", verbose_feature_names_out=False,
    ).set_output(transform="pandas")  # fmt: skip
    name = "histgradientboostingregressor__"
    search = RandomizedSearchCV(
        make_pipeline(encoder, trees) if large else make_pipeline(trees),
        {
            f"{name}learning_rate": loguniform(0.01, 0.3),
            f"{name}max_iter": randint(50, 600),
            f"{name}max_leaf_nodes": randint(4, 64),
            f"{name}min_samples_leaf": randint(5, 50),
            f"{name}l2_regularization": loguniform(1e-3, 10),
        },
        n_iter=20, cv=KFold(3, shuffle=True, random_state=seed), random_state=seed,
    )  # fmt: skip
    return search.fit(X, y)


def measure(make: Callable[[np.random.Generator], Table], seed: int) -> list[float]:
    rng = np.random.default_rng(seed)
    table = make(rng)
    n, spread = table.n_train, float(table.truth[table.n_train :].std())
    y = table.truth[:n] + table.noise * rng.standard_normal(n)
    X, X_test, truth = table.X[:n], table.X[n:], table.truth[n:]
    measured = []
    for model in (AnnealedRegressor(random_state=0), BayesianRegressor(random_state=0)):
        began = process_time()
        model.fit(X, y)
        predicted = model.predict(X_test)
        assert np.isfinite(predicted).all()
        measured += [float(np.sqrt(np.mean((predicted - truth) ** 2))) / spread, process_time() - began]
    began = process_time()
    prepared, large = prepare_for_trees(table.X)
    trees = tuned_trees(prepared[:n], y, large, seed)
    error = float(np.sqrt(np.mean((trees.predict(prepared[n:]) - truth) ** 2))) / spread
    return [*measured, error, process_time() - began]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    options = parser.parse_args()
    titles = ("annealed", "CPU s", "Bayesian", "CPU s", "trees", "CPU s", "ratio", "ratio")
    print(f"{'table':>8}" + "".join(f"{title:>9}" for title in titles))
    ratios = []
    for name in options.tables:
        mean = np.mean([measure(TABLES[name], seed) for seed in options.seeds], axis=0)
        ratios.append((mean[0] / mean[4], mean[2] / mean[4]))
        print(f"{name:>8}" + "".join(f"{value:9.3f}" for value in (*mean, *ratios[-1])), flush=True)
    annealed, bayesian = np.exp(np.mean(np.log(ratios), axis=0))
    print(f"geometric mean of the ratios of errors to trees: annealed {annealed:.3f}, Bayesian {bayesian:.3f}")


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
