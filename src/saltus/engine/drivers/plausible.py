"""Whether chains of a checkpoint could have been left by a fit of some design: kernels are given no others.

A kernel trusts its arguments: an array that is too short, or a number of terms that is negative, makes it write where
it must not. Each function raises ValueError, which says what cannot be.
"""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.drivers.blocks import ITERATIONS_BETWEEN_REBUILDS
from saltus.engine.drivers.chain import Chain, RoundTask, Settings
from saltus.engine.drivers.checkpoints import (
    Checkpoint,
    GeneratorState,
    Halfway,
    SavedChain,
    SavedRecord,
    SavedSampler,
)
from saltus.engine.drivers.outputs import SamplerSettings
from saltus.engine.kernels.moves import ALL_MOVES
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, FEASIBLE
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import BestState, ChainResult
from saltus.engine.results.draws import Draws
from saltus.engine.results.network import Network
from saltus.families.terms import TermSet

# The state of PCG64, and its buffer.
LARGEST_STATE, LARGEST_HALF = 2**128, 2**32


def check_annealed(checkpoint: Checkpoint, design: Design, settings: Settings) -> None:
    """Check the chains of a search."""
    history = checkpoint.history
    require(np.isfinite(history).all() and (np.diff(history) >= 0).all(), "its best values do not rise")
    require(settings.n_iter is None or not history, "it has more rounds than the fit")
    lengths = [settings.iterations_of_round(history[:n_rounds], design) for n_rounds in range(len(history) + 1)]
    networks = _Networks(design)
    for number, saved in enumerate(checkpoint.chains):
        require(isinstance(saved, SavedChain), "its chains are those of another estimator")
        assert isinstance(saved, SavedChain)
        require(0 <= saved.variant < len(design.variants), "a chain is of a variant that does not exist")
        check_generator(saved.generator)
        n_rounds = len(history) + saved.is_done
        n_before = sum(lengths[:n_rounds])
        require((saved.result is None) == (n_rounds == 0), "a chain has a result without a round, or none after one")
        if saved.result is not None:
            require(len(saved.result.local_optima) >= n_rounds, "a chain has fewer optima than rounds")
            _check_result(saved.result, n_before, networks)
        if saved.terms is not None:
            require(saved.result is not None, "a chain has terms before its first round")
            check_terms(saved.terms, design.variants[saved.variant])
        if saved.halfway is not None:
            require(not saved.is_done, "a chain is both in a round and after it")
            task = RoundTask(Chain.restored(saved), design, settings, lengths[-1], number)
            _check_halfway(saved.halfway, task, networks)


def check_sampled(checkpoint: Checkpoint, design: Design, settings: SamplerSettings) -> None:
    """Check the chains of a sampler."""
    require(not checkpoint.history, "a sampler has no rounds")
    for saved in checkpoint.chains:
        if saved is None:
            continue
        require(isinstance(saved, SavedSampler), "its chains are those of another estimator")
        assert isinstance(saved, SavedSampler)
        is_at_rebuild = saved.done % ITERATIONS_BETWEEN_REBUILDS == 0
        require(0 < saved.done <= settings.n_total, "a chain has run more iterations than the fit")
        require(is_at_rebuild or saved.done == settings.n_total, "a chain is where none is saved")
        check_generator(saved.generator)
        check_terms(saved.terms, design)
        _check_above(saved, design.Y.shape[1])
        require(len(saved.hotter) == len(settings.temperatures) - 1, "a chain has other hotter copies than the fit")
        for rung in saved.hotter:
            check_generator(rung.generator)
            check_terms(rung.terms, design)
            is_width = rung.prior_width.shape == (design.Y.shape[1],) and _are_positive(rung.prior_width)
            require(is_width, "a variance is not positive")
        _check_counts(saved.counts, saved.done)
        n_due = max(saved.done - settings.n_warmup, 0) // settings.steps_between_draws
        if saved.draws is None:
            require(n_due == 0, "draws are missing")
        else:
            require(n_due <= len(saved.draws) <= settings.n_draws, "draws are too few or too many")
            _check_draws(saved.draws, design)


def require(holds: Any, otherwise: str) -> None:
    """Raise ValueError unless something holds."""
    if not holds:
        raise ValueError(otherwise)


