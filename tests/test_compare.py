"""The comparison: its truths, splits, scores and statistics, and a harness that goes on and names what fails."""

import gzip
import json
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from benchmarks.compare import models
from benchmarks.compare.engines import Target, select
from benchmarks.compare.functions import TRUTHS, blocks, borehole, bumps, otl_circuit, piston
from benchmarks.compare.models import expand, make_model, parse
from benchmarks.compare.page import write_page
from benchmarks.compare.peers import NEEDS, PEERS
from benchmarks.compare.run import Journal, Limits, plan, run
from benchmarks.compare.scores import Distribution, crps_of_draws, crps_of_normal
from benchmarks.compare.statistics import log_ratios, mean_ranks, overall_ratio, task_ratio, verdict
from benchmarks.compare.table import complaints, write_tables
from benchmarks.compare.tasks import SUITES, Files, Task, all_tasks, folds, linnerud, noise_of, noisy
from benchmarks.compare.worker import Job, describe
from saltus import AnnealedRegressor, Radial
from saltus.demo import PAPER_OPTIONS, generate


def middle(name):
    truth = TRUTHS[name]
    return truth.scale(np.full((1, truth.n_inputs), 0.5))


def test_borehole_at_a_point_by_hand():
    # ln(25050 / 0.1) = 12.43122; 2 pi 89335 290 / (12.43122 (1 + 89335 / 89.55) + 2 1400 89335 / (0.01 10950))
    assert borehole(middle("borehole"))[0] == pytest.approx(70.8729, abs=1e-3)


def test_borehole_flow_is_proportional_to_the_difference_of_heads():
    low, high = middle("borehole").repeat(2, axis=0)
    high = high.copy()
    high[3] = high[5] + 2 * (low[3] - low[5])
    flow = borehole(np.array([low, high]))
    assert flow[1] == pytest.approx(2 * flow[0])


def test_piston_volume_balances_the_forces():
    # The volume V of the formula is where k (V/S)^2 + A V/S = P0 V0 Ta / T0; the cycle time follows from it.
    M, S, V0, k, P0, Ta, T0 = middle("piston")[0]
    A, work = P0 * S + 19.62 * M - k * V0 / S, P0 * V0 * Ta / T0
    height = max(np.roots([k, A, -work]))
    cycle = 2 * np.pi * np.sqrt(M / (k + work / height**2))
    assert piston(middle("piston"))[0] == pytest.approx(cycle, rel=1e-10)


def test_piston_at_a_point_by_hand():
    assert piston(middle("piston"))[0] == pytest.approx(0.4643970, abs=1e-6)


def test_otl_circuit_at_a_point_by_hand():
    # Vb1 = 12 47.5 / 147.5; beta (Rc2 + 9) = 175 9.725
    first = (12 * 47.5 / 147.5 + 0.74) * 1701.875 / 1703.625
    second = 11.35 * 1.75 / 1703.625 + 0.74 * 1.75 * 1701.875 / (1703.625 * 1.85)
    assert otl_circuit(middle("OTL circuit"))[0] == pytest.approx(first + second, rel=1e-12)


def test_donoho_and_johnstones_functions_where_they_are_simple():
    assert blocks(np.array([[0.05], [0.12], [0.9]])) == pytest.approx([0.0, 4.0, 0.0])
    assert bumps(np.array([[0.1]]))[0] == pytest.approx(4.0, abs=0.1)


def test_friedmans_functions_are_scikit_learns():
    from sklearn.datasets import make_friedman1, make_friedman2, make_friedman3

    for name, make in {
        "Friedman 1": make_friedman1,
        "Friedman 2": make_friedman2,
        "Friedman 3": make_friedman3,
    }.items():
        X, y = make(50, noise=0.0, random_state=0)
        assert TRUTHS[name].function(X) == pytest.approx(y)
        assert (TRUTHS[name].low <= X).all()
        assert (TRUTHS[name].high >= X).all()


