"""BayesianRegressor: what it predicts is what its draws say, and that is what it should be."""

import tracemalloc

import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import t as student
from sklearn.base import clone

from saltus import BayesianRegressor, Radial
from saltus.datasets import make_robot_arm
from saltus.demo import PAPER_PRIORS
from saltus.engine.results.predictive import Mixture, student_distribution
from saltus.estimators.checks import check_data
from saltus.estimators.sampling import (
    FEWEST_ITERATIONS,
    USUAL_ITERATIONS,
    choose_temperatures,
    resolve_chains,
    resolve_iterations,
)
from saltus.families.registry import count_own_parameters
from tests.equality import same
from tests.reference import design_matrix

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_iter": 2000, "n_draws": 40, "n_chains": 2, "random_state": 0}


FAMILY = Radial("gaussian", width=1.5, metric="standardized")


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_robot_arm(150, random_state=2)
    return X, Y, BayesianRegressor(FAMILY, k_max=20, **QUICK).fit(X, Y)


def relative(D, d, m_fixed):
    """D and rows d under the relative ridge: terms less their linear part over the rows of D, at their length there."""
    slope = np.linalg.lstsq(D[:, :m_fixed], D[:, m_fixed:])[0]
    rest, rest_of_d = (rows[:, m_fixed:] - rows[:, :m_fixed] @ slope for rows in (D, d))
    length = np.sqrt((D[:, m_fixed:] ** 2).sum(axis=0) / (rest**2).sum(axis=0))
    return np.hstack([D[:, :m_fixed], rest * length]), np.hstack([d[:, :m_fixed], rest_of_d * length])


def components(X, Y, model, new):
    """Means, scales and degrees of the t distributions of new y, from scratch and by the normal equations."""
    X_mean, X_scale, Y_mean, Y_scale = X.mean(0), X.std(0), Y.mean(0), Y.std(0)
    scaled = (Y - Y_mean) / Y_scale
    n = len(X)

    def features(rows, draw):
        box = model._predictive.features.box
        D = design_matrix(rows, box.from_unit(draw.terms.parameters), "gaussian", np.diag(1 / X_scale**2), 1.5)
        D[:, 1:3] = (rows - X_mean) / X_scale
        return D

    means, scales = [], []
    for chain in model.chains_:
        for draw in chain.draws:
            D, d = relative(features(X, draw), features(new, draw), 3)
            mean, scale = [], []
            for i in range(Y.shape[1]):
                W = D.T @ D + np.eye(D.shape[1]) / draw.prior_width[i]
                alpha = np.linalg.solve(W, D.T @ scaled[:, i])
                S = scaled[:, i] @ (scaled[:, i] - D @ alpha)
                leverage = np.einsum("nm,mn->n", d, np.linalg.solve(W, d.T))
                mean.append(Y_mean[i] + Y_scale[i] * d @ alpha)
                scale.append(Y_scale[i] * np.sqrt(S / n * (1 + leverage)))
            means.append(np.stack(mean, 1))
            scales.append(np.stack(scale, 1))
    return np.array(means), np.array(scales), n


def test_moments_and_quantiles_are_those_of_the_mixture(fitted):
    X, Y, model = fitted
    new = make_robot_arm(7, random_state=3)[0]
    means, scales, degrees = components(X, Y, model, new)
    assert len(means) == 80
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, means.mean(0), rtol=1e-7, atol=1e-7)
    variance = (scales**2 * degrees / (degrees - 2)).mean(0) + means.var(0)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-6)
    low, high = model.predict_interval(new, 0.8)
    for value, probability in ((low, 0.1), (high, 0.9)):
        np.testing.assert_allclose(student.cdf(value, degrees, means, scales).mean(0), probability, atol=1e-5)


def test_samples_have_the_moments_of_the_predictions(fitted):
    _, _, model = fitted
    new = make_robot_arm(5, random_state=4)[0]
    samples = model.sample_y(new, n_samples=4000, random_state=1)
    assert samples.shape == (5, 2, 4000)
    mean, std = model.predict(new, return_std=True)
    # Five standard errors of a mean of 4 000, for ten means: a false alarm in 200 000.
    assert np.abs((samples.mean(axis=2) - mean) / (std / np.sqrt(4000))).max() < 5
    np.testing.assert_allclose(samples.std(axis=2), std, rtol=0.1)


