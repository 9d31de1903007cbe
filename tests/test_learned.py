"""A learned metric, widths of basis functions, and the search that finds them."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from saltus import AnnealedRegressor, BayesianRegressor, Geometric
from saltus.datasets import make_robot_arm
from saltus.engine.drivers.rounds import ITERATIONS_A_ROUND
from saltus.estimators.base import check_data
from saltus.families import RADIAL_NAMES
from tests.reference import design_matrix, least_squares_rss

QUICK = {"n_iter": 5000, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(300, n_features=8, noise=1.0, random_state=0)
    return X, y, AnnealedRegressor(**QUICK).fit(X, y)


def test_inputs_that_do_not_matter_are_switched_off(friedman):
    _, _, model = friedman
    assert (model.relevance_[:3] > 0).all()
    np.testing.assert_array_equal(model.relevance_[5:], 0.0)
    X_new, truth = make_friedman1(1000, n_features=8, noise=0.0, random_state=1)
    assert np.sqrt(((model.predict(X_new) - truth) ** 2).mean()) < 0.6


@pytest.mark.parametrize("basis", ["gaussian", "cubic"])
@pytest.mark.parametrize("center_cost", ["full", "paper"])
def test_the_attributes_are_the_model_and_its_criterion(friedman, basis, center_cost):
    X, y, _ = friedman
    own_width = basis == "gaussian"
    options = {"criterion": "bic", "center_cost": center_cost, "widths": "own" if own_width else "auto"}
    model = AnnealedRegressor(basis, **options, combine="best", **QUICK).fit(X, y)
    np.testing.assert_allclose(model.metric_, np.diag((model.relevance_ / X.std(axis=0)) ** 2), rtol=1e-9)
    D = design_matrix(X, model.centers_, basis, model.metric_, model.widths_)
    coefficients = np.concatenate([[model.intercept_], model.linear_coef_, model.basis_coef_])
    np.testing.assert_allclose(D @ coefficients, model.predict(X), atol=1e-6)
    n_active = (model.relevance_ > 0).sum()
    assert (model.widths_ != 1).any() == own_width
    of_a_center = n_active + 2 * own_width if center_cost == "full" else 1
    penalty = 0.5 * np.log(300) * ((1 + of_a_center) * model.n_bases_ + n_active)
    expected = -150 * np.log(least_squares_rss(D, y)[0]) - penalty
    assert model.log_posterior_ == pytest.approx(expected, rel=1e-8)


def test_the_average_is_weighted_by_the_posterior(friedman):
    X, y, model = friedman
    assert model.weights_.sum() == pytest.approx(1)
    found = {
        round(optimum.log_posterior, 6): optimum.network
        for chain in model.result_.chains
        for optimum in (chain.best, *chain.local_optima)
    }
    assert len(found) == len(model.networks_) >= 2
    values = np.array(list(found))
    # AICc of one more basis function: a coefficient, a coordinate along each of the a inputs that are on, and 2 for a
    # width of its own.
    a, k, own = (model.relevance_ > 0).sum(), model.n_bases_, (model.widths_ != 1).any()
    costs = [
        n_parameters * 300 / (300 - n_parameters - 1)
        for n_parameters in 10 + a + (1 + a + 2 * own) * np.array([k, k + 1])
    ]
    weights = np.exp((values - values.max()) / (2 * np.diff(costs)[0]))
    np.testing.assert_allclose(model.weights_, weights / weights.sum(), rtol=1e-6)
    expected = sum(w * n.predict(X)[:, 0] for w, n in zip(model.weights_, found.values(), strict=True))
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-12)
    best = clone(model).set_params(combine="best").fit(X, y)
    network = model.result_.chains[model.result_.best_chain].best.network
    np.testing.assert_array_equal(best.predict(X), network.predict(X)[:, 0])


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e3])
def test_units_of_any_input_change_nothing(scale):
    X, y = make_friedman1(200, n_features=6, noise=1.0, random_state=2)
    new = make_friedman1(50, n_features=6, random_state=3)[0]
    model = AnnealedRegressor(**QUICK).fit(X, y)
    for i in range(6):
        factor = np.where(np.arange(6) == i, scale, 1.0)
        other = clone(model).fit(X * factor, y)
        assert np.abs(other.predict(new * factor) - model.predict(new)).max() < 1e-3 * y.std()


@pytest.fixture(scope="module")
def two_bumps():
    """A wide bump, of length scale 1, and a narrow one, of 0.2."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (200, 1))
    wide, narrow = (np.exp(-(((X[:, 0] - at) / scale) ** 2) / 2) for at, scale in ((-1.0, 1.0), (1.5, 0.2)))
    return X, wide + narrow + 0.05 * rng.standard_normal(200)