def test_noise_has_the_ratio_that_was_asked_for():
    split = noisy("Friedman 2", 20_000, 10, 0)
    signal = TRUTHS["Friedman 2"].function(split.X)
    assert signal.std() / (split.Y[:, 0] - signal).std() == pytest.approx(3.0, rel=0.03)
    assert noise_of("Friedman 1") == 1.0


def test_every_task_gives_the_same_split_twice_and_another_for_another_seed():
    absent = () if find_spec("statsmodels") else ("motorcycle", "co2", "sunspots")
    for task in all_tasks():
        if task.name not in absent and (task.n_rows or 0) <= 20_000:
            assert task.make(1).digest() == task.make(1).digest() != task.make(2).digest(), task.name


def test_the_suites_have_their_tasks():
    names = {suite: [task.name for task in all_tasks() if task.suite == suite] for suite in SUITES}
    assert [len(names[suite]) for suite in SUITES] == [11, 6, 5, 0, 5]


def test_folds_of_a_repeat_test_every_row_once():
    tested = np.concatenate([folds("linnerud", linnerud, seed).X_test for seed in range(5)])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, linnerud()[0]))


def test_crps_of_a_normal_is_its_integral():
    def integrand(x):
        return (norm.cdf(x, 1.0, 2.0) - (x >= 2.5)) ** 2

    exact = quad(integrand, -20, 2.5)[0] + quad(integrand, 2.5, 20)[0]
    assert crps_of_normal(np.array(2.5), 1.0, 2.0) == pytest.approx(exact, rel=1e-6)


def test_crps_of_draws_is_that_of_their_distribution(rng):
    # 100 000 draws: a standard error of 0.003; the tolerance is 4 of them.
    draws = 1.0 + 2.0 * rng.standard_normal((100_000, 1))
    assert crps_of_draws(np.array([2.5]), draws)[0] == pytest.approx(crps_of_normal(2.5, 1.0, 2.0), abs=0.012)


def test_crps_of_few_draws_has_no_bias(rng):
    # 20 000 sets of 3 draws: a standard error of 0.004; the biased estimate is 0.19 off.
    draws = rng.standard_normal((3, 20_000))
    assert crps_of_draws(np.zeros(20_000), draws).mean() == pytest.approx(crps_of_normal(0.0, 0.0, 1.0), abs=0.016)


def test_intervals_of_draws_are_their_quantiles():
    draws = np.linspace(0.0, 1.0, 1001)[:, None, None]
    low, high = Distribution(draws=draws).interval()
    assert (low.item(), high.item()) == pytest.approx((0.025, 0.975))


def test_paired_ratios_and_their_standard_errors():
    of = {("a", 0): 2.0, ("a", 1): 8.0, ("b", 0): 1.0, ("b", 1): 1.0, ("c", 0): 9.0}
    to = {("a", 0): 1.0, ("a", 1): 1.0, ("b", 0): 2.0, ("b", 1): 2.0}
    logs = log_ratios(of, to)
    assert set(logs) == {"a", "b"}
    # On a: ratios 2 and 8, so a mean logarithm of ln 4 and a standard error of ln 4 / 2; on b: 1/2 without spread.
    assert task_ratio(logs["a"]).value == pytest.approx(4.0)
    assert task_ratio(logs["a"]).log_error == pytest.approx(np.log(4.0) / 2)
    overall = overall_ratio(logs)
    assert overall is not None
    assert overall.value == pytest.approx(np.sqrt(2.0))
    assert overall.log_error == pytest.approx(np.log(4.0) / 4)


def test_ranks_are_over_the_splits_that_all_models_have():
    figures = {"x": {("a", 0): 1.0, ("a", 1): 1.0}, "y": {("a", 0): 2.0, ("a", 1): 0.5, ("a", 2): 0.1}}
    assert mean_ranks(figures) == {"x": 1.5, "y": 1.5}