def test_fitted_attributes(fitted):
    X, Y, model = fitted
    assert sum(model.posterior_k_.values()) == pytest.approx(1)
    n_terms = np.concatenate([chain.draws.n_terms for chain in model.chains_])
    assert set(n_terms.tolist()) == set(model.posterior_k_)
    assert 0.001 < model.noise_variance_.min() <= model.noise_variance_.max() < 0.005
    assert model.n_warmup_ == 1000
    draws = [draw for chain in model.chains_ for draw in chain.draws]
    best = max(draws, key=lambda draw: draw.log_posterior)
    assert same(model.map_estimate_.terms, best.terms)
    assert ((Y - model.map_estimate_.predict(X)) ** 2).mean() < 0.01
    for chain in model.chains_:
        assert sum(move.chosen for move in chain.moves.values()) == 3000


def test_intervals_cover(fitted):
    """On 2 000 new values the share inside 90 % intervals has standard error 0.007 for a fixed, right distribution."""
    _, _, model = fitted
    new, Y_new = make_robot_arm(1000, random_state=5)
    low, high = model.predict_interval(new, 0.9)
    assert 0.86 < ((low <= Y_new) & (Y_new <= high)).mean() < 0.94


def test_the_same_seed_gives_the_same_bits_whatever_n_jobs(fitted):
    X, Y, model = fitted
    for n_jobs in (1, 2, -1):
        other = clone(model).set_params(n_jobs=n_jobs).fit(X, Y)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with parallel_config("loky", n_jobs=2):
        other = clone(model).fit(X, Y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_units_change_nothing():
    X, Y = make_robot_arm(100, random_state=3)
    new = make_robot_arm(20, random_state=4)[0]
    for basis in ("cubic", "gaussian"):
        model = BayesianRegressor(Radial(basis, metric="standardized"), k_max=10, **QUICK).fit(X, Y)
        other = clone(model).fit(X * [1e-3, 1e3] + 5, Y * 1e4 - 3)
        np.testing.assert_allclose((other.predict(new * [1e-3, 1e3] + 5) + 3) / 1e4, model.predict(new), atol=1e-6)


def test_a_weight_is_a_number_of_rows(rng):
    X, Y = make_robot_arm(80, random_state=3)
    weight = rng.integers(0, 4, 80)
    model = BayesianRegressor(Radial("gaussian", metric="standardized"), k_max=8, **QUICK)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_one_output(fitted):
    X, Y, _ = fitted
    model = BayesianRegressor("gaussian", **QUICK).fit(X, Y[:, 0])
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (150,)
    assert model.sample_y(X, 3).shape == (150, 3)
    assert all(end.shape == (150,) for end in model.predict_interval(X))
    assert np.isscalar(model.noise_variance_)


def test_prediction_from_a_thousand_draws_takes_bounded_memory(fitted):
    X, Y, model = fitted
    model = clone(model).set_params(n_draws=500).fit(X, Y)
    new = make_robot_arm(10_000, random_state=5)[0]
    tracemalloc.start()
    model.predict(new, return_std=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6


def test_draws_are_found_by_number_from_either_end(fitted):
    draws = fitted[2].chains_[0].draws
    first, *_, last = draws
    np.testing.assert_array_equal(draws[-1].K, last.K)
    np.testing.assert_array_equal(draws[-len(draws)].mean, first.mean)
    np.testing.assert_array_equal(np.concatenate([draw.K.ravel() for draw in draws]), draws.K)
    with pytest.raises(IndexError):
        draws[len(draws)]


def test_constant_and_exact_outputs():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    for y in (np.full(30, 4.0), 1 + X @ [2.0, 3.0]):
        model = BayesianRegressor("gaussian", **QUICK).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        assert np.isfinite(std).all()
        np.testing.assert_allclose(mean, y, atol=0.05)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1])
def test_impossible_coverage(fitted, coverage):
    with pytest.raises(ValueError, match=r"coverage must be between 0 and 1. Got"):
        fitted[2].predict_interval(fitted[0], coverage)


@pytest.mark.parametrize(
    ("option", "value"), [("n_warmup", -1), ("n_draws", 0), ("ridge_scale", 0), ("noise_shape", -1)]
)
def test_options(fitted, option, value):
    with pytest.raises(ValueError, match=f"The '{option}' parameter of BayesianRegressor must be .* Got"):
        BayesianRegressor("gaussian", **{option: value}).fit(fitted[0], fitted[1])