def test_own_widths_make_do_with_fewer_basis_functions(two_bumps):
    X, y = two_bumps
    options = {"criterion": "bic", "combine": "best", **QUICK}
    own = AnnealedRegressor(widths="own", **options).fit(X, y)
    shared = AnnealedRegressor(widths="shared", **options).fit(X, y)
    assert own.n_bases_ == 2
    assert shared.n_bases_ > 4
    assert own.criterion_value_ < shared.criterion_value_ - 5
    np.testing.assert_array_equal(shared.widths_, 1.0)
    order = own.centers_[:, 0].argsort()
    np.testing.assert_allclose(own.centers_[order, 0], [-1.0, 1.5], atol=0.1)
    length_scales = own.widths_ * X.std() / own.relevance_[0]
    np.testing.assert_allclose(length_scales[order], [1.0, 0.2], rtol=0.1)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "standardized"])
def test_half_of_the_chains_have_own_widths_where_the_metric_is_learned_and_the_basis_has_one(two_bumps, basis, metric):
    options = {"metric": metric, "n_iter": 200, "n_chains": 2, "combine": "best", "random_state": 0}
    model = AnnealedRegressor(basis, **options).fit(*two_bumps)
    first, second = (chain.best.network.widths for chain in model.result_.chains)
    own = metric == "learned" and basis in ("gaussian", "multiquadric", "inverse_multiquadric")
    assert (first != 1).any() == own
    assert ((first >= 0.25 - 1e-12) & (first <= 4 + 1e-12)).all()
    assert len(second) > 0
    np.testing.assert_array_equal(second, 1.0)


def test_a_chain_far_behind_starts_again_as_one_of_the_kind_that_leads(two_bumps):
    model = AnnealedRegressor(criterion="bic", random_state=0, n_chains=2, patience=2).fit(*two_bumps)
    assert all((chain.best.network.widths != 1).any() for chain in model.result_.chains)
    best = max(chain.best.log_posterior for chain in model.result_.chains)
    assert model.log_posterior_ == best


@pytest.mark.parametrize("basis", ["linear", "cubic"])
def test_own_widths_of_a_basis_without_one_are_refused(two_bumps, basis):
    with pytest.raises(ValueError, match=r"needs a basis with a width.*Choose another basis, or widths='shared'"):
        AnnealedRegressor(basis, widths="own").fit(*two_bumps)


def test_given_centres_start_with_width_1(two_bumps):
    X, y = two_bumps
    given = np.array([[-1.0], [0.5], [1.5]])
    model = AnnealedRegressor(init=given, n_iter=500, n_chains=1, random_state=0).fit(X, y)
    start = model.result_.chains[0].snapshots[0].network
    np.testing.assert_allclose(start.centers, given, atol=1e-12)
    np.testing.assert_allclose(start.widths, 1.0, rtol=1e-12)
    assert (model.widths_ != 1).all()
    assert model.score(X, y) > 0.95


@pytest.fixture(scope="module")
def posterior():
    X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return X, BayesianRegressor(n_iter=1000, n_draws=50, n_chains=1, random_state=0).fit(X, y)


def test_a_sampler_has_no_basis_function_that_sees_less_than_one_row(posterior):
    X, model = posterior
    draws, n_linear = model.chains_[0].draws, 1 + X.shape[1]
    columns = np.hstack([model._predictive.features.columns(X, draw)[:, n_linear:] for draw in draws])
    assert columns.shape[1] > 100
    assert (columns**2).sum(axis=0).min() > 1 - 1e-9


def test_draws_have_widths(posterior):
    _, model = posterior
    tree = model.to_datatree()["posterior"]
    for n, draw in enumerate(model.chains_[0].draws):
        widths = tree["widths"].to_numpy()[0, n]
        np.testing.assert_array_equal(~np.isnan(widths), tree["center_exists"].to_numpy()[0, n])
        np.testing.assert_array_equal(widths[: len(draw.sharpness)], 1 / draw.sharpness)
    assert np.nanstd(tree["widths"]) > 0.3


def test_polish_only_improves():
    X, Y = make_robot_arm(150, random_state=0)
    options = {"init": "random", "schedule": Geometric(2, 0.1), **QUICK}
    rough = AnnealedRegressor("cubic", metric="euclidean", polish=False, **options).fit(X, Y)
    polished = AnnealedRegressor("cubic", metric="euclidean", polish=True, **options).fit(X, Y)
    for before, after in zip(rough.result_.chains, polished.result_.chains, strict=True):
        assert after.best.log_posterior > before.best.log_posterior


def test_auto_stops_and_says_why():
    X, Y = make_robot_arm(120, random_state=0)
    model = AnnealedRegressor(random_state=0, n_jobs=2).fit(X, Y)
    assert model.n_iter_ % ITERATIONS_A_ROUND == 0
    assert model.n_iter_ >= 2 * ITERATIONS_A_ROUND
    assert model.result_.status.startswith(("Stopped when 1 round brought no improvement", "Stopped when "))
    values = [chain.best.log_posterior for chain in model.result_.chains]
    for chain in model.result_.chains:
        assert chain.n_iter == model.n_iter_
        assert (np.diff(chain.trace.iteration) > 0).all()
        assert chain.trace.iteration[-1] <= chain.n_iter
        assert sum(chain.moves[name].chosen for name in ("birth", "death", "split", "merge", "update")) == chain.n_iter
        assert chain.moves["stretch"].chosen + chain.moves["switch"].chosen == chain.n_iter // 20
        assert max(chain.best_by_n_bases.values()) == pytest.approx(chain.best.log_posterior, abs=1e-6)
    assert model.log_posterior_ == max(values)


