"""What a fitted AnnealedRegressor says of itself, and that it does not depend on what it should not."""

import tracemalloc
import warnings
from threading import Thread

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

from saltus import Constant, Geometric, Linear, Logarithmic, Radial
from saltus.datasets import make_robot_arm
from saltus.estimators import DependentFeaturesWarning
from saltus.families.options import RADIAL_NAMES
from tests.paper import paper
from tests.policies import with_policy
from tests.reference import design_matrix, least_squares_rss

QUICK = {"n_iter": 3000, "n_chains": 2, "random_state": 0}


def features(model, X, basis, width=1.0):
    return design_matrix(X, model.centers_, basis, model.metric_, width)


def log_posterior(model, X, Y, basis, cost, weight=None, width=1.0):
    rss = least_squares_rss(features(model, X, basis, width), Y, weight)
    n = len(X) if weight is None else weight.sum()
    return -n / 2 * np.log(rss).sum() - cost * model.n_terms_


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["euclidean", "standardized", "mahalanobis", [[2.0, 0.5], [0.5, 1.0]]])
def test_the_fitted_attributes_say_what_the_model_is(bumps, basis, metric):
    X, Y = bumps
    model = paper(basis, metric=metric, criterion=2.0, **QUICK).fit(X, Y)
    assert model.n_terms_ == len(model.centers_) > 0
    assert model.log_posterior_ == pytest.approx(log_posterior(model, X, Y, basis, 2.0), rel=1e-9)
    D = features(model, X, basis)
    coefficients = np.hstack([model.intercept_[:, None], model.linear_coef_, model.term_coef_])
    np.testing.assert_allclose(D @ coefficients.T, model.predict(X), atol=1e-8)
    np.testing.assert_allclose(model.noise_variance_, least_squares_rss(D, Y) / len(X), rtol=1e-9)
    if not isinstance(metric, str):
        np.testing.assert_allclose(model.metric_, metric, rtol=1e-10)


@pytest.mark.parametrize("basis", ["thin_plate", "gaussian", "multiquadric", "mexican_hat", "cubic"])
def test_the_width_divides_the_distance(bumps, basis):
    X, Y = bumps
    model = paper(Radial(basis, width=0.7, metric="standardized"), criterion=2.0, **QUICK).fit(X, Y)
    assert model.n_terms_ > 0
    expected = log_posterior(model, X, Y, basis, 2.0, width=0.7)
    assert model.log_posterior_ == pytest.approx(expected, rel=1e-9)
    np.testing.assert_allclose(model.metric_, np.diag(1 / X.var(axis=0)), rtol=1e-10)


def test_mahalanobis_is_the_inverse_covariance(bumps, rng):
    X, Y = bumps
    X = X @ np.array([[1.0, 0.8], [0.0, 0.3]])
    model = paper(metric="mahalanobis", **QUICK).fit(X, Y)
    np.testing.assert_allclose(model.metric_, np.linalg.inv(np.cov(X.T, ddof=0)), rtol=1e-8)


@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_rss_agrees_with_lstsq_after_100_000_iterations(rng, spread):
    """With `spread` small, the inputs sit in a corner of a wide Gaussian and the columns nearly coincide."""
    X = rng.random((120, 2)) * spread
    Y = np.sin(5 * X[:, :1] / spread) + X[:, 1:] / spread + 0.05 * rng.standard_normal((120, 2))
    basis = Radial("gaussian", width=2.0 * spread, metric="euclidean")
    model = paper(
        basis, criterion=0.5, k_max=12, n_iter=100_000, n_chains=1, random_state=0, schedule=Constant(0.5)
    ).fit(X, Y)
    D = features(model, X, "gaussian", 2.0 * spread)
    assert np.linalg.cond(D / np.linalg.norm(D, axis=0)) > 1e6
    np.testing.assert_allclose(model.noise_variance_ * len(X), least_squares_rss(D, Y), rtol=1e-9)
    chain = model.result_.chains[0]
    # The chain's own bookkeeping never drifted from it either.
    assert max(chain.best_by_n_terms.values()) == pytest.approx(model.log_posterior_, abs=1e-6)