def test_a_verdict_needs_two_standard_errors_and_two_percent():
    assert verdict([0.1, 0.11, 0.09]) == "loss"
    assert verdict([-0.1, -0.11, -0.09]) == "win"
    assert verdict([0.5, -0.4, 0.1]) == "tie"
    assert verdict([0.005, 0.0051, 0.0049]) == "tie"
    assert verdict([0.5]) == "one seed"


def test_names_carry_options():
    assert parse("bayes:metric=learned,n_iter=500,basis=gaussian@1.5") == (
        "bayes",
        {"metric": "learned", "n_iter": 500, "basis": "gaussian@1.5"},
    )
    model = make_model("bayes:basis=gaussian@1.5,n_iter=500", 3).model
    assert (model.basis.width, model.n_iter, model.random_state) == (1.5, 500, 3)
    model = make_model("annealed:metric=euclidean,widths=shared,n_chains=2", 3).model
    assert (model.basis, model.n_chains) == (Radial("gaussian", metric="euclidean", widths="shared"), 2)
    assert make_model("annealed", 3).model.basis == "auto"


def test_an_unknown_model_is_named_with_what_there_is():
    with pytest.raises(ValueError, match=r"no model gpp.*gp, .*a group: saltus"):
        expand(["saltus", "gpp"])
    assert expand(["gp", "saltus", "gp"]) == ["gp", "annealed", "annealed-best", "bayes"]


def test_every_peer_that_needs_a_package_says_which():
    assert set(NEEDS) == set(PEERS) - {"rbf"}


def test_the_engines_target_is_the_librarys(rng):
    data = generate(0)
    X, Y = data.X[:200], data.Y[:200]
    basis = Radial("cubic", metric="euclidean")
    options = {**PAPER_OPTIONS, "basis": basis, "criterion": "mdl", "n_iter": 500, "n_chains": 1}
    model = AnnealedRegressor(**options, random_state=0).fit(X, Y)
    target = Target(X, Y, seconds=60.0)
    assert model.n_terms_ > 3
    assert target(model.centers_) == pytest.approx(model.log_posterior_, abs=1e-6)
    target, candidates = Target(X, Y, seconds=60.0), rng.uniform(target.low, target.high, (40, 2))
    assert target.value(candidates[select(target, candidates)]) == pytest.approx(target.best, abs=1e-6)


LINNERUD = [task for task in all_tasks() if task.name == "linnerud"]
LIMITS = Limits(seconds=60.0, memory_gb=8.0)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run of one good model, one that fails and one whose package is missing, on Linnerud's twenty rows."""
    folder = tmp_path_factory.mktemp("out")
    journal = Journal.open(folder / "results.jsonl")
    absent = pytest.MonkeyPatch()
    absent.setitem(models.NEEDS, "krg", "no_such_package")
    run(plan(LINNERUD, ["gp", "gp:nonsense=1", "krg"], 1, journal, LIMITS, Files()), LINNERUD, journal, LIMITS, 2)
    absent.undo()
    return folder


def test_a_run_keeps_a_record_of_every_fit(finished):
    records = list(Journal.open(finished / "results.jsonl").records.values())
    statuses = {record["model"]: record["status"] for record in records}
    assert statuses == {"gp": "ok", "gp:nonsense=1": "failed", "krg": "missing"}
    good = next(record for record in records if record["status"] == "ok")
    assert good["n_rows"] == 16
    assert {"rmse", "crps", "coverage", "width", "n_terms", "cpu_s", "peak_mb", "predict_us_a_row"} <= set(good)


def test_a_failing_peer_is_named_in_the_table(finished):
    records = list(Journal.open(finished / "results.jsonl").records.values())
    text = write_tables(records, finished, "gp")
    assert "| gp:nonsense=1 | failed | TypeError" in text
    assert "| krg | missing | there is no module no_such_package" in text
    assert "0 of 1" in text
    assert (finished / "table.md").read_text("utf-8") == text


