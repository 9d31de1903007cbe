"""The compiled chain walks the path of the plain one."""

import numpy as np
import pytest

from saltus import Radial
from saltus.engine.kernels.chain import run_block, run_block_with_shared_moves
from saltus.engine.kernels.state import ACCEPTED, NEVER, Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.problem import Criterion
from saltus.engine.search.starts import set_terms
from saltus.families.options import RADIAL_NAMES
from saltus.families.radial.family import FAINTEST
from saltus.families.radial.kernels import SHARPEST
from saltus.families.registry import count_terms
from saltus.families.terms import terms_as_value
from tests.engine.designs import make_with, radial_of, terms_at
from tests.problems import make_problem
from tests.reference import ReferenceChain

N_STEPS, K_MAX = 400, 6
COST = 0.2  # of a parameter


def make(problem, basis, metric="standardized", widths="shared"):
    """Make a design where every parameter is counted."""
    criterion = Criterion(COST * np.arange(1000), np.zeros(K_MAX + 1), 0)
    radial = Radial(basis, metric=metric, widths=widths)
    return make_with(problem.X, problem.Y, radial, criterion, weight=problem.weight)


def count_parameters(design, k, n_active):
    """Count: c coefficients and the coordinates of a centre for each term, 2 for a width; and the relevances."""
    family, c = radial_of(design), design.Y.shape[1]
    n_coordinates = n_active if family.learns_metric else family.to_metric.shape[1]
    return k * (c + n_coordinates + 2 * family.own_widths) + n_active if k > 0 else 0


def start(design, n_edits=1):
    """Give the state without terms, and a workspace."""
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    return state, make_workspace(design.problem, state, n_edits)


@pytest.fixture
def noisy_bumps():
    """Noise enough for a chain at temperature 1 to move about."""
    return make_problem("two outputs", noise=1.0)


def compare_paths(design, problem, temperature, two_stage=True, *, relevance=None, between=NEVER, seed=5):
    """Walk with the compiled chain and with the plain one, side by side."""
    family = radial_of(design)
    first = 0.2 + 0.6 * np.random.default_rng(1).random((2, family.n_parameters))
    tuning = Tuning(0.15, 0.1, two_stage, between)
    state, work = start(design)
    set_terms(design, state, terms_at(design, first, relevance))
    record = start_record(state, N_STEPS)
    reference = ReferenceChain(
        X=design.box.to_unit(problem.X),
        Y=design.Y[: len(problem.X)] / np.sqrt(problem.weight)[:, None],
        to_metric=family.to_metric,
        basis=family.radial.name,
        penalty=lambda k, n_active: COST * count_parameters(design, k, n_active),
        k_max=K_MAX,
        split_scale=0.15,
        walk_scale=0.1,
        two_stage=two_stage,
        weight=problem.weight,
        centers=first,
        relevance=relevance,
        faintest=design.problem.families.smallest_squared_norm[0],
        sharpest=SHARPEST if family.own_widths else None,
    )
    run = run_block if relevance is None else run_block_with_shared_moves
    rng, reference_rng = np.random.default_rng(seed), np.random.default_rng(seed)
    seen = set()
    for i in range(N_STEPS):
        run(rng, design.problem, tuning, state, work, record, temperature[i : i + 1], 1, i, 1)
        reference.step(reference_rng, temperature[i])
        if (i + 1) % between == 0:
            reference.metric_step(reference_rng, temperature[i])
        k = len(reference.centers)
        assert state.terms.k[0] == k
        np.testing.assert_allclose(state.terms.parameters[:k], reference.centers, atol=1e-12)
        if relevance is not None:
            np.testing.assert_allclose(state.terms.shared, reference.relevance, rtol=1e-12)
        assert state.log_posterior[0] == pytest.approx(reference.log_posterior, rel=1e-7, abs=1e-6)
        assert state.n_own[0] == count_terms(design.problem.families, terms_as_value(state.terms))
        seen.add(tuple(state.terms.shared > 0))
    assert record.counts[:, ACCEPTED].sum() > 25
    assert len(seen) > 1 or relevance is None, "inputs must have been switched"
    check_best(design, state, record)
    return record


def check_best(design, state, record):
    """The best of a record is what it says: its log pi, made from scratch."""
    set_terms(design, state, terms_as_value(record.best))
    assert state.log_posterior[0] == pytest.approx(record.best_log_posterior[0], rel=1e-9)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
def test_every_basis(noisy_bumps, basis):
    record = compare_paths(make(noisy_bumps, basis), noisy_bumps, np.linspace(1, 0.5, N_STEPS))
    assert (record.counts.sum(axis=0) > 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "mahalanobis", np.array([[2.0, 0.5], [0.5, 1.0]])])
def test_every_metric_and_plain_tempering(noisy_bumps, metric):
    design = make(noisy_bumps, "thin_plate", metric)
    compare_paths(design, noisy_bumps, np.linspace(3, 0.5, N_STEPS), two_stage=False)


