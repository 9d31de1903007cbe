"""Fits to more rows than a search sees: which rows these are, and how all of them are asked."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus.engine.drivers.refining import ManyRows
from saltus.engine.problem.criteria import Counts
from saltus.engine.problem.design import Design, count_distinct_rows, make_design
from saltus.engine.problem.scaling import LinearTerm
from saltus.engine.rows.extremes import Extremes
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.refinement import draw_rows
from saltus.engine.rows.rows import Block, Rows
from saltus.estimators.checks import TrainingData
from saltus.estimators.largest import largest_k_of_many

if TYPE_CHECKING:
    from saltus.estimators.searched import SearchedModel

# Where a smaller share of some rows is distinct, so few may be all that there are.
ALL_DISTINCT = 0.9


@dataclass(frozen=True)
class Reading:
    """What a fit was given: the rows that its search sees, and all of them where these are more."""

    seen: TrainingData
    many: ManyRows | None = None


def is_chunked(X: object) -> bool:
    """Say whether dask holds rows."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


def in_memory(model: "SearchedModel", data: TrainingData) -> Reading:
    """Let a search see a part of the rows, where these are many."""
    if len(data.X) <= model._policy.most_rows_of_a_search:
        return Reading(data)
    rows = MemoryRows(Block(data.X, data.Y, data.weight), model.n_jobs)
    seen = part_of(rows, model._policy.rows_of_a_search)
    part = TrainingData(seen.X, seen.Y, seen.weight, data.n_levels, data.single_output)
    return Reading(part, many_rows(model, rows, float(data.weight.sum()), seen))


def part_of(rows: Rows, n: int) -> Block:
    """Draw n of the rows, and add those where each input has its ends, so that the box is that of all rows."""
    # Not by the seed of the fit: a resumed one may have another.
    drawn = rows.take(draw_rows(np.random.default_rng(rows.n_rows), rows.n_rows, n))
    ends = rows.ask(Extremes()).rows(drawn)
    return Block(*(np.concatenate([some, others]) for some, others in zip(drawn, ends, strict=True)))


def many_rows(model: "SearchedModel", rows: Rows, total_weight: float, seen: Block) -> ManyRows:
    """Say how designs are made of some of many rows."""
    n_distinct = count_distinct_rows(seen.X, seen.Y)
    n_distinct = n_distinct if n_distinct < ALL_DISTINCT * len(seen.X) else rows.n_rows

    def design_of(like: Design, block: Block, total: float) -> Design:
        """Make the design of some rows as another sees them, whose target counts them for so much weight in all."""
        problem, mixture, n_outputs = like.problem, like.mixture, block.Y.shape[1]
        counts = Counts(total, n_outputs, problem.m_fixed, min(float(n_distinct), total))
        most_columns, n_independent = int(mixture.n_columns.max()), int(min(n_distinct, total))
        k_max = largest_k_of_many(model.k_max, n_independent, problem.m_fixed, most_columns, mixture.chooses_inputs)
        criterion = model._criterion(counts, k_max, mixture, problem.criterion.n_own_a_term)
        linear = LinearTerm.of(like.box.to_unit(block.X), block.weight, only_constant=problem.m_fixed == 1)
        return make_design(*block, box=like.box, linear=linear, mixture=mixture, criterion=criterion)

    return ManyRows(rows, total_weight, len(seen.X), design_of)
