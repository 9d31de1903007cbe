"""Bad input, one by one: a right answer, or an error that says what, found, and what to do."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from saltus import (
    AnnealedRegressor,
    BayesianRegressor,
    Constant,
    Geometric,
    ManyInputsWarning,
    MissingTargetWarning,
    Radial,
)
from saltus.demo import PAPER_PRIORS
from tests.equality import same
from tests.paper import paper

QUICK = {"n_iter": 500, "n_chains": 2, "random_state": 0}


@pytest.fixture
def data(rng):
    X = rng.random((30, 2))
    return X, np.sin(4 * X[:, 0]) + 0.1 * rng.standard_normal(30)


@pytest.fixture(autouse=True)
def no_numpy_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        yield


def fit(X, y, **options):
    return paper(**{**QUICK, **options}).fit(X, y)


@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity(data, bad):
    X, y = data
    spoiled = X.copy()
    spoiled[3, 1] = bad
    with pytest.raises(ValueError, match="contains infinity"):
        fit(spoiled, y)
    spoiled_y = y.copy()
    spoiled_y[2] = bad
    with pytest.raises(ValueError, match="contains infinity"):
        fit(X, spoiled_y)
    with pytest.raises(ValueError, match="contains infinity"):
        fit(X, y).predict(spoiled)


def test_nothing_but_missing_values(data):
    X, y = data
    with pytest.raises(ValueError, match="Every value of X is missing"):
        fit(np.full_like(X, np.nan), y)
    with pytest.raises(ValueError, match="contains NaN"):
        fit(X, np.full_like(y, np.nan))


def test_rows_without_a_target_are_left_out_with_a_warning(data):
    X, y = data
    spoiled, weight = y.copy(), np.arange(1.0, len(y) + 1)
    spoiled[2] = spoiled[5] = np.nan
    kept = np.flatnonzero(~np.isnan(spoiled))
    with pytest.warns(MissingTargetWarning, match=f"missing in 2 of {len(y)} rows"):
        model = paper(**QUICK).fit(X, spoiled, sample_weight=weight)
    assert same(model.networks_, paper(**QUICK).fit(X[kept], y[kept], sample_weight=weight[kept]).networks_)
    frame = pd.DataFrame(X, columns=[f"input {j}" for j in range(X.shape[1])])
    with pytest.warns(MissingTargetWarning):
        named = paper(**QUICK).fit(frame, pd.Series(spoiled, name="output"))
    assert named.data_notes_.n_rows == len(kept)
    assert named.data_notes_.output_names == ("output",)


def test_empty():
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        fit(np.empty((0, 2)), np.empty(0))
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        fit(np.empty((5, 0)), np.zeros(5))


def test_one_row():
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        fit([[1.0, 2.0]], [3.0])


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_a_few_rows(rng, n):
    X, y = rng.random((n, 1)), rng.random(n)
    model = fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.log_posterior_)


@pytest.mark.parametrize("value", [0.0, 5.0, -1e12, 1e-30])
def test_constant_y(data, value):
    X, _ = data
    model = fit(X, np.full(30, value))
    assert model.n_terms_ == 0
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-12)
    assert np.isfinite([model.log_posterior_, model.criterion_value_, model.noise_variance_]).all()
    assert model.noise_variance_ <= 1e-20 * value**2


def test_one_constant_output_beside_a_varying_one(data):
    X, y = data
    both = fit(X, np.stack([y, np.full(30, 3.0)], axis=1), criterion=2.0, n_iter=3000)
    alone = fit(X, y, criterion=2.0, n_iter=3000)
    assert both.n_terms_ == alone.n_terms_ > 0
    np.testing.assert_allclose(both.predict(X)[:, 1], 3.0, rtol=1e-10)
    np.testing.assert_allclose(both.predict(X)[:, 0], alone.predict(X), atol=1e-8)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e8])
def test_y_that_the_linear_model_fits_exactly(data, scale):
    X, _ = data
    y = scale * (3 + X @ [2.0, -1.0])
    model = fit(X, y, n_iter=3000)
    assert model.n_terms_ == 0
    np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)
    np.testing.assert_allclose(model.linear_coef_, scale * np.array([2.0, -1.0]), rtol=1e-10)
    assert np.isfinite([model.log_posterior_, model.criterion_value_]).all()


def test_y_that_a_network_fits_exactly(rng):
    X = rng.random((40, 2))
    truth = np.linalg.norm((X - [0.3, 0.6]) / X.std(axis=0), axis=1) ** 3
    model = fit(X, truth, n_iter=20_000)
    assert model.score(X, truth) > 0.9999
    assert np.isfinite([model.log_posterior_, model.criterion_value_]).all()


def test_duplicate_rows(data):
    X, y = data
    model = fit(np.repeat(X, 5, axis=0), np.repeat(y, 5), criterion=0.0)
    assert 3 + model.n_terms_ <= 15, "k_max must go by distinct rows"
    assert np.isfinite(model.predict(X)).all()
    with pytest.warns(UserWarning, match="constant"):
        same = fit(np.ones((10, 2)), np.arange(10.0))
    np.testing.assert_allclose(same.predict([[1.0, 1.0]]), 4.5)


def test_duplicate_columns(data):
    X, y = data
    with pytest.warns(UserWarning, match="left out of the linear term"):
        model = fit(X[:, [0, 0, 1]], y, n_iter=3000, metric="mahalanobis")
    assert model.score(X[:, [0, 0, 1]], y) > 0.8


@pytest.mark.parametrize("size", [1e300, -1e300, 1e200])
def test_values_too_large(data, size):
    X, y = data
    X = X.copy()
    X[0, 0] = size
    with pytest.raises(ValueError, match=r"X\[:, 0\] holds values as large as 1e\+[23]00, .* Rescale"):
        fit(X, y)
    y = y.copy()
    y[0] = size
    with pytest.raises(ValueError, match=r"y holds values as large as 1e\+[23]00, .* Rescale"):
        fit(data[0], y)


def test_values_too_small(data):
    X, y = data
    with pytest.raises(ValueError, match=r"X\[:, 0\] holds nothing larger than .*e-201, .* Rescale"):
        fit(X * 1e-200 / 2, y)


@pytest.mark.parametrize("scale", [1e130, 1e-130])
@pytest.mark.parametrize("basis", ["cubic", "gaussian", "thin_plate"])
def test_large_and_small_values_that_can_be_had(data, scale, basis):
    X, y = data
    plain = fit(X, y, basis=basis, criterion=2.0)
    scaled = fit(X * scale, y * scale, basis=basis, criterion=2.0)
    np.testing.assert_allclose(scaled.predict(X * scale) / scale, plain.predict(X), atol=1e-6)
    assert np.isfinite(scaled.log_posterior_)


@pytest.mark.parametrize("scale", [1e80, 1e-80])
@pytest.mark.parametrize("basis", ["gaussian", "cubic"])
def test_distances_that_a_basis_cannot_take(data, scale, basis):
    X, y = data
    with pytest.raises(ValueError, match=r"Distances .* Rescale X, change the width"):
        fit(X * scale, y, basis=basis, metric="euclidean")
    with pytest.raises(ValueError, match=r"Distances .* Rescale X, change the width"):
        fit(X, y, basis=Radial(basis, width=scale, metric="standardized"))


@pytest.mark.parametrize("scale", [1e20, 1e-20])
def test_a_cube_has_no_scale_of_its_own(data, scale):
    X, y = data
    model = fit(X * scale, y, metric="euclidean", n_iter=3000)
    assert model.n_terms_ > 0
    assert model.score(X * scale, y) > 0.9


def test_predicting_where_the_network_overflows(data):
    X, y = data
    model = fit(X, y)
    assert np.isfinite(model.predict([[1e40, -1e40]])).all()
    with pytest.raises(ValueError, match=r"widths of the training data away .* Check the units"):
        model.predict([[1e120, 0.0]])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_predicting_where_the_draws_overflow(data):
    X, y = data
    model = BayesianRegressor(**PAPER_PRIORS, n_iter=300, n_draws=10, n_chains=1, random_state=0).fit(X, y)
    assert len(model._predictive.draws[-1].terms) > 0
    assert np.isfinite(model.predict([[1e40, -1e40]])).all()
    for predict in (model.predict, model.predict_interval, model.sample_y):
        with pytest.raises(ValueError, match=r"widths of the training data away .* Check the units"):
            predict([[1e120, 0.0]])


def test_an_output_much_smaller_than_another(data):
    X, y = data
    model = fit(X, np.stack([y, 1e-100 * y], axis=1))
    assert np.isfinite([model.log_posterior_, model.criterion_value_]).all()
    with pytest.raises(ValueError, match=r"y\[:, 1\] holds nothing larger than"):
        fit(X, np.stack([y, 1e-200 * y], axis=1))


def test_y_with_a_large_offset_keeps_what_can_be_told_apart(data):
    X, _ = data
    y = np.sin(4 * X[:, 0])
    exact = fit(X, y, n_iter=3000)
    shifted = fit(X, y + 1e9, n_iter=3000)
    assert shifted.n_terms_ > 3
    np.testing.assert_allclose(shifted.predict(X) - 1e9, exact.predict(X), atol=0.02)


@pytest.mark.parametrize("criterion", ["aicc", "ebic", 1e308])
@pytest.mark.parametrize("seed", range(6))
def test_no_chain_starts_where_the_penalty_is_infinite(criterion, seed):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((40, 5))
    y = X @ np.arange(5.0) + 0.1 * rng.standard_normal(40)
    model = AnnealedRegressor(
        "gaussian",
        criterion=criterion, term_cost="full", n_iter=3000, n_chains=1, random_state=seed
    ).fit(X, y)  # fmt: skip
    chain = model.result_.chains[0]
    assert np.isfinite(model.log_posterior_)
    assert np.isfinite(chain.trace.log_posterior).all()
    assert sum(move.accepted for move in chain.moves.values()) > 0 or model.n_terms_ == 0


def test_weights_that_add_up_to_little_leave_room_for_little(data):
    X, y = data
    model = AnnealedRegressor("gaussian", criterion="ebic", **QUICK).fit(X, y, sample_weight=np.full(30, 0.2))
    assert model.n_terms_ == 0, "six rows allow no more than the linear term"


@pytest.mark.parametrize(
    ("temperature", "message"),
    [
        (np.ones(1), "positive number for each"),
        (1.0, "positive number for each"),
        (np.nan, "positive number for each"),
        (-1.0, "positive number for each"),
    ],
)
def test_schedules_of_one_s_own(data, temperature, message):
    class Schedule:
        def temperature(self, iteration, n_iter):
            return (
                np.full(len(iteration), temperature) if np.isscalar(temperature) and temperature != 1 else temperature
            )

    with pytest.raises(ValueError, match=message):
        fit(*data, schedule=Schedule())


def test_classes_where_objects_belong(data):
    with pytest.raises(ValueError, match=r"schedule must be a name or an object such as Geometric\("):
        fit(*data, schedule=Geometric)
    with pytest.raises(ValueError, match="The 'basis' parameter"):
        fit(*data, basis=Radial)


def test_bases_of_one_s_own_are_refused(data):
    class Basis:
        code, degree, width = 17, None, 1.0

        def profile(self, r_squared):
            return np.exp(-r_squared)

    with pytest.raises(ValueError, match="The 'basis' parameter"):
        fit(*data, basis=Basis())


def test_a_metric_that_is_zero_where_it_matters(data):
    X, y = data
    X = np.hstack([X[:, :1], np.ones((30, 1))])
    with pytest.raises(ValueError, match="zero on every feature that varies"):
        fit(X, y, metric=[[0.0, 0.0], [0.0, 1.0]])


def test_stages_of_a_chain_that_is_not_there(data):
    with pytest.raises(ValueError, match=r"chain must be between 0 and 1. Got 7"):
        next(fit(*data).staged_predict(data[0], chain=7))


def test_one_wild_value_does_not_break_the_fit(data):
    X, y = data
    X = X.copy()
    X[0, 0] = 1e60
    assert np.isfinite(fit(X, y).predict(X)).all()


def test_k_max_too_large(data):
    X, y = data
    with pytest.raises(ValueError, match=r"k_max=27 .* needs at least 31 distinct rows, .* got 30. Lower k_max"):
        fit(X, y, k_max=27)
    assert np.isfinite(fit(X, y, k_max=26).log_posterior_)


def test_wrong_shapes(data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        fit(X, y[:-1])
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        fit(X[:, 0], y)
    with pytest.raises(ValueError, match="dim"):
        fit(X, np.zeros((30, 2, 2)))
    with pytest.raises(ValueError, match="X has 1 features, but AnnealedRegressor is expecting 2"):
        fit(X, y).predict(X[:, :1])


def test_strings(data):
    X, y = data
    with pytest.raises(ValueError, match=r"No column of X can be used\. x0: it is 'a' in every row\."):
        fit(np.full((30, 2), "a"), y)
    with pytest.raises(ValueError, match=r"y holds text, such as 'a', .* saltus does not offer classification yet"):
        fit(X, np.full(30, "a"))


def test_complex(data):
    X, y = data
    with pytest.raises(ValueError, match="Complex data not supported"):
        fit(X + 1j, y)


def test_sparse(data):
    X, y = data
    with pytest.raises(TypeError, match=r"Sparse data was passed.*dense"):
        fit(sparse.csr_matrix(X), y)


def test_weights(data):
    X, y = data
    model = AnnealedRegressor("gaussian", **QUICK)
    with pytest.raises(ValueError, match=r"sample_weight.* add up to at least 2. Got a sum of 0.3"):
        model.fit(X, y, sample_weight=np.full(30, 0.01))
    with pytest.raises(ValueError, match=r"[Ss]ample.?weight"):
        model.fit(X, y, sample_weight=np.zeros(30))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        model.fit(X, y, sample_weight=-np.ones(30))
    with pytest.raises(ValueError, match=r"sample_weight.shape|inconsistent"):
        model.fit(X, y, sample_weight=np.ones(29))


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("basis", "quintic"),
        ("basis", 3),
        ("criterion", "bicc"),
        ("criterion", -1.0),
        ("term_cost", "free"),
        ("k_max", -1),
        ("k_max", 2.5),
        ("n_iter", 0),
        ("n_chains", 0),
        ("schedule", "quadratic"),
        ("acceptance", "always"),
        ("split_scale", 0.0),
        ("split_scale", 0.6),
        ("walk_scale", 0.0),
        ("box_margin", -0.1),
        ("box_margin", 1e10),
        ("init", "kmeans"),
        ("random_state", "zero"),
        ("n_jobs", 1.5),
        ("verbose", "yes"),
    ],
)
def test_options(data, option, value):
    with pytest.raises(ValueError, match=f"The '{option}' parameter of AnnealedRegressor must be .* Got"):
        fit(*data, **{option: value})


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (np.eye(3), r"must have shape \(2, 2\).* Got shape \(3, 3\)"),
        ([[1.0, np.nan], [np.nan, 1.0]], "must be finite"),
        ([[1.0, 0.5], [0.0, 1.0]], "must be symmetric"),
        ([[1.0, 0.0], [0.0, -1.0]], "positive semidefinite. Got an eigenvalue of -1"),
        (np.zeros((2, 2)), "must not be all zero"),
    ],
)
def test_metric_matrices(data, metric, message):
    with pytest.raises(ValueError, match=message):
        fit(*data, metric=metric)


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (np.zeros((2, 3)), r"shape \(k, 2\).* Got shape \(2, 3\)"),
        (np.full((2, 2), 50.0), "outside the box"),
        (np.full((2, 2), np.nan), "init must be finite"),
        (np.full((40, 2), 0.5), "init has 40 terms, but this data allows 12"),
    ],
)
def test_starting_points(data, init, message):
    with pytest.raises(ValueError, match=message):
        fit(*data, init=init)


def test_starting_points_fit_chains_of_every_variant(rng):
    X = np.linspace(-3, 3, 20)[:, None]
    y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(20)
    model = AnnealedRegressor("gaussian", n_iter=100, n_chains=2, random_state=0)
    # AICc is finite for up to 7 that share a width, but for no more than 3 of their own.
    for widths, allowed in [("auto", 3), ("own", 3), ("shared", 7)]:
        model.set_params(basis=Radial("gaussian", widths=widths))
        model.set_params(init=np.linspace(-2, 2, allowed)[:, None]).fit(X, y)
        with pytest.raises(ValueError, match=f"init has 8 terms, but this data allows {allowed}"):
            model.set_params(init=np.linspace(-2, 2, 8)[:, None]).fit(X, y)


def test_parts():
    with pytest.raises(ValueError, match=r"must be one of linear, cubic.* Got 'quintic'"):
        Radial("quintic")
    with pytest.raises(ValueError, match=r"positive number. Got 0"):
        Radial("gaussian", width=0)
    with pytest.raises(ValueError, match=r"metric must be one of learned, standardized.* or a matrix. Got 'learned\?'"):
        Radial("gaussian", metric="learned?")
    with pytest.raises(ValueError, match=r"widths must be one of auto, shared, own. Got 'many'"):
        Radial("gaussian", widths="many")
    with pytest.raises(ValueError, match=r"end temperature .* positive. Got 0"):
        Geometric(1, 0)
    with pytest.raises(ValueError, match="positive"):
        Constant(-1)
    for wrong in ("a", None, [1, 2]):
        with pytest.raises(ValueError, match="positive"):
            Radial("gaussian", width=wrong)
        with pytest.raises(ValueError, match="positive"):
            Constant(wrong)


def test_masked_values_are_missing(data):
    X, y = data
    masked = np.ma.array(X.copy(), mask=np.zeros(X.shape, dtype=bool))
    masked[::5, 0], gaps = np.ma.masked, X.copy()
    masked.data[::5, 0], gaps[::5, 0] = 1e6, np.nan
    model = fit(masked, y)
    assert same(model.networks_, fit(gaps, y).networks_)
    np.testing.assert_array_equal(model.predict(masked), model.predict(gaps))
    y_masked = np.ma.array(y, mask=np.arange(30) == 4)
    with pytest.warns(MissingTargetWarning, match="missing in 1 of 30 rows"):
        assert fit(X, y_masked).data_notes_.n_rows == 29
    with pytest.raises(ValueError, match=r"sample_weight is masked in some rows\. Give every row a weight"):
        paper(**QUICK).fit(X, y, sample_weight=np.ma.array(np.ones(30), mask=np.arange(30) == 4))


@pytest.mark.parametrize(
    "make",
    [
        lambda y: y.astype(str),
        lambda y: [f"{value:.17f}".replace(".", ",") for value in y],
        lambda y: pd.Series(y, dtype="Float64"),
        lambda y: y.astype(object),
        lambda y: pd.Series(pd.Categorical(y)),
    ],
)
def test_targets_that_are_numbers_after_all(data, make):
    X, y = data
    np.testing.assert_allclose(fit(X, make(y)).predict(X), fit(X, y).predict(X))


@pytest.mark.parametrize("gap", ["", "nan", None, pd.NA, pd.NaT, np.nan])
def test_targets_in_text_and_objects_may_be_missing(data, gap):
    X, y = data
    spoiled = np.array([gap, *y[1:].astype(str)], dtype=object)
    with pytest.warns(MissingTargetWarning, match="missing in 1 of 30 rows"):
        assert fit(X, spoiled).data_notes_.n_rows == 29


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        (["a", "b"] * 15, ValueError, "y holds text, such as 'a'.*saltus does not offer classification yet"),
        ([1.0] * 29 + ["a"], ValueError, "y holds text, such as 'a'"),
        (["1,234", "5,678"] * 15, ValueError, "y holds numbers that can be read in several ways, such as '1,234'"),
        (
            np.datetime64("2024-01-01") + np.arange(30),
            ValueError,
            "y holds dates, such as '2024-01-01'.*Count the time",
        ),
        (np.arange(30).astype("timedelta64[s]"), ValueError, "y holds spans of time"),
        (pd.Series(pd.period_range("2020", periods=30, freq="D")), TypeError, "y has 'Period', such as '2020-01-01'"),
        (sparse.csr_matrix(np.ones((30, 1))), TypeError, r"y is sparse, .* Pass y\.toarray"),
        (None, ValueError, "requires y to be passed, but the target y is None"),
    ],
)
def test_targets_that_are_no_numbers(data, y, error, message):
    with pytest.raises(error, match=message):
        fit(data[0], y)


def test_a_linear_term_of_nearly_as_many_inputs_as_rows_is_warned_of(rng):
    X = rng.standard_normal((60, 40))
    with pytest.warns(ManyInputsWarning, match=r"41 coefficients for 60 rows: .* Choose linear='selected'"):
        AnnealedRegressor("gaussian", linear="all", **QUICK).fit(X, X[:, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", ManyInputsWarning)
        AnnealedRegressor(linear="selected", **QUICK).fit(X, X[:, 0])