@pytest.mark.parametrize("degrees", [3.0, 10.0, 25.0, 200.0, 1e6])
def test_distribution_function_of_t(degrees):
    t = np.linspace(-30, 30, 2001)
    np.testing.assert_allclose(student_distribution(degrees, t), student.cdf(t, degrees), atol=1e-9)


def test_a_learned_metric_finds_the_inputs_that_matter():
    rng = np.random.default_rng(0)
    X = rng.random((150, 4)) * [1.0, 100.0, 1e-3, 1.0]
    truth = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1] / 100)
    y = truth + 0.1 * rng.standard_normal(150)
    # Under the wider ridge of the defaults an input that does not matter often stays, with a relevance near 0.
    priors = {**PAPER_PRIORS, "basis": Radial("gaussian", metric="learned")}
    model = BayesianRegressor(**priors, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.inclusion_[:2], 1.0)
    assert (model.inclusion_[2:] < 0.7).all()
    assert (model.relevance_[2:] < 0.1 * model.relevance_[:2].min()).all()
    assert np.sqrt(((model.predict(X) - truth) ** 2).mean()) < 0.06
    assert model.chains_[0].moves["stretch"].accepted > 0
    tree = model.to_datatree()
    np.testing.assert_allclose(tree["posterior"]["relevance"].mean(("chain", "draw")), model.relevance_)
    network = model.map_estimate_
    assert ((network.predict(X)[:, 0] - truth) ** 2).mean() < 0.01
    given = clone(model).set_params(basis=Radial("gaussian", metric="standardized")).fit(X, y)
    assert not hasattr(given, "relevance_")
    assert "relevance" not in given.to_datatree()["posterior"]


def test_the_prior_is_chosen_by_the_terms():
    """A g-prior for terms that choose their inputs, a ridge for radial ones, or what is asked for."""
    X, Y = make_robot_arm(80, random_state=2)
    y = Y[:, 0]
    for basis, prior, is_ridge in (
        ("hinges", "auto", False),
        (FAMILY, "auto", True),
        ("hinges", "ridge", True),
        (FAMILY, "g", False),
        ("gaussian", "g", False),
    ):
        model = BayesianRegressor(basis, prior=prior, **QUICK).fit(X, y)
        names = set(model.to_datatree()["posterior"].data_vars)
        assert ({"delta_squared", "rate"} <= names) == is_ridge
        assert ("g" in names) != is_ridge
        assert model.score(X, y) > 0.7


def test_a_g_that_is_given_is_used():
    X, Y = make_robot_arm(80, random_state=2)
    model = BayesianRegressor("hinges", g=500.0, **QUICK).fit(X, Y)
    assert (model.to_datatree()["posterior"]["g"] == 500.0).all()
    free = BayesianRegressor("hinges", **QUICK).fit(X, Y)
    assert len(np.unique(free.to_datatree()["posterior"]["g"])) > 3


def test_predictions_under_a_g_prior_are_those_of_its_draws(monkeypatch):
    """At the rows: the mean of the linear term as least squares have it, of what is new g/(1 + g) of that.

    Where none of the coefficients is held back for being huge.
    """
    monkeypatch.setattr("saltus.engine.drivers.steppers.is_spread", lambda *_: False)
    X, Y = make_robot_arm(90, random_state=4)
    model = BayesianRegressor(["bumps", "ridges"], linear="all", **QUICK).fit(X, Y)
    predictive = model._predictive
    expected = []
    for draw in predictive.draws:
        (D,) = predictive.features.columns(X, [draw])
        linear = np.linalg.qr(D[:, :3])[0]
        whole = np.linalg.qr(D)[0]
        at_linear, at_whole = linear @ (linear.T @ Y), whole @ (whole.T @ Y)
        expected.append(at_linear + draw.prior_width / (1 + draw.prior_width) * (at_whole - at_linear))
    np.testing.assert_allclose(model.predict(X), np.mean(expected, axis=0), atol=1e-8)
    assert predictive.degrees == 90 - 3


