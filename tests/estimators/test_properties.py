"""What holds of every fit, whatever the data and the options: looked for by Hypothesis.

A fit either raises an error that says what is wrong with the data, or predicts: finite numbers, without a warning of
NumPy, the same the second time, and at its own rows no worse than the mean of y.
"""

import re
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from saltus import AnnealedRegressor, BayesianRegressor, Product, Radial
from tests.families.user.families import OwnRidge

# What the data may be too little or too much for.
DOCUMENTED = re.compile(
    r"squares (overflow|vanish)|Every value of X is missing|No column of X can be used|add up to at least 2"
    r"|at least one non-zero|contains infinity|Every input is a category|linear='all' needs inputs that are numbers"
    r"|needs at least \d+ distinct rows|Distances .* Rescale X|minimum of 2 is required"
)
# Sizes of inputs and outputs.
EXPONENTS = (0, 0, 0, -300, -160, -130, -20, 9, 120, 139, 200, 300)
SORTS = ("numbers", "whole", "few", "text", "dates", "constant", "copy", "offset", "heavy")


@dataclass(frozen=True)
class Table:
    """Data to be made: Hypothesis chooses this, and the rest follows from the seed."""

    seed: int = 0
    n_rows: int = 12
    sorts: tuple[str, ...] = ("numbers",)
    exponent_of_x: int = 0
    exponent_of_y: int = 0
    share_missing: float = 0.0
    y: str = "noise"
    n_outputs: int = 1
    is_doubled: bool = False  # each row twice
    weights: str = "none"
    container: str = "array"
    dtype: str = "float64"

    @np.errstate(over="ignore", invalid="ignore")  # what is too large is infinite
    def make(self):
        """Make X, y and weights."""
        rng = np.random.default_rng(self.seed)
        columns = {}
        for j, sort in enumerate(self.sorts):
            columns[f"x{j}"] = self._column(rng, sort, list(columns.values()))
        y = self._outputs(rng, columns)
        if self.is_doubled:
            columns, y = {name: np.repeat(column, 2) for name, column in columns.items()}, np.repeat(y, 2, axis=0)
        n = len(y)
        weight = {
            "none": None,
            "some": rng.integers(0, 4, n).astype(float),
            "fractions": rng.random(n) * 3,
            "wide": 10.0 ** rng.integers(-12, 12, n),
        }[self.weights]
        return self._container(columns), y, weight

    def _column(self, rng, sort, before):
        n, scale = self.n_rows, 10.0**self.exponent_of_x
        x = rng.standard_normal(n)
        if sort == "text":
            column = rng.choice(["a", "b", "c", "level"], n).astype(object)
        elif sort == "dates":
            column = np.datetime64("2020-01-01") + rng.integers(0, 900, n).astype("timedelta64[D]")
        else:
            column = {
                "numbers": x,
                "whole": np.round(2 * x),
                "few": rng.choice([0.0, 1.0], n),
                "constant": np.full(n, 3.0),
                "copy": next((b for b in before if b.dtype.kind == "f"), x) / scale,
                "offset": 1e9 + x,
                "heavy": np.sign(x) * np.abs(x) ** 7,
            }[sort] * scale
        if self.share_missing > 0:
            is_gap = rng.random(n) < self.share_missing
            column = column.copy()
            column[is_gap] = {"f": np.nan, "O": None, "M": np.datetime64("NaT", "us")}[column.dtype.kind]
        return column

    def _outputs(self, rng, columns):
        n = self.n_rows
        noise = rng.standard_normal((n, self.n_outputs))
        first = next(
            (np.nan_to_num(c, posinf=0, neginf=0) for c in columns.values() if c.dtype.kind == "f"), noise[:, 0]
        )
        first = first / max(np.abs(first).max(), np.finfo(float).tiny)
        y = {
            "noise": noise,
            "line": first[:, None] + 0 * noise,
            "wave": np.sin(5 * first)[:, None] + 0.01 * noise,
            "constant": np.full(noise.shape, 7.0),
            "ties": np.round(noise),
            "offset": 1e10 + noise,
            "wild": noise * np.where(np.arange(n) == 0, 1e6, 1.0)[:, None],
        }[self.y] * 10.0**self.exponent_of_y
        return y[:, 0] if self.n_outputs == 1 else y

    def _container(self, columns):
        if self.container == "frame":
            return pd.DataFrame(columns)
        if any(column.dtype.kind != "f" for column in columns.values()):
            return np.array([column.astype(object) for column in columns.values()], dtype=object).T
        X = np.column_stack(list(columns.values()))
        if self.container == "list":
            return X.tolist()
        return X.astype(self.dtype)


