"""Files that somebody changed with care: checkpoints that fits go on from, and models that predict.

Whatever was changed, the file is refused, or gives the same answer or another finite one; it kills nothing, as children
show. `python -m tests.mutations` does so with as many as one likes.
"""

import dataclasses
import warnings

import numpy as np
import pytest

from saltus import FileError
from saltus.storage.checkpoints import write_checkpoint
from tests.mutations import (
    checkpoints_of,
    data,
    mutated,
    outcome,
    run_children,
    subjects,
    use_checkpoint,
    write_subjects,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

HARMLESS = {"refused", "same", "another finite answer"}


@pytest.mark.parametrize(
    ("kind", "name", "n_files"),
    [
        ("checkpoints", "annealed", 50),
        ("checkpoints", "sampled mixture", 50),
        ("models", "sampled", 50),
        *(
            pytest.param(kind, name, 400, marks=pytest.mark.slow)
            for kind in ("checkpoints", "models")
            for name in subjects()
        ),
    ],
)
def test_a_changed_file_is_refused_or_gives_an_answer(kind, name, n_files, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        write_subjects(kind, tmp_path, [name])
    found = run_children(kind, tmp_path, name, 0, n_files)
    assert set(found) <= HARMLESS, found
    assert found.total() == n_files
    assert found["refused"] > n_files // 2
    assert found["same"] > 0  # of parts that nothing is made of, or by changes that change nothing


@pytest.fixture(scope="module")
def annealed():
    """A model, and a checkpoint of it whose first chain is in the middle of a round."""
    model = subjects()["annealed"]
    written = checkpoints_of(model, *data())
    return model, next(state for state in written if state.chains[0].halfway and state.chains[0].halfway.done > 0)


@pytest.fixture(scope="module")
def sampled():
    """A model, and a checkpoint of it with all chains on their way."""
    model = subjects()["sampled"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        written = checkpoints_of(model, *data())
    return model, next(state for state in written if all(chain and chain.draws for chain in state.chains))


def with_changes(value, path, change):
    """Replace what lies at a path of fields and numbers."""
    if not path:
        return change(value)
    first, rest = path[0], path[1:]
    if isinstance(first, int):
        return (*value[:first], with_changes(value[first], rest, change), *value[first + 1 :])
    return dataclasses.replace(value, **{first: with_changes(getattr(value, first), rest, change)})


def filled(number):
    return lambda array: np.full_like(array, number)


def always(value):
    return lambda _: value


def later(k):
    return lambda array: array[k:]


def with_trace(record, stop):
    trace_k, trace_log_posterior = record.trace_k[:stop], record.trace_log_posterior[:stop]
    return dataclasses.replace(record, trace_k=trace_k, trace_log_posterior=trace_log_posterior)


HALFWAY, RECORD, TERMS = ("chains", 0, "halfway"), ("chains", 0, "halfway", "record"), ("chains", 0, "halfway", "terms")
GENERATOR = ("chains", 1, "generator")
SNAPSHOT = (*HALFWAY, "snapshots", 3, "network")

# What is changed, and how. A kernel that was given the first ones wrote where it must not.
OF_ANNEALED = {
    "a trace of nothing": (RECORD, lambda record: with_trace(record, 0)),
    "a trace that is too short": (RECORD, lambda record: with_trace(record, -1)),
    "a trace of log pi that is shorter": ((*RECORD, "trace_log_posterior"), later(1)),
    "iterations before the first": ((*HALFWAY, "done"), always(-10_000)),
    "iterations beyond the last": ((*HALFWAY, "done"), always(20_000)),
    "iterations between rebuilds": ((*HALFWAY, "done"), always(9_999)),
    "centres that are NaN": ((*TERMS, "parameters"), filled(np.nan)),
    "centres far away": ((*TERMS, "parameters"), filled(1e300)),
    "centres outside the box": ((*TERMS, "parameters"), filled(1.01)),
    "a family that is not there": ((*TERMS, "family"), filled(3)),
    "relevances below 0": ((*TERMS, "shared"), filled(-1.0)),
    "a best term that is NaN": ((*RECORD, "best_parameters"), filled(np.nan)),
    "more best terms than there is room for": ((*RECORD, "best_k"), filled(2**62)),
    "fewer best terms than none": ((*RECORD, "best_k"), filled(-1)),
    "a best value that is NaN": ((*RECORD, "best_log_posterior"), filled(np.nan)),
    "a best value that is that of no size": ((*RECORD, "best_log_posterior"), filled(1e6)),
    "best values of fewer sizes": ((*RECORD, "best_by_k"), later(1)),
    "a best state in time to come": ((*RECORD, "best_iteration"), filled(10_001)),
    "fewer moves": ((*RECORD, "counts"), later(1)),
    "moves below 0": ((*RECORD, "counts"), filled(-1)),
    "more moves than iterations": ((*RECORD, "counts"), filled(10_001)),
    "sizes below 0": ((*RECORD, "trace_k"), filled(-1)),
    "a hot end that is NaN": ((*HALFWAY, "hottest"), always(np.nan)),
    "a cold end that is 0": ((*HALFWAY, "coldest"), always(0.0)),
    "a start at infinity": ((*HALFWAY, "started_at"), always(np.inf)),
    "a snapshot less": ((*HALFWAY, "snapshots"), later(1)),
    "a snapshot that predicts": ((*HALFWAY, "snapshots", 3, "predicts"), always(True)),
    "a snapshot of another box": ((*SNAPSHOT, "box", "width"), filled(3.0)),
    "a snapshot with a mean elsewhere": ((*SNAPSHOT, "means"), filled(0.1)),
    "coefficients that are NaN": ((*SNAPSHOT, "coefficients"), filled(np.nan)),
    "another family in a snapshot": ((*SNAPSHOT, "mixture", "members", 0, "metric_scale"), always(2.0)),
    "a generator of even increment": ((*GENERATOR, "increment"), always(2)),
    "a generator beyond its state": ((*GENERATOR, "state"), always(2**128 - 1 + 2**100)),
    "half a number too large": ((*GENERATOR, "half"), always(2**32)),
    "a history that is NaN": (("history",), always((np.nan,))),
    "rounds that were not": (("history",), always((0.0, 1.0))),
    "a variant that is not there": (("chains", 0, "variant"), always(2)),
    "a chain that is done and is not": (("chains", 0, "is_done"), always(True)),
    "a chain less": (("chains",), later(1)),
    "no chain": (("chains", 1), always(None)),
}

SAMPLER = ("chains", 0)
DRAWS = (*SAMPLER, "draws")
OF_SAMPLED = {
    "iterations before the first": ((*SAMPLER, "done"), always(-10_000)),
    "iterations beyond the last": ((*SAMPLER, "done"), always(20_000)),
    "centres that are NaN": ((*SAMPLER, "terms", "parameters"), filled(np.nan)),
    "fewer moves": ((*SAMPLER, "counts"), later(1)),
    "a prior of no width": ((*SAMPLER, "prior_width"), filled(0.0)),
    "a prior of infinite width": ((*SAMPLER, "prior_width"), filled(np.inf)),
    "priors of no output": ((*SAMPLER, "prior_width"), later(1)),
    "noise below 0": ((*SAMPLER, "sigma_squared"), filled(-1.0)),
    "a rate that is NaN": ((*SAMPLER, "rate"), filled(np.nan)),
    "rates of no chain": ((*SAMPLER, "rate"), later(1)),
    "no draws": (DRAWS, always(None)),
    "coefficients of draws that are NaN": ((*DRAWS, "K"), filled(np.nan)),
    "sums of squares below 0": ((*DRAWS, "S"), filled(-1.0)),
    "draws of other columns": ((*DRAWS, "n_columns"), lambda n: n + 1),
    "centres of draws outside the box": ((*DRAWS, "parameters"), filled(-0.5)),
    "a round": (("history",), always((0.0,))),
    "another generator": ((*SAMPLER, "generator", "has_half"), always(2)),
}


@pytest.mark.parametrize("name", OF_ANNEALED)
def test_a_search_does_not_go_on_from_what_it_cannot_have_left(annealed, name, tmp_path):
    refuse(*annealed, *OF_ANNEALED[name], tmp_path / "run.ckpt")


@pytest.mark.parametrize("name", OF_SAMPLED)
def test_a_sampler_does_not_go_on_from_what_it_cannot_have_left(sampled, name, tmp_path):
    refuse(*sampled, *OF_SAMPLED[name], tmp_path / "run.ckpt")


def refuse(model, state, path, change, file):
    write_checkpoint(file, with_changes(state, path, change))
    with pytest.raises(FileError):
        use_checkpoint(model, file)


def test_what_is_changed_above_is_as_it_was_otherwise(annealed, sampled, tmp_path):
    """All of those checkpoints would be accepted without the change."""
    for model, state in (annealed, sampled):
        write_checkpoint(tmp_path / "run.ckpt", state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = model.fit(*data()).predict(data()[0])
            assert outcome(use_checkpoint, model, tmp_path / "run.ckpt", expected) == "same"


def test_mutations_of_one_seed_are_the_same(annealed, tmp_path):
    write_checkpoint(tmp_path / "one", annealed[1])
    content = (tmp_path / "one").read_bytes()
    assert mutated(content, 5) == mutated(content, 5) != mutated(content, 6)
