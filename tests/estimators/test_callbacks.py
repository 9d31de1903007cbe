"""Callbacks of our own and of scikit-learn's are told, and may stop a fit."""

import numpy as np
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_callback_is_told_and_may_stop_the_fit(data, n_jobs):
    told = []

    def stop_after_three(progress):
        told.append(progress)
        return len(told) == 3

    model = AnnealedRegressor("gaussian", n_iter=10**9, n_jobs=n_jobs, random_state=0)
    with pytest.warns(EarlyEndWarning, match="Stopped by the callback"):
        model.fit(*data, callback=stop_after_three)
    assert len(told) == 3
    assert all(isinstance(progress, saltus.Progress) for progress in told)
    last = told[-1]
    assert last.iteration > 0
    assert last.temperature > 0
    found = model.result_.chains[last.chain]
    assert last.best <= found.best_by_n_terms[last.n_terms] + 1e-6
    assert model.result_.status.startswith("The search stopped: a callback asked it to.")
    assert model.result_.ended_early == "Stopped by the callback"
    assert np.isfinite(model.predict(data[0])).all()


def test_a_callback_hears_at_most_ten_times_a_second(data, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("saltus.estimators.progress.monotonic", lambda: now.__setitem__(0, now[0] + 0.03) or now[0])
    times = []
    AnnealedRegressor("gaussian", n_iter=20_000, n_chains=2).fit(*data, callback=lambda _: times.append(now[0]))
    assert len(times) > 3
    assert np.diff(times).min() >= 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_sampler_has_callbacks_too(data):
    done = {}

    def stop_when_level(progress):
        """Stop where both chains have come about as far, so that both have draws to keep."""
        done[progress.chain] = progress.iteration
        return len(done) == 2 and min(done.values()) > max(0.75 * max(done.values()), 10_000)

    model = BayesianRegressor(
        "gaussian", n_iter=10**8, n_warmup=100, n_draws=10**6, n_chains=2, n_jobs=2, random_state=0
    )
    with pytest.warns(EarlyEndWarning, match="Stopped by the callback: .* 2 chains of"):
        model.fit(*data, callback=stop_when_level)
    assert len({len(chain.draws) for chain in model.chains_}) == 1
    assert np.isfinite(model.predict(data[0])).all()


def test_an_error_in_a_callback_comes_out_and_leaves_the_model_as_it_was(data):
    X, y = data
    model = AnnealedRegressor("gaussian", n_iter=200, random_state=0).fit(X, y)
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
@pytest.mark.parametrize(
    "model", [AnnealedRegressor("gaussian", n_iter=100_000), BayesianRegressor("gaussian", n_iter=2000)], ids=type
)
def test_callbacks_of_scikit_learn_see_a_hundred_tasks(data, model, tmp_path):
    counter = Counter()
    model.set_callbacks(counter).fit(*data)
    assert counter.n_begun == counter.n_ended == 101  # the fit itself is one
    assert counter.calls == ["setup", "teardown"]
    model.save(tmp_path / "model")


@has_callbacks
def test_callbacks_of_scikit_learn_may_stop_the_fit_and_are_torn_down_after_an_error(data):
    counter = Counter(last=3)
    model = AnnealedRegressor("gaussian", n_iter="auto", patience=10**6).set_callbacks(counter)
    with pytest.warns(EarlyEndWarning, match="callback"):
        model.fit(*data)
    assert counter.n_ended == 4
    with pytest.raises(ValueError, match="NaN"):
        model.fit(data[0] * np.nan, data[1])
    assert counter.calls == ["setup", "teardown"] * 2