tables = st.builds(
    Table,
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(2, 30),
    sorts=st.lists(st.sampled_from(SORTS), min_size=1, max_size=4).map(tuple),
    exponent_of_x=st.sampled_from(EXPONENTS),
    exponent_of_y=st.sampled_from(EXPONENTS),
    share_missing=st.sampled_from((0.0, 0.0, 0.2, 0.9)),
    y=st.sampled_from(("noise", "line", "wave", "constant", "ties", "offset", "wild")),
    n_outputs=st.sampled_from((1, 1, 2)),
    is_doubled=st.booleans(),
    weights=st.sampled_from(("none", "none", "some", "fractions", "wide")),
    container=st.sampled_from(("array", "frame", "list")),
    dtype=st.sampled_from(("float64", "float32", "longdouble")),
)

BOTH = {
    "linear": ("auto", "all", "selected", "none"),
    "k_max": (None, 0, 1, 3),
    "box_margin": (0.0, 0.1, 3.0),
    "split_scale": (1e-9, 0.1, 0.5),
    "walk_scale": (1e-9, 0.1, 5.0),
}
ANNEALED = {
    **BOTH,
    "criterion": ("aicc", "bic", "ebic", "aic", 0.0, 1e308),
    "term_cost": (1, 3, "full", "paper"),
    "combine": ("average", "best"),
    "parsimony": (None, 10.0),
    "schedule": ("auto", "linear", "logarithmic", "constant"),
    "acceptance": ("tempering", "two-stage"),
    "polish": (True, False),
    "init": ("descent", "random", "empty"),
}
BAYESIAN = {
    **BOTH,
    "g": ("auto", 1e-3, 1e6),
    "noise_shape": (0.0, 3.0),
    "noise_scale": (0.0, 1.0),
    "n_warmup": (0, 20),
    "init": ("random", "empty"),
}


def options_of(choices):
    return st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in choices.items()})


@dataclass(frozen=True)
class Case:
    """A fit."""

    table: Table = field(default_factory=Table)
    is_bayesian: bool = False
    options: dict = field(default_factory=dict)

    def make(self, basis):
        """Make the estimator."""
        if self.is_bayesian:
            quick = {"n_iter": 40, "n_draws": 4, "n_chains": 1, "random_state": 0}
            return BayesianRegressor(basis, **{**quick, **self.options})
        quick = {"n_iter": 40, "n_chains": 2, "random_state": 0, "term_cost": 1}
        return AnnealedRegressor(basis, **{**quick, **self.options})


cases = st.one_of(
    st.builds(Case, tables, st.just(False), options_of(ANNEALED)),
    st.builds(Case, tables, st.just(True), options_of(BAYESIAN)),
)


def check(case, basis):
    X, y, weight = case.table.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = case.make(basis).fit(X, y, sample_weight=weight)
        except ValueError as error:
            if DOCUMENTED.search(str(error)):
                return
            raise
        said = model.predict(X)
        assert said.shape == y.shape
        assert np.isfinite(said).all()
        assert np.isfinite(model.predict(replace(case.table, seed=case.table.seed + 1).make()[0])).all()
        if case.is_bayesian:
            low, high = model.predict_interval(X)
            assert (np.isfinite(low) & np.isfinite(high) & (low <= high)).all()
        again = case.make(basis).fit(X, y, sample_weight=weight).predict(X)
    assert np.array_equal(said, again), "a second fit is another"
    scale = 10.0**case.table.exponent_of_y
    weight = np.ones(len(y)) if weight is None else weight
    away, from_mean = ((np.asarray(y - each) / scale) for each in (said, np.average(y, axis=0, weights=weight)))
    squares, most = (np.atleast_1d(np.average(each**2, axis=0, weights=weight)) for each in (away, from_mean))
    rounding = (1e-12 * np.abs(np.asarray(y) / scale).max(axis=0)) ** 2
    assert (squares <= most * (1 + 1e-6) + rounding).all(), (squares, most)


PHASES = (Phase.explicit, Phase.generate, Phase.shrink)
QUIET = {
    "phases": PHASES,
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
FAMILIES = {
    "radial": "gaussian",
    "given metric": Radial("cubic", metric="standardized"),
    "products": ["hinges", "steps", "bumps"],
    "polynomials": Product("polynomial"),
    "ridges": "sigmoids",
    "waves": "waves",
    "user": OwnRidge(),
    "mixed": ["gaussian", "steps", "ridges"],
    "auto": "auto",
}


@settings(max_examples=30, **QUIET)
@given(cases)
@example(Case(Table(n_rows=2), options={"parsimony": 10.0}))  # errors of rows left out were 0, and divided by
def test_radial_terms(case):
    check(case, "gaussian")


@settings(max_examples=30, **QUIET)
@given(cases)
@example(Case(Table(n_rows=6, exponent_of_x=300, dtype="float32")))  # infinity of both signs was summed
def test_products(case):
    check(case, FAMILIES["products"])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_all_families(family):
    @settings(max_examples=150, **QUIET)
    @given(cases)
    def look(case):
        check(case, FAMILIES[family])

    look()