def check_generator(state: GeneratorState) -> None:
    """Check that PCG64 could be in a state."""
    within = 0 <= state.state < LARGEST_STATE and 0 <= state.increment < LARGEST_STATE
    has_half = state.has_half in (0, 1) and 0 <= state.half < LARGEST_HALF
    require(within and state.increment % 2 == 1 and has_half, "a random generator is in no state that exists")


def check_terms(terms: TermSet, design: Design) -> None:
    """Check that terms could be those of a chain of this design alone, of one variant."""
    require(len(terms) <= design.k_max and design.mixture.accepts(terms), "its terms do not fit the data")


def same(one: Any, other: Any) -> bool:
    """Say whether two values are equal to the last bit, whatever they are made of."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_dataclass(one):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return bool(one == other)


class _Networks:
    """Checks networks against the designs that they must be of. Mutable: it remembers those that it has seen."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self._known: dict[int, tuple[Any, int]] = {}  # by id, of values that are kept, so that the id stays their own

    def check(self, network: Network) -> Design:
        """Check a network; return the design of its variant."""
        design = self.design
        variant = design.variants[self._variant_of(network.mixture)]
        parts = (network.box, design.box), (network.outputs, design.outputs), (network.means, design.linear.means)
        require(all(self._is_same(*pair) for pair in parts), "a network is of other data")
        check_terms(network.terms, variant)
        return variant

    def check_state(self, state: BestState, n_iter: int) -> None:
        """Check the best state of a chain."""
        require(self.check(state.network).variant == state.variant, "a network is not of its variant")
        require(np.isfinite(state.log_posterior) and 0 <= state.iteration <= n_iter, "a best state is nowhere")
        require(state.rss.shape == self.design.outputs.scale.shape and (state.rss >= 0).all(), "residuals are negative")

    def _variant_of(self, mixture: Any) -> int:
        if id(mixture) not in self._known:
            mixtures = [variant.mixture for variant in self.design.variants]
            found = next((number for number, each in enumerate(mixtures) if same(mixture, each)), -1)
            require(found >= 0, "a network is of other families")
            self._known[id(mixture)] = mixture, found
        return self._known[id(mixture)][1]

    def _is_same(self, one: Any, other: Any) -> bool:
        if id(one) not in self._known:
            self._known[id(one)] = one, same(one, other)
        return bool(self._known[id(one)][1])


def _check_result(result: ChainResult, n_iter: int, networks: _Networks) -> None:
    require(result.n_iter == n_iter, "a chain has not run the iterations of its rounds")
    trace, k_max = result.trace, max(variant.k_max for variant in networks.design.variants)
    require(_is_within(trace.n_terms, 0, k_max), "a trace has numbers of terms that cannot be")
    require(np.isfinite(trace.log_posterior).all(), "a trace is not finite")
    require((np.isfinite(trace.temperature) & (trace.temperature >= 0)).all(), "a trace has temperatures below 0")
    require(set(result.moves) <= set(ALL_MOVES), "a move is none")
    require(all(0 <= k <= k_max for k in result.best_by_n_terms), "a number of terms cannot be")
    for state in {id(state): state for state in (result.best, *result.local_optima)}.values():
        networks.check_state(state, n_iter)
    for snapshot in result.snapshots:
        networks.check(snapshot.network)


def _check_halfway(halfway: Halfway, task: RoundTask, networks: _Networks) -> None:
    """Check a chain in the middle of a round."""
    done, design = halfway.done, task.design
    is_at_rebuild = done % ITERATIONS_BETWEEN_REBUILDS == 0
    require(0 <= done < task.n_iter and is_at_rebuild, "a chain is where no round is saved")
    check_generator(halfway.generator)
    check_terms(halfway.terms, design)
    scalars = np.array([halfway.started_at, halfway.hottest, halfway.coldest])
    require(np.isfinite(scalars).all() and 0 < halfway.coldest <= halfway.hottest, "a temperature cannot be")
    _check_record(halfway.record, task, done)
    kept = sorted(iteration for iteration in task.snapshot_iterations if iteration <= done)
    found = [snapshot.iteration - task.n_before for snapshot in halfway.snapshots]
    require(found == kept, "snapshots are missing")
    for iteration, snapshot in zip(kept, halfway.snapshots, strict=True):
        require(networks.check(snapshot.network) is design, "a snapshot is of another variant")
        require(np.isfinite(snapshot.log_posterior), "a snapshot is not finite")
        require(snapshot.predicts == (iteration in task.draw_iterations), "another snapshot predicts")