@pytest.mark.parametrize(
    ("name", "basis"),
    [
        ("sinc", "linear"),
        ("two bumps", "gaussian"),
        ("weights", "cubic"),
        ("robot arm", "cubic"),
        ("ten inputs", "multiquadric"),
        ("constant and dependent inputs", "inverse_multiquadric"),
    ],
)
def test_every_problem(name, basis):
    problem = make_problem(name, noise=0.5)
    compare_paths(make(problem, basis), problem, np.full(N_STEPS, 2.0), two_stage=False)


@pytest.mark.parametrize("basis", ["gaussian", "multiquadric", "inverse_multiquadric", "mexican_hat"])
def test_own_widths(noisy_bumps, basis):
    compare_paths(make(noisy_bumps, basis, widths="own"), noisy_bumps, np.ones(N_STEPS))


@pytest.mark.parametrize(
    ("basis", "two_stage", "widths"),
    [("gaussian", True, "shared"), ("cubic", True, "shared"), ("cubic", False, "shared"), ("gaussian", False, "own")],
)
def test_learned_metric(basis, two_stage, widths):
    """Moves of the metric after every third step, on two inputs that matter and one that does not."""
    problem = make_problem("three inputs", noise=0.5)
    record = compare_paths(
        make(problem, basis, "learned", widths),
        problem,
        np.full(N_STEPS, 1.5),
        two_stage,
        relevance=np.array([1.0, 0.5, 0.2]),
        between=3,
    )
    assert (record.counts[5:, ACCEPTED] > 0).all()


def run(design, n_edits, n_steps, block, seed=3, temperature=None):
    """Run a chain in blocks of about `block` steps."""
    state, work = start(design, n_edits)
    record = start_record(state, n_steps)
    rng = np.random.default_rng(seed)
    temperature = np.ones(n_steps) if temperature is None else temperature
    done = 0
    while done < n_steps:
        wanted = min(block, n_steps - done)
        tuning = Tuning(0.15, 0.1, True)
        done += run_block(rng, design.problem, tuning, state, work, record, temperature[done:], wanted, done, 1)
    assert done == n_steps
    return record


@pytest.mark.parametrize("n_edits", [1, 2, 8])
def test_blocks_do_not_matter(noisy_bumps, n_edits):
    design = make(noisy_bumps, "cubic")
    one, other = (run(design, n_edits, 3000, block) for block in (3000, 7))
    np.testing.assert_array_equal(one.trace_log_posterior, other.trace_log_posterior)
    np.testing.assert_array_equal(one.counts, other.counts)


def test_steps_drawn_together_are_the_same_chain(noisy_bumps):
    """Proposals scored in one pass, up to the first acceptance, have the law of proposals made one by one.

    Student's t over 60 independent chains of each kind; |t| < 5 fails by chance once in 100 000 runs.
    """
    design = make(noisy_bumps, "cubic")
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


def test_large_data_is_projected_several_proposals_a_pass(rng):
    few = make_problem("two outputs", n_rows=6000)
    assert len(start(make(few, "cubic"), None)[1].edits.n_in) == 1
    large = make(make_problem("two outputs", n_rows=24_000), "cubic")
    state, work = start(large, None)
    assert len(work.edits.n_in) > 1
    record = run(large, None, 500, 500)
    check_best(large, state, record)
    assert record.best.k[0] > 0


def test_the_record_keeps_the_best_and_counts_every_step():
    design = make(make_problem("two outputs"), "cubic")
    state, _ = start(design)
    record = run(design, 1, 5000, 5000)
    assert record.counts[:, 0].sum() == 5000
    assert (record.counts[:, 0] >= record.counts[:, 1]).all()
    assert (record.counts[:, 1] >= record.counts[:, 2]).all()
    best = record.best_log_posterior[0]
    assert best == max(record.trace_log_posterior)
    assert best == record.best_by_k[record.best.k[0]]
    assert record.trace_log_posterior[record.best_iteration[0] - 1] == best
    check_best(design, state, record)


@pytest.mark.parametrize("metric", ["euclidean", "learned"])
def test_no_term_is_out_of_sight_of_every_row(rng, metric):
    X = np.concatenate([rng.uniform(0, 0.2, 40), rng.uniform(0.8, 1, 40)])[:, None]
    Y = np.sin(20 * X) + 0.1 * rng.standard_normal(X.shape)
    design = make_with(X, Y, Radial("gaussian", width=0.02, metric=metric), np.zeros(K_MAX + 1), margin=0.0)
    state, work = start(design)
    record = start_record(state, 1)
    tuning = Tuning(0.15, 0.1, False, 5 if metric == "learned" else NEVER)
    run = run_block_with_shared_moves if metric == "learned" else run_block
    for first in range(0, 5000, 100):
        run(rng, design.problem, tuning, state, work, record, np.full(100, 20.0), 100, first, 10_000)
        columns = design.columns(terms_as_value(state.terms))
        assert ((columns**2).sum(axis=0) > 0.99 * FAINTEST).all()
    assert record.counts[:, ACCEPTED].sum() > 500
