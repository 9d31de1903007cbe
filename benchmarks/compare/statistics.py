"""Paired comparisons: every model against one, on the same splits."""

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import rankdata

Record = dict[str, Any]
Cells = dict[tuple[str, int], float]  # (task, seed) -> value


@dataclass(frozen=True)
class Ratio:
    """A geometric mean of ratios, and the standard error of its logarithm."""

    value: float
    log_error: float
    n_tasks: int

    def __str__(self) -> str:
        error = f" ± {self.value * self.log_error:.2g}" if self.log_error > 0 else ""
        return f"{self.value:.3g}{error}"


def cells(records: list[Record], model: str, figure: str) -> Cells:
    """Collect a figure of a model by task and seed, where the fit succeeded and the figure is there."""
    return {
        (record["task"], record["seed"]): record[figure]
        for record in records
        if record["model"] == model and record["status"] == "ok" and record.get(figure) is not None
    }


def log_ratios(of: Cells, to: Cells) -> dict[str, list[float]]:
    """Pair two models on their common splits: the logarithms of the ratios, by task."""
    found: dict[str, list[float]] = defaultdict(list)
    for (task, seed), value in of.items():
        if (task, seed) in to:
            found[task].append(float(np.log(value / to[task, seed])))
    return dict(found)


def standard_error(values: list[float]) -> float:
    """Find the standard error of a mean; NaN for a single value."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def task_ratio(logs: list[float]) -> Ratio:
    """Find the geometric mean over the seeds of one task."""
    return Ratio(float(np.exp(np.mean(logs))), standard_error(logs), 1)


def overall_ratio(by_task: dict[str, list[float]]) -> Ratio | None:
    """Find the geometric mean over tasks, each counting the same.

    The tasks are the population, the seeds the sample: the standard error is of the mean over seeds.
    """
    if not by_task:
        return None
    errors = [standard_error(logs) for logs in by_task.values()]
    mean = float(np.mean([np.mean(logs) for logs in by_task.values()]))
    return Ratio(float(np.exp(mean)), float(np.sqrt(np.sum(np.square(errors))) / len(errors)), len(by_task))


def mean_ranks(figures: dict[str, Cells]) -> dict[str, float]:
    """Rank the models on every split that all of them have, 1 the smallest, and average over splits."""
    models = list(figures)
    common = set.intersection(*(set(found) for found in figures.values())) if figures else set()
    if not common:
        return dict.fromkeys(models, float("nan"))
    ranks = [rankdata([figures[model][cell] for model in models]) for cell in sorted(common)]
    return dict(zip(models, np.mean(ranks, axis=0).tolist(), strict=True))


def verdict(logs: list[float]) -> str:
    """Say how a model stands to another on one task: by two standard errors, and by more than 2 %."""
    if len(logs) < 2:
        return "one seed"
    mean = float(np.mean(logs))
    if abs(mean) < max(2.0 * standard_error(logs), np.log(1.02)):
        return "tie"
    return "win" if mean < 0 else "loss"
