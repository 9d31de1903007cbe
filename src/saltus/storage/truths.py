"""What must be true of the parts of a file beyond types and shapes, so that a model predicts and a fit goes on."""

from collections.abc import Callable
from typing import Any

import numpy as np

from saltus._typing import Floats
from saltus.engine.drivers.checkpoints import SavedRecord
from saltus.engine.problem.scaling import Box, OutputScale
from saltus.engine.results.chains import AnnealResult, ChainResult, MoveCount, Trace
from saltus.engine.results.draws import Draws
from saltus.engine.results.network import Network
from saltus.engine.results.predictive import Features, Predictive
from saltus.engine.search.paths import SizePath
from saltus.estimators import AnnealedRegressor, BayesianRegressor
from saltus.estimators.notes import ColumnNotes, DataNotes
from saltus.families import FittedMixture
from saltus.families.inputs import InputScale
from saltus.families.user.ranges import InputRanges
from saltus.reading import TableReader
from saltus.reading.forms import DATE_FORMS
from saltus.reading.readers import DATE_PARTS, DateReader

# How far from the box the ends of the data may be by rounding, for its width and their size; and what share of it they
# span at least, with a margin of ten times their span on both sides.
ROUNDING, SMALLEST_SHARE = 1e-14, 1 / 21.1

# Parts in units of the spread of data hold numbers that can be multiplied by others like them, and no spread is smaller
# than the inverse.
LARGEST_SCALED = 1e60
SCALED = frozenset({Draws, Features, InputScale, Network})

# Parts that only describe, or whose numbers are minus infinity where there is nothing.
MAY_BE_INFINITE = frozenset({ColumnNotes, SavedRecord, SizePath, Trace})


def _is_path_of(model: Any) -> bool:
    """Say whether the path to smaller networks is one of the best network's terms."""
    path, network = model._path, model._single_network
    if path is None:
        return True
    inside = bool((np.diff(path.kept, prepend=-1, append=len(path.spreads)) > 0).all())
    if not (inside and network.mixture.accepts(path.terms)):
        return False
    m = 1 + len(path.kept) + network.mixture.owners_of_columns(path.terms).size
    return path.R.shape == (m, m) and len(path.rss) == len(path.terms) + 1


def _rises(numbers: Any, first: int, last: int) -> bool:
    """Say whether whole numbers rise from `first` or later to `last` or earlier."""
    values = np.asarray(numbers, dtype=object)
    return bool((values[1:] > values[:-1]).all() and (values >= first).all() and (values <= last).all())


def _is_chain(chain: ChainResult) -> bool:
    """Say whether what a chain has seen fits the iterations that it ran: so it cannot be more than these."""
    n_iter = chain.n_iter
    states = (chain.best, *chain.local_optima)
    return (
        _rises(chain.trace.iteration, 1, n_iter)
        and _rises([snapshot.iteration for snapshot in chain.snapshots], 0, n_iter)
        and all(0 <= state.iteration <= n_iter for state in states)
        and all(k >= 0 and np.isfinite(value) for k, value in chain.best_by_n_terms.items())
    )


def _sizes_are_counted(model: Any) -> bool:
    """Say whether the posterior of the number of terms is that of the draws."""
    n_terms = np.concatenate([chain.draws.n_terms for chain in model.chains_])
    sizes, counts = np.unique(n_terms, return_counts=True)
    return bool(
        list(model.posterior_k_) == sizes.tolist()
        and list(model.posterior_k_.values()) == (counts / len(n_terms)).tolist()
    )


def _are_notes(notes: ColumnNotes) -> bool:
    """Say whether notes on columns are of numbers, and have a share for each level of a category."""
    in_order = (notes.std >= 0).all() and (notes.missing >= 0).all() and (notes.missing <= 1).all()
    return bool(in_order) and all(
        len(shares) == len(levels) and all(0 <= share <= 1 for share in shares)
        for shares, levels in zip(notes.shares, notes.levels, strict=True)
    )


def _are_draws_of(features: Features, draws: Draws) -> bool:
    """Say whether draws are of terms that features know, and have as many columns as these and the linear term."""
    mixture, terms = features.mixture, draws.all_terms
    if not mixture.accepts(terms):
        return False
    if not all(mixture.accepts_shared(shared) for shared in draws.shared):
        return False
    draw = np.repeat(np.arange(len(draws)), draws.n_terms)[mixture.owners_of_columns(terms)]
    n_columns = 1 + len(features.kept) + np.bincount(draw, minlength=len(draws))
    return bool((n_columns == draws.n_columns).all())


