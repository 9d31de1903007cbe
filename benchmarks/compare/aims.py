"""What saltus should reach, and whether it does."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.compare.statistics import Record, cells, log_ratios, overall_ratio
from benchmarks.compare.table import of_suite, task_means
from benchmarks.compare.tasks import N_ROWS

AVERAGE, BAYES, PROCESS = "annealed", "bayes", "gp"
# Where 95 % intervals should cover, on every noisy task.
WANTED_COVERAGE = (0.92, 0.97)
LARGE = 20_000

Measure = Callable[[list[Record]], tuple[str, bool] | None]


@dataclass(frozen=True)
class Aim:
    """A figure that saltus should reach."""

    said: str
    limit: str
    measure: Measure


def ratio_aim(model: str, figure: str, limit: float, *, only_rows: int | None = None) -> Measure:
    """Ask for a geometric mean over the noisy suite of a figure over the Gaussian process's."""

    def measure(records: list[Record]) -> tuple[str, bool] | None:
        kept = [r for r in of_suite(records, "noisy") if only_rows is None or r.get("n_rows") == only_rows]
        ratio = overall_ratio(log_ratios(cells(kept, model, figure), cells(kept, PROCESS, figure)))
        return None if ratio is None else (str(ratio), ratio.value <= limit)

    return measure


def coverage_aim(records: list[Record]) -> tuple[str, bool] | None:
    """Ask for the coverage of 95 % intervals on every noisy task."""
    found = task_means(of_suite(records, "noisy"), BAYES, "coverage")
    if not found:
        return None
    low, high = WANTED_COVERAGE
    outside = [f"{task} {value:.3f}" for task, value in found.items() if not low <= value <= high]
    said = f"{min(found.values()):.3f} to {max(found.values()):.3f}"
    return (f"{said}; outside: {', '.join(outside)}" if outside else said), not outside


def large_aim(records: list[Record]) -> tuple[str, bool] | None:
    """Ask for an error at 20 000 rows below that of boosted trees and of the perceptron."""
    large = [record for record in of_suite(records, "scale") if record.get("n_rows") == LARGE]
    found = {m: list(cells(large, m, "error_to_truth").values()) for m in (AVERAGE, BAYES, "boosting", "mlp")}
    means = {model: float(np.mean(values)) for model, values in found.items() if values}
    rivals = [means[model] for model in ("boosting", "mlp") if model in means]
    if AVERAGE not in means or not rivals:
        return None
    return ", ".join(f"{model} {value:.3g}" for model, value in means.items()), means[AVERAGE] < min(rivals)


ERROR_RATIO, CPU_RATIO = "error / Gaussian process, noisy", "CPU / Gaussian process, N = 500"
AIMS = (
    Aim(f"BayesianRegressor, {ERROR_RATIO}", "0.7", ratio_aim(BAYES, "error_to_truth", 0.7)),
    Aim(f"AnnealedRegressor, {ERROR_RATIO}", "0.8", ratio_aim(AVERAGE, "error_to_truth", 0.8)),
    Aim(f"BayesianRegressor, {CPU_RATIO}", "1.0", ratio_aim(BAYES, "cpu_s", 1.0, only_rows=N_ROWS)),
    Aim(f"AnnealedRegressor, {CPU_RATIO}", "1.0", ratio_aim(AVERAGE, "cpu_s", 1.0, only_rows=N_ROWS)),
    Aim("error at N = 20 000", "less than boosting and mlp", large_aim),
    Aim("95 % intervals of BayesianRegressor, on every noisy task", "cover 0.92 to 0.97", coverage_aim),
)
