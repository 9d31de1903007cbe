"""Kernels call what a user wrote: errors come back as errors, what is not finite is refused, code stays on disk."""

import gc
import os
import pickle
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config

from saltus import AnnealedRegressor, BayesianRegressor, UserFamily
from saltus._jit import _interpreted
from saltus._pending import has_error, keep_error, raise_kept_error
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.search.gradient import make_work
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.quasi_newton import descend, start_search
from saltus.families.user.differences import central_differences
from tests.engine.designs import blind_to_faintness
from tests.families.choosing import make_choosing
from tests.families.user.families import Constantly, OwnRidge, Stairs, Turns
from tests.kernels import columns_of

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

REPOSITORY = Path(__file__).parents[3]
ANNEALED = AnnealedRegressor(n_iter=500, n_chains=2, term_cost=1, random_state=0)
BAYESIAN = BayesianRegressor(n_iter=500, n_draws=10, n_chains=2, random_state=0)


@dataclass(frozen=True)
class Failing(Constantly):
    """Works so many times on this thread, then does something wrong."""

    wrong: str = "raise"
    after: int = 0

    def column(self, X, parameters, ranges):
        CALLS.n = getattr(CALLS, "n", 0) + 1
        if CALLS.n <= self.after:
            return super().column(X, parameters, ranges)
        if self.wrong == "raise":
            raise ZeroDivisionError("no such term")
        if self.wrong == "interrupt":
            raise KeyboardInterrupt
        return X if self.wrong == "shape" else "words"


CALLS = threading.local()


