"""Radial terms: a learned metric, widths, and what they are refused."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from saltus import AnnealedRegressor, BayesianRegressor, Radial
from saltus.families.options import RADIAL_NAMES
from tests.reference import design_matrix, least_squares_rss

QUICK = {"n_iter": 5000, "n_chains": 2, "random_state": 0}

WITH_WIDTHS = ("gaussian", "multiquadric", "inverse_multiquadric", "mexican_hat")


def widths_of(network):
    return network.attributes["widths_"]


def test_families_with_equal_options_are_equal():
    given = Radial("gaussian", metric=np.eye(2))
    assert given == Radial("gaussian", metric=[[1, 0], [0, 1]])
    assert hash(given) == hash(Radial("gaussian", metric=np.eye(2, dtype=np.float32)))
    assert given != Radial("gaussian", metric=2 * np.eye(2))
    assert Radial("gaussian") == Radial("gaussian", width=1.0, metric="learned", widths="auto")
    assert eval(repr(given)) == given


@pytest.mark.parametrize(
    "metric", [3.0, None, [], [1.0, 2.0], [[1.0, 2.0], [3.0]], [["a"]], np.ones((2, 2, 2)), {"a": 1}, [[1j]]], ids=repr
)
def test_a_metric_that_is_no_matrix_is_refused(metric):
    with pytest.raises(ValueError, match=r"metric must be one of learned, .*, mahalanobis or a matrix\. Got"):
        Radial("gaussian", metric=metric)


@pytest.mark.parametrize("name", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "standardized"])
def test_variants_are_what_the_options_leave_open(name, metric):
    family = Radial(name, metric=metric)
    shared, own = Radial(name, metric=metric, widths="shared"), Radial(name, metric=metric, widths="own")
    if metric == "learned" and name in WITH_WIDTHS:
        assert family.variants(several=True) == (shared, own)
        assert family.variants(several=False) == (own,)
    else:
        assert family.variants(several=True) == family.variants(several=False) == (shared,)
    assert shared.variants(several=True) == (shared,)


def test_a_name_stands_for_the_family_with_its_defaults_and_families_can_be_searched():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    options = {"n_iter": 200, "n_chains": 2, "random_state": 0}
    by_name = AnnealedRegressor("cubic", **options).fit(X, y)
    np.testing.assert_array_equal(
        AnnealedRegressor(Radial("cubic"), **options).fit(X, y).predict(X), by_name.predict(X)
    )
    families = ["gaussian", Radial("cubic", metric="standardized"), Radial("gaussian", widths="shared")]
    search = GridSearchCV(AnnealedRegressor("gaussian", **options), {"basis": families}, cv=2).fit(X, y)
    assert search.best_params_["basis"] in families
    assert len({score.item() for score in search.cv_results_["mean_test_score"]}) == 3


def test_attributes_of_the_family_before_are_forgotten():
    X, y = make_friedman1(60, n_features=5, random_state=0)
    model = AnnealedRegressor("gaussian", n_iter=200, n_chains=2, random_state=0).fit(X, y)
    assert model.relevance_.shape == (5,)
    model.set_params(basis=Radial("gaussian", metric="standardized")).fit(X, y)
    assert not hasattr(model, "relevance_")
    assert model.metric_.shape == (5, 5)


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(300, n_features=8, noise=1.0, random_state=0)
    return X, y, AnnealedRegressor("gaussian", **QUICK).fit(X, y)


def test_inputs_that_do_not_matter_are_switched_off(friedman):
    _, _, model = friedman
    assert (model.relevance_[:3] > 0).all()
    np.testing.assert_array_equal(model.relevance_[5:], 0.0)
    X_new, truth = make_friedman1(1000, n_features=8, noise=0.0, random_state=1)
    assert np.sqrt(((model.predict(X_new) - truth) ** 2).mean()) < 0.6


@pytest.mark.parametrize("basis", ["gaussian", "cubic"])
@pytest.mark.parametrize("term_cost", ["full", "paper"])
def test_the_attributes_are_the_model_and_its_criterion(friedman, basis, term_cost):
    X, y, _ = friedman
    own_width = basis == "gaussian"
    family = Radial(basis, widths="own" if own_width else "auto")
    options = {"criterion": "bic", "term_cost": term_cost, "combine": "best", **QUICK}
    model = AnnealedRegressor(family, **options).fit(X, y)
    np.testing.assert_allclose(model.metric_, np.diag((model.relevance_ / X.std(axis=0)) ** 2), rtol=1e-9)
    D = design_matrix(X, model.centers_, basis, model.metric_, model.widths_)
    coefficients = np.concatenate([[model.intercept_], model.linear_coef_, model.term_coef_])
    np.testing.assert_allclose(D @ coefficients, model.predict(X), atol=1e-6)
    n_active = (model.relevance_ > 0).sum()
    assert (model.widths_ != 1).any() == own_width
    of_a_term = n_active + 2 * own_width if term_cost == "full" else 1
    penalty = 0.5 * np.log(300) * ((1 + of_a_term) * model.n_terms_ + n_active)
    expected = -150 * np.log(least_squares_rss(D, y)[0]) - penalty
    assert model.log_posterior_ == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 7.0, 1e3])
def test_units_of_any_input_change_nothing(scale):
    X, y = make_friedman1(200, n_features=6, noise=1.0, random_state=2)
    new = make_friedman1(50, n_features=6, random_state=3)[0]
    model = AnnealedRegressor("gaussian", **QUICK).fit(X, y)
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


def test_own_widths_make_do_with_fewer_terms(two_bumps):
    X, y = two_bumps
    options = {"criterion": "bic", "combine": "best", **QUICK}
    own = AnnealedRegressor(Radial("gaussian", widths="own"), **options).fit(X, y)
    shared = AnnealedRegressor(Radial("gaussian", widths="shared"), **options).fit(X, y)
    assert own.n_terms_ == 2
    assert shared.n_terms_ > 4
    assert own.criterion_value_ < shared.criterion_value_ - 5
    np.testing.assert_array_equal(shared.widths_, 1.0)
    order = own.centers_[:, 0].argsort()
    np.testing.assert_allclose(own.centers_[order, 0], [-1.0, 1.5], atol=0.1)
    length_scales = own.widths_ * X.std() / own.relevance_[0]
    np.testing.assert_allclose(length_scales[order], [1.0, 0.2], rtol=0.1)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "standardized"])
def test_half_of_the_chains_have_own_widths_where_the_metric_is_learned_and_the_basis_has_one(two_bumps, basis, metric):
    options = {"n_iter": 200, "n_chains": 2, "combine": "best", "random_state": 0}
    model = AnnealedRegressor(Radial(basis, metric=metric), **options).fit(*two_bumps)
    first, second = (widths_of(chain.best.network) for chain in model.result_.chains)
    own = metric == "learned" and basis in WITH_WIDTHS
    assert (first != 1).any() == own
    assert ((first >= 0.25 - 1e-12) & (first <= 4 + 1e-12)).all()
    assert len(second) > 0
    np.testing.assert_array_equal(second, 1.0)


def test_a_chain_far_behind_starts_again_as_the_variant_that_leads(two_bumps):
    model = AnnealedRegressor("gaussian", criterion="bic", random_state=0, n_chains=2, patience=2).fit(*two_bumps)
    assert all((widths_of(chain.best.network) != 1).any() for chain in model.result_.chains)
    best = max(chain.best.log_posterior for chain in model.result_.chains)
    assert model.log_posterior_ == best


@pytest.mark.parametrize("basis", ["linear", "cubic"])
def test_own_widths_of_a_basis_without_one_are_refused(two_bumps, basis):
    with pytest.raises(ValueError, match=r"needs a basis with a width.*Choose another basis, or widths='shared'"):
        AnnealedRegressor(Radial(basis, widths="own")).fit(*two_bumps)


def test_given_centres_start_with_width_1(two_bumps):
    X, y = two_bumps
    given = np.array([[-1.0], [0.5], [1.5]])
    model = AnnealedRegressor("gaussian", init=given, n_iter=500, n_chains=1, random_state=0).fit(X, y)
    start = model.result_.chains[0].snapshots[0].network
    np.testing.assert_allclose(start.places, given, atol=1e-12)
    np.testing.assert_allclose(widths_of(start), 1.0, rtol=1e-12)
    assert (model.widths_ != 1).all()
    assert model.score(X, y) > 0.95


@pytest.fixture(scope="module")
def posterior():
    X, y = make_friedman1(60, n_features=5, noise=1.0, random_state=0)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        return X, BayesianRegressor("gaussian", n_iter=1000, n_draws=50, n_chains=1, random_state=0).fit(X, y)


def test_a_sampler_has_no_term_that_sees_less_than_one_row(posterior):
    X, model = posterior
    draws, n_linear = model.chains_[0].draws, 1 + X.shape[1]
    columns = np.hstack([D[:, n_linear:] for D in model._predictive.features.columns(X, list(draws))])
    assert columns.shape[1] > 100
    assert (columns**2).sum(axis=0).min() > 1 - 1e-9


def test_draws_have_widths(posterior):
    _, model = posterior
    tree, (family,) = model.to_datatree()["terms"], model._predictive.features.mixture.members
    for n, draw in enumerate(model.chains_[0].draws):
        widths = tree["widths"].to_numpy()[0, n]
        np.testing.assert_array_equal(~np.isnan(widths), tree["exists"].to_numpy()[0, n])
        np.testing.assert_array_equal(widths[: len(draw.terms)], 1 / family.decode(draw.terms.parameters)[1])
    assert np.nanstd(tree["widths"]) > 0.3
