"""From a network that some rows gave to one that all rows give: new terms, descents and elimination, in rounds.

Rounds begin with a few times as many rows as the network comes from, in memory, and go on with more and more, the last
with all. So most of what there is to find is found where a pass costs little.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from saltus.engine.problem.design import Design
from saltus.engine.rows.descent import descend
from saltus.engine.rows.fit import AllRows, Fit
from saltus.engine.rows.frame import Frame
from saltus.engine.rows.growth import choose, nominate
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.rows import Block, GoOn, Rows, StoppedError
from saltus.engine.search.policy import SearchPolicy
from saltus.families.terms import TermSet

# Makes the design of some rows, whose target counts them for so much weight in all.
MakeDesign = Callable[[Block, float], Design]


@dataclass(frozen=True)
class Refinement:
    """What a refinement needs beside the network it begins with."""

    rows: Rows
    total_weight: float
    frame: Frame
    make_design: MakeDesign
    policy: SearchPolicy
    go_on: GoOn = lambda: True
    tell: Callable[[Fit], None] = lambda fit: None

    def run(self, rng: np.random.Generator, terms: TermSet) -> Fit:
        """Refine, for as long as there is time; then fit what there is to all rows, in a pass or two."""
        stage: Stage | None = None
        try:
            for stage in self.stages(rng):
                for fit in stage.rounds(rng, terms):
                    terms = fit.terms
                    self.tell(fit)
        except StoppedError:
            pass
        if stage is None or not stage.is_last or stage.reached is None:
            whole = self._stage(self.rows, self.total_weight, self._few(rng, self.rows), is_last=True)
            return replace(whole.all_rows, go_on=lambda: True).fit(terms)
        return stage.reached

    def stages(self, rng: np.random.Generator) -> "Iterator[Stage]":
        """Go through the numbers of rows that rounds are run with."""
        n = self.policy.rows_of_a_search * self.policy.finer
        most = int(self.policy.numbers_in_memory / (len(self.frame.box.width) + self.frame.n_outputs + 1))
        while n <= min(self.rows.n_rows / 2, most):
            part = MemoryRows(self.rows.take(draw_rows(rng, self.rows.n_rows, n)))
            yield self._stage(part, float(part.rows.weight.sum()), self._few(rng, part), is_last=False)
            n *= self.policy.finer
        yield self._stage(self.rows, self.total_weight, self._few(rng, self.rows), is_last=True)

    def _few(self, rng: np.random.Generator, rows: Rows) -> MemoryRows:
        """Take the rows that nominate terms and give the curvature."""
        n = min(self.policy.rows_that_nominate, rows.n_rows)
        return MemoryRows(rows.take(draw_rows(rng, rows.n_rows, n)))

    def _stage(self, rows: Rows, total: float, few: MemoryRows, *, is_last: bool) -> "Stage":
        design = self.make_design(few.rows, total)
        floor = design.problem.rss_floor * (total / design.problem.n_total)
        problem = design.problem._replace(n_total=total, degrees=total, rss_floor=floor)
        return Stage(AllRows(rows, self.frame, problem, self.go_on), few, design, self.policy, is_last)


class Stage:
    """Rounds with so many of the rows. Mutable: it keeps what was reached."""

    def __init__(self, all_rows: AllRows, few: MemoryRows, design: Design, policy: SearchPolicy, is_last: bool) -> None:
        self.all_rows, self.few, self.design, self.policy, self.is_last = all_rows, few, design, policy, is_last
        self.reached: Fit | None = None

    def rounds(self, rng: np.random.Generator, terms: TermSet) -> Iterator[Fit]:
        """Bring terms in, descend and eliminate, until a round gains next to nothing; yield what each round reaches."""
        policy, total = self.policy, self.all_rows.problem.n_total
        smallest = policy.resolution_of_refinement(total)
        fit = self.all_rows.fit(terms)
        self.reached = fit
        for _ in range(policy.rounds_of_refinement):
            before = fit.log_posterior
            fit = self._descended(fit, smallest)
            yield fit
            fit = self._grown(rng, fit)
            if fit.log_posterior < before + smallest:
                break
        self.reached = fit = self._descended(fit, smallest)
        yield fit

    def _descended(self, fit: Fit, smallest: float) -> Fit:
        self.reached = descend(fit, self.few, self.policy.steps_of_refinement, smallest).eliminated()
        return self.reached

    def _grown(self, rng: np.random.Generator, fit: Fit) -> Fit:
        """Bring in what is worth it, if anything."""
        n_most = self.policy.terms_of_a_round(fit.k)
        nominees = nominate(rng, self.design, fit.terms, n_most, self.policy)
        if nominees is None:
            return fit
        chosen = choose(fit, nominees, self.policy.charge_of_refinement, n_most)
        if len(chosen) == 0:
            return fit
        grown = fit.of.fit(fit.terms.followed_by(chosen)).eliminated()
        self.reached = grown if grown.log_posterior > fit.log_posterior else fit
        return self.reached


def draw_rows(rng: np.random.Generator, n_rows: int, n: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Draw n of the numbers of rows, in rising order."""
    if n >= n_rows:
        return np.arange(n_rows)
    found: np.ndarray[tuple[int], np.dtype[np.int64]] = np.sort(rng.choice(n_rows, n, replace=False, shuffle=False))
    return found