PENALTIES = {
    # N, c, d, columns of the linear term, k, parameters of a term -> penalty
    "aic": lambda n, c, m, k, q: (c + q) * k,
    "bic": lambda n, c, m, k, q: (c + q) / 2 * np.log(n) * k,
    "mdl": lambda n, c, m, k, q: (c + q) / 2 * np.log(n) * k,
    "hqc": lambda n, c, m, k, q: (c + q) * np.log(np.log(n)) * k,
    "ebic": lambda n, c, m, k, q: (c + q) / 2 * np.log(n) * k + sum(np.log(n - i) - np.log(i + 1) for i in range(k)),
    "aicc": lambda n, c, m, k, q: aicc_penalty(n, c, m + 1 + k + q * k / c) - aicc_penalty(n, c, m + 1),
}


def aicc_penalty(n, c, p):
    return c * (p + p * (p + 1) / (n - p - 1))


@pytest.mark.parametrize("criterion", PENALTIES)
@pytest.mark.parametrize("term_cost", ["paper", "full"])
def test_criterion_value_is_negative_log_likelihood_plus_penalty(bumps, criterion, term_cost):
    """Calibration: computed from scratch, and ordering by it is ordering by the log posterior."""
    X, Y = bumps
    n, c, d = len(X), 2, 2
    values, posteriors = [], []
    for seed in range(4):
        model = paper(
            criterion=criterion, term_cost=term_cost, n_iter=100 * 3**seed, n_chains=1, random_state=seed
        ).fit(X, Y)
        residual = Y - model.predict(X)
        variance = (residual**2).mean(axis=0)
        minus_log_likelihood = (0.5 * (np.log(2 * np.pi * variance) + residual**2 / variance).sum(axis=0)).sum()
        penalty = PENALTIES[criterion](n, c, 1 + d, model.n_terms_, 1 if term_cost == "paper" else d)
        assert model.criterion_value_ == pytest.approx(minus_log_likelihood + penalty, rel=1e-9)
        assert model.log_posterior_ == pytest.approx(
            -n / 2 * np.log((residual**2).sum(axis=0)).sum() - penalty, rel=1e-9
        )
        values.append(model.criterion_value_)
        posteriors.append(model.log_posterior_)
    assert len(set(values)) == 4
    assert list(np.argsort(values)) == list(np.argsort(posteriors)[::-1])


def test_one_output_gives_scalars_and_vectors(bumps):
    X, Y = bumps
    model = paper(**QUICK).fit(X, Y[:, 0])
    assert model.predict(X).shape == (len(X),)
    assert model.term_coef_.shape == (model.n_terms_,)
    assert model.linear_coef_.shape == (2,)
    assert np.isscalar(model.intercept_)
    assert np.isscalar(model.noise_variance_)
    column = clone(model).fit(X, Y[:, :1])
    assert column.predict(X).shape == (len(X), 1)
    np.testing.assert_array_equal(column.predict(X)[:, 0], model.predict(X))


@pytest.mark.parametrize("scale", [1e-6, 0.3, 1e6])
def test_units_of_x_and_y_change_nothing(scale):
    X, Y = make_robot_arm(120, random_state=3)
    new = make_robot_arm(50, random_state=4)[0]
    factors, shift = scale * np.array([1.0, 7.0]), np.array([3.0, -2.0]) * scale
    for basis in ("cubic", "gaussian"):
        model = paper(basis, n_iter=20_000, n_chains=2, random_state=1).fit(X, Y)
        spread = Y.std(axis=0)
        inputs = clone(model).fit(X * factors + shift, Y)
        assert inputs.n_terms_ == model.n_terms_ > 3
        np.testing.assert_allclose(
            inputs.predict(new * factors + shift) / spread, model.predict(new) / spread, atol=1e-6
        )
        outputs = clone(model).fit(X, Y * factors + shift)
        np.testing.assert_allclose(
            (outputs.predict(new) - shift) / factors / spread, model.predict(new) / spread, atol=1e-6
        )


