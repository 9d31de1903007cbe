"""How many parameters a term counts for, where that is left to the data."""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Ints
from saltus.engine.drivers.calibration import COSTS, Calibration, calibrate, is_worth_descending
from saltus.engine.problem.criteria import Counts
from saltus.engine.problem.design import Design, count_distinct_rows
from saltus.engine.problem.problem import Criterion
from saltus.engine.search.pruning import GoOn
from saltus.estimators.checks import TrainingData
from saltus.families import Mixture

if TYPE_CHECKING:
    from saltus.estimators.annealed import AnnealedRegressor

# Of max_time, it takes no more than this share.
SHARE_OF_TIME = 0.25

# With fewer rows there is nothing to leave out, and a term costs as much as it may.
FEWEST_ROWS_TO_CALIBRATE = 20


def calibrate_search(model: "AnnealedRegressor", data: TrainingData, mixture: Mixture) -> Calibration:
    """Choose how many parameters a term counts for, and how chains start, by cross-validation."""
    if count_distinct_rows(data.X, data.Y) < FEWEST_ROWS_TO_CALIBRATE:
        return Calibration(COSTS[-1])
    designs, criteria = _makers(model, data, mixture)
    return calibrate(data.X, data.Y, data.weight, designs, criteria, model._policy, _in_time(model.max_time))


def calibrate_sampler(
    model: "AnnealedRegressor", data: TrainingData, mixture: Mixture, max_time: float | None
) -> Calibration:
    """Choose how chains of a posterior start, as `model` would find their networks."""
    designs, criteria = _makers(model, data, mixture)
    rows = data.X, data.Y, data.weight
    return Calibration(0, (is_worth_descending(*rows, designs, criteria, model._policy, _in_time(max_time)),))


def _makers(
    model: "AnnealedRegressor", data: TrainingData, mixture: Mixture
) -> tuple[Callable[[Ints], Design], Callable[[Design, int], Criterion]]:
    all_linear = model.linear == "all"

    def design_of(rows: Ints) -> Design:
        part = replace(data, X=data.X[rows], Y=data.Y[rows], weight=data.weight[rows])
        return model._design_of(part, mixture, all_linear, COSTS[0], is_part=True)

    def criterion_of(design: Design, cost: int) -> Criterion:
        counts = Counts(design.problem.n_total, design.Y.shape[1], design.problem.m_fixed)
        return model._criterion(counts, design.k_max, design.mixture, cost)

    return design_of, criterion_of


def _in_time(max_time: float | None) -> GoOn:
    until = monotonic() + (np.inf if max_time is None else SHARE_OF_TIME * float(max_time))
    return lambda: monotonic() < until
