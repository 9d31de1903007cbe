"""A round begins unless it is not needed, and leaves a chain at its best state."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, Radial
from saltus.engine.drivers.chain import Chain
from saltus.engine.drivers.rounds import run_round
from saltus.engine.drivers.stop import StopSignal
from saltus.estimators.base import check_data
from tests.equality import same


@pytest.fixture
def problem(data):
    """Give the design and the settings of a fit."""
    model = AnnealedRegressor(Radial("gaussian", widths="shared"), n_iter=500)
    design = model._make_design(check_data(model, *data, None))
    return design, model._settings(design)


def new_chain():
    return Chain(np.random.default_rng(0))


def test_a_round_leaves_the_chain_at_its_best_state(problem):
    design, settings = problem
    chain = run_round(new_chain(), design, settings, 500, StopSignal())
    again = run_round(chain, design, settings, 300, StopSignal())
    assert (chain.result.n_iter, again.result.n_iter) == (500, 800)
    assert again.result.best.log_posterior >= chain.result.best.log_posterior
    assert same(again.terms, again.result.best.network.terms)


def test_a_chain_that_is_done_with_the_round_is_left_alone(problem):
    chain = replace(new_chain(), is_done=True)
    assert run_round(chain, *problem, 500, StopSignal()) is chain


def test_the_only_chain_has_a_result_even_where_there_is_no_time(problem):
    chain = run_round(new_chain(), *problem, 500, StopSignal(max_seconds=0.0))
    assert chain.result.n_iter == 0
    assert np.isfinite(chain.result.best.log_posterior)


@pytest.mark.parametrize("n_told", [1, 5])
def test_a_chain_that_is_stopped_on_its_way_to_the_start_is_left_out_if_another_has_a_result(problem, n_told):
    told = []
    stop_signal = StopSignal()
    with stop_signal.working():
        pass  # another chain

    def stop_soon(progress):
        told.append(progress)
        return len(told) >= n_told

    chain = new_chain()
    assert run_round(chain, *problem, 500, stop_signal, 3, stop_soon) is chain
    assert len(told) >= n_told
    assert {(progress.chain, progress.iteration, progress.temperature) for progress in told} == {(3, 0, 0.0)}


def test_a_chain_that_has_a_result_begins_no_round_where_it_is_time_to_stop(problem):
    chain = run_round(new_chain(), *problem, 500, StopSignal())
    assert run_round(chain, *problem, 500, StopSignal(max_seconds=0.0)) is chain


def test_snapshots_are_kept_once_and_counted_over_rounds(problem):
    design, settings = problem
    chain = run_round(new_chain(), design, settings, 500, StopSignal())
    iterations = [snapshot.iteration for snapshot in chain.result.snapshots]
    assert iterations == sorted(set(iterations))
    assert (iterations[0], iterations[-1]) == (0, 500)
    in_rounds = replace(settings, n_iter=None)
    for expected in ([0, 400], [0, 400, 800]):
        chain = run_round(new_chain() if expected == [0, 400] else chain, design, in_rounds, 400, StopSignal())
        assert [snapshot.iteration for snapshot in chain.result.snapshots] == expected