def _fits_reader(model: Any) -> bool:
    """Say whether a model and its reader know as many columns, and levels of the same categories."""
    reader, inputs, box = model._reader, model.data_notes_.inputs, model._single_network.box
    agree = reader.levels == inputs.levels and np.array_equal(reader.n_levels, box.n_levels)
    return agree and model.n_features_in_ == reader.n_columns


def _is_box_of(model: Any) -> bool:
    """Say whether the range of the data lies in the box, and is a fair part of it."""
    box, notes = model._single_network.box, model.data_notes_.inputs
    numbers = box.varies & (box.n_levels == 0)
    low, high, lower, width = (each[numbers] for each in (notes.min, notes.max, box.lower, box.width))
    slack = ROUNDING * (width + np.maximum(np.abs(low), np.abs(high)))
    inside = (low > lower - slack).all() and (high < lower + width + slack).all()
    return bool(inside and (high - low > SMALLEST_SHARE * width).all())


def _are_probabilities(corrected: Floats | None) -> bool:
    """Say whether a table of probabilities rises from 0 to 1."""
    if corrected is None:
        return True
    ends = corrected.shape[1] >= 2 and (corrected[:, 0] == 0).all() and (corrected[:, -1] == 1).all()
    return bool(ends and (np.diff(corrected, axis=1) >= 0).all())


# What else prediction relies on.
TRUTHS: dict[type, Callable[[Any], bool]] = {
    AnnealResult: lambda result: 0 <= result.best_chain < len(result.chains),
    AnnealedRegressor: lambda model: (
        len(model.networks_) > 0
        and _is_path_of(model)
        and _fits_reader(model)
        and _is_box_of(model)
        and bool((model.weights_ >= 0).all())
        and model._n_total > 0
        and model.n_terms_ >= 0
        and model.n_iter_ >= 0
    ),
    BayesianRegressor: lambda model: (
        len(model.chains_) > 0
        and _fits_reader(model)
        and _is_box_of(model)
        and _sizes_are_counted(model)
        and model.n_chains_ >= len(model.chains_)
        and min(model.n_iter_, model.n_warmup_) >= 0
        and all(_are_draws_of(model._predictive.features, chain.draws) for chain in model.chains_)
    ),
    Box: lambda box: bool((box.width > 0).all() and (box.n_levels >= 0).all()),
    ChainResult: _is_chain,
    ColumnNotes: _are_notes,
    DataNotes: lambda notes: notes.n_rows > 0 and 0 < notes.total_weight < np.inf,
    Draws: lambda draws: (
        len(draws) > 0
        and bool((draws.n_terms >= 0).all() and (draws.n_columns >= draws.n_terms).all())
        and bool((draws.S >= 0).all() and (draws.prior_width > 0).all() and (draws.sigma_squared >= 0).all())
    ),
    FittedMixture: lambda mixture: len(mixture.members) > 0,
    Features: lambda features: bool(
        (np.diff(features.kept, prepend=-1, append=len(features.means)) > 0).all()
        and (features.spreads > 1 / LARGEST_SCALED).all()
    ),
    InputRanges: lambda ranges: ranges.is_sound,
    InputScale: lambda scale: (
        scale.is_sound and bool((scale.spreads > 1 / LARGEST_SCALED).all() and (scale.low < scale.high).all())
    ),
    MoveCount: lambda count: 0 <= count.accepted <= count.feasible <= count.chosen,
    Network: lambda network: (
        network.mixture.accepts(network.terms)
        and network.mixture.owners_of_columns(network.terms).size == len(network.coefficients)
    ),
    OutputScale: lambda outputs: bool((outputs.scale > 0).all()),
    Predictive: lambda predictive: 0 < predictive.degrees < np.inf and _are_probabilities(predictive.corrected),
    DateReader: lambda reader: set(reader.parts) <= set(DATE_PARTS) and reader.form in ("", *DATE_FORMS),
    TableReader: lambda reader: reader.is_sound,
    SavedRecord: lambda record: record.best_k.shape == (1,) and 0 <= record.best_k[0] <= len(record.best_parameters),
}
