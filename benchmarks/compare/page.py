"""The page "How it compares", made from the records of a run: what was measured, where saltus wins, ties and loses."""

from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from benchmarks.compare.aims import AIMS, AVERAGE, BAYES
from benchmarks.compare.engines import engines_table
from benchmarks.compare.models import called
from benchmarks.compare.pictures import draw_all, draw_engines, is_ours, read_engines
from benchmarks.compare.run import PACKAGES, machine
from benchmarks.compare.statistics import Record, cells, log_ratios, task_ratio, verdict
from benchmarks.compare.table import (
    ERROR,
    NONE,
    by_task,
    complaints,
    markdown,
    of_suite,
    ordered,
    ratios_by_task,
    summary,
    task_means,
)
from benchmarks.compare.tasks import SUITES, family

ABOUT = {
    "noisy": "Truths that are known, with noise: 500 rows, 200 for the robot arm; 2 000 test rows. The error is to the "
    "truth, the test's own noise left out.",
    "emulation": "Functions without noise, Latin hypercube designs of 100 and 1 000 rows, 2 000 test rows. Models that "
    "can be told that there is no noise are told. Published means stand below ours.",
    "real": "Data without a known truth, 5-fold cross-validation, repeated.",
    "tables": "Real tables with thresholds, interactions and inputs of few values, nine tenths of the rows to fit.",
    "scale": "Friedman 1 with noise 1 and ever more rows, 10 000 test rows. A model that takes too long or too much "
    "memory is not tried with more.",
}

# Errors up to so many times the least are level with it.
LEVEL = 1.05

PICTURES = {
    "noisy": {
        "compare_noisy_cpu.png": "Error against CPU time, a point a model",
        "compare_coverage.png": "Coverage of 95 % intervals, a dot a task",
    },
    "emulation": {"compare_emulation_cpu.png": "Variance unexplained against CPU time, a point a model"},
    "real": {"compare_real_cpu.png": "Error against CPU time, a point a model"},
    "tables": {"compare_tables_cpu.png": "Error against CPU time, a point a model"},
    "scale": {"compare_scale.png": "Error, CPU time and memory against the number of rows"},
}

NO_NOISE = "no noise: a kernel on every row goes on gaining with rows, a small network less"

# What is hard in a family of tasks, shown where one is lost. A description, not a cause: that is found by experiment.
HARD = {
    "Blocks": "eleven jumps",
    "Bumps": "eleven sharp peaks of very different widths",
    "Doppler": "a frequency that grows without bound towards 0",
    "HeaviSine": "two jumps",
    "ridge surface": "a ridge along the diagonal, which no input sees alone",
    "co2": "a season that repeats 44 times",
    "sunspots": "28 cycles",
    "robot arm": "smooth, with little noise: 200 kernels of one width say more than ten to twenty basis functions",
    "Friedman 2": "a product of inputs of which one hardly matters; hinges fit it best",
    "diabetes": "nearly linear, and very noisy",
    "linnerud": "twenty rows",
    "sinc": "smooth, and one input: as with the robot arm",
    "additive": "a sum of functions of one input each, which is what hinges are made for",
    "borehole": NO_NOISE,
    "OTL circuit": NO_NOISE,
    "piston": NO_NOISE,
}


def write_page(records: list[Record], path: Path, command: str, reference: str, engines: Path) -> None:
    """Write the page, and its pictures beside it in `images`."""
    images = path.parent / "images"
    images.mkdir(parents=True, exist_ok=True)
    drawn = [picture.name for picture in draw_all(records, images, reference)]
    parts = [opening(records, command), "## In short\n", aims_table(records), "", standings(records), ""]
    parts += [level_fields(records)]
    for suite in SUITES:
        if of_suite(records, suite):
            parts += [suite_section(of_suite(records, suite), suite, reference, drawn)]
    if engines.exists():
        parts += [engines_section(engines, images)]
    parts += ["## Settings\n", settings(records), ""]
    path.write_text("\n".join(parts))


