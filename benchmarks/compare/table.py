"""Tables in Markdown: ratios to one model with their standard errors, ranks, figures by task, and what went wrong."""

from pathlib import Path

import numpy as np

from benchmarks.compare.statistics import Record, cells, log_ratios, mean_ranks, overall_ratio, task_ratio
from benchmarks.compare.tasks import SUITES

# The error that counts in each suite, and its name in the tables.
ERROR = {
    "noisy": ("error_to_truth", "error to the truth"),
    "emulation": ("variance_unexplained", "fraction of variance unexplained"),
    "real": ("rmse", "root mean squared error"),
    "scale": ("error_to_truth", "error to the truth"),
}
NONE = "none"


def write_tables(records: list[Record], folder: Path, reference: str) -> str:
    """Write `table.md`, and give its text."""
    text = "\n".join(
        suite_tables([record for record in records if record["suite"] == suite], suite, reference)
        for suite in SUITES
        if any(record["suite"] == suite for record in records)
    )
    (folder / "table.md").write_text(text)
    return text


def suite_tables(records: list[Record], suite: str, reference: str) -> str:
    """Make the tables of one suite."""
    error, name = ERROR[suite]
    models, tasks = ordered(records, "model"), ordered(records, "task")
    parts = [
        f"## {suite}: {name}\n",
        summary(records, models, error, reference),
        f"\n{name.capitalize()}, mean over seeds:\n",
        by_task(records, models, tasks, error),
    ]
    if reference in models:
        parts += [f"\nRatio of the error to that of {reference}, geometric mean over seeds ± standard error:\n",
                  ratios_by_task(records, models, tasks, error, reference)]  # fmt: skip
        parts += [f"\nRatio of CPU seconds to those of {reference}:\n",
                  ratios_by_task(records, models, tasks, "cpu_s", reference)]  # fmt: skip
    parts += ["\nShare of test values inside 95 % intervals:\n", by_task(records, models, tasks, "coverage")]
    problems = complaints(records)
    if problems:
        parts += ["\nWhat went wrong:\n", problems]
    return "\n".join(parts) + "\n"


def summary(records: list[Record], models: list[str], error: str, reference: str) -> str:
    """Make one row a model: geometric means over tasks, ranks, coverage, costs."""
    header = [
        "model", f"error / {reference}", f"CPU / {reference}", f"CRPS / {reference}", "mean rank", "coverage",
        "terms", "CPU s", "peak MB", "fits",
    ]  # fmt: skip
    errors = {model: found for model in models if (found := cells(records, model, error))}
    complete = max((len(found) for found in errors.values()), default=0)
    ranks = mean_ranks({model: found for model, found in errors.items() if len(found) == complete})
    rows = []
    for model in models:
        ratios = [
            overall_ratio(log_ratios(cells(records, model, figure), cells(records, reference, figure)))
            for figure in (error, "cpu_s", "crps")
        ]
        coverage = task_means(records, model, "coverage").values()
        rank = ranks.get(model, float("nan"))
        rows.append([
            model,
            *(NONE if ratio is None else str(ratio) for ratio in ratios),
            NONE if np.isnan(rank) else f"{rank:.1f}",
            f"{min(coverage):.3f} to {max(coverage):.3f}" if coverage else NONE,
            *(median(records, model, figure) for figure in ("n_terms", "cpu_s", "peak_mb")),
            f"{len(errors.get(model, {}))} of {sum(record['model'] == model for record in records)}",
        ])  # fmt: skip
    return markdown(header, rows)


def by_task(records: list[Record], models: list[str], tasks: list[str], figure: str) -> str:
    """Make one row a task, one column a model: means over seeds."""
    means = {model: task_means(records, model, figure) for model in models}
    shown = [model for model in models if means[model]]
    if not shown:
        return "None has any."
    rows = [[task, *(f"{means[m][task]:.3g}" if task in means[m] else NONE for m in shown)] for task in tasks]
    return markdown(["task", *shown], rows)


def ratios_by_task(records: list[Record], models: list[str], tasks: list[str], figure: str, reference: str) -> str:
    """Make one row a task, one column a model: ratios to the reference."""
    to = cells(records, reference, figure)
    logs = {model: log_ratios(cells(records, model, figure), to) for model in models if model != reference}
    rows = [
        [task, *(str(task_ratio(found[task])) if task in found else NONE for found in logs.values())] for task in tasks
    ]
    return markdown(["task", *logs], rows)


def complaints(records: list[Record]) -> str:
    """List what did not succeed: model, task, how often, what it said."""
    found: dict[tuple[str, str, str, str], int] = {}
    for record in records:
        if record["status"] != "ok":
            key = (record["model"], record["task"], record["status"], record.get("message", ""))
            found[key] = found.get(key, 0) + 1
    missing = {model: said for model, _, status, said in found if status == "missing"}
    rows = [[model, "all", "missing", NONE, said] for model, said in missing.items()]
    rows += [
        [model, task, status, str(n), said] for (model, task, status, said), n in found.items() if status != "missing"
    ]
    return markdown(["model", "task", "what", "seeds", "it said"], rows) if rows else ""


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
