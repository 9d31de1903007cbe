"""Fits that are watched, stopped, killed and taken up again."""

import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning, FileError
from saltus.engine.drivers.anneal import _remedy
from saltus.engine.drivers.stop import Crew
from saltus.engine.results.chains import AnnealResult
from saltus.estimators.base import check_data
from saltus.estimators.progress import Line
from saltus.storage.checkpoints import read_checkpoint, write_checkpoint

needs_posix = pytest.mark.skipif(os.name == "nt", reason="these signals do not exist on Windows")


@pytest.fixture
def data(rng):
    X = rng.uniform(-1, 1, size=(60, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(60)


def same(one, other):
    """Whether two values are equal to the last bit, whatever they are made of."""
    if dataclasses.is_dataclass(one):
        return type(one) is type(other) and all(
            same(getattr(one, field.name), getattr(other, field.name)) for field in dataclasses.fields(one)
        )
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@contextmanager
def run_script(script, *arguments):
    """Run a script that hears Ctrl-C even if this process was told not to; leave nothing behind."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


# --- Ctrl-C

SECONDS_TO_STOP = 0.5

INTERRUPTED = """
import sys, threading, time, warnings
import numpy as np
from saltus import AnnealedRegressor, BayesianRegressor
from saltus.engine.search.pruning import Landscape
kind, n_jobs = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(0)
N = 10_000 if kind in ("descent", "annealed") and n_jobs == 1 else 300
X = rng.random((N, 2))
y = np.sin(9 * X[:, 0]) * np.cos(7 * X[:, 1]) + 0.1 * rng.standard_normal(N)
if kind == "bayesian":
    warnings.simplefilter("ignore")
    BayesianRegressor(n_iter=10, n_warmup=10, n_draws=5).fit(X, y)
    warnings.simplefilter("default")
    model = BayesianRegressor(n_iter=10**8, n_warmup=1000, n_draws=10**6, n_jobs=n_jobs)
else:
    AnnealedRegressor(n_iter=10).fit(X[:300], y[:300])
    model = AnnealedRegressor(patience=10**9, n_jobs=n_jobs)
begun = set()

def begin(number):
    begun.add(number)
    if len(begun) == n_jobs:
        print("fitting", flush=True)

def say(progress):
    if kind != "descent" and progress.iteration > 1500 and progress.chain not in begun:
        begin(progress.chain)

def ascend_and_say(*arguments, **options):
    begin("descent") if not begun else None
    return ascend(*arguments, **options)

if kind == "descent":
    ascend, Landscape.ascend = Landscape.ascend, ascend_and_say
model.fit(X, y, callback=say)
ended = time.time()
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()  # the chains of other threads end too
assert np.isfinite(model.predict(X)).all()
print(ended)
print(model.status_ if kind == "bayesian" else model.result_.status, flush=True)
"""


def interrupt(kind, n_jobs):
    """Interrupt a fit; return how many seconds it took to return, its status, and what it warned of."""
    with run_script(INTERRUPTED, kind, str(n_jobs)) as process:
        assert process.stdout.readline() == "fitting\n"
        if kind != "descent":
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=0.5)
        sent = time.time()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    ended, status = out.splitlines()
    return float(ended) - sent, status, err


@needs_posix
@pytest.mark.parametrize(("kind", "n_jobs"), [("descent", 1), ("annealed", 1), ("annealed", 2), ("bayesian", 2)])
def test_ctrl_c_ends_a_fit_at_once_with_what_it_has(kind, n_jobs):
    seconds = []
    while min(seconds, default=np.inf) >= SECONDS_TO_STOP and len(seconds) < 3:  # the machine may be busy
        taken, status, err = interrupt(kind, n_jobs)
        seconds.append(taken)
        assert "EarlyEndWarning: Interrupted" in err
        if kind != "bayesian":
            assert status.startswith("Interrupted: 0 iterations" if kind == "descent" else "Interrupted: ")
    assert min(seconds) < SECONDS_TO_STOP, seconds


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
        AnnealedRegressor(n_iter=100).fit(*data, callback=lambda _: signal.raise_signal(signal.SIGINT))
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen


@pytest.fixture
def hears_ctrl_c(monkeypatch):
    """Let Ctrl-C raise as it does in a program of one's own, and forget those before."""
    monkeypatch.setattr(Crew, "_last_interrupt", -float("inf"))
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

    model = BayesianRegressor(n_iter=10**8, n_warmup=10**8, n_draws=10**4, n_chains=2, n_jobs=n_jobs, random_state=0)
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
    monkeypatch.setattr("saltus.engine.drivers.sample.place_independent_centers", lambda *_: press_ctrl_c())
    model = BayesianRegressor(n_chains=2, random_state=0)
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
    model = AnnealedRegressor(patience=10**9, n_chains=3, widths="shared", random_state=0)
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


# --- Callbacks


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_is_told_and_may_stop_the_fit(data, n_jobs):
    told = []

    def stop_after_three(progress):
        told.append(progress)
        return len(told) == 3

    model = AnnealedRegressor(n_iter=10**9, n_jobs=n_jobs, random_state=0)
    with pytest.warns(EarlyEndWarning, match="Stopped by the callback"):
        model.fit(*data, callback=stop_after_three)
    assert len(told) == 3
    assert all(isinstance(progress, saltus.Progress) for progress in told)
    last = told[-1]
    assert last.iteration > 0
    assert last.temperature > 0
    found = model.result_.chains[last.chain]
    assert last.best <= found.best_by_n_bases[last.n_bases] + 1e-6
    assert model.result_.status.startswith("Stopped by the callback")
    assert model.result_.ended_early == "Stopped by the callback"
    assert np.isfinite(model.predict(data[0])).all()


def test_a_callback_hears_at_most_ten_times_a_second(data, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("saltus.estimators.progress.monotonic", lambda: now.__setitem__(0, now[0] + 0.03) or now[0])
    times = []
    AnnealedRegressor(n_iter=20_000, n_chains=2).fit(*data, callback=lambda _: times.append(now[0]))
    assert len(times) > 3
    assert np.diff(times).min() >= 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_sampler_has_callbacks_too(data):
    told = []
    model = BayesianRegressor(n_iter=10**8, n_warmup=100, n_draws=10**6, n_chains=2, n_jobs=2, random_state=0)
    with pytest.warns(EarlyEndWarning, match="Stopped by the callback: .* 2 chains of"):
        model.fit(*data, callback=lambda progress: told.append(progress) or len(told) == 4)
    assert len({len(chain.draws) for chain in model.chains_}) == 1
    assert np.isfinite(model.predict(data[0])).all()


def test_an_error_in_a_callback_comes_out_and_leaves_the_model_as_it_was(data):
    X, y = data
    model = AnnealedRegressor(n_iter=200, random_state=0).fit(X, y)
    before = model.predict(X)

    def fail(_):
        raise ZeroDivisionError("of the callback")

    with pytest.raises(ZeroDivisionError, match="of the callback"):
        model.fit(X[:, :1], y, callback=fail)
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(X), before)


class Counter:
    """A callback of scikit-learn's kind."""

    def __init__(self, last=10**9):
        self.last, self.n_begun, self.n_ended, self.calls = last, 0, 0, []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def on_fit_task_begin(self, estimator, context, **_):
        self.n_begun += 1

    def on_fit_task_end(self, estimator, context, **_):
        self.n_ended += 1
        return self.n_ended >= self.last


has_callbacks = pytest.mark.skipif(
    not hasattr(AnnealedRegressor, "set_callbacks"), reason="this scikit-learn has no callbacks"
)


@has_callbacks
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", [AnnealedRegressor(n_iter=100_000), BayesianRegressor(n_iter=2000)], ids=type)
def test_callbacks_of_scikit_learn_see_a_hundred_tasks(data, model, tmp_path):
    counter = Counter()
    model.set_callbacks(counter).fit(*data)
    assert counter.n_begun == counter.n_ended == 101  # the fit itself is one
    assert counter.calls == ["setup", "teardown"]
    model.save(tmp_path / "model")


@has_callbacks
def test_callbacks_of_scikit_learn_may_stop_the_fit_and_are_torn_down_after_an_error(data):
    counter = Counter(last=3)
    model = AnnealedRegressor(n_iter="auto", patience=10**6).set_callbacks(counter)
    with pytest.warns(EarlyEndWarning, match="callback"):
        model.fit(*data)
    assert counter.n_ended == 4
    with pytest.raises(ValueError, match="NaN"):
        model.fit(data[0] * np.nan, data[1])
    assert counter.calls == ["setup", "teardown"] * 2


# --- The status


def test_the_status_names_what_would_let_the_search_go_on(data):
    chain = AnnealedRegressor(n_iter=100, n_chains=1, k_max=1, random_state=0).fit(*data).result_.chains[0]
    behind = dataclasses.replace(chain, best=dataclasses.replace(chain.best, log_posterior=-1e9))
    stopped = Crew()
    stopped.stop("Interrupted")
    given, auto = SimpleNamespace(n_iter=100), SimpleNamespace(n_iter=None)
    for settings, crew, named in [
        (given, Crew(), "a larger n_iter"),
        (auto, Crew(), "a larger patience or n_chains"),
        (auto, Crew(max_seconds=0.0), "a larger max_time"),
        (given, stopped, "a fit that is left to end by itself"),
    ]:
        status = AnnealResult.from_chains((chain, behind), remedy=_remedy(settings, crew)).status
        assert "with 1 basis function (chain 0)" in status
        assert f"No two chains agree: {named} is likely to find a better model." in status


# --- The line


def test_one_line_of_progress(data, capsys):
    AnnealedRegressor(n_iter=2000, n_chains=2, verbose=1).fit(*data)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "100%" in err
    assert "k = " in err
    assert "accepted" in err


def test_on_a_terminal_the_line_draws_over_itself_and_says_how_long_it_will_take(data, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    AnnealedRegressor(n_iter=300_000, n_chains=2, verbose=1, max_time=60).fit(*data)
    err = capsys.readouterr().err
    assert err.count("\r") > 1
    assert err.count("\n") == 1
    assert "s left" in err


@pytest.fixture
def line(monkeypatch):
    """A line on a terminal, of a fit of two chains of 1000 iterations, and a clock of one's own."""
    clock = [0.0]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("saltus.estimators.progress.monotonic", lambda: clock[0])

    def at(seconds, chain, iteration, k=3, log_posterior=-1.0):
        clock[0] = seconds
        made.update(saltus.Progress(chain, iteration, k, log_posterior, 1.0, 0.5), draw=True)

    made = Line(2, 1000, None, lambda log_posterior: 100 - log_posterior)
    yield made, at
    made.close()


def test_the_time_left_is_said_once_it_is_known_and_not_at_the_end(line, capsys):
    made, at = line
    at(30.0, 0, 1)  # it was compiled
    at(30.5, 0, 51)
    assert "left" not in capsys.readouterr().err
    at(32.0, 0, 201)
    assert capsys.readouterr().err.rstrip().endswith(" 18 s left")  # 1799 iterations at 100 a second
    at(33.0, 1, 501)  # resumed from there
    assert capsys.readouterr().err.rstrip().endswith(" 19 s left")
    made.close()  # before its time
    assert "left" not in capsys.readouterr().err


def test_the_line_shows_the_best_state_and_of_a_sampler_the_present_one(line, capsys):
    made, at = line
    at(1.0, 0, 100, k=7, log_posterior=-1.0)
    at(2.0, 0, 200, k=4, log_posterior=-9.0)
    assert "k = 7  best criterion 101.00" in capsys.readouterr().err.split("\r")[-1]
    made._to_criterion = None
    at(3.0, 0, 300, k=5, log_posterior=-8.0)
    assert "k = 5  log posterior -8.00" in capsys.readouterr().err.split("\r")[-1]


def test_in_a_notebook_the_line_draws_over_itself(data, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    AnnealedRegressor(n_iter=100_000, n_chains=2, verbose=1).fit(*data)
    err = capsys.readouterr().err
    assert err.count("\r") > 1
    assert err.count("\n") == 1


def test_fits_on_other_threads_and_in_a_grid_search_do_not_garble_the_line(data, capsys):
    search = GridSearchCV(
        AnnealedRegressor(n_iter=500, n_chains=2, verbose=1, random_state=0), {"k_max": [2, 4]}, cv=2, n_jobs=2
    )
    search.fit(*data)
    err = capsys.readouterr().err
    assert err.count("saltus") == err.count("\n")

    def fit():
        AnnealedRegressor(n_iter=50_000, n_chains=2, verbose=1).fit(*data)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    err = capsys.readouterr().err
    assert err.count("saltus") == err.count("\n") >= 1


# --- Checkpoints

KILLED = """
import os, random, signal, sys, time
import numpy as np
from saltus import AnnealedRegressor
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(80, 2))
y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(80)
kind, n_kills, checkpoint, outcome = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
options = {"n_iter": 2_000_000, "n_chains": 2} if kind == "given" else {"patience": 6, "n_chains": 2}
model = AnnealedRegressor(random_state=0, **options)
AnnealedRegressor(n_iter=100).fit(X, y)  # compiles, or loads what was compiled
random.seed(1)
killed = 0
while True:
    child = os.fork()
    if child == 0:
        try:
            resume = checkpoint if os.path.exists(checkpoint) else None
            model.fit(X, y, checkpoint=checkpoint, checkpoint_every=0.01, resume=resume)
            model.save(outcome)
        finally:
            os._exit(0)
    if killed < n_kills:
        time.sleep(random.uniform(0.02, 0.1))
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        break
    killed += 1
whole = model.fit(X, y)
whole.save(outcome + ".whole")
print(killed)
"""


@needs_posix
@pytest.mark.parametrize(("kind", "n_kills"), [("given", 17), ("auto", 3)])
def test_a_fit_that_is_killed_again_and_again_ends_as_if_it_had_not_been(kind, n_kills, tmp_path):
    with run_script(KILLED, kind, str(n_kills), str(tmp_path / "run.ckpt"), str(tmp_path / "model")) as process:
        out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert int(out) == n_kills, "the fit was over before it was killed so often"
    resumed, whole = saltus.load(tmp_path / "model"), saltus.load(tmp_path / "model.whole")
    assert same(resumed.result_, whole.result_)
    assert same(resumed.networks_, whole.networks_)
    assert same(resumed.weights_, whole.weights_)


def test_a_fit_ended_early_goes_on_from_its_checkpoint(data, tmp_path):
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor(n_iter=200_000, n_chains=3, random_state=0)
    whole = model.fit(*data).result_
    told = []
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, callback=lambda progress: told.append(progress) or len(told) == 2)
    assert same(model.fit(*data, resume=path).result_, whole)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_rows", [60, 3000])  # one proposal at a time, and several
def test_a_sampler_is_the_same_however_its_blocks_fall(data, n_rows, monkeypatch):
    X, y = (np.resize(values, (n_rows, *values.shape[1:])) for values in data)
    X = X + 0.01 * np.random.default_rng(0).standard_normal(X.shape)
    model = BayesianRegressor(n_iter=777, n_warmup=500, n_draws=3, k_max=40, n_chains=1, random_state=0)
    found = []
    for length in (1, 10**9):
        monkeypatch.setattr("saltus.engine.drivers.sample.next_length", lambda *_, length=length: length)
        found.append(model.fit(X, y).chains_)
    assert same(*found)
    assert found[0][0].moves["stretch"].accepted > 0


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sampler_ended_early_goes_on_from_its_checkpoint(data, tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "run.ckpt"
    model = BayesianRegressor(n_iter=60_000, n_warmup=10_000, n_draws=70, n_chains=2, random_state=0)
    whole = model.fit(*data).chains_
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, checkpoint_every=0, callback=lambda progress: progress.iteration > 35_000)
    assert same(model.fit(*data, resume=path).chains_, whole)
    with pytest.raises(FileError, match="other data or other options"):
        model.set_params(ridge_shape=1.5).fit(*data, resume=path)


def test_a_checkpoint_of_something_else_is_refused(data, tmp_path):
    X, y = data
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor(n_iter=500, n_chains=2, random_state=0).fit(X, y, checkpoint=path)
    for other, target in [(model, y + 1.0), (AnnealedRegressor(n_iter=501, n_chains=2), y)]:
        with pytest.raises(FileError, match="other data or other options"):
            other.fit(X, target, resume=path)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        model.fit(X, y, resume=tmp_path / "nowhere")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="damaged"):
        model.fit(X, y, resume=path)
    model.save(tmp_path / "model")
    with pytest.raises(FileError, match="no checkpoint file"):
        model.fit(X, y, resume=tmp_path / "model")
    model.fit(X, y, checkpoint=path)
    with pytest.raises(FileError, match="no model file"):
        saltus.load(path)
    with pytest.raises(ValueError, match="checkpoint_every"):
        model.fit(X, y, checkpoint=path, checkpoint_every=-1)


def test_a_checkpoint_whose_chains_are_not_of_the_kind_that_they_name_is_refused(data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("saltus.storage.checkpoints.write_checkpoint", lambda _, state: written.append(state))
    model = AnnealedRegressor(n_iter=30_000, n_chains=2, random_state=0)
    model.fit(*data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)
    design = model._make_design(check_data(model, *data, None))
    own, shared = (next(state.chains[n] for state in written if state.chains[n].halfway) for n in range(2))
    assert (own.kind, shared.kind) == (1, 0)
    record = dataclasses.replace(own.halfway.record, best_by_k=own.halfway.record.best_by_k[:2])
    damaged = [
        *(dataclasses.replace(own, kind=kind) for kind in (0, 2, -1)),
        dataclasses.replace(own, halfway=shared.halfway),
        dataclasses.replace(own, halfway=dataclasses.replace(own.halfway, record=record)),
    ]
    for chain in damaged:
        write_checkpoint(tmp_path / "one", dataclasses.replace(written[0], chains=(chain, shared)))
        with pytest.raises(FileError, match="do not fit the data"):
            read_checkpoint(tmp_path / "one", design, written[0].fingerprint, 2)


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_fit(data, tmp_path):
    with pytest.warns(UserWarning, match="could not be written"):
        model = AnnealedRegressor(n_iter=500, n_chains=2).fit(*data, checkpoint=tmp_path / "nowhere" / "run.ckpt")
    assert np.isfinite(model.predict(data[0])).all()


def test_checkpoints_are_written_as_often_as_asked(data, tmp_path, monkeypatch):
    now, times = [0.0], []
    monkeypatch.setattr(
        "saltus.engine.drivers.checkpoints.monotonic", lambda: now.__setitem__(0, now[0] + 1.0) or now[0]
    )
    monkeypatch.setattr("saltus.storage.checkpoints.write_checkpoint", lambda *_: times.append(now[0]))
    model = AnnealedRegressor(n_iter=300_000, n_chains=1, random_state=0)
    n_written = {}
    for seconds in (0, 7, 10**6):
        times.clear()
        model.fit(*data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=seconds)
        n_written[seconds] = len(times)
        assert np.diff(times[:-2]).min(initial=np.inf) >= seconds
    assert n_written[0] > n_written[7] > n_written[10**6] == 2  # where the chain ends, and at the end


def test_checkpoints_come_back_as_they_were_written(data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("saltus.storage.checkpoints.write_checkpoint", lambda _, state: written.append(state))
    model = AnnealedRegressor(n_iter=30_000, n_chains=2, random_state=0)
    model.fit(*data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)
    assert any(chain.halfway is not None for state in written for chain in state.chains)
    design = model._make_design(check_data(model, *data, None))
    for state in written:
        write_checkpoint(tmp_path / "one", state)
        assert same(read_checkpoint(tmp_path / "one", design, state.fingerprint, 2), state)
