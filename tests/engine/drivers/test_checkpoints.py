"""Fits that are killed, stopped and taken up again, and what is written meanwhile."""

import dataclasses
import warnings
from contextlib import nullcontext

import numpy as np
import pytest

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning, FileError, Radial
from saltus.engine.drivers.checkpoints import fingerprint
from saltus.engine.drivers.plausible import check_annealed, check_sampled
from saltus.estimators.checks import check_data
from saltus.storage.checkpoints import read_checkpoint, write_checkpoint
from tests.equality import same
from tests.mutations import halfway_checkpoint
from tests.scripts import needs_posix, run_script

KILLED = """
import os, random, signal, sys, time
import numpy as np
from saltus import AnnealedRegressor
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, size=(80, 2))
y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(80)
kind, n_kills, checkpoint, outcome = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
options = {"n_iter": 2_000_000, "n_chains": 2} if kind == "given" else {"patience": 6, "n_chains": 2}
model = AnnealedRegressor("gaussian", random_state=0, **options)
AnnealedRegressor("gaussian", n_iter=100).fit(X, y)  # compiles, or loads what was compiled
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
@pytest.mark.slow
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
    model = AnnealedRegressor("gaussian", n_iter=200_000, n_chains=3, random_state=0)
    whole = model.fit(*data).result_
    told = []
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, callback=lambda progress: told.append(progress) or len(told) == 2)
    resumed = model.fit(*data, resume=path)
    assert same(resumed.result_, whole)


def test_a_fit_that_was_resumed_makes_the_same_file(data, tmp_path):
    """Though its networks no longer share what they had in common."""
    model = AnnealedRegressor("gaussian", n_iter=30_000, n_chains=2, random_state=0)
    model.fit(*data).save(tmp_path / "whole")
    (tmp_path / "run.ckpt").write_bytes(halfway_checkpoint(model, *data))
    model.fit(*data, resume=tmp_path / "run.ckpt").save(tmp_path / "resumed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sampler_ended_early_goes_on_from_its_checkpoint(data, tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "run.ckpt"
    model = BayesianRegressor("gaussian", n_iter=60_000, n_warmup=10_000, n_draws=70, n_chains=2, random_state=0)
    whole = model.fit(*data).chains_
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, checkpoint_every=0, callback=lambda progress: progress.iteration > 35_000)
    assert same(model.fit(*data, resume=path).chains_, whole)
    with pytest.raises(FileError, match="other data or other options"):
        model.set_params(ridge_shape=1.5).fit(*data, resume=path)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sampler_with_hotter_copies_goes_on_from_its_checkpoint(data, tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path, written = tmp_path / "run.ckpt", []
    model = BayesianRegressor("hinges", n_iter=30_000, n_warmup=10_000, n_draws=70, n_chains=2, random_state=0)
    whole = model.fit(*data).chains_
    write = write_checkpoint
    monkeypatch.setattr(
        "saltus.storage.checkpoints.write_checkpoint", lambda path, state: (written.append(state), write(path, state))
    )
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, checkpoint_every=0, callback=lambda progress: progress.iteration > 25_000)
    (begun,) = (chain for chain in written[-1].chains if chain is not None and 10_000 < chain.done < 40_000)
    assert len(begun.hotter) > 0
    assert same(model.fit(*data, resume=path).chains_, whole)
    design = model._make_design(check_data(model, *data, None))
    strange = dataclasses.replace(begun.hotter[0].terms, family=np.full(len(begun.hotter[0].terms), 7))
    hotter = (dataclasses.replace(begun.hotter[0], terms=strange), *begun.hotter[1:])
    settings = model._plan(design, 0.0, None).run.keywords["settings"]

    def check(found):
        check_sampled(found, design, settings)

    for chain, fits in [(begun, True), (dataclasses.replace(begun, hotter=hotter), False)]:
        write(path, dataclasses.replace(written[-1], chains=(chain, None)))
        with nullcontext() if fits else pytest.raises(FileError, match="do not fit the data"):
            read_checkpoint(path, design, written[-1].fingerprint, 2, check)


def test_a_checkpoint_of_something_else_is_refused(data, tmp_path):
    X, y = data
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(X, y, checkpoint=path)
    for other, target in [(model, y + 1.0), (AnnealedRegressor("gaussian", n_iter=501, n_chains=2), y)]:
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


def test_a_checkpoint_whose_chains_are_not_of_the_variant_that_they_name_is_refused(data, tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("saltus.storage.checkpoints.write_checkpoint", lambda _, state: written.append(state))
    model = AnnealedRegressor("gaussian", n_iter=30_000, n_chains=2, random_state=0)
    model.fit(*data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)
    design = model._make_design(check_data(model, *data, None))
    own, shared = (next(state.chains[n] for state in written if state.chains[n].halfway) for n in range(2))
    assert (own.variant, shared.variant) == (1, 0)
    record = dataclasses.replace(own.halfway.record, best_by_k=own.halfway.record.best_by_k[:2])
    damaged = [
        *(dataclasses.replace(own, variant=variant) for variant in (0, 2, -1)),
        dataclasses.replace(own, halfway=shared.halfway),
        dataclasses.replace(own, halfway=dataclasses.replace(own.halfway, record=record)),
    ]
    for chain in damaged:
        write_checkpoint(tmp_path / "one", dataclasses.replace(written[0], chains=(chain, shared)))
        with pytest.raises(FileError, match=r"is damaged: .*\. Start anew without resume"):
            read_checkpoint(tmp_path / "one", design, written[0].fingerprint, 2, check_of(model, design))


def test_a_checkpoint_that_cannot_be_written_is_said_once_and_does_not_end_the_fit(data, tmp_path):
    path = tmp_path / "nowhere" / "run.ckpt"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = AnnealedRegressor("gaussian", n_iter=25_000, n_chains=2).fit(*data, checkpoint=path, checkpoint_every=0)
    (said,) = (str(each.message) for each in caught)
    assert said.startswith("The checkpoint could not be written: ")
    assert str(path) in said
    assert ".tmp" not in said
    assert np.isfinite(model.predict(data[0])).all()


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"checkpoint": 5}, TypeError, "checkpoint must be the path of a file, .* Got 5"),
        ({"resume": b"run"}, TypeError, "resume must be the path of a file, .* Got b'run'"),
        ({"checkpoint": "a\0b"}, ValueError, "checkpoint must be .* none has a NUL character"),
        ({"resume": ""}, ValueError, "resume must be .* none is empty"),
        ({"checkpoint": "run", "checkpoint_every": "a"}, ValueError, "checkpoint_every is a number .* Got 'a'"),
        ({"checkpoint": "run", "checkpoint_every": np.nan}, ValueError, "checkpoint_every is a number .* Got nan"),
        ({"checkpoint": "run", "checkpoint_every": None}, ValueError, "checkpoint_every is a number .* Got None"),
    ],
)
def test_what_is_no_path_and_no_number_of_seconds_is_said_before_the_fit(data, tmp_path, arguments, error, said):
    told = []
    with pytest.raises(error, match=said):
        AnnealedRegressor("gaussian", n_iter=10).fit(*data, callback=told.append, **arguments)
    assert told == []


def test_data_in_other_units_are_other_data(data, tmp_path):
    """Chains see the same numbers where units differ by a power of two, and the model would be one of the old ones."""
    X, y = data
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor("gaussian", n_iter=500, n_chains=1, random_state=0).fit(X, y, checkpoint=path)
    for other, target, weight in [(X / 1024, y, None), (X, y / 1024, None), (X, y, np.full(60, 2.0))]:
        with pytest.raises(FileError, match="other data or other options"):
            model.fit(other, target, weight, resume=path)


def test_checkpoints_are_written_as_often_as_asked(data, tmp_path, monkeypatch):
    now, times = [0.0], []
    monkeypatch.setattr(
        "saltus.engine.drivers.checkpoints.monotonic", lambda: now.__setitem__(0, now[0] + 1.0) or now[0]
    )
    monkeypatch.setattr("saltus.storage.checkpoints.write_checkpoint", lambda *_: times.append(now[0]))
    model = AnnealedRegressor("gaussian", n_iter=300_000, n_chains=1, random_state=0)
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
    model = AnnealedRegressor("gaussian", n_iter=30_000, n_chains=2, random_state=0)
    model.fit(*data, checkpoint=tmp_path / "run.ckpt", checkpoint_every=0)
    assert any(chain.halfway is not None for state in written for chain in state.chains)
    design = model._make_design(check_data(model, *data, None))
    for state in written:
        write_checkpoint(tmp_path / "one", state)
        found = read_checkpoint(tmp_path / "one", design, state.fingerprint, 2, check_of(model, design))
        assert same(found, state)


def check_of(model, design):
    return lambda found: check_annealed(found, design, model._settings(design))


def mark_of(X, y, weight=None, basis="gaussian", options="", **changes):
    model = AnnealedRegressor(basis, **changes)
    data = check_data(model, X, y, weight)
    return fingerprint((data.X, data.Y, data.weight), model._make_design(data), options)


def test_the_fingerprint_tells_data_families_and_criteria_apart(data):
    X, y = data
    heavier, moved, other = np.ones(60), X.copy(), y.copy()
    heavier[7], moved[7, 0], other[7] = 2.0, X[7, 0] + 1e-9, y[7] + 1e-9
    matrix = [[1.0, 0.5], [0.5, 2.0]]
    marks = [
        mark_of(X, y),
        mark_of(X, y, options="another seed"),
        mark_of(moved, y),
        mark_of(X, other),
        mark_of(X, y, heavier),
        mark_of(X[::-1], y[::-1]),
        mark_of(np.hstack([X, X[:, :1] ** 2]), y),
        mark_of(X, y, basis="cubic"),
        mark_of(X, y, basis=Radial("gaussian", 1.5)),
        mark_of(X, y, basis=Radial("gaussian", metric="standardized")),
        mark_of(X, y, basis=Radial("gaussian", metric="euclidean")),
        mark_of(X, y, basis=Radial("gaussian", metric=matrix)),
        mark_of(X, y, basis=Radial("gaussian", widths="own")),
        mark_of(X, y, basis=Radial("gaussian", widths="shared")),
        mark_of(X, y, criterion="bic"),
        mark_of(X, y, criterion=3.0),
        mark_of(X, y, term_cost="paper"),
        mark_of(X, y, k_max=5),
        mark_of(X, y, box_margin=0.2),
        mark_of(X / 1024, y),  # chains see the same numbers
        mark_of(X, 1024 * y),
        mark_of(np.hstack([X, np.full((60, 1), 7.0)]), y),
        mark_of(np.hstack([X, np.full((60, 1), 8.0)]), y),
    ]
    assert len(set(marks)) == len(marks)
    assert mark_of(X.copy(), y.copy(), np.ones(60), basis=Radial("gaussian")) == marks[0]