def test_the_same_seed_gives_the_same_bits_however_chains_are_run(bumps):
    X, Y = bumps
    model = paper(n_iter=12_000, n_chains=3, random_state=7)
    expected = model.fit(X, Y).predict(X)

    def check(n_jobs=None, **changes):
        other = with_policy(clone(model).set_params(n_jobs=n_jobs), **changes).fit(X, Y)
        np.testing.assert_array_equal(other.predict(X), expected)
        for one, two in zip(model.result_.chains, other.result_.chains, strict=True):
            np.testing.assert_array_equal(one.trace.log_posterior, two.trace.log_posterior)

    for n_jobs in (1, 2, -1):
        check(n_jobs)
    with parallel_config("loky", n_jobs=2):
        check()
    check(block_seconds=1e-5)
    different = clone(model).set_params(random_state=8).fit(X, Y)
    assert (different.predict(X) != expected).any()


def test_blas_threads_neither_change_the_bits_nor_are_changed(rng):
    X = rng.standard_normal((2000, 30))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(2000)
    model = paper(n_iter=300, n_chains=1, random_state=0)

    def blas():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = blas()
    expected = model.fit(X, y).predict(X)
    with threadpool_limits(1, user_api="blas"):
        np.testing.assert_array_equal(clone(model).fit(X, y).term_coef_, model.term_coef_)
    threads = [Thread(target=clone(model).set_params(n_iter=n).fit, args=(X, y)) for n in (300, 3000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert blas() == before
    np.testing.assert_array_equal(model.fit(X, y).predict(X), expected)


def test_a_weight_is_a_number_of_rows(bumps, rng):
    X, Y = bumps
    new = rng.uniform(-2, 3, size=(30, 2))
    weight = rng.integers(0, 4, len(X))
    model = paper(n_iter=5000, n_chains=2, random_state=0)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert weighted.n_terms_ == repeated.n_terms_ > 0
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-8)
    assert weighted.log_posterior_ == pytest.approx(repeated.log_posterior_, rel=1e-9)
    assert weighted.criterion_value_ == pytest.approx(repeated.criterion_value_, rel=1e-9)


def test_dependent_features_are_left_out_and_named_once(bumps):
    X, Y = bumps
    extended = np.hstack([X, np.full((len(X), 1), 4.0), X[:, :1], X.sum(axis=1, keepdims=True)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = paper(**QUICK).fit(extended, Y)
    assert [w.category for w in caught] == [DependentFeaturesWarning]
    assert "2, 3, 4" in str(caught[0].message)
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(model.linear_coef_[:, 2:], 0)
    assert (model.centers_[:, 2] == 4.0).all()
    assert model.score(extended, Y) > 0.9


def test_more_features_than_rows(rng):
    X = rng.random((6, 10))
    y = rng.random(6)
    with pytest.warns(DependentFeaturesWarning, match="left out"):
        model = paper(**QUICK).fit(X, y)
    assert model.n_terms_ == 0
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)


def test_the_trace_is_thinned_beyond_100_000_iterations(bumps):
    X, Y = bumps
    model = paper(k_max=3, n_iter=250_001, n_chains=1, random_state=0).fit(X, Y)
    trace = model.result_.chains[0].trace
    assert len(trace.iteration) == len(trace.n_terms) == len(trace.temperature) == 83_334
    assert trace.iteration[0] == 1
    assert trace.iteration[-1] <= 250_001
    assert model.n_iter_ == 250_001


def test_the_result_tells_the_story_of_each_chain(bumps):
    X, Y = bumps
    model = paper(n_iter=2000, n_chains=3, random_state=0).fit(X, Y)
    result = model.result_
    assert len(result.chains) == 3
    assert result.best_chain == np.argmax([chain.best.log_posterior for chain in result.chains])
    assert "3 chains" in result.status
    assert str(model.n_terms_) in result.status
    for chain in result.chains:
        assert "ran 2 000 iterations" in chain.status
        assert sum(move.chosen for move in chain.moves.values()) == 2000
        assert set(chain.moves) == {"birth", "death", "split", "merge", "update"}
        assert all(move.accepted <= move.feasible <= move.chosen for move in chain.moves.values())
        assert chain.best.log_posterior >= chain.trace.log_posterior.max() - 1e-6
        assert chain.best_by_n_terms[chain.best.n_terms] == pytest.approx(chain.best.log_posterior)


def test_staged_predict_follows_the_chain(bumps):
    X, Y = bumps
    model = paper(n_iter=500, n_chains=1, random_state=0, schedule="constant").fit(X, Y)
    trace = model.result_.chains[0].trace
    stages = list(model.staged_predict(X))
    iterations = [iteration for iteration, _ in stages]
    assert iterations[0] == 0
    assert iterations[-1] == 500
    assert iterations == sorted(set(iterations))
    for iteration, predicted in stages[1:]:
        rss = ((Y - predicted) ** 2).sum(axis=0)
        k = trace.n_terms[iteration - 1]
        value = -len(X) / 2 * np.log(rss).sum() - 1.5 * np.log(len(X)) * k
        assert value == pytest.approx(trace.log_posterior[iteration - 1], rel=1e-7)


@pytest.mark.parametrize(
    ("name", "schedule"),
    [
        ("linear", Linear()),
        ("geometric", Geometric()),
        ("logarithmic", Logarithmic()),
        ("constant", Constant()),
    ],
)
def test_a_schedule_by_name_is_the_default_object(bumps, name, schedule):
    X, Y = bumps
    by_name = paper(schedule=name, **QUICK).fit(X, Y)
    by_object = paper(schedule=schedule, **QUICK).fit(X, Y)
    np.testing.assert_array_equal(by_name.predict(X), by_object.predict(X))


def test_starting_centres(bumps):
    X, Y = bumps
    given = X[:4]
    model = paper(init=given, n_iter=1, n_chains=1, random_state=0).fit(X, Y)
    start = model.result_.chains[0].snapshots[0].network
    np.testing.assert_allclose(start.places, given, rtol=1e-12)
    empty = paper(init="empty", n_iter=1, n_chains=1, random_state=0).fit(X, Y)
    assert empty.result_.chains[0].snapshots[0].network.n_terms == 0
    random = paper(n_iter=1, n_chains=8, random_state=0).fit(X, Y)
    assert len({chain.snapshots[0].network.n_terms for chain in random.result_.chains}) > 3


def test_starting_centres_that_coincide_are_taken_once(bumps):
    X, Y = bumps
    model = paper(init=X[[0, 1, 1, 0]], n_iter=1, n_chains=1, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.result_.chains[0].snapshots[0].network.places, X[:2], rtol=1e-12)


def test_k_max_and_the_box_are_respected(bumps):
    X, Y = bumps
    model = paper(k_max=2, criterion=0.0, box_margin=0.0, **QUICK).fit(X, Y)
    assert model.n_terms_ == 2
    assert all(chain.trace.n_terms.max() <= 2 for chain in model.result_.chains)
    assert ((model.centers_ >= X.min(axis=0)) & (model.centers_ <= X.max(axis=0))).all()
    assert paper(k_max=0, **QUICK).fit(X, Y).n_terms_ == 0


def test_default_k_max_keeps_the_design_well_below_the_rows(rng):
    for n in (4, 10, 30):
        X, y = rng.random((n, 1)), rng.random(n)
        model = paper(criterion=0.0, **QUICK).fit(X, y)
        assert 2 + model.n_terms_ <= max(n // 2, 2)


def test_memory_of_a_chain_is_bounded(rng):
    """At most 3 N (m_max + d + c) doubles a chain, beyond the data."""
    n, d, c, k_max = 20_000, 3, 2, 20
    X, Y = rng.random((n, d)), rng.random((n, c))
    model = paper(k_max=k_max, n_iter=200, n_chains=1, random_state=0)
    model.fit(X, Y)
    tracemalloc.start()
    model.fit(X, Y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 3 * n * ((1 + d + k_max) + d + c)


def test_progress_is_one_line_on_standard_error(bumps, capsys):
    X, Y = bumps
    paper(verbose=1, **QUICK).fit(X, Y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "100%" in captured.err
    paper(**QUICK).fit(X, Y)
    assert capsys.readouterr().err == ""
    with parallel_config("loky", n_jobs=2):
        paper(verbose=1, **QUICK).fit(X, Y)
    assert "0%" not in capsys.readouterr().err
