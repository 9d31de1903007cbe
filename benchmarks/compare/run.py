"""Send jobs to workers, and append what comes back to a file of JSON lines, so that an interrupted run goes on."""

import json
import os
import platform
import select
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any

from tqdm import tqdm

from benchmarks.compare.models import missing
from benchmarks.compare.tasks import Files, Task
from benchmarks.compare.worker import Job

Record = dict[str, Any]

PACKAGES = (
    "saltus", "numpy", "scipy", "scikit-learn", "numba",
    "pyBayesPPR", "pybass-emu", "stochtree", "fastrvm", "mars-earth", "smt", "bayesbay", "statsmodels",
    "catboost", "lightgbm", "interpret-core", "PyWavelets",
)  # fmt: skip

# Suites in which fewer seeds say enough.
MOST_SEEDS = {"scale": 3}
# Seconds a worker may take to import and to compile before its first fit.
STARTUP_LIMIT = 300.0
# What is tried again when a run goes on; what more rows would not mend; what is tried again if asked.
TRY_AGAIN = ("missing", "not run")
TOO_MUCH = ("time limit", "out of memory")
FAILURES = ("failed", "dropped out", *TOO_MUCH)


@dataclass(frozen=True)
class Limits:
    """How much one fit, and the whole run, may take."""

    seconds: float
    memory_gb: float
    deadline: float | None = None
    interrupted: Event = field(default_factory=Event)

    @property
    def is_over(self) -> bool:
        """Whether no further fit may start."""
        return self.interrupted.is_set() or (self.deadline is not None and monotonic() > self.deadline)


@dataclass
class Journal:
    """The records of a run, on disk and in memory; the last one of a key counts."""

    path: Path
    try_again: tuple[str, ...] = TRY_AGAIN
    records: dict[tuple[str, str, str, int], Record] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)

    @classmethod
    def open(cls, path: Path, *, retry_failures: bool = False) -> "Journal":
        """Read what an earlier run left; a line cut off by an interruption is dropped."""
        journal = cls(path, TRY_AGAIN + FAILURES if retry_failures else TRY_AGAIN)
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    record = json.loads(line)
                except json.JSONDecodeError:
                    continue
                journal.records[key_of(record)] = record
        return journal

    def append(self, record: Record) -> None:
        """Keep a record, on disk first."""
        with self.lock:
            with self.path.open("a") as file:
                file.write(json.dumps(record) + "\n")
            self.records[key_of(record)] = record

    def has(self, suite: str, task: str, model: str, seed: int) -> bool:
        """Whether this fit needs no further try."""
        record = self.records.get((suite, task, model, seed))
        return record is not None and record["status"] not in self.try_again


def key_of(record: Record) -> tuple[str, str, str, int]:
    """Find what a record is the record of."""
    return record["suite"], record["task"], record["model"], record["seed"]


def plan(tasks: list[Task], models: list[str], seeds: int, journal: Journal, limits: Limits, files: Files) -> list[Job]:
    """List the jobs that are left: the first seed of everything before the others, so that a part says something."""
    jobs = []
    for part in (range(1), range(1, seeds)):
        for task in tasks:
            wanted = [seed for seed in part if seed < MOST_SEEDS.get(task.suite, seeds)]
            for model in models:
                left = tuple(seed for seed in wanted if not journal.has(task.suite, task.name, model, seed))
                if left:
                    arm, tables = (None if path is None else str(path) for path in (files.robot_arm, files.tables))
                    jobs.append(Job(task.suite, task.name, model, left, arm, tables, limits.memory_gb))
    return jobs


def run(jobs: list[Job], tasks: list[Task], journal: Journal, limits: Limits, n_jobs: int) -> None:
    """Work the jobs off, `n_jobs` at once, with a bar of progress."""
    smaller = smaller_tasks(tasks)

    def work_off(job: Job) -> None:
        bar.set_postfix_str(f"{job.model} on {job.task}")
        for record in attempt(job, journal, limits, smaller.get(job.task, ())):
            journal.append({**record, "versions": VERSIONS, "date": datetime.now(UTC).isoformat(timespec="seconds")})
            bar.update()

    with (
        tqdm(total=sum(len(job.seeds) for job in jobs), unit="fit", dynamic_ncols=True) as bar,
        ThreadPoolExecutor(n_jobs) as pool,
    ):
        futures = [pool.submit(work_off, job) for job in jobs]
        try:
            for future in futures:
                future.result()
        except KeyboardInterrupt:
            limits.interrupted.set()
            pool.shutdown(cancel_futures=True)
            raise