@pytest.mark.parametrize(("n_rows", "expected"), [(20, 8), (250, 8), (400, 5), (499, 5), (500, 4)])
def test_few_rows_have_more_chains(n_rows, expected):
    X, Y = make_robot_arm(n_rows, random_state=0)

    def count(sample_weight=None, **options):
        model = AnnealedRegressor(**options)
        return model._count_chains(model._make_design(check_data(model, X, Y, sample_weight)))

    assert count() == count(n_iter=10, patience=None) == expected
    assert count(n_chains=3) == 3
    assert count(patience=None, max_time=10.0) == 4, "they share the time"
    assert count(sample_weight=np.full(n_rows, 500.0)) == 4, "so many rows"
    model = AnnealedRegressor(n_iter=10, init="random", polish=False).fit(X, Y)
    assert len(model.result_.chains) == expected


def test_max_time_ends_a_fit_with_a_model():
    X, Y = make_robot_arm(300, random_state=0)
    model = AnnealedRegressor(max_time=0.5, patience=10**6, n_chains=2, random_state=0).fit(X, Y)
    assert model.result_.status.startswith("Stopped by max_time after 0.5 s")
    assert model.score(X, Y) > 0.9
    one = AnnealedRegressor(max_time=0.2, n_iter=10**9, n_chains=1, random_state=0).fit(X, Y)
    assert one.n_iter_ < 10**9
    assert one.result_.status.startswith("Stopped by max_time")


def test_a_chain_far_behind_starts_again(monkeypatch):
    X, y = make_friedman1(150, n_features=5, noise=0.5, random_state=0)
    monkeypatch.setattr("saltus.engine.drivers.rounds.ITERATIONS_A_ROUND", 500)
    monkeypatch.setattr("saltus.engine.drivers.anneal.BEHIND", 0.0)
    model = AnnealedRegressor(patience=3, random_state=0, n_chains=3).fit(X, y)
    assert model.score(X, y) > 0.9
    for chain in model.result_.chains:
        assert max(chain.best_by_n_bases.values()) == pytest.approx(chain.best.log_posterior, abs=1e-6)


def test_the_same_seed_gives_the_same_bits_whatever_n_jobs():
    X, y = make_friedman1(120, n_features=5, noise=0.5, random_state=0)
    one = AnnealedRegressor(**QUICK, n_jobs=1).fit(X, y)
    other = AnnealedRegressor(**QUICK, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.relevance_, other.relevance_)


NASTY = {
    "constant y": lambda rng: (rng.random((30, 2)), np.full(30, 3.0)),
    "a constant input": lambda rng: (np.column_stack([rng.random(30), np.ones(30)]), rng.random(30)),
    "an input twice": lambda rng: (np.repeat(rng.random((40, 1)), 2, axis=1), rng.random(40)),
    "five rows": lambda rng: (rng.random((5, 2)), rng.random(5)),
    "more inputs than rows": lambda rng: (rng.random((10, 20)), rng.random(10)),
    "two values": lambda rng: (rng.integers(0, 2, (50, 3)).astype(float), rng.random(50)),
    "an exact function": lambda rng: ((x := rng.random((60, 2))), np.exp(-((x - 0.5) ** 2).sum(axis=1) * 3)),
    "a wild row": lambda rng: (np.vstack([rng.random((50, 2)), [[1e6, 0.0]]]), rng.random(51)),
    "heavy tails": lambda rng: (rng.standard_cauchy((100, 2)), rng.standard_cauchy(100)),
}


@pytest.mark.parametrize("basis", ["gaussian", "cubic", "thin_plate"])
@pytest.mark.parametrize("name", NASTY)
@pytest.mark.filterwarnings("ignore::saltus.estimators.DependentFeaturesWarning", "error::RuntimeWarning")
def test_nasty_data(name, basis):
    X, y = NASTY[name](np.random.default_rng(0))
    model = AnnealedRegressor(basis, n_iter=2000, n_chains=2, random_state=0).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.log_posterior_)
    if name == "an exact function":
        assert model.score(X, y) > 0.99


@pytest.mark.parametrize(
    ("option", "value"),
    [("combine", "mean"), ("n_iter", "many"), ("max_time", 0), ("patience", 0), ("polish", "yes"), ("metric", "l1")],
)
def test_options(option, value):
    X, y = make_friedman1(30, random_state=0)
    with pytest.raises(ValueError, match=f"The '{option}' parameter of AnnealedRegressor must be .* Got"):
        AnnealedRegressor(**{option: value}).fit(X, y)