def opening(records: list[Record], command: str) -> str:
    """Say what was run, where and how."""
    versions = records[-1].get("versions", {})
    found = {name: versions[name] for name in ("python", *PACKAGES) if versions.get(name, "missing") != "missing"}
    said = ", ".join(f"{name} {number}" for name, number in found.items())
    dates = sorted(record["date"][:10] for record in records if "date" in record)
    codes = {record["code"] for record in records if is_ours(record["model"]) and "code" in record}
    mixed = "\n\n**These figures mix several versions of saltus's code.**" if len(codes) > 1 else ""
    return f"""# How it compares

![Error of each method over that of the Gaussian process, geometric means](images/compare_summary.png)

Every bar is a ratio: the error of a method over that of a Gaussian process with a length scale for each input, as a
geometric mean over tasks. Shorter is better; saltus is red. The tables below have every task, and where saltus loses.

Fits of {dates[0]} to {dates[-1]}, page of {datetime.now(UTC):%Y-%m-%d}, on {machine()}, made by

```bash
{command}
```

with {said}.{mixed}

Every method runs in a process of its own with one thread, on the same splits. CPU time is the time of the fit, with
tuning and without compilation: each process compiles before it measures. Memory is the peak of the process, with all
imports. Methods without a predictive distribution have no CRPS and no coverage. Ratios are geometric means of paired
ratios on the same splits, each task counting the same, ± one standard error over seeds. Of saltus there are
{seeds_of_ours(records)};
slow methods may have fewer: the column "fits" says how many, and ratios are on the splits that both methods were
given. Tuning means 20 random candidates in 3-fold cross-validation, the same for all tuned methods; other methods run
as their own documentation says ([`benchmarks/compare/peers.py`](../benchmarks/compare/peers.py)).
"""


def seeds_of_ours(records: list[Record]) -> str:
    """Say how many seeds of ours there are in each suite."""
    counts = {
        suite: len({record["seed"] for record in of_suite(records, suite) if is_ours(record["model"])})
        for suite in SUITES
    }
    return ", ".join(f"{n} seed{'s' * (n > 1)} of {suite}" for suite, n in counts.items() if n > 0)


def aims_table(records: list[Record]) -> str:
    """Set what saltus should reach beside what was measured."""
    rows = []
    for aim in AIMS:
        found = aim.measure(records)
        rows.append(
            [aim.said, aim.limit, *((found[0], "yes" if found[1] else "**no**") if found else ("not measured", ""))]
        )
    return markdown(["aim", "at most, or", "measured", "met"], rows)


def standings(records: list[Record]) -> str:
    """Set each of ours against the best peer of each task: win, tie, loss, and what is hard."""
    rows = []
    for suite in SUITES:
        kept, (error, _) = of_suite(records, suite), ERROR[suite]
        rivals = [model for model in ordered(kept, "model") if not is_ours(model)]
        means = {model: task_means(kept, model, error) for model in rivals}
        for task in ordered(kept, "task"):
            on_task = {model: found[task] for model, found in means.items() if task in found}
            if on_task:
                best = min(on_task, key=on_task.__getitem__)
                row = [against(kept, model, best, task, error) for model in (AVERAGE, BAYES)]
                lost = any(cell.startswith("loss") for cell in row)
                hard = HARD.get(family(task), "") if lost else ""
                rows.append(
                    [suite, task, f"{called(best)} {on_task[best]:.3g}", *row, terms_by_family(kept, task), hard]
                )
    header = [
        "suite", "task", "best peer, its error", "AnnealedRegressor", "BayesianRegressor", "terms that it chose",
        "what is hard",
    ]  # fmt: skip
    return (
        "Against the best peer of each task, whichever it is. A win or a loss is by two standard errors and by 2 %, "
        "the rest are ties:\n\n" + markdown(header, rows)
    )


