"""After a search among some rows: all rows refine the best network of each chain."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic
from typing import NamedTuple

import numpy as np

from saltus._typing import Floats
from saltus.engine.drivers.anneal import anneal
from saltus.engine.drivers.chain import Settings, left_of
from saltus.engine.drivers.checkpoints import Checkpoint, Checkpointer
from saltus.engine.drivers.endings import EARLY_ENDS
from saltus.engine.drivers.events import Listener, Progress
from saltus.engine.drivers.monitor import Monitor
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import AnnealResult, BestState, ChainResult, spaced
from saltus.engine.results.network import fit_coefficients, make_network
from saltus.engine.rows.fit import Fit
from saltus.engine.rows.refinement import MakeDesign, Refinement
from saltus.engine.rows.rows import Rows
from saltus.engine.search.paths import SizePath, find_path
from saltus.engine.search.policy import SearchPolicy


class Found(NamedTuple):
    """What a search found, with the target that it is judged by."""

    result: AnnealResult
    design: Design
    path: SizePath | None  # the best network with fewer and fewer terms


@dataclass(frozen=True)
class ManyRows:
    """Rows of which a search sees a part, and how a design is made of some of them."""

    rows: Rows
    total_weight: float
    n_seen: int  # by the search
    make_design: MakeDesign

    def refine(
        self,
        result: AnnealResult,
        design: Design,
        policy: SearchPolicy,
        seconds_left: float | None,
        listener: Listener | None,
    ) -> Found:
        """Refine the best network of each chain, side by side, for as long as there is time."""
        stop_signal = StopSignal(seconds_left, has_result=True)
        if result.ended_early:
            stop_signal.stop(result.ended_early)
        monitor = Monitor(stop_signal, listener)
        networks = {
            number: (chain.best.network.terms, design.variants[chain.best.variant])
            for number, chain in enumerate(result.chains)
        }

        def tell(number: int, fit: Fit, rows: Rows) -> None:
            shift = design.log_posterior_shift * fit.of.problem.n_total / design.problem.n_total
            best, n_iter = fit.log_posterior + shift, result.chains[number].n_iter
            monitor.tell(lambda: Progress(number, n_iter, fit.k, best, 0.0, 0.0, rows.n_passes))

        refinement = Refinement(self.rows, self.total_weight, self.make_design, policy)
        # The rows that are drawn do not depend on the seed of the fit, which a resumed one may have lost.
        rng = np.random.default_rng(self.rows.n_rows)
        with stop_signal.heeding_interrupts():
            fits = refinement.run(rng, networks, stop_signal.go_on, tell)
        chains = tuple(
            self._result_of(chain, design.variants[chain.best.variant], fits[number])
            for number, chain in enumerate(result.chains)
        )
        best = max(fits, key=lambda number: fits[number].log_posterior)
        whole = self._whole(design, fits[best])
        found = AnnealResult.from_chains(
            chains,
            ending=self._ending(stop_signal),
            near=policy.resolution(self.total_weight),
            remedy="a larger n_chains",
            ended_early=result.ended_early or stop_signal.stopped_by,
        )
        return Found(found, whole, path_of(fits[best], whole))

    def _whole(self, design: Design, fit: Fit) -> Design:
        """Let the target of a design, and of its variants, be that of all rows."""
        problem = fit.of.problem

        def widened(one: Design) -> Design:
            changed = one.problem._replace(
                n_total=problem.n_total,
                degrees=problem.degrees,
                rss_floor=problem.rss_floor,
                criterion=problem.criterion,
            )
            return replace(one, problem=changed, others=())

        return replace(widened(design), others=tuple(widened(other) for other in design.others))

    def _result_of(self, chain: ChainResult, design: Design, fit: Fit) -> ChainResult:
        whole = self._whole(design, fit)
        alpha = fit_coefficients(design.mixture, fit.terms, fit.R, fit.Z.T, fit.rss, self.total_weight)
        best = BestState(
            network=make_network(whole, fit.terms, alpha),
            variant=chain.best.variant,
            rss=fit.rss * design.outputs.scale**2,
            log_posterior=fit.log_posterior + whole.log_posterior_shift,
            iteration=chain.best.iteration,
        )
        values = fit.path.log_posterior[::-1] + whole.log_posterior_shift
        return replace(
            chain,
            best=best,
            best_by_n_terms=dict(enumerate(values.tolist())),
            local_optima=(best,),
            snapshots=tuple(replace(snapshot, predicts=False) for snapshot in chain.snapshots),
        )

    def _ending(self, stop_signal: StopSignal) -> str:
        passes = f"{self.rows.n_passes} passes over all rows"
        told = f"The search saw {spaced(self.n_seen)} of {spaced(self.rows.n_rows)} rows, and {passes} refined"
        if stop_signal.stopped_by:
            return f"{EARLY_ENDS.get(stop_signal.stopped_by, 'The search stopped.')} {told} what it had found by then."
        if stop_signal.deadline.is_over:
            return f"The search stopped: its time limit (max_time) was over. {told} what it had found by then."
        return f"{told} what it found."


def path_of(fit: Fit, design: Design) -> SizePath:
    """Find the path of a network down to no terms. No pass over the rows.

    With many rows hardly any is followed by the network: residuals of rows that are left out are those of generalised
    cross-validation.
    """
    ordered = fit.with_only(fit.path.order[::-1])
    frame, n_total = fit.of.frame, fit.of.problem.n_total
    m_of_size = frame.m_fixed + np.concatenate([[0], np.cumsum(frame.mixture.n_columns[ordered.terms.family])])
    explained = (ordered.Z**2)[::-1].cumsum(axis=0)[::-1]
    rss: Floats = ordered.rss + np.vstack([explained, np.zeros((1, len(ordered.rss)))])[m_of_size]
    left_out = np.sqrt(rss / n_total) / (1.0 - np.minimum(m_of_size / n_total, 0.5))[:, None]
    return SizePath(
        terms=ordered.terms,
        spreads=frame.spreads,
        kept=frame.kept,
        R=ordered.R.copy(),
        Z=ordered.Z.T.copy(),
        rss=rss,
        log_posterior=fit.path.log_posterior[::-1] + design.log_posterior_shift,
        leave_one_out=left_out * design.outputs.scale,
    )


def search(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: Settings,
    many: ManyRows | None,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
    checkpointer: Checkpointer | None = None,
    resumed: Checkpoint | None = None,
) -> Found:
    """Anneal with the rows of a design; where these are a part of many, refine with all."""
    began = monotonic()
    result = anneal(
        seeds, design, settings, n_jobs=n_jobs, listener=listener, checkpointer=checkpointer, resumed=resumed
    )
    if many is None:
        best = result.chains[result.best_chain].best
        return Found(result, design, find_path(design.variants[best.variant], best.network.terms))
    left = left_of(settings.max_seconds, settings.seconds_used + monotonic() - began)
    return many.refine(result, design, settings.policy, left, listener)
