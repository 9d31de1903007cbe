"""From networks that some rows gave to those that all rows give: new terms, descents and elimination, in rounds.

Rounds begin with a few times as many rows as the networks come from, in memory, and go on with more and more, the last
with all. So most of what there is to find is found where a pass costs little. Networks are refined side by side: a pass
answers what all of them ask.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from saltus._typing import Ints
from saltus.engine.problem.design import Design
from saltus.engine.rows.descent import descend, flops_of_a_step
from saltus.engine.rows.fit import Fit, Target
from saltus.engine.rows.frame import Frame
from saltus.engine.rows.growth import choose, flops_of_growth, nominate
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.rows import Block, GoOn, Inquiry, Rows, StoppedError, inquire
from saltus.engine.search.policy import SearchPolicy
from saltus.families.terms import TermSet

# Makes the design of some rows as another sees them, whose target counts them for so much weight in all.
MakeDesign = Callable[[Design, Block, float], Design]
# Told what a network has reached, by its number, and with which rows.
Tell = Callable[[int, Fit, Rows], None]


class Stage:
    """Rounds with so many of the rows. Mutable: it keeps what each network has reached."""

    def __init__(
        self, rows: Rows, few: MemoryRows, seen: Mapping[int, tuple[Target, Design]], policy: SearchPolicy
    ) -> None:
        self.rows, self.few, self.seen, self.policy = rows, few, seen, policy
        self.reached: dict[int, Fit] = {}
        self._flops_left = dict.fromkeys(seen, policy.flops_of_a_stage + policy.flops_of_a_stage_a_row * rows.n_rows)

    def run(self, rng: np.random.Generator, terms: Mapping[int, TermSet], go_on: GoOn, tell: Tell) -> None:
        """Refine networks side by side, for as long as there is time."""
        generators = rng.spawn(len(terms))
        inquiries = {
            number: self._rounds(generator, number, start, tell)
            for generator, (number, start) in zip(generators, terms.items(), strict=True)
        }
        with suppress(StoppedError):
            for number, fit in inquire(self.rows, inquiries, go_on):
                self.reached[number] = fit

    def fit_as_they_are(self, terms: Mapping[int, TermSet]) -> dict[int, Fit]:
        """Fit networks to the rows, however long it takes: a pass or two."""
        return dict(inquire(self.rows, {number: self.seen[number][0].fit(each) for number, each in terms.items()}))

    def _rounds(self, rng: np.random.Generator, number: int, terms: TermSet, tell: Tell) -> Inquiry[Fit]:
        """Descend, eliminate and bring terms in, until a round gains next to nothing or there were enough."""
        policy, (target, design) = self.policy, self.seen[number]
        smallest = policy.resolution_of_refinement(target.problem.n_total)
        fit = yield from target.fit(terms)
        for _ in range(policy.rounds_of_refinement):
            before = fit.log_posterior
            fit = self._keep(number, (yield from self._descended(number, fit, smallest)))
            tell(number, fit, self.rows)
            if self.rows.n_passes >= policy.most_passes:
                return fit
            fit = self._keep(number, (yield from self._grown(rng, number, fit, design)))
            if fit.log_posterior < before + smallest:
                break
        return (yield from self._descended(number, fit, smallest))

    def _keep(self, number: int, fit: Fit) -> Fit:
        self.reached[number] = fit
        return fit

    def _affordable(self, number: int, flops: float, most: int) -> int:
        """Say how many things of such a cost a network can have, and charge it for them."""
        n = min(most, int(self._flops_left[number] / max(flops, 1.0)))
        self._flops_left[number] -= n * flops
        return n

    def _descended(self, number: int, fit: Fit, smallest: float) -> Inquiry[Fit]:
        flops = flops_of_a_step(fit, self.rows.n_rows, self.few.n_rows, self.policy)
        n_steps = self._affordable(number, flops, self.policy.steps_of_refinement)
        descended = yield from descend(fit, self.few, n_steps, smallest, self.policy)
        return descended.eliminated()

    def _grown(self, rng: np.random.Generator, number: int, fit: Fit, design: Design) -> Inquiry[Fit]:
        """Bring in what is worth it, if anything."""
        n_most = self.policy.terms_of_a_round(fit.k)
        flops = flops_of_growth(fit, self.rows.n_rows, self.few.n_rows, n_most, self.policy)
        if not self._affordable(number, flops, 1):
            return fit
        nominees = nominate(rng, design, fit.terms, n_most, self.policy)
        if nominees is None:
            return fit
        chosen = yield from choose(fit, nominees, self.policy.charge_of_refinement, n_most)
        if len(chosen) == 0:
            return fit
        with_more = yield from fit.of.fit(fit.terms.followed_by(chosen))
        grown = with_more.eliminated()
        return grown if grown.log_posterior > fit.log_posterior else fit


@dataclass(frozen=True)
class Refinement:
    """What a refinement needs beside the networks it begins with."""

    rows: Rows
    total_weight: float
    make_design: MakeDesign
    policy: SearchPolicy

    def run(
        self,
        rng: np.random.Generator,
        networks: Mapping[int, tuple[TermSet, Design]],
        go_on: GoOn = lambda: True,
        tell: Tell = lambda number, fit, rows: None,
    ) -> dict[int, Fit]:
        """Refine networks, each as the design sees it that it comes from, for as long as there is time.

        What there is then is fitted to all rows in a pass or two.
        """
        terms = {number: each for number, (each, _) in networks.items()}
        designs = {number: design for number, (_, design) in networks.items()}
        stage = None
        for n in self._numbers_of_rows(next(iter(designs.values()))):
            stage = self._stage(rng, n, designs)
            stage.run(rng, terms, go_on, tell)
            terms |= {number: fit.terms for number, fit in stage.reached.items()}
            if not go_on():
                break
        if stage is None or stage.rows is not self.rows:
            stage = self._stage(rng, self.rows.n_rows, designs)
        left = {number: each for number, each in terms.items() if number not in stage.reached}
        return stage.reached | (stage.fit_as_they_are(left) if left else {})

    def _numbers_of_rows(self, design: Design) -> Iterator[int]:
        n = self.policy.rows_of_a_search * self.policy.finer
        most = self.policy.numbers_in_memory / (len(design.box.width) + design.Y.shape[1] + 1)
        while n <= min(self.rows.n_rows / 2, most):
            yield n
            n *= self.policy.finer
        yield self.rows.n_rows

    def _stage(self, rng: np.random.Generator, n: int, designs: Mapping[int, Design]) -> Stage:
        """Take n of the rows, and of these the few that nominate terms and give the curvature."""
        rows, total = self.rows, self.total_weight
        if n < rows.n_rows:
            part = MemoryRows(rows.take(draw_rows(rng, rows.n_rows, n)))
            rows, total = part, float(part.rows.weight.sum())
        few = MemoryRows(rows.take(draw_rows(rng, n, self.policy.rows_that_nominate)))
        seen = {}
        for number, design in designs.items():
            of_few = self.make_design(design, few.rows, total)
            floor = of_few.problem.rss_floor * (total / of_few.problem.n_total)
            problem = of_few.problem._replace(n_total=total, degrees=total, rss_floor=floor)
            seen[number] = Target(Frame.of(design), problem), of_few
        return Stage(rows, few, seen, self.policy)


def draw_rows(rng: np.random.Generator, n_rows: int, n: int) -> Ints:
    """Draw n of the numbers of rows, in rising order."""
    return np.arange(n_rows) if n >= n_rows else np.sort(rng.choice(n_rows, n, replace=False, shuffle=False))