def _check_record(record: SavedRecord, task: RoundTask, done: int) -> None:
    """Check what a round has seen: kernels write to it."""
    design = task.design
    k_max, mixture, n_trace = design.k_max, design.mixture, -(-task.n_iter // task.stride)
    shapes = {
        "best_k": (1,),
        "best_family": (k_max,),
        "best_choices": (k_max, mixture.n_choices),
        "best_parameters": (k_max, mixture.n_parameters),
        "best_shared": mixture.starting_shared.shape,
        "best_log_posterior": (1,),
        "best_iteration": (1,),
        "best_by_k": (k_max + 1,),
        "counts": (len(ALL_MOVES), 3),
        "trace_k": (n_trace,),
        "trace_log_posterior": (n_trace,),
    }
    require(all(getattr(record, name).shape == shape for name, shape in shapes.items()), "a record has another shape")
    k = int(record.best_k[0])
    require(0 <= k <= k_max, "a record has a number of terms that cannot be")
    best = TermSet(record.best_family[:k], record.best_choices[:k], record.best_parameters[:k], record.best_shared)
    check_terms(best, design)
    value, by_k = record.best_log_posterior[0], record.best_by_k
    require(np.isfinite(value) and not np.isnan(by_k).any(), "a record is not finite")
    require(value == by_k[k] == by_k.max(), "a best value is not that of the best")
    require(0 <= record.best_iteration[0] <= done, "a best state was reached in an iteration to come")
    _check_counts(record.counts, done)
    n_seen = len(range(0, done, task.stride))
    require(np.isfinite(record.trace_log_posterior).all(), "a trace is not finite")
    require(_is_within(record.trace_k, 0, k_max), "a trace has numbers of terms that cannot be")
    rest = (record.trace_k[n_seen:], record.trace_log_posterior[n_seen:])
    require(not any(each.any() for each in rest), "a trace goes beyond the iterations done")


def _check_counts(counts: Ints, done: int) -> None:
    """Check counts of moves, one for each iteration and perhaps one of shared parameters."""
    require(counts.shape == (len(ALL_MOVES), 3), "counts are not those of the moves")
    chosen, feasible, accepted = counts[:, CHOSEN], counts[:, FEASIBLE], counts[:, ACCEPTED]
    in_order = (accepted >= 0).all() and (accepted <= feasible).all() and (feasible <= chosen).all()
    require(in_order and (chosen <= done).all() and chosen.sum() <= 2 * done, "moves are miscounted")


def _check_above(saved: SavedSampler, n_outputs: int) -> None:
    """Check what is above the terms of a posterior."""
    for values in (saved.prior_width, saved.sigma_squared):
        require(values.shape == (n_outputs,) and _are_positive(values), "a variance is not positive")
    rate = saved.rate
    require(rate.shape == (1,) and np.isfinite(rate).all() and (rate >= 0).all(), "a rate is negative")


def _check_draws(draws: Draws, design: Design) -> None:
    n_outputs, owners = design.Y.shape[1], design.mixture.owners_of_columns
    require(draws.S.shape[1] == n_outputs and _are_positive(draws.S), "a draw has another number of outputs")
    require(np.isfinite(draws.K).all() and np.isfinite(draws.mean).all(), "coefficients are not finite")
    require(_are_positive(draws.prior_width) and _are_positive(draws.sigma_squared), "a variance is not positive")
    require(np.isfinite(draws.log_posterior).all() and np.isfinite(draws.rate).all(), "a draw is not finite")
    for draw in draws:
        check_terms(draw.terms, design)
        require(len(draw.mean) == design.problem.m_fixed + owners(draw.terms).size, "a draw has other columns")


def _are_positive(values: Floats) -> bool:
    return bool((np.isfinite(values) & (values > 0)).all())


def _is_within(values: Iterable[int] | Sequence[int] | Any, low: int, high: int) -> bool:
    return bool(((np.asarray(values) >= low) & (np.asarray(values) <= high)).all())
