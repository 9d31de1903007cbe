"""Tables in Markdown: ratios to one model with their standard errors, ranks, figures by task, and what went wrong."""

from pathlib import Path

import numpy as np

from benchmarks.compare.models import MODELS, called, parse
from benchmarks.compare.statistics import Record, cells, log_ratios, mean_ranks, overall_ratio, task_ratio
from benchmarks.compare.tasks import SUITES, Files, all_tasks

# The error that counts in each suite, and its name in the tables.
ERROR = {
    "noisy": ("error_to_truth", "error to the truth"),
    "emulation": ("variance_unexplained", "fraction of variance unexplained"),
    "real": ("rmse", "root mean squared error"),
    "tables": ("rmse", "root mean squared error"),
    "scale": ("error_to_truth", "error to the truth"),
}
NONE = "none"

# Means of the fraction of variance unexplained as published with BayesPPR (Collins, Francom and Rumsey, Statistics and
# Computing, 2024).
PUBLISHED_TASKS = tuple(f"{name}, n = {n}" for name in ("borehole", "OTL circuit", "piston") for n in (100, 1000))
PUBLISHED = {
    "BART, published": (3.7e-2, 3.4e-3, 1.3e-2, 9.1e-4, 6.4e-2, 6.8e-3),
    "BASS, published": (3.8e-3, 4.3e-5, 7.6e-4, 3.3e-6, 2.6e-2, 1.7e-3),
    "BPPR, published": (1.4e-3, 3.8e-5, 3.3e-4, 8.5e-7, 1.6e-2, 1.3e-3),
}


def write_tables(records: list[Record], folder: Path, reference: str) -> str:
    """Write `table.md`, and give its text."""
    suites = [suite for suite in SUITES if any(record["suite"] == suite for record in records)]
    text = "\n".join(suite_tables(of_suite(records, suite), suite, reference) for suite in suites)
    (folder / "table.md").write_text(text)
    return text


def suite_tables(records: list[Record], suite: str, reference: str) -> str:
    """Make the tables of one suite."""
    error, name = ERROR[suite]
    parts = [f"## {suite}: {name}\n", summary(records, error, reference), ""]
    parts += [f"{name.capitalize()}, mean over seeds:\n", by_task(records, error, suite), ""]
    if reference in ordered(records, "model"):
        parts += [
            f"Ratio of the error to that of the {called(reference)}, geometric mean over seeds ± standard error:\n"
        ]
        parts += [ratios_by_task(records, error, reference), ""]
        parts += [
            f"Ratio of CPU seconds to those of the {called(reference)}:\n",
            ratios_by_task(records, "cpu_s", reference),
            "",
        ]
    parts += ["Share of test values inside 95 % intervals; models without a predictive distribution have none:\n"]
    parts += [by_task(records, "coverage"), ""]
    if suite == "scale":
        for figure, said in (("cpu_s", "CPU seconds of a fit"), ("peak_mb", "Peak memory, MB, imports included"),
                             ("predict_us_a_row", "Microseconds to predict a row")):  # fmt: skip
            parts += [f"{said}:\n", by_task(records, figure), ""]
    problems = complaints(records)
    if problems:
        parts += ["What did not succeed:\n", problems, ""]
    return "\n".join(parts)


def summary(records: list[Record], error: str, reference: str) -> str:
    """Make one row a model: geometric means over tasks, ranks, coverage, costs."""
    models = ordered(records, "model")
    errors = {model: found for model in models if (found := cells(records, model, error))}
    most = max((len(found) for found in errors.values()), default=0)
    ranks = mean_ranks({model: found for model, found in errors.items() if len(found) == most})
    rows = []
    for model in models:
        ratios = [
            overall_ratio(log_ratios(cells(records, model, figure), cells(records, reference, figure)))
            for figure in (error, "cpu_s", "crps")
        ]
        coverage = task_means(records, model, "coverage").values()
        rows.append([
            called(model),
            *(NONE if ratio is None else str(ratio) for ratio in ratios),
            f"{ranks[model]:.1f}" if model in ranks else NONE,
            f"{min(coverage):.3f} to {max(coverage):.3f}" if coverage else NONE,
            *(median(records, model, figure) for figure in ("n_terms", "cpu_s", "peak_mb")),
            f"{len(errors.get(model, {}))} of {sum(record['model'] == model for record in records)}",
        ])  # fmt: skip
    header = [
        "model", "error, ratio", "CPU time, ratio", "CRPS, ratio", "mean rank", "coverage by task",
        "terms", "CPU s", "peak MB", "fits",
    ]  # fmt: skip
    return markdown(header, rows)