def test_an_interrupted_run_goes_on_where_it_was(finished, tmp_path):
    lines = (finished / "results.jsonl").read_text("utf-8").splitlines()
    good = next(line for line in lines if json.loads(line)["status"] == "ok")
    path = tmp_path / "results.jsonl"
    path.write_text(good + "\n" + good.replace('"seed": 0', '"seed": 1')[:200])  # the second line was cut off
    jobs = plan(LINNERUD, ["gp"], 3, Journal.open(path), LIMITS, Files())
    assert [job.seeds for job in jobs] == [(1, 2)]


def test_what_was_missing_is_tried_again_and_what_failed_if_asked(finished):
    names = ["gp", "gp:nonsense=1", "krg"]
    path = finished / "results.jsonl"
    again = {job.model for job in plan(LINNERUD, names, 1, Journal.open(path), LIMITS, Files())}
    asked = {job.model for job in plan(LINNERUD, names, 1, Journal.open(path, retry_failures=True), LIMITS, Files())}
    assert (again, asked) == ({"krg"}, {"gp:nonsense=1", "krg"})


def test_a_fit_over_its_time_is_recorded_and_drops_out_of_more_rows(tmp_path):
    small, large = (Task(f"Friedman 1, N = {n}", "scale", None, n, "Friedman 1") for n in (1000, 10000))
    journal = Journal.open(tmp_path / "results.jsonl")
    limits = Limits(seconds=0.2, memory_gb=8.0)
    run(plan([small, large], ["mlp"], 1, journal, limits, Files()), [small, large], journal, limits, 1)
    by_task = {record["task"]: record["status"] for record in journal.records.values()}
    assert by_task == {small.name: "time limit", large.name: "dropped out"}
    assert "time limit on Friedman 1, N = 1000" in complaints(list(journal.records.values()))


def test_after_the_deadline_nothing_is_fitted_and_all_is_tried_again(tmp_path):
    journal, over = Journal.open(tmp_path / "results.jsonl"), Limits(60.0, 8.0, deadline=0.0)
    jobs = plan(LINNERUD, ["gp"], 2, journal, over, Files())
    run(jobs, LINNERUD, journal, over, 1)
    assert [record["status"] for record in journal.records.values()] == ["not run", "not run"]
    assert plan(LINNERUD, ["gp"], 2, journal, over, Files()) == jobs


def test_too_little_memory_is_called_that():
    with pytest.raises(MemoryError) as caught:
        np.empty((1 << 30, 1 << 20))
    assert describe(caught.value)["status"] == "out of memory"


def test_the_page_names_what_was_not_measured(finished, tmp_path):
    records = list(Journal.open(finished / "results.jsonl").records.values())
    write_page(records, tmp_path / "compare.md", "command", "gp", Path("no engines"))
    text = (tmp_path / "compare.md").read_text("utf-8")
    assert "| AnnealedRegressor, error / Gaussian process, noisy | 0.8 | not measured |" in text
    assert "## Real" in text
    assert (tmp_path / "images" / "compare_real_cpu.png").exists()


def test_a_job_travels_as_json():
    job = Job("real", "linnerud", "gp", (0, 1))
    assert json.loads(json.dumps(asdict(job)))["seeds"] == [0, 1]


def test_tables_are_read_from_a_folder_and_split_by_the_seed(tmp_path):
    rng = np.random.default_rng(0)
    rows = rng.random((50, 3))
    with gzip.open(tmp_path / "small.csv.gz", "wt") as file:
        np.savetxt(file, rows, delimiter=",", fmt="%.17g")
    (task,) = (task for task in all_tasks(Files(tables=tmp_path)) if task.suite == "tables")
    split = task.make(3)
    tested = np.random.default_rng(3).permutation(50)[:5]
    assert task.name == "small"
    np.testing.assert_array_equal(np.hstack([split.X_test, split.Y_test]), rows[tested])
    assert len(split.X) == 45
    assert split.truth is None