class Half(UserFamily):
    """A family that is not defined for half of its terms."""

    parameter_names = ("place",)
    bad = np.nan

    def column(self, X, parameters, ranges):
        share = (X[:, 0] - ranges[0, 0]) / (ranges[1, 0] - ranges[0, 0])
        values = np.exp(-0.5 * ((share - parameters[0]) / 0.2) ** 2)
        if parameters[0] > 0.5:
            values[len(values) // 2] = self.bad
        return values


class Endless(Half):
    """The same, infinite there."""

    bad = np.inf


@pytest.fixture
def curve(rng):
    X = rng.uniform(0, 1, (80, 2))
    return X, np.exp(-0.5 * ((X[:, 0] - 0.8) / 0.2) ** 2) + 0.05 * rng.standard_normal(80)


@pytest.mark.parametrize("model", [ANNEALED, BAYESIAN], ids=["annealed", "bayesian"])
@pytest.mark.parametrize("after", [0, 600])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_of_the_user_is_raised_and_names_the_family(curve, model, after, n_jobs):
    CALLS.n = 0
    model.set_params(basis=Failing(after=after), n_jobs=n_jobs)
    with pytest.raises(
        RuntimeError, match=r"Failing\(wrong='raise', after=\d+\).column raised ZeroDivisionError"
    ) as info:
        model.fit(*curve)
    if n_jobs == 1:  # joblib puts the text of a traceback in its place
        assert isinstance(info.value.__cause__, ZeroDivisionError)
    assert "check_family" in str(info.value)
    model.set_params(basis=Constantly(), n_jobs=1).fit(*curve)  # nothing is left of the error


@pytest.mark.parametrize(("wrong", "match"), [("shape", r"shape \(\d+,\), got \(\d+, 1\)"), ("words", "ValueError")])
def test_what_is_no_column_is_an_error(curve, wrong, match):
    CALLS.n = 0
    with pytest.raises(RuntimeError, match=match):
        ANNEALED.set_params(basis=Failing(wrong), n_jobs=1).fit(*curve)


def test_an_interrupt_in_the_user_s_code_stays_one(rng):
    _, design = make_choosing(Failing("interrupt"))
    CALLS.n = 0
    with pytest.raises(KeyboardInterrupt):
        run(rng, design, 50)
    assert not has_error()


def test_of_several_errors_the_first_is_raised():
    keep_error(ValueError("first"))
    keep_error(ValueError("second"))
    with pytest.raises(ValueError, match="first"):
        raise_kept_error()
    raise_kept_error()


def test_an_error_of_the_user_comes_before_what_it_led_to():
    """Where a kernel that was given NaN fails in turn, as it may with the JIT off."""

    def fail(n):
        return 1 // n

    keep_error(ValueError("the user's"))
    with pytest.raises(ValueError, match="the user's"):
        _interpreted(fail)(0)
    assert not has_error()


def test_errors_are_those_of_their_thread():
    keep_error(ValueError("here"))
    seen = []
    thread = threading.Thread(target=lambda: seen.append(has_error()))
    thread.start()
    thread.join()
    assert seen == [False]
    with pytest.raises(ValueError, match="here"):
        raise_kept_error()


def run(rng, design, n):
    """Run a chain from nothing; return its state and record."""
    problem = design.problem
    state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    record = start_record(state, n)
    work = make_workspace(problem, state)
    with np.errstate(invalid="ignore"):  # with the JIT off, NumPy tells of what kernels do with NaN
        run_block(rng, problem, Tuning(0.25, 0.2, True), state, work, record, np.ones(n), n, 0, 1)
    return state, record


@pytest.mark.parametrize("family", [Half(), Endless()], ids=repr)
def test_terms_that_are_not_finite_are_refused(rng, family):
    _, design = make_choosing(family)
    state, record = run(rng, design, 3000)
    assert record.counts[:, 2].sum() > 100
    k = state.terms.k[0]
    assert k > 0
    assert (state.terms.parameters[:k, 0] <= 0.5).all()
    assert np.isfinite(record.trace_log_posterior).all()
    bad = design.mixture.draw(rng, 3)
    bad.parameters[:] = 0.9
    with np.errstate(invalid="ignore"):
        assert Landscape.of(design).value(bad) == -np.inf


@pytest.mark.parametrize("model", [ANNEALED, BAYESIAN], ids=["annealed", "bayesian"])
def test_a_fit_does_without_terms_that_are_not_finite(curve, model):
    fitted = model.set_params(basis=[Half(), "hinges"], n_jobs=1).fit(*curve)
    assert fitted.score(*curve) > 0.5
    terms = fitted._single_network.terms
    assert (terms.parameters[terms.family == 0, 0] <= 0.5).all()


@pytest.mark.parametrize("model", [ANNEALED, BAYESIAN], ids=["annealed", "bayesian"])
def test_chains_in_other_processes_give_the_same_bits(curve, model):
    model.set_params(basis=[Turns(), OwnRidge()], n_jobs=None)
    expected = model.fit(*curve).predict(curve[0])
    with parallel_config("loky", n_jobs=2):
        np.testing.assert_array_equal(model.fit(*curve).predict(curve[0]), expected)
        with pytest.raises(RuntimeError, match="ZeroDivisionError: no such term"):
            model.set_params(basis=Failing()).fit(*curve)


def test_functions_live_as_long_as_what_kernels_see(rng):
    _, design = make_choosing([Turns(), "hinges"], n_rows=600)
    terms, root_weight = design.mixture.draw(rng, 8), design.problem.root_weight
    expected = columns_of(design.problem.families, terms, root_weight)
    copied = pickle.loads(pickle.dumps(design.problem.families))
    changed = design.problem.families._replace(user=design.problem.families.user._replace(n_inputs=3))
    assert copied.user.columns_at != changed.user.columns_at
    del design
    gc.collect()
    for families in (copied, changed):
        np.testing.assert_array_equal(columns_of(families, terms, root_weight), expected)


def test_the_rows_of_a_fit_cannot_be_changed(curve):
    class Writing(Constantly):
        def column(self, X, parameters, ranges):
            X -= ranges[0]
            return X[:, 0]

    with pytest.raises(RuntimeError, match="read-only"):
        ANNEALED.set_params(basis=Writing(), n_jobs=1).fit(*curve)


def test_derivatives_without_the_user_s_are_central_differences(rng):
    data, design = make_choosing(Turns())
    (member,) = design.mixture.members
    for g in (1, 2, 3):
        X, ranges = data.X[:, :g], member.ranges.both[:, :g]
        for parameters in (rng.random(1 + g), np.zeros(1 + g), np.ones(1 + g)):
            exact = Turns().derivatives(X, parameters, ranges)
            found = central_differences(Turns(), X, parameters, ranges)
            # One-sided at the ends, but for the phase, which has none.
            np.testing.assert_allclose(found[:, 0], exact[:, 0], atol=1e-6)
            np.testing.assert_allclose(found, exact, atol=1e-6 if 0 < parameters[0] < 1 else 5e-2)


def test_descents_leave_alone_what_is_not_smooth(rng):
    _, design = make_choosing([Stairs(), Turns()])
    own = design.mixture.members[0].draw(rng, 2)
    terms = design.mixture.padded(own, 0, np.zeros(0))
    free = design.mixture.search.free(design.problem.families, terms)
    assert free.n_free.tolist() == [1, 1]
    np.testing.assert_array_equal(free.x, terms.parameters[:, 1])
    moved = free.unpack(np.array([0.2, 0.4]))
    np.testing.assert_array_equal(moved.parameters[:, 0], terms.parameters[:, 0])
    np.testing.assert_array_equal(moved.parameters[:, 1], [0.2, 0.4])


def test_descents_wrap_what_is_periodic(rng):
    """A whole turn away is the same term, whose author sees nothing beyond [0, 1]."""
    seen = []

    class Watching(Turns):
        def column(self, X, parameters, ranges):
            seen.append(parameters.copy())
            return super().column(X, parameters, ranges)

    _, design = make_choosing(Watching())
    landscape, terms = blind_to_faintness(Landscape.of(design)), design.mixture.draw(rng, 3)
    free = design.mixture.search.free(landscape.problem.families, terms)
    phases = np.append(0, np.cumsum(free.n_free)[:-1])
    assert (free.low[phases] < -1).all()
    assert (free.high[phases] > 2).all()
    columns = []
    for turns in (0.0, 1.0, -2.0):
        point = free.x.copy()
        point[phases] += turns
        np.testing.assert_allclose(free.unpack(point).parameters, terms.parameters, atol=1e-12)
        work = make_work(landscape.problem, free)
        descend(landscape.problem, 0.0, work, start_search(point, point, point), 1)
        columns.append(work.Phi.copy())
    np.testing.assert_allclose(columns[1], columns[0], atol=1e-12)
    np.testing.assert_allclose(columns[2], columns[0], atol=1e-12)
    assert len(seen) == 9
    assert all(((parameters >= 0) & (parameters <= 1)).all() for parameters in seen)


def test_the_lowest_value_is_itself_to_the_last_bit(rng):
    """A concentration of 0 is not to be a little negative, inside the data and where it is held."""
    seen = []

    class Watching(Constantly):
        def column(self, X, parameters, ranges):
            seen.append(X.min())
            return super().column(X, parameters, ranges)

    for scale in (1.0, 1 / 3, 1e-9):
        X = np.append(0.0, rng.random(60))[:, None] * scale
        model = ANNEALED.set_params(basis=Watching(), n_jobs=1).fit(X, np.sqrt(X[:, 0]))
        model.predict(np.array([[-1.0]]))
    assert min(seen) == 0.0


FIT = """
import sys

import numba.core.event
import numpy as np

from saltus import AnnealedRegressor
from tests.families.user.families import Turns

rng = np.random.default_rng(0)
X = rng.random((60, 2))
model = AnnealedRegressor(Turns(float(sys.argv[1])), n_iter=200, n_chains=1, term_cost=1, init="empty", random_state=0)
with numba.core.event.install_recorder("numba:compile") as recorder:
    model.fit(X, np.cos(5 * X[:, 0]))
print(len(recorder.buffer), model.score(X, np.cos(5 * X[:, 0])))
"""


@pytest.mark.slow
def test_compiled_code_is_found_on_disk_by_another_process(tmp_path):
    """No address is part of it: the second process has other functions, of a family with other options."""
    found = []
    for fastest in ("1.0", "3.0"):
        done = subprocess.run(
            [sys.executable, "-c", FIT, fastest],
            cwd=REPOSITORY,
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "SALTUS_COMPILES_FOR_ANOTHER": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        found.append([float(word) for word in done.stdout.split()])
    (first, score), (second, other_score) = found
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        assert first > 10
    assert second == 0
    assert min(score, other_score) > 0.9