def smaller_tasks(tasks: list[Task]) -> dict[str, tuple[str, ...]]:
    """Find, for each task of a family, the members with fewer rows."""
    return {
        task.name: tuple(
            other.name for other in tasks if other.sized == task.sized and (other.n_rows or 0) < (task.n_rows or 0)
        )
        for task in tasks
        if task.sized is not None
    }


def attempt(job: Job, journal: Journal, limits: Limits, smaller: tuple[str, ...]) -> Iterator[Record]:
    """Give a record for each seed of a job, whatever happens."""
    base = {"suite": job.suite, "task": job.task, "model": job.model}
    said = why_not(job, journal, smaller)
    left = list(job.seeds)
    while left:
        if limits.is_over and not said:
            said = {"status": "not run", "message": "the time for the whole run was over"}
        if said:
            yield from ({**base, "seed": seed, **said} for seed in left)
            return
        for line in lines_of_worker(Job(**{**asdict(job), "seeds": tuple(left)}), limits):
            left.remove(line["seed"])
            yield {**base, **line}


def why_not(job: Job, journal: Journal, smaller: tuple[str, ...]) -> Record:
    """Say why a job cannot be done: its package is missing, or fewer rows were already too many."""
    needed = missing(job.model)
    if needed is not None:
        return {"status": "missing", "message": needed}
    for name in smaller:
        status = journal.records.get((job.suite, name, job.model, 0), {}).get("status")
        if status in TOO_MUCH:
            return {"status": "dropped out", "message": f"{status} on {name}"}
    return {}


def lines_of_worker(job: Job, limits: Limits) -> Iterator[Record]:
    """Run one worker; a fit that takes too long or kills it gets a record too, and ends it."""
    command = [sys.executable, "-m", "benchmarks.compare.worker", json.dumps(asdict(job))]
    left, limit = list(job.seeds), STARTUP_LIMIT
    with tempfile.TemporaryFile("w+") as complaints:
        # In a session of its own: Ctrl-C is for the parent, which ends the worker and records nothing.
        worker = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=complaints, text=True, bufsize=1, start_new_session=True
        )
        try:
            while left and not limits.is_over:
                line = read_line(worker, limit, limits.interrupted)
                if line:
                    record, limit = json.loads(line), limits.seconds
                    if "seed" in record:
                        left.remove(record["seed"])
                        yield record
                elif not limits.interrupted.is_set():
                    late = {"status": "time limit", "message": f"over {limit:g} s"}
                    yield {"seed": left[0], **(late if line is None else last_words(worker, complaints))}
                    return
        finally:
            worker.kill()
            worker.wait()


def read_line(worker: subprocess.Popen[str], limit: float, interrupted: Event) -> str | None:
    """Read a line, empty at the end of the file; None if it does not come in time or the run is interrupted."""
    assert worker.stdout is not None
    until = monotonic() + limit
    while monotonic() < until and not interrupted.is_set():
        if select.select([worker.stdout], [], [], min(0.5, limit))[0]:
            return worker.stdout.readline()
    return None


def last_words(worker: subprocess.Popen[str], complaints: Any) -> Record:
    """Say how a worker died."""
    code = worker.wait()
    complaints.seek(0)
    said = complaints.read().strip().splitlines()[-1:]
    status = "out of memory" if code in (-9, 137) or "MemoryError" in "".join(said) else "failed"
    return {"status": status, "message": f"exit status {code}: {''.join(said)[:300]}"}


def find_versions() -> dict[str, str]:
    """Find the versions of everything that takes part."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def machine() -> str:
    """Describe the machine."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line for line in info.read_text().splitlines() if line.startswith("model name")]
        model = names[0].partition(":")[2].strip() if names else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


VERSIONS = find_versions()