def by_task(records: list[Record], figure: str, suite: str = "") -> str:
    """Make one row a model, one column a task: means over seeds, published ones below."""
    tasks = ordered(records, "task")
    means = {model: task_means(records, model, figure) for model in ordered(records, "model")}
    rows = [
        [called(model), *(f"{found[task]:.3g}" if task in found else NONE for task in tasks)]
        for model, found in means.items()
        if found
    ]
    if suite == "emulation":
        rows += published_rows(tasks)
    return markdown(["model", *tasks], rows) if rows else "None has any."


def published_rows(tasks: list[str]) -> list[list[str]]:
    """Give the published means of the tasks that are shown."""
    rows = []
    for name, means in PUBLISHED.items():
        of_task = dict(zip(PUBLISHED_TASKS, means, strict=True))
        rows.append([name, *(f"{of_task[task]:.2g}" if task in of_task else NONE for task in tasks)])
    return rows


def ratios_by_task(records: list[Record], figure: str, reference: str) -> str:
    """Make one row a model, one column a task: ratios to the reference."""
    tasks, to = ordered(records, "task"), cells(records, reference, figure)
    rows = []
    for model in ordered(records, "model"):
        logs = log_ratios(cells(records, model, figure), to)
        if model != reference and logs:
            rows.append([called(model), *(str(task_ratio(logs[task])) if task in logs else NONE for task in tasks)])
    return markdown(["model", *tasks], rows) if rows else f"None has a split in common with {reference}."


def complaints(records: list[Record]) -> str:
    """List what did not succeed: which model, what it said, how often, and where."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for record in records:
        if record["status"] != "ok":
            key = (record["model"], record["status"], record.get("message", ""))
            found.setdefault(key, []).append(record["task"])
    rows = [
        [model, status, said, str(len(tasks)), "; ".join(dict.fromkeys(tasks))]
        for (model, status, said), tasks in found.items()
    ]
    return markdown(["model", "what", "it said", "fits", "tasks"], rows) if rows else ""


def in_order(records: list[Record]) -> list[Record]:
    """Sort by suite, then models and tasks as they are listed, variants behind their model."""
    tasks = [task.name for task in all_tasks(Files(robot_arm=Path("any")))]
    tasks += sorted({record["task"] for record in records} - set(tasks))
    bases = list(MODELS)

    def place(record: Record) -> tuple[int, int, int]:
        return SUITES.index(record["suite"]), bases.index(parse(record["model"])[0]), tasks.index(record["task"])

    return sorted(records, key=place)


def of_suite(records: list[Record], suite: str) -> list[Record]:
    """Keep the records of a suite."""
    return [record for record in records if record["suite"] == suite]


def task_means(records: list[Record], model: str, figure: str) -> dict[str, float]:
    """Average a figure over seeds, by task."""
    values: dict[str, list[float]] = {}
    for (task, _), value in cells(records, model, figure).items():
        values.setdefault(task, []).append(value)
    return {task: float(np.mean(found)) for task, found in values.items()}


def median(records: list[Record], model: str, figure: str) -> str:
    """Find the median of a figure over all fits."""
    found = list(cells(records, model, figure).values())
    return f"{np.median(found):.3g}" if found else NONE


def ordered(records: list[Record], field: str) -> list[str]:
    """List the values of a field in the order of their first appearance."""
    return list(dict.fromkeys(record[field] for record in records))


def markdown(header: list[str], rows: list[list[str]]) -> str:
    """Lay out a table."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    escaped = [[cell.replace("|", "/") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *escaped])
