"""log pi, what is charged for what cannot be afforded, and the one place that accepts."""

import ast
from pathlib import Path

import numpy as np
import pytest

import saltus
from saltus import Radial
from saltus.engine.kernels.target import UNAFFORDABLE, log_density, penalty, penalty_of, penalty_of_size
from saltus.engine.problem.problem import Criterion
from tests.engine.designs import make, make_with, terms_at
from tests.kernels import accept
from tests.kernels import log_density as compiled_log_density
from tests.problems import make_problem

BY_COUNT, BY_SIZE = np.arange(31.0) ** 1.5, np.array([0.0, 0.3, 0.5, 0.6, 0.65])


def design_with(n_own_a_term, metric="learned", widths="shared"):
    problem = make_problem("three inputs, two outputs")
    criterion = Criterion(BY_COUNT, BY_SIZE, n_own_a_term)
    return make_with(problem.X, problem.Y, Radial("gaussian", metric=metric, widths=widths), criterion)


@pytest.mark.parametrize("k", [0, 1, 3, 4])
@pytest.mark.parametrize("n_own_a_term", [1, 0])
@pytest.mark.parametrize("metric", ["learned", "standardized"])
@pytest.mark.parametrize("widths", ["shared", "own"])
def test_the_penalty_is_that_of_all_parameters(k, n_own_a_term, metric, widths):
    shared = np.array([0.5, 0.0, 2.0]) if metric == "learned" else np.ones(3)
    n_on = 2 if metric == "learned" else 3
    n_of_a_term = n_on + 2 * (widths == "own")
    n_own = 1 if n_own_a_term else n_of_a_term
    n = k * (2 + n_own) + (2 if metric == "learned" else 0) if k > 0 else 0
    design, rss = design_with(n_own_a_term, metric, widths), np.array([3.0, 0.7])
    problem = design.problem
    expected = BY_COUNT[n] + BY_SIZE[k]
    terms, counted = (
        terms_at(design, np.full((k, 3 + (widths == "own")), 0.5), shared),
        0 if n_own_a_term else n_of_a_term,
    )
    assert penalty_of(problem, terms) == pytest.approx(expected, rel=1e-15)
    assert penalty_of_size(problem, k, 1, counted, shared) == penalty_of(problem, terms)
    value = -0.5 * problem.n_total * np.log(rss).sum() - expected
    assert log_density(problem, rss, terms) == pytest.approx(value, rel=1e-14)
    assert compiled_log_density(problem, rss, k, k, k * counted, shared) == pytest.approx(value, rel=1e-14)


def test_a_fit_is_no_better_than_exact():
    design = design_with(True)
    problem, one = design.problem, terms_at(design, np.full((1, 3), 0.5), np.ones(3))
    floor = problem.rss_floor
    assert log_density(problem, floor, one) == log_density(problem, 1e-9 * floor, one) < np.inf
    at_floor, below = (compiled_log_density(problem, share * floor, 1, 1, 3, one.shared) for share in (1.0, 1e-9))
    assert at_floor == below < np.inf


def test_what_cannot_be_afforded_gives_up_shared_parameters_first_and_terms_then():
    """So that a descent which starts there has a way down."""
    problem = design_with(False).problem

    def at(k, n_own, n_shared):
        return penalty(problem, 2, k, k, k * n_own, n_shared)

    beyond = np.array([[at(k, 3 + n_shared, n_shared) for n_shared in range(4, 9)] for k in range(4, 8)])
    assert (beyond >= UNAFFORDABLE).all()
    assert (np.diff(beyond, axis=0) > 0).all(), "each term costs something"
    assert (np.diff(beyond, axis=1) > 0).all(), "each shared parameter costs something"
    assert np.diff(beyond, axis=1).min() > np.ptp(beyond, axis=0).max(), "more than all terms together"
    assert beyond.min() > at(4, 3, 2)


def test_a_learned_metric_on_few_rows_has_a_way_down():
    problem = make_problem("ten inputs", n_rows=30)
    made = make(problem.X, problem.Y, widths="shared").problem
    costs = np.array(
        [
            [penalty_of_size(made, k, 1, n_on, (np.arange(10) < n_on) * 1.0) for n_on in range(1, 11)]
            for k in range(1, made.k_max + 1)
        ]
    )
    beyond = costs >= UNAFFORDABLE
    assert beyond.any()
    assert not beyond.all()
    assert (np.diff(costs, axis=0)[beyond[1:]] > 0).all()
    assert (np.diff(costs, axis=1)[beyond[:, 1:]] > 0).all()


def plain_accept(log_ratio, log_green, log_uniform, another_log_uniform, temperature, two_stage):
    """Metropolis and Hastings for pi^(1/T), or eq. (5) of the paper; probabilities, not their logarithms."""
    u, v = np.exp(log_uniform), np.exp(another_log_uniform)
    ratio, green = np.exp(log_ratio), np.exp(log_green)
    if two_stage:
        return u < min(1, ratio * green) and v < min(1, ratio ** (1 / temperature - 1))
    return u < min(1, ratio ** (1 / temperature) * green)


@pytest.mark.parametrize("two_stage", [True, False])
@pytest.mark.parametrize("temperature", [0.2, 1.0, 4.0])
def test_a_proposal_is_accepted_by_the_ratio_it_should_be(rng, two_stage, temperature):
    verdicts = set()
    for _ in range(2000):
        drawn = (*rng.normal(0, 2, 2), *np.log(rng.random(2)))
        found = accept(*drawn, temperature, two_stage)
        assert found == plain_accept(*drawn, temperature, two_stage)
        verdicts.add(bool(found))
    assert verdicts == {True, False}


def test_at_temperature_1_both_rules_are_metropolis_and_hastings(rng):
    for _ in range(500):
        drawn = (*rng.normal(0, 2, 2), *np.log(rng.random(2)))
        assert accept(*drawn, 1.0, True) == accept(*drawn, 1.0, False) == (drawn[2] < drawn[0] + drawn[1])


@pytest.mark.parametrize("two_stage", [True, False])
def test_what_is_impossible_or_not_a_number_is_refused(two_stage):
    for log_ratio in (-np.inf, np.nan):
        assert not accept(log_ratio, 0.0, -1e-3, -1e-3, 0.5, two_stage)


def test_acceptance_is_written_once():
    """No other kernel compares a log uniform, or the logarithm of a random number, with anything."""
    comparing = []
    for path in sorted(Path(saltus.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Compare):
                text = ast.unparse(node)
                if "log_uniform" in text or "log(rng.random" in text:
                    comparing.append((path.name, text))
    assert {name for name, _ in comparing} == {"target.py"}
    assert len(comparing) == 4  # one of them of exchanges between chains
