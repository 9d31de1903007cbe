"""Pictures: error against CPU time, error and cost against N, coverage by task, and searches against each other."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from benchmarks.compare.aims import WANTED_COVERAGE
from benchmarks.compare.models import called, parse
from benchmarks.compare.ours import OURS
from benchmarks.compare.statistics import Record, cells, log_ratios, overall_ratio
from benchmarks.compare.table import ERROR, of_suite, ordered, task_means

OURS_COLOR, OTHERS_COLOR, BAND_COLOR = "#c0392b", "#4a6078", "#dfe6ec"
DASHES = ("-", "--", ":", "-.")
NOT_RED = [plt.cm.tab20(i) for i in range(20) if i // 2 != 3]


def is_ours(model: str) -> bool:
    """Whether a model is saltus."""
    return parse(model)[0] in OURS


def draw_all(records: list[Record], folder: Path, reference: str) -> list[Path]:
    """Draw what there are records for, into a folder; give the files."""
    pictures: dict[str, Callable[[], Figure | None]] = {
        "compare_summary.png": lambda: summary_of_suites(records, reference),
        "compare_noisy_cpu.png": lambda: error_against_cpu(of_suite(records, "noisy"), "noisy", reference),
        "compare_emulation_cpu.png": lambda: error_against_cpu(of_suite(records, "emulation"), "emulation", reference),
        "compare_real_cpu.png": lambda: error_against_cpu(of_suite(records, "real"), "real", reference),
        "compare_tables_cpu.png": lambda: error_against_cpu(of_suite(records, "tables"), "tables", reference),
        "compare_scale.png": lambda: against_rows(of_suite(records, "scale")),
        "compare_coverage.png": lambda: coverage_by_task(of_suite(records, "noisy")),
    }
    drawn = []
    for name, draw in pictures.items():
        figure = draw()
        if figure is not None:
            figure.savefig(folder / name, dpi=110, bbox_inches="tight")
            plt.close(figure)
            drawn.append(folder / name)
    return drawn


def summary_of_suites(records: list[Record], reference: str) -> Figure | None:
    """Draw one bar a model and suite: the geometric mean of its error over that of the reference."""
    suites = {"noisy": "twelve functions with noise", "real": "five data sets of statistics", "tables": "real tables"}
    found = {}
    for suite in suites:
        kept, (error, _) = of_suite(records, suite), ERROR[suite]
        ratios = {
            model: overall_ratio(log_ratios(cells(kept, model, error), cells(kept, reference, error)))
            for model in ordered(kept, "model")
        }
        ratios = {model: ratio.value for model, ratio in ratios.items() if ratio is not None}
        if len(ratios) > 1:
            found[suite] = dict(sorted(ratios.items(), key=lambda each: each[1]))
    if not found:
        return None
    # Below each other, so that letters can be read on a phone.
    heights = [0.19 * len(ratios) + 0.6 for ratios in found.values()]
    figure, panels = plt.subplots(
        len(found), 1, figsize=(4.4, sum(heights)), height_ratios=heights, layout="constrained", squeeze=False
    )
    for axes, (suite, ratios) in zip(panels[:, 0], found.items(), strict=True):
        colors = [OURS_COLOR if is_ours(model) else OTHERS_COLOR for model in ratios]
        bars = axes.barh([called(model) for model in ratios], list(ratios.values()), color=colors, height=0.7)
        axes.bar_label(bars, [f"{ratio:.2f}" for ratio in ratios.values()], padding=2, fontsize=8)
        axes.axvline(1.0, color=BAND_COLOR, zorder=0)
        axes.set_xlim(0, 1.15 * max(ratios.values()))
        axes.invert_yaxis()
        axes.tick_params(labelsize=9)
        axes.set_title(suites[suite], fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(f"error over that of the {called(reference)}", fontsize=9)
    return figure


def error_against_cpu(records: list[Record], suite: str, reference: str) -> Figure | None:
    """Draw one point a model: geometric means of its CPU seconds and error over those of the reference."""
    error, name = ERROR[suite]
    points = {}
    for model in ordered(records, "model"):
        ratios = [
            overall_ratio(log_ratios(cells(records, model, figure), cells(records, reference, figure)))
            for figure in ("cpu_s", error)
        ]
        if ratios[0] is not None and ratios[1] is not None:
            points[model] = (ratios[0].value, ratios[1].value, np.nan_to_num(ratios[1].log_error))
    if not points:
        return None
    figure, axes = plt.subplots(figsize=(7, 4.5))
    for model, (cpu, ratio, log_error) in points.items():
        color = OURS_COLOR if is_ours(model) else OTHERS_COLOR
        axes.errorbar(cpu, ratio, yerr=2 * ratio * log_error, fmt="o", color=color, capsize=2)
        axes.annotate(called(model), (cpu, ratio), xytext=(5, 4), textcoords="offset points", fontsize=8, color=color)
    axes.axhline(1.0, color=BAND_COLOR, zorder=0)
    axes.axvline(1.0, color=BAND_COLOR, zorder=0)
    axes.set(xscale="log", yscale="log", xlabel="CPU time of a fit, ratio", ylabel=f"{name}, ratio")
    for axis in (axes.xaxis, axes.yaxis):
        narrow = np.ptp(np.log(axis.get_data_interval())) < 2
        axis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0) if narrow else (1.0, 2.0, 5.0)))
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="both", labelsize=8)
    axes.set_title(
        f"{suite}: ratios to the {called(reference)}, geometric means over tasks, ± 2 standard errors;\n"
        "to the lower left is better",
        fontsize=9,
    )
    return figure


def against_rows(records: list[Record]) -> Figure | None:
    """Draw error, CPU seconds and peak memory against N, one line a model; where a line ends, the model gave up."""
    if not any(record["status"] == "ok" for record in records):
        return None
    figure, panels = plt.subplots(1, 3, figsize=(13, 4.2), layout="constrained")
    models = ordered(records, "model")
    ours, others = [m for m in models if is_ours(m)], [m for m in models if not is_ours(m)]
    styles = {model: {"color": OURS_COLOR, "lw": 2, "ls": DASHES[i % len(DASHES)]} for i, model in enumerate(ours)}
    styles |= {model: {"color": NOT_RED[i % len(NOT_RED)], "lw": 1.2} for i, model in enumerate(others)}
    sizes = {record["task"]: record["n_rows"] for record in records if "n_rows" in record}
    shown = (
        ("error_to_truth", "error to the truth"),
        ("cpu_s", "CPU seconds of a fit"),
        ("peak_mb", "peak memory, MB"),
    )
    for axes, (field, label) in zip(panels, shown, strict=True):
        for model, style in styles.items():
            means = task_means(records, model, field)
            line = sorted((sizes[task], value) for task, value in means.items())
            if line:
                axes.plot(*zip(*line, strict=True), marker="o", ms=3, label=called(model), **style)
        axes.set(xscale="log", yscale="log", xlabel="rows", ylabel=label)
    panels[-1].legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.02, 1.0))
    return figure


def coverage_by_task(records: list[Record]) -> Figure | None:
    """Draw one dot a task for each model that has intervals."""
    means = {model: task_means(records, model, "coverage") for model in ordered(records, "model")}
    means = {model: found for model, found in means.items() if found}
    if not means:
        return None
    figure, axes = plt.subplots(figsize=(7, 0.4 * len(means) + 1.2))
    axes.axvspan(*WANTED_COVERAGE, color=BAND_COLOR, zorder=0)
    axes.axvline(0.95, color="white", zorder=1)
    for row, (model, found) in enumerate(means.items()):
        axes.plot(list(found.values()), [row] * len(found), "o", ms=4, alpha=0.7,
                  color=OURS_COLOR if is_ours(model) else OTHERS_COLOR)  # fmt: skip
    axes.set_yticks(range(len(means)), [called(model) for model in means])
    axes.invert_yaxis()
    axes.set_xlabel("share of test values inside 95 % intervals; a dot is a task")
    return figure


def draw_engines(records: list[dict[str, Any]]) -> Figure:
    """Draw the best log posterior so far against evaluations and CPU seconds, one line a seed."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True)
    engines = list(dict.fromkeys(record["engine"] for record in records))
    best = max(point[2] for record in records for point in record["curve"])
    for axes, column, label in zip(panels, (0, 1), ("evaluations", "CPU seconds"), strict=True):
        for record in records:
            i = engines.index(record["engine"])
            curve = np.array(record["curve"], dtype=float)
            first = record["seed"] == min(r["seed"] for r in records)
            axes.plot(curve[:, column], curve[:, 2], color=plt.cm.tab10(i), lw=1, marker="." if len(curve) < 12 else "",
                      label=record["engine"] if first else None)  # fmt: skip
        axes.set(xscale="log", xlabel=label, ylim=(best - 100, best + 5))
    panels[0].set_ylabel("best log posterior so far")
    panels[1].legend(fontsize=8, loc="lower right")
    return figure


def read_engines(path: Path) -> list[dict[str, Any]]:
    """Read the searches that ran."""
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return [record for record in records if "curve" in record]