def test_intervals_of_the_function_are_quantiles_of_functions_that_are_drawn():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 1))
    y = np.abs(X[:, 0]) + 0.2 * rng.standard_normal(60)
    model = BayesianRegressor("hinges", n_draws=1_000, n_chains=2, n_iter=4_000, random_state=0).fit(X, y)
    at = np.linspace(-1, 1, 5)[:, None]
    functions = np.array([f[:, 0] for f, _ in model._predictive.functions(rng, at)])
    for coverage in (0.5, 0.9):
        low, high = model.predict_interval(at, coverage, of="function")
        inside = np.mean((low <= functions) & (functions <= high), axis=0)
        # |z| < 5 fails by chance with probability 6e-7 for each of ten; draws are the same in both.
        assert np.abs(inside - coverage).max() < 5 * np.sqrt(coverage * (1 - coverage) / len(functions))
        low_y, high_y = model.predict_interval(at, coverage)
        assert (low_y < low).all()
        assert (high < high_y).all()
    with pytest.raises(ValueError, match='of must be "y"'):
        model.predict_interval(at, of="f")


def test_weights_count_rows_under_a_g_prior():
    """Up to rounding: the same model, and so the same distribution, of rows that are given twice."""
    X, Y = make_robot_arm(60, random_state=5)
    weight = np.where(np.arange(60) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(60), weight.astype(int))
    options = {**QUICK, "n_iter": 500, "n_warmup": 100, "init": "empty"}
    weighted = BayesianRegressor("hinges", **options).fit(X, Y, sample_weight=weight)
    repeated = BayesianRegressor("hinges", **options).fit(X[twice], Y[twice])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-4, atol=1e-4)


def test_there_are_more_and_longer_chains_where_rows_are_few():
    """Where rows are few, chains under a g-prior run beside hotter copies: one is as good as two that do not."""
    X, Y = make_robot_arm(5000, random_state=5)
    model, numbers, lengths = BayesianRegressor("hinges"), {False: [], True: []}, []
    for n_rows in (50, 700, 2500, 5000):
        design = model._make_design(check_data(model, X[:n_rows], Y[:n_rows], None))
        lengths.append(resolve_iterations("auto", design))
        for has_g_prior, each_number in numbers.items():
            each_number.append(resolve_chains("auto", design, has_g_prior=has_g_prior))
            hotter = choose_temperatures(design, has_g_prior=has_g_prior)[1:]
            assert (len(hotter) > 0) == (has_g_prior and n_rows <= 1_000)
    assert numbers == {False: [8, 6, 6, 4], True: [4, 3, 6, 4]}
    assert lengths[:2] == [USUAL_ITERATIONS] * 2
    assert lengths[0] > lengths[2] > lengths[3] >= FEWEST_ITERATIONS
    assert resolve_iterations(77, design) == 77
    assert resolve_chains(3, design, has_g_prior=True) == 3


def each(terms):
    return zip(terms.family, terms.choices, strict=True)


def test_a_network_has_fewer_parameters_than_there_are_rows():
    rng = np.random.default_rng(0)
    X, y = rng.random((9, 20)), rng.integers(0, 3, 9).astype(float)
    X, y = X.repeat(3, axis=0), y.repeat(3)
    model = BayesianRegressor("ridges", n_draws=50, random_state=0).fit(X, y)
    families = model._make_design(check_data(model, X, y, None)).problem.families
    counts = [
        len(terms) + sum(count_own_parameters(families, f, choices, terms.shared) for f, choices in each(terms))
        for terms in (draw.terms for draw in model._predictive.draws)
    ]
    assert 4 <= max(counts) < 9 - 1 - 1
    assert model.noise_variance_ > 1e-6


def test_a_radial_fit_has_four_chains():
    X, Y = make_robot_arm(40, random_state=5)
    model = BayesianRegressor("gaussian", n_iter=20, n_draws=5).fit(X, Y)
    assert model.n_chains_ == len(model.chains_) == 4


def test_with_two_degrees_of_freedom_the_variance_is_infinite_and_quantiles_are_not():
    mixture = Mixture(np.zeros((1, 1, 1)), np.ones((1, 1, 1)), np.ones((1, 1, 1)), 2.0)
    assert mixture.moments()[1] == np.inf
    for probability in (0.05, 0.5, 0.95):
        np.testing.assert_allclose(mixture.quantile(probability), np.sqrt(2) * student.ppf(probability, 2), atol=1e-4)
