"""Compare: ``python -m benchmarks.compare --suite noisy --models saltus gp --seeds 3 -o out/``.

Run it again with the same folder and it goes on where it was; with other models or more seeds, it adds them.
A model's name may carry options: ``bayes:metric=learned,basis=gaussian@1.5``, ``annealed:n_chains=4``,
``gp:n_restarts=2``; ``gaussian@1.5`` is a basis of width 1.5.
"""

import argparse
import shlex
import signal
import sys
from pathlib import Path
from time import monotonic

from benchmarks.compare.models import GROUPS, MODELS, REFERENCE, expand
from benchmarks.compare.page import write_page
from benchmarks.compare.pictures import draw_all
from benchmarks.compare.run import Journal, Limits, plan, run
from benchmarks.compare.table import in_order, write_tables
from benchmarks.compare.tasks import SUITES, Files, all_tasks, family

# Seconds one fit may take; seconds after which a quick run starts no more; and its tasks.
TIME_LIMIT = {"full": 600.0, "quick": 20.0}
QUICK_SECONDS = 540.0
QUICK_TASKS = (
    "robot arm", "Friedman 1", "HeaviSine", "borehole, n = 100", "diabetes", "motorcycle", "Friedman 1, N = 1000",
    "Friedman 1, N = 10000",
)  # fmt: skip


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", choices=(*SUITES, "all"), default="noisy")
    parser.add_argument("--tasks", nargs="+", help="only these, by their names or what is before the comma")
    parser.add_argument("--models", nargs="+", default=["all"], help=f"{', '.join(MODELS)}; or {', '.join(GROUPS)}")
    parser.add_argument("--seeds", type=int, help="default 10, or 2 for a quick run")
    parser.add_argument("--budget", choices=("full", "quick"), default="full")
    parser.add_argument("--jobs", type=int, help="workers at once; default 1, or 2 for a quick run")
    parser.add_argument("--time-limit", type=float, help="seconds for one fit; default 600, or 20 for a quick run")
    parser.add_argument("--memory-limit", type=float, default=8.0, help="GiB for one worker")
    parser.add_argument("--reference", default=REFERENCE, help="the model that ratios are to")
    parser.add_argument("--robot-arm-file", type=Path, help="MacKay's data: a CSV file with columns x1, x2, y1, y2")
    parser.add_argument("--real-data", type=Path, help="tables: a folder of NAME.csv.gz, numbers, the output last")
    parser.add_argument("--retry", action="store_true", help="try again what failed or took too long")
    parser.add_argument("--table-only", action="store_true", help="fit nothing, make the tables of what is there")
    parser.add_argument("--page", type=Path, help="write the page of docs too, with its pictures in images/ beside it")
    parser.add_argument("-o", "--out", type=Path, default=Path("out"))
    return parser.parse_args()


def is_called(task: str, name: str) -> bool:
    """Whether a task goes by a name: its own, or that of its family, before the comma."""
    return name.lower() in (task.lower(), family(task).lower())


def main() -> None:
    options = parse_options()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that workers end with it
    quick = options.budget == "quick"
    try:
        models = expand(options.models)
    except ValueError as error:
        raise SystemExit(str(error)) from error
    options.out.mkdir(parents=True, exist_ok=True)
    journal = Journal.open(options.out / "results.jsonl", retry_failures=options.retry)
    files = Files(options.robot_arm_file, options.real_data)
    tasks = [
        task
        for task in all_tasks(files)
        if options.suite in (task.suite, "all")
        and (options.tasks is None or any(is_called(task.name, name) for name in options.tasks))
        and (not quick or task.name in QUICK_TASKS)
    ]
    limits = Limits(
        options.time_limit or TIME_LIMIT[options.budget],
        options.memory_limit,
        monotonic() + QUICK_SECONDS if quick else None,
    )
    if not options.table_only:
        seeds = options.seeds or (2 if quick else 10)
        jobs = plan(tasks, models, seeds, journal, limits, files)
        try:
            run(jobs, tasks, journal, limits, options.jobs or (2 if quick else 1))
        except KeyboardInterrupt:
            print("Interrupted. The same command goes on from here; this is what there is.\n")
    records = in_order(list(journal.records.values()))
    if not records:
        raise SystemExit(f"There is nothing to show: {journal.path} has no records, and nothing was run.")
    print(write_tables(records, options.out, options.reference))
    draw_all(records, options.out, options.reference)
    if options.page is not None:
        given = {str(options.robot_arm_file), str(options.real_data)}
        words = [Path(word).name if word in given else word for word in sys.argv[1:]]
        command = f"python -m benchmarks.compare {shlex.join(words)}"
        write_page(records, options.page, command, options.reference, options.out / "engines.jsonl")


if __name__ == "__main__":
    main()
