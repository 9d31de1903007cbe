"""The compiled chain walks the path of the plain one."""

import numpy as np
import pytest

from saltus.engine.kernels.chain import ACCEPTED, NEVER, Tuning, run_block, run_learned_block, start_record, start_state
from saltus.engine.problem.criteria import Counts, learned_metric_table, penalty_table
from saltus.engine.problem.design import FAINTEST, Box, FixedPart, make_design
from saltus.engine.search.starts import place_centers
from saltus.families import RADIAL_NAMES, Radial
from saltus.families.sharpness import SHARPEST
from tests.reference import ReferenceChain

N_STEPS, K_MAX = 400, 6


def make(X, Y, basis, metric="standardized", weight=None, criterion=1.0, own_widths=False):
    weight = np.ones(len(X)) if weight is None else weight
    box = Box.around(X, 0.1)
    fixed = FixedPart.of(box.to_unit(X), weight)
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
        own_widths=own_widths,
    )


@pytest.fixture
def noisy_bumps(bumps, rng):
    """Noise enough for a chain at temperature 1 to move about."""
    X, Y = bumps
    return X, Y + rng.standard_normal(Y.shape)


def compare_paths(design, X, weight, basis, two_stage, temperature, seed=5):
    own_widths = design.target.log_sharpest > 0
    start = 0.2 + 0.6 * np.random.default_rng(1).random((2, X.shape[1] + own_widths))
    tuning = Tuning(0.15, 0.1, two_stage)
    state = start_state(design.target, design.fixed.Q, design.Y)
    place_centers(design, state, start)
    record = start_record(state, N_STEPS)
    root = np.ones(len(X)) if weight is None else np.sqrt(weight)
    reference = ReferenceChain(
        X=design.box.to_unit(X),
        Y=design.Y[: len(X)] / root[:, None],
        to_metric=design.target.to_metric,
        basis=basis,
        penalty=design.target.penalty,
        split_scale=0.15,
        walk_scale=0.1,
        two_stage=two_stage,
        weight=weight,
        centers=start,
        faintest=design.target.faintest,
        sharpest=SHARPEST if own_widths else None,
    )
    rng, reference_rng = np.random.default_rng(seed), np.random.default_rng(seed)
    for i in range(N_STEPS):
        run_block(rng, design.target, tuning, state, record, temperature[i : i + 1], 1, i, 1)
        reference.step(reference_rng, temperature[i])
        k = len(reference.centers)
        assert state.k[0] == k
        np.testing.assert_allclose(state.centers[:k], reference.centers, atol=1e-12)
        assert state.log_posterior[0] == pytest.approx(reference.log_posterior, rel=1e-7, abs=1e-6)
    assert record.counts[:, ACCEPTED].sum() > 25
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


@pytest.mark.parametrize("basis", ["gaussian", "multiquadric", "inverse_multiquadric"])
def test_own_widths(noisy_bumps, basis):
    X, Y = noisy_bumps
    compare_paths(make(X, Y, basis, own_widths=True), X, None, basis, True, np.ones(N_STEPS))


@pytest.mark.parametrize("basis", ["linear", "gaussian"])
def test_one_input_one_output(rng, basis):
    X = rng.uniform(0, 1, (40, 1))
    Y = np.sin(6 * X) + 0.3 * rng.standard_normal((40, 1))
    compare_paths(make(X, Y, basis), X, None, basis, True, np.ones(N_STEPS))


@pytest.mark.parametrize(
    ("basis", "two_stage", "own_widths"),
    [("gaussian", True, False), ("cubic", True, False), ("cubic", False, False), ("gaussian", False, True)],
)
def test_learned_metric(noisy_bumps, rng, basis, two_stage, own_widths):
    """Moves of the metric after every third step, on two inputs that matter and one that does not."""
    X, Y = noisy_bumps
    X = np.column_stack([X, rng.random(len(X))])
    box, weight = Box.around(X, 0.1), np.ones(len(X))
    fixed = FixedPart.of(box.to_unit(X), weight)
    penalty = learned_metric_table(1.0, Counts(len(X), 2, fixed.Q.shape[1], 3), K_MAX)
    design = make_design(
        X,
        Y,
        weight,
        box=box,
        fixed=fixed,
        basis=Radial(basis),
        metric="learned",
        penalty=penalty,
        own_widths=own_widths,
    )
    start, relevance = 0.2 + 0.6 * rng.random((2, 3 + own_widths)), np.array([1.0, 0.5, 0.2])
    tuning = Tuning(0.15, 0.1, two_stage, steps_between_metric_moves=3)
    state = start_state(design.target, design.fixed.Q, design.Y)
    place_centers(design, state, start, relevance)
    record = start_record(state, N_STEPS)
    reference = ReferenceChain(
        X=design.box.to_unit(X),
        Y=design.Y[: len(X)],
        to_metric=design.target.to_metric,
        basis=basis,
        penalty=penalty,
        split_scale=0.15,
        walk_scale=0.1,
        two_stage=two_stage,
        centers=start,
        relevance=relevance,
        faintest=design.target.faintest,
        sharpest=SHARPEST if own_widths else None,
    )
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    seen = set()
    for i in range(N_STEPS):
        run_learned_block(one, design.target, tuning, state, record, np.full(1, 1.5), 1, i, 1)
        reference.step(other, 1.5)
        if (i + 1) % 3 == 0:
            reference.metric_step(other, 1.5)
        k = len(reference.centers)
        assert state.k[0] == k
        np.testing.assert_allclose(state.centers[:k], reference.centers, atol=1e-12)
        np.testing.assert_allclose(state.relevance, reference.relevance, rtol=1e-12)
        assert state.log_posterior[0] == pytest.approx(reference.log_posterior, rel=1e-7, abs=1e-6)
        seen.add(tuple(state.relevance > 0))
    assert len(seen) > 1, "inputs must have been switched"
    assert (record.counts[5:, ACCEPTED] > 0).all()
    place_centers(design, state, record.best_centers[: record.best_k[0]], record.best_relevance)
    assert state.log_posterior[0] == pytest.approx(record.best_log_posterior[0], rel=1e-9)


