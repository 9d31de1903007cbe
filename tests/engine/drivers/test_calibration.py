"""What a searched term costs."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor
from saltus.engine.drivers.calibration import COSTS, IN_A_HURRY, best_size
from saltus.engine.drivers.chain import SHORTEST_SEARCH
from saltus.engine.problem.criteria import Counts, make_criterion
from saltus.estimators.calibrating import calibrate_sampler, calibrate_search
from saltus.estimators.checks import check_data
from saltus.families import resolve_basis


def cost_of(X, y, **options):
    model = AnnealedRegressor("auto", **options)
    return calibrate_search(
        model, check_data(model, X, y, None), resolve_basis("auto", X.shape[1]).with_linear_terms()
    ).term_cost


def design_of(basis):
    rng = np.random.default_rng(0)
    model = AnnealedRegressor(basis, term_cost=1)
    return model._make_design(check_data(model, rng.random((40, 2)), rng.random(40), None))


@pytest.mark.parametrize("seed", range(3))
def test_on_noise_a_term_costs_most_and_none_is_found(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 20)), rng.standard_normal(200)
    assert cost_of(X, y) == COSTS[-1]
    assert AnnealedRegressor("auto", random_state=0).fit(X, y).n_terms_ == 0


def test_where_there_is_much_to_find_a_term_costs_little():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    y = np.sin(7 * X[:, 0]) * np.cos(5 * X[:, 1]) + 0.01 * rng.standard_normal(400)
    assert cost_of(X, y) <= COSTS[1]


def test_the_size_that_another_criterion_wants():
    counts, k_max = Counts(100.0, 2, 1), 12
    few, many = (make_criterion("aicc", counts, k_max, n_own=(1, 1), n_shared=0, n_own_a_term=q) for q in (1, 4))
    log_rss = -3.0 * (1 - 0.7 ** np.arange(k_max + 1))
    values = {
        id(c): np.array(
            [-50.0 * r - c.by_count[k * (2 + c.n_own_a_term)] for k, r in enumerate(log_rss) if k < len(c.by_size)]
        )
        for c in (few, many)
    }
    counts = np.arange(k_max + 1), np.zeros(k_max + 1, dtype=int)
    assert best_size(values[id(few)], few, few, 2, *counts) == values[id(few)].argmax()
    assert best_size(values[id(few)], few, many, 2, *counts) == values[id(many)].argmax()
    assert values[id(many)].argmax() < values[id(few)].argmax()


def test_too_few_rows_to_leave_any_out():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    assert cost_of(X, X[:, 0]) == COSTS[-1]


def test_max_time_counts_from_the_beginning():
    settings = AnnealedRegressor("auto", max_time=2.0)._settings(design_of("auto"), seconds_used=0.5)
    assert settings.seconds_left == 1.5
    assert replace(settings, seconds_used=3.0).seconds_left == SHORTEST_SEARCH
    assert replace(settings, max_seconds=None).seconds_left is None


def test_without_time_it_is_what_it_is_in_a_hurry():
    rng = np.random.default_rng(0)
    X = rng.random((100, 2))
    assert cost_of(X, X[:, 0], max_time=1e-6) == IN_A_HURRY


@pytest.mark.slow
def test_chains_start_with_networks_that_descend_where_these_predict_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1200, 6))
    smooth = np.tanh(3 * X @ rng.standard_normal(6)) + np.tanh(2 * X @ rng.standard_normal(6))
    boxes = np.where((X[:, 0] > 0.1) & (X[:, 1] < 0.3), 1.0, 0.0) + (X[:, 2] > 0) * (X[:, 3] > 0)
    for y, descends in ((smooth, (True,)), (boxes, (False,))):
        model = AnnealedRegressor("auto")
        data = check_data(model, X, y + 0.05 * rng.standard_normal(1200), None)
        assert calibrate_search(model, data, resolve_basis("auto", 6).with_linear_terms()).descends == descends
        design = model._make_design(data)
        assert design.descends == descends


def test_few_rows_do_not_descend():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    model = AnnealedRegressor("auto")
    data = check_data(model, X, np.tanh(3 * X.sum(axis=1)) + 0.05 * rng.standard_normal(300), None)
    assert calibrate_search(model, data, resolve_basis("auto", 3).with_linear_terms()).descends == (False,)


def smooth_and_noise(n_rows):
    """Rows of a sum of sigmoids, in all inputs, and of noise."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n_rows, 5))
    smooth = np.tanh(3 * X @ rng.standard_normal((5, 8))) @ rng.standard_normal(8)
    return X, smooth, rng.standard_normal(n_rows)


@pytest.mark.slow
def test_chains_of_a_posterior_start_where_a_network_that_descends_predicts_far_better():
    X, smooth, noise = smooth_and_noise(6000)
    for y, descends in ((smooth + 0.02 * noise, True), (noise, False)):
        model = BayesianRegressor()
        assert model._make_design(check_data(model, X, y, None)).descends == (descends,)
    model = BayesianRegressor(init="empty")
    assert model._make_design(check_data(model, X, smooth, None)).descends == (False,)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_posterior_that_starts_so_predicts_better():
    """In the geometric mean of four seeds: starts err by .03 to .07 if they descend, by .05 to .10 if they grew."""
    X, smooth, noise = smooth_and_noise(10_000)
    design_of = BayesianRegressor._make_design
    errors = np.zeros((4, 2))
    for seed, of_seed in enumerate(errors):
        for way, descends in enumerate((True, False)):
            model = BayesianRegressor(n_chains=1, n_iter=100, n_warmup=10, random_state=seed)
            model._make_design = lambda data, m=model, d=descends: replace(design_of(m, data), descends=(d,))
            model.fit(X[:6000], (smooth + 0.02 * noise)[:6000])
            of_seed[way] = np.sqrt(np.mean((model.predict(X[6000:]) - smooth[6000:]) ** 2))
    descended, grown = np.exp(np.log(errors).mean(axis=0))
    assert descended < 0.8 * grown


def test_few_rows_are_not_compared():
    X, smooth, _ = smooth_and_noise(600)
    model = AnnealedRegressor("auto")
    data = check_data(model, X, smooth, None)
    made = calibrate_sampler(model, data, resolve_basis("auto", 5).with_linear_terms(), None)
    assert made.descends == (False,)