def terms_by_family(records: list[Record], task: str) -> str:
    """Say how many terms of each family the networks of AnnealedRegressor have, in the mean."""
    of_task = [record for record in records if (record["model"], record["task"]) == (AVERAGE, task)]
    found = [record["families"] for record in of_task if record.get("families")]
    if not found:
        return NONE
    means = {name: float(np.mean([each.get(name, 0.0) for each in found])) for each in found for name in each}
    most = sorted(means, key=lambda name: -means[name])
    said = [f"{name} {means[name]:.0f}" for name in most if round(means[name]) > 0]
    return ", ".join(said) or "none"


def level_fields(records: list[Record]) -> str:
    """Name the tasks on which nearly every model is as good as the best."""
    said = []
    for suite in SUITES:
        kept, (error, _) = of_suite(records, suite), ERROR[suite]
        means = {model: task_means(kept, model, error) for model in ordered(kept, "model")}
        for task in ordered(kept, "task"):
            errors = np.array([found[task] for found in means.values() if task in found])
            n_level = int((errors <= LEVEL * errors.min(initial=np.inf)).sum())
            if len(errors) > 2 and n_level > 0.7 * len(errors):
                said.append(f"{task} ({n_level} of {len(errors)} models within {LEVEL - 1:.0%} of the best)")
    return f"Nearly everything ties on {', '.join(said)}.\n" if said else ""


def against(records: list[Record], model: str, rival: str, task: str, error: str) -> str:
    """Say how a model stands to a rival on a task, with the ratio of errors."""
    logs = log_ratios(cells(records, model, error), cells(records, rival, error)).get(task)
    return NONE if logs is None else f"{verdict(logs)}, {task_ratio(logs)}"


def suite_section(records: list[Record], suite: str, reference: str, drawn: list[str]) -> str:
    """Make the section of a suite."""
    error, name = ERROR[suite]
    parts = [f"## {suite.capitalize()}\n", ABOUT[suite], "", summary(records, error, reference), ""]
    names = [
        f"compare_{suite}_cpu.png",
        *({"noisy": ["compare_coverage.png"], "scale": ["compare_scale.png"]}.get(suite, [])),
    ]
    parts += [f"![{picture_words(name, reference)}](images/{name})\n" for name in names if name in drawn]
    parts += [f"{name.capitalize()}, mean over seeds:\n", by_task(records, error, suite), ""]
    parts += [f"{name.capitalize()}, ratio to that of the {called(reference)}:\n"]
    parts += [ratios_by_task(records, error, reference), ""]
    if suite == "noisy":
        parts += ["Share of test values inside 95 % intervals:\n", by_task(records, "coverage"), ""]
    if suite == "scale":
        parts += ["CPU seconds of a fit:\n", by_task(records, "cpu_s"), ""]
    problems = complaints(records)
    if problems:
        parts += ["What did not succeed:\n", problems, ""]
    return "\n".join(parts)


def picture_words(name: str, reference: str) -> str:
    """Say what a picture of a suite shows."""
    if name.endswith("_cpu.png"):
        return f"CPU time and error of each method, both as ratios to those of the {called(reference)}"
    return {
        "compare_coverage.png": "Share of test values inside 95 % intervals, a dot for each task",
        "compare_scale.png": "Error, CPU seconds and memory of each method against the number of rows",
    }[name]


def engines_section(path: Path, images: Path) -> str:
    """Make the section of the searches."""
    records = read_engines(path)
    draw_engines(records).savefig(images / "compare_engines.png", dpi=110, bbox_inches="tight")
    return f"""## Searches on one target

The paper's eq. (3) on the robot arm: cubic basis, Euclidean distance, MDL. The best log posterior, median over seeds,
by `python -m benchmarks.compare.engines`. saltus's own search mixes chains and descents and does not count evaluations.

{engines_table(records)}

![Best log posterior against evaluations and CPU seconds](images/compare_engines.png)
"""


def settings(records: list[Record]) -> str:
    """List what each model was, as it was on the last task it was fitted to."""
    last = {record["model"]: " ".join(record["settings"].split()) for record in records if record["status"] == "ok"}
    return markdown(
        ["model", "settings, on the last task"], [[called(model), f"`{said}`"] for model, said in last.items()]
    )