def run(design, n_edits, n_steps, block, seed=3, temperature=None):
    """Run a chain in blocks of about `block` steps."""
    state = start_state(design.target, design.fixed.Q, design.Y, n_edits)
    record = start_record(state, n_steps)
    rng = np.random.default_rng(seed)
    temperature = np.ones(n_steps) if temperature is None else temperature
    done = 0
    while done < n_steps:
        wanted = min(block, n_steps - done)
        done += run_block(
            rng, design.target, Tuning(0.15, 0.1, True), state, record, temperature[done:], wanted, done, 1
        )
    assert done == n_steps
    return record


@pytest.mark.parametrize("n_edits", [1, 2, 8])
def test_blocks_do_not_matter(noisy_bumps, n_edits):
    design = make(*noisy_bumps, "cubic")
    one, other = (run(design, n_edits, 3000, block) for block in (3000, 7))
    np.testing.assert_array_equal(one.trace_log_posterior, other.trace_log_posterior)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_steps_drawn_together_are_the_same_chain(noisy_bumps):
    """Proposals scored in one pass, up to the first acceptance, have the law of proposals made one by one.

    Student's t over 60 independent chains of each kind; |t| < 5 fails by chance once in 100 000 runs.
    """
    design = make(*noisy_bumps, "cubic")
    means = np.array(
        [
            [
                [record.trace_k.mean(), (record.trace_k == 2).mean(), *(record.counts[:5, ACCEPTED] / 3000)]
                for seed in range(60)
                for record in [run(design, n_edits, 3000, 3000, seed=seed)]
            ]
            for n_edits in (1, 8)
        ]
    )
    difference = means[0].mean(axis=0) - means[1].mean(axis=0)
    error = np.sqrt(means.var(axis=1, ddof=1).sum(axis=0) / 60)
    assert (means.mean(axis=1) > 0).all()
    assert np.abs(difference / error).max() < 5


def test_large_data_is_surveyed_several_proposals_a_pass(rng):
    X = rng.random((6000, 2))
    Y = np.sin(5 * X[:, :1]) + 0.5 * rng.standard_normal((6000, 1))
    design = make(X, Y, "cubic")
    state = start_state(design.target, design.fixed.Q, design.Y)
    assert len(state.edits.n_in) == 1
    large = make(np.tile(X, (4, 1)), np.tile(Y, (4, 1)), "cubic")
    state = start_state(large.target, large.fixed.Q, large.Y)
    assert len(state.edits.n_in) > 1
    record = run(large, None, 500, 500)
    best = record.best_centers[: record.best_k[0]]
    place_centers(large, state, best)
    assert state.log_posterior[0] == pytest.approx(record.best_log_posterior[0], rel=1e-9)
    assert record.best_k[0] > 0


def test_the_record_keeps_the_best_and_counts_every_step(bumps):
    X, Y = bumps
    design = make(X, Y, "cubic")
    state = start_state(design.target, design.fixed.Q, design.Y)
    record = start_record(state, 5000)
    rng = np.random.default_rng(3)
    run_block(rng, design.target, Tuning(0.15, 0.1, True), state, record, np.ones(5000), 5000, 0, 1)
    assert record.counts[:, 0].sum() == 5000
    assert (record.counts[:, 0] >= record.counts[:, 1]).all()
    assert (record.counts[:, 1] >= record.counts[:, 2]).all()
    best = record.best_log_posterior[0]
    assert best == max(record.trace_log_posterior)
    assert best == record.best_by_k[record.best_k[0]]
    assert record.trace_log_posterior[record.best_iteration[0] - 1] == best
    place_centers(design, state, record.best_centers[: record.best_k[0]])
    assert state.log_posterior[0] == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("learns_metric", [False, True])
def test_no_basis_function_is_out_of_sight_of_every_row(rng, learns_metric):
    X = np.concatenate([rng.uniform(0, 0.2, 40), rng.uniform(0.8, 1, 40)])[:, None]
    Y = np.sin(20 * X) + 0.1 * rng.standard_normal(X.shape)
    weight = np.ones(len(X))
    box = Box.around(X, 0.0)
    fixed = FixedPart.of(box.to_unit(X), weight)
    penalty = np.zeros((K_MAX + 1, 2)) if learns_metric else np.zeros(K_MAX + 1)
    metric = "learned" if learns_metric else "euclidean"
    basis = Radial("gaussian", width=0.02)
    design = make_design(X, Y, weight, box=box, fixed=fixed, basis=basis, metric=metric, penalty=penalty)
    state = start_state(design.target, design.fixed.Q, design.Y)
    record = start_record(state, 1)
    tuning = Tuning(0.15, 0.1, False, 5 if learns_metric else NEVER)
    run = run_learned_block if learns_metric else run_block
    for first in range(0, 5000, 100):
        run(rng, design.target, tuning, state, record, np.full(100, 20.0), 100, first, 10_000)
        columns = design.columns(state.centers[: state.k[0]], state.relevance)
        assert ((columns**2).sum(axis=0) > 0.99 * FAINTEST).all()
    assert record.counts[:, ACCEPTED].sum() > 500
