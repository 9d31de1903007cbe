"""Fit one model to the splits of one task, in a process of its own with one thread.

The parent writes a job as JSON to the command line and reads JSON lines: one when the model is compiled and ready, then
one for each seed. What a model prints goes to standard error.
"""

import os

# Before anything that starts threads is imported.
for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[variable] = "1"

import hashlib  # noqa: E402
import json  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from time import perf_counter, process_time  # noqa: E402
from typing import Any  # noqa: E402

from threadpoolctl import threadpool_limits  # noqa: E402

import saltus  # noqa: E402
from benchmarks.compare.adapter import Adapter  # noqa: E402
from benchmarks.compare.models import make_model  # noqa: E402
from benchmarks.compare.scores import scores  # noqa: E402
from benchmarks.compare.tasks import Files, Split, task_of  # noqa: E402

N_WARM_UP_ROWS = 60
MEGABYTE = 1024.0 if sys.platform != "darwin" else 1024.0**2  # of ru_maxrss, which is in KiB but on macOS


@dataclass(frozen=True)
class Job:
    """What a worker is to do."""

    suite: str
    task: str
    model: str
    seeds: tuple[int, ...]
    robot_arm_file: str | None = None
    table_folder: str | None = None
    memory_limit_gb: float = 8.0


def fingerprint() -> str:
    """Find a short hash of what of saltus decides a fit: figures of two versions are not to be mixed."""
    home = Path(saltus.__file__).parent
    files = [file for part in ("engine", "families", "estimators") for file in sorted(home.glob(f"{part}/**/*.py"))]
    return hashlib.sha1(b"".join(file.read_bytes() for file in files)).hexdigest()[:8]


def peak_memory_mb() -> float:
    """Find the most memory this process has held, imports included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEGABYTE


def measure(model: Adapter, split: Split) -> dict[str, Any]:
    """Fit and predict once, timing both."""
    before_mb, began_cpu, began = peak_memory_mb(), process_time(), perf_counter()
    model.fit(split.X, split.Y)
    cpu_s, wall_s = process_time() - began_cpu, perf_counter() - began
    fit_mb, began_cpu = peak_memory_mb(), process_time()
    mean = model.predict(split.X_test)
    predict_s = process_time() - began_cpu
    return {
        "status": "ok",
        **scores(split.Y_test, split.truth, mean, model.distribution(split.X_test)),
        "n_terms": model.n_terms,
        "families": model.families,
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "predict_us_a_row": 1e6 * predict_s / len(split.X_test),
        "peak_mb": fit_mb,
        "peak_mb_before": before_mb,
        "settings": model.settings,
        "code": fingerprint(),
    }


def describe(error: BaseException) -> dict[str, Any]:
    """Say what went wrong, in the table's words."""
    kinds = {ImportError: "missing", MemoryError: "out of memory"}
    status = next((said for kind, said in kinds.items() if isinstance(error, kind)), "failed")
    return {"status": status, "message": f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"}


def work(job: Job, say: Any) -> None:
    """Warm up, then measure every seed."""
    limit = int(job.memory_limit_gb * 1024**3)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    robot_arm, tables = (None if path is None else Path(path) for path in (job.robot_arm_file, job.table_folder))
    task = task_of(job.suite, job.task, Files(robot_arm, tables))
    try:
        first = task.make(job.seeds[0])
        make_model(job.model, 0, exact=task.exact).warm_up(first.X[:N_WARM_UP_ROWS], first.Y[:N_WARM_UP_ROWS])
    except Exception as error:
        for seed in job.seeds:
            say({"seed": seed, **describe(error)})
        return
    say({"ready": True})
    for seed in job.seeds:
        split = first if seed == job.seeds[0] else task.make(seed)
        facts = {"seed": seed, "n_rows": len(split.X), "n_inputs": split.X.shape[1], "data": split.digest()}
        try:
            say({**facts, **measure(make_model(job.model, seed, exact=task.exact), split)})
        except Exception as error:
            say({**facts, **describe(error)})


def main() -> None:
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    job = json.loads(sys.argv[1])
    with threadpool_limits(1):
        work(
            Job(**{**job, "seeds": tuple(job["seeds"])}), lambda line: print(json.dumps(line), file=results, flush=True)
        )


if __name__ == "__main__":
    main()
