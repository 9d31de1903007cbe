"""What a searched term costs."""

from time import monotonic

import numpy as np
import pytest

from saltus import AnnealedRegressor
from saltus.engine.drivers.calibration import COSTS, best_size
from saltus.engine.problem.criteria import Counts, make_criterion
from saltus.estimators.calibrating import calibrate_term_cost
from saltus.estimators.checks import check_data
from saltus.families import resolve_basis


def cost_of(X, y):
    model = AnnealedRegressor("auto")
    return calibrate_term_cost(model, check_data(model, X, y, None), resolve_basis("auto").with_linear_terms())


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
    assert best_size(values[id(few)], few, few, 2) == values[id(few)].argmax()
    assert best_size(values[id(few)], few, many, 2) == values[id(many)].argmax()
    assert values[id(many)].argmax() < values[id(few)].argmax()


def test_too_few_rows_to_leave_any_out():
    rng = np.random.default_rng(0)
    X = rng.random((12, 2))
    assert cost_of(X, X[:, 0]) == COSTS[-1]


def test_max_time_counts_from_the_beginning():
    rng = np.random.default_rng(0)
    X = rng.random((3000, 10))
    y = np.sin(9 * X[:, 0]) * X[:, 1] + (X[:, 2] > 0.3) + 0.1 * rng.standard_normal(3000)
    AnnealedRegressor("auto", n_iter=1, n_chains=1, random_state=0).fit(X[:50], y[:50])  # compiles
    began = monotonic()
    model = AnnealedRegressor("auto", max_time=2.0, random_state=0).fit(X, y)
    assert monotonic() - began < 10  # far from what it takes without a limit, on a busy machine too
    assert "time limit (max_time) of 2 s" in model.result_.status
    assert model.n_terms_ > 0
