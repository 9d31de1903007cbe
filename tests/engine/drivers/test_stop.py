"""Fits that are stopped, by Ctrl-C or by the clock."""

import os
import pickle
import signal
import subprocess
import time

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning, Radial
from saltus.engine.drivers.stop import StopSignal
from tests.scripts import INTERRUPTED, interrupt, needs_posix, run_script


@needs_posix
@pytest.mark.parametrize(("kind", "n_jobs"), [("descent", 1), ("annealed", 1), ("annealed", 2), ("bayesian", 2)])
def test_ctrl_c_ends_a_fit_with_what_it_has(kind, n_jobs):
    """The fit returns, with the best so far, and the model predicts. benchmarks/latency.py says how soon."""
    _, status, err = interrupt(kind, n_jobs)
    assert "EarlyEndWarning: Interrupted" in err
    if kind != "bayesian":
        assert status.startswith("The search stopped: Ctrl-C interrupted it.")
        assert kind != "descent" or "ran 0 iterations" in status


@needs_posix
def test_ctrl_c_twice_raises():
    script = INTERRUPTED.replace("model.fit(X, y, callback=say)\n", "model.fit(X, y, callback=say)\nmodel.fit(X, y)\n")
    with run_script(script, "annealed", "1") as process:
        assert process.stdout.readline() == "fitting\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)
        process.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.5)  # in the second fit by now
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in err


def test_a_handler_of_somebody_else_is_left_alone(data):
    seen = []
    before = signal.signal(signal.SIGINT, lambda *_: seen.append(True))
    try:
        AnnealedRegressor("gaussian", n_iter=100).fit(*data, callback=lambda _: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen


@pytest.fixture
def hears_ctrl_c(monkeypatch):
    """Let Ctrl-C raise as it does in a program of one's own, and forget those before."""
    monkeypatch.setattr(StopSignal, "_last_interrupt", -float("inf"))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c(_=None):
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)  # where this is not the main thread, that has to hear it first


@needs_posix
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_in_warm_up_keeps_the_states_that_chains_are_in(data, hears_ctrl_c, n_jobs):
    pressed = set()

    def press_when_all_have_begun(progress):
        pressed.add(progress.chain)
        if len(pressed) == n_jobs:
            press_ctrl_c()

    model = BayesianRegressor(
        "gaussian", n_iter=10**8, n_warmup=10**8, n_draws=10**4, n_chains=2, n_jobs=n_jobs, random_state=0
    )
    with pytest.warns(EarlyEndWarning, match=r"Interrupted: .* in warm-up, .* unconverged states") as caught:
        model.fit(*data, callback=press_when_all_have_begun)
    assert len(caught) == 1
    assert model.status_ == str(caught[0].message)
    assert [len(chain.draws) for chain in model.chains_] == [1] * n_jobs
    mean, std = model.predict(data[0], return_std=True)
    assert np.isfinite(mean).all()
    assert (std > 0).all()
    assert np.isfinite(model.predict_interval(data[0])).all()
    assert "unconverged states" in str(model.summary())


@needs_posix
def test_ctrl_c_before_a_sampler_has_begun_raises(data, hears_ctrl_c, monkeypatch):
    monkeypatch.setattr("saltus.engine.drivers.sample.set_independent_terms", lambda *_: press_ctrl_c())
    model = BayesianRegressor("gaussian", n_chains=2, random_state=0)
    with pytest.raises(KeyboardInterrupt, match="before its chains had begun"):
        model.fit(*data)
    assert not hasattr(model, "chains_")


@needs_posix
def test_ctrl_c_leaves_rounds_alone_that_have_not_begun(data, hears_ctrl_c, monkeypatch):
    begun = []

    def press_in_the_second_round(progress):
        begun.append(progress.chain)
        return press_ctrl_c() if progress.iteration > 20_000 else None

    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    model = AnnealedRegressor(Radial("gaussian", widths="shared"), patience=10**9, n_chains=3, random_state=0)
    with pytest.warns(EarlyEndWarning, match="Interrupted"):
        model.fit(*data, callback=press_in_the_second_round)
    chains = model.result_.chains
    assert begun[-1] == 0
    assert chains[0].n_iter > 20_000
    assert [chain.n_iter for chain in chains[1:]] == [20_000] * 2
    # One or two of the first round; of the second, which is not polished, the best so far.
    *first, last = chains[0].local_optima
    assert 1 <= len(first) <= 2
    assert last.log_posterior == chains[0].best.log_posterior


def test_the_share_of_time_that_is_over(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr("saltus.engine.drivers.stop.monotonic", lambda: clock[0])
    never, soon = StopSignal().deadline, StopSignal(max_seconds=8.0).deadline
    for seconds, share in [(0.0, 0.0), (2.0, 0.25), (8.0, 1.0), (9.0, 1.0)]:
        clock[0] = 100.0 + seconds
        assert soon.share_of_time == pickle.loads(pickle.dumps(soon)).share_of_time == share
        assert soon.is_over == (share == 1.0)
        assert never.share_of_time == 0.0
        assert not never.is_over


def test_a_copy_in_another_process_knows_the_deadline_alone(monkeypatch):
    stop_signal = StopSignal(max_seconds=1e9)
    stop_signal.stop("Interrupted")
    assert stop_signal.should_stop
    copy = pickle.loads(pickle.dumps(stop_signal))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert copy.go_on()
    assert pickle.loads(pickle.dumps(StopSignal(max_seconds=0.0))).should_stop


def test_one_chain_is_obliged_to_return_a_result():
    stop_signal = StopSignal()
    assert not stop_signal.may_leave(0), "it is not time to stop"
    stop_signal.stop("Interrupted")
    assert not stop_signal.need_not_begin
    assert not stop_signal.may_leave(2), "no other chain has a result"
    assert stop_signal.need_not_begin
    assert stop_signal.may_leave(0)
    assert not stop_signal.may_leave(2)


def test_chains_may_leave_where_one_has_a_result():
    stop_signal = StopSignal()
    with stop_signal.working():
        pass
    stop_signal.stop("Interrupted")
    assert stop_signal.need_not_begin
    assert stop_signal.may_leave(0)
