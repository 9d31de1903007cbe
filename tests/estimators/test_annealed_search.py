"""How an AnnealedRegressor searches, when it ends, and which networks predict."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

from saltus import AnnealedRegressor, Geometric, Radial
from saltus.datasets import make_robot_arm
from saltus.engine.search.policy import SearchPolicy
from saltus.estimators.checks import check_data
from tests.policies import with_policy

QUICK = {"n_iter": 5000, "n_chains": 2, "random_state": 0}


def test_the_average_is_weighted_by_the_posterior():
    X, y = make_friedman1(300, n_features=8, noise=1.0, random_state=0)
    model = AnnealedRegressor("gaussian", **QUICK).fit(X, y)
    assert model.weights_.sum() == pytest.approx(1)
    found = {
        round(optimum.log_posterior, 6): optimum.network
        for chain in model.result_.chains
        for optimum in (chain.best, *chain.local_optima)
    }
    assert len(found) == len(model.networks_) >= 2
    values = np.array(list(found))
    # AICc of one more term: a coefficient, a coordinate along each of the a inputs that are on, and 2 for a
    # width of its own.
    a, k, own = (model.relevance_ > 0).sum(), model.n_terms_, (model.widths_ != 1).any()
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


def test_polish_only_improves():
    X, Y = make_robot_arm(150, random_state=0)
    options = {"init": "random", "schedule": Geometric(2, 0.1), **QUICK}
    rough = AnnealedRegressor(Radial("cubic", metric="euclidean"), polish=False, **options).fit(X, Y)
    polished = AnnealedRegressor(Radial("cubic", metric="euclidean"), polish=True, **options).fit(X, Y)
    for before, after in zip(rough.result_.chains, polished.result_.chains, strict=True):
        assert after.best.log_posterior > before.best.log_posterior


def test_auto_stops_and_says_why():
    X, Y = make_robot_arm(120, random_state=0)
    model = AnnealedRegressor("gaussian", random_state=0, n_jobs=2).fit(X, Y)
    a_round = SearchPolicy().iterations_a_round
    assert model.n_iter_ % a_round == 0
    assert model.n_iter_ >= 2 * a_round
    status = model.result_.status
    assert re.match(
        r"The search stopped: (the last \d+ 000 iterations of each chain found no better model \(none that gains 1 in "
        r"log posterior\)|\d of \d chains ended within 1 of the best log posterior)\. Chain \d ran \d+ 000 iterations",
        status,
    ), status
    values = [chain.best.log_posterior for chain in model.result_.chains]
    for chain in model.result_.chains:
        assert chain.n_iter == model.n_iter_
        assert (np.diff(chain.trace.iteration) > 0).all()
        assert chain.trace.iteration[-1] <= chain.n_iter
        assert sum(chain.moves[name].chosen for name in ("birth", "death", "split", "merge", "update")) == chain.n_iter
        assert chain.moves["stretch"].chosen + chain.moves["switch"].chosen == chain.n_iter // 20
        assert max(chain.best_by_n_terms.values()) == pytest.approx(chain.best.log_posterior, abs=1e-6)
    assert model.log_posterior_ == max(values)


@pytest.mark.parametrize(("n_rows", "expected"), [(20, 8), (250, 8), (400, 5), (499, 5), (500, 4)])
def test_few_rows_have_more_chains(n_rows, expected):
    X, Y = make_robot_arm(n_rows, random_state=0)

    def count(sample_weight=None, **options):
        model = AnnealedRegressor("gaussian", **options)
        return model._count_chains(model._make_design(check_data(model, X, Y, sample_weight)))

    assert count() == count(n_iter=10, patience=None) == expected
    assert count(n_chains=3) == 3
    assert count(patience=None, max_time=10.0) == 4, "they share the time"
    assert count(sample_weight=np.full(n_rows, 500.0)) == 4, "so many rows"
    model = AnnealedRegressor("gaussian", n_iter=10, init="random", polish=False).fit(X, Y)
    assert len(model.result_.chains) == expected


def test_max_time_ends_a_fit_with_a_model():
    X, Y = make_robot_arm(300, random_state=0)
    model = AnnealedRegressor("gaussian", max_time=0.5, patience=10**6, n_chains=2, random_state=0).fit(X, Y)
    assert model.result_.status.startswith("The search stopped: its time limit (max_time) of 0.5 s was over.")
    assert model.score(X, Y) > 0.9
    one = AnnealedRegressor("gaussian", max_time=0.2, n_iter=10**9, n_chains=1, random_state=0).fit(X, Y)
    assert one.n_iter_ < 10**9
    assert one.result_.status.startswith("The search stopped: its time limit (max_time)")


def test_a_chain_far_behind_starts_again():
    X, y = make_friedman1(150, n_features=5, noise=0.5, random_state=0)
    model = AnnealedRegressor("gaussian", patience=3, random_state=0, n_chains=3)
    with_policy(model, iterations_a_round=500, behind=0.0).fit(X, y)
    assert model.score(X, y) > 0.9
    for chain in model.result_.chains:
        assert max(chain.best_by_n_terms.values()) == pytest.approx(chain.best.log_posterior, abs=1e-6)


def test_the_same_seed_gives_the_same_bits_whatever_n_jobs():
    X, y = make_friedman1(120, n_features=5, noise=0.5, random_state=0)
    one = AnnealedRegressor("gaussian", **QUICK, n_jobs=1).fit(X, y)
    other = AnnealedRegressor("gaussian", **QUICK, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_array_equal(one.relevance_, other.relevance_)


@pytest.mark.parametrize(
    ("option", "value"),
    [("combine", "mean"), ("n_iter", "many"), ("max_time", 0), ("patience", 0), ("polish", "yes")],
)
def test_options(option, value):
    X, y = make_friedman1(30, random_state=0)
    with pytest.raises(ValueError, match=f"The '{option}' parameter of AnnealedRegressor must be .* Got"):
        AnnealedRegressor("gaussian", **{option: value}).fit(X, y)
