"""The compiled chain walks the path of the plain one."""

import numpy as np
import pytest

from saltus.bases import RADIAL_NAMES, Radial
from saltus.criteria import Counts, penalty_table
from saltus.engine.anneal import place_centers
from saltus.engine.chain import ACCEPTED, Tuning, run_block, start_record, start_state
from saltus.engine.design import Box, FixedPart, make_design
from tests.reference import ReferenceChain

N_STEPS, K_MAX = 400, 6


def make(X, Y, basis, metric="standardized", weight=None, criterion=1.0):
    weight = np.ones(len(X)) if weight is None else weight
    box = Box.around(X, 0.1)
    fixed = FixedPart.factor(box.to_unit(X), weight)
    counts = Counts(weight.sum(), Y.shape[1], fixed.Q.shape[1], 1)
    return make_design(
        X,
        Y,
        weight,
        box=box,
        fixed=fixed,
        basis=Radial(basis),
        metric=metric,
        penalty=penalty_table(criterion, counts, K_MAX),
    )


@pytest.fixture
def noisy_bumps(bumps, rng):
    """Noise enough for a chain at temperature 1 to move about."""
    X, Y = bumps
    return X, Y + rng.standard_normal(Y.shape)


def compare_paths(design, X, weight, basis, two_stage, temperature, seed=5):
    start = 0.2 + 0.6 * np.random.default_rng(1).random((2, X.shape[1]))
    tuning = Tuning(0.15, 0.1, two_stage)
    state = start_state(design.target, design.fixed.Q, design.Y)
    place_centers(design, state, start)
    record = start_record(state, N_STEPS)
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    reference = ReferenceChain(
        X=design.box.to_unit(X),
        Y=design.Y / root[:, None],
        to_metric=design.target.to_metric,
        basis=basis,
        penalty=design.target.penalty,
        split_scale=0.15,
        walk_scale=0.1,
        two_stage=two_stage,
        weight=weight,
        centers=start,
    )
    rng, reference_rng = np.random.default_rng(seed), np.random.default_rng(seed)
    for i in range(N_STEPS):
        run_block(rng, design.target, tuning, state, record, temperature[i : i + 1], i, 1)
        reference.step(reference_rng, temperature[i])
        k = len(reference.centers)
        assert state.k[0] == k
        np.testing.assert_allclose(state.centers[:k], reference.centers, atol=1e-12)
        assert state.log_posterior[0] == pytest.approx(reference.log_posterior, rel=1e-7, abs=1e-6)
    assert record.counts[:, ACCEPTED].sum() > 40
    return record


@pytest.mark.parametrize("basis", RADIAL_NAMES)
def test_every_basis(noisy_bumps, basis):
    X, Y = noisy_bumps
    temperature = np.linspace(1, 0.5, N_STEPS)
    record = compare_paths(make(X, Y, basis), X, None, basis, True, temperature)
    assert (record.counts.sum(axis=0) > 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis", np.array([[2.0, 0.5], [0.5, 1.0]])])
def test_every_metric_and_plain_tempering(noisy_bumps, metric):
    X, Y = noisy_bumps
    temperature = np.linspace(3, 0.5, N_STEPS)
    compare_paths(make(X, Y, "thin_plate", metric), X, None, "thin_plate", False, temperature)


def test_weights(noisy_bumps, rng):
    X, Y = noisy_bumps
    weight = rng.integers(1, 4, len(X)).astype(float)
    temperature = np.ones(N_STEPS)
    compare_paths(make(X, Y, "cubic", weight=weight), X, weight, "cubic", True, temperature)


@pytest.mark.parametrize("basis", ["linear", "gaussian"])
def test_one_input_one_output(rng, basis):
    X = rng.uniform(0, 1, (40, 1))
    Y = np.sin(6 * X) + 0.3 * rng.standard_normal((40, 1))
    compare_paths(make(X, Y, basis), X, None, basis, True, np.ones(N_STEPS))


def test_the_record_keeps_the_best_and_counts_every_step(bumps):
    X, Y = bumps
    design = make(X, Y, "cubic")
    state = start_state(design.target, design.fixed.Q, design.Y)
    record = start_record(state, 5000)
    rng = np.random.default_rng(3)
    run_block(rng, design.target, Tuning(0.15, 0.1, True), state, record, np.ones(5000), 0, 1)
    assert record.counts[:, 0].sum() == 5000
    assert (record.counts[:, 0] >= record.counts[:, 1]).all()
    assert (record.counts[:, 1] >= record.counts[:, 2]).all()
    best = record.best_log_posterior[0]
    assert best == max(record.trace_log_posterior)
    assert best == record.best_by_k[record.best_k[0]]
    assert record.trace_log_posterior[record.best_iteration[0]] == best
    place_centers(design, state, record.best_centers[: record.best_k[0]])
    assert state.log_posterior[0] == pytest.approx(best, rel=1e-9)
