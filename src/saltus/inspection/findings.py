"""What a fitted model says, as numbers, for summaries, pictures and reports."""

from collections.abc import Sequence

import numpy as np

from saltus._typing import Floats, Ints
from saltus.engine.problem.criteria import criterion_value
from saltus.estimators import AnnealedRegressor, BayesianRegressor, NetworkRegressor
from saltus.estimators.largest import DEFAULT_K_MAX
from saltus.families.words import InputUse
from saltus.inspection.document import join_names

# Sizes whose criterion is within this of the best are said to be nearly as good, or within what is as good as the same.
NEARLY_AS_GOOD = 2.0
# Tables and pictures of sizes go this far to either side of the best.
SIZES_BESIDE_BEST = 5

# A network of so many terms can be read.
FEW_TERMS = 10

# An interval of the posterior of k ends where this much is missing, rather than at a rounding error.
ROUNDING = 1e-9

# Along the range of an input, the output is looked at in so many points, with the others in so many places.
POINTS_ON_A_RANGE, PLACES = 25, 50

CRITERION_LABELS = {"aic": "AIC", "aicc": "AICc", "bic": "BIC", "mdl": "MDL", "hqc": "HQC", "ebic": "EBIC"}


def criterion_by_size(model: AnnealedRegressor) -> dict[int, float]:
    """Find the best value of the criterion that any chain saw with each number of terms."""
    notes = model.data_notes_
    best: dict[int, float] = {}
    for chain in model.result_.chains:
        for k, log_posterior in chain.best_by_n_terms.items():
            value = criterion_value(log_posterior, notes.total_weight, len(notes.output_names))
            best[k] = min(value, best.get(k, np.inf))
    return dict(sorted(best.items()))


def nearly_as_good(model: AnnealedRegressor) -> float:
    """Say how far behind the best criterion one is that is nearly as good: 2 units, or more with many rows."""
    return max(NEARLY_AS_GOOD, model._policy.resolution(model.data_notes_.total_weight))


def sizes_nearly_as_good(by_size: dict[int, float], behind: float) -> list[int]:
    """List the sizes whose criterion is not farther behind the best, the best included."""
    limit = min(by_size.values()) + behind
    return [k for k, value in by_size.items() if value <= limit]


def largest_size(model: NetworkRegressor) -> int:
    """Find the most terms that the options allow; the data may allow fewer."""
    return DEFAULT_K_MAX if model.k_max is None else int(model.k_max)


def criterion_label(model: AnnealedRegressor) -> str:
    """Name the criterion as it is written in prose."""
    if isinstance(model.criterion, str):
        return CRITERION_LABELS[model.criterion]
    return f"{float(model.criterion):.4g} for each term"


def share_explained(model: NetworkRegressor) -> Floats:
    """Find the share (c,) of the variance of each output that is not noise; NaN for one that does not vary."""
    variance = model.data_notes_.outputs.std**2
    explained: Floats = np.full(variance.shape, np.nan)
    np.divide(np.atleast_1d(model.noise_variance_), variance, out=explained, where=variance > 0)
    return 1.0 - explained


def interval_of_size(posterior_k: dict[int, float], coverage: float = 0.9) -> tuple[int, int]:
    """Find the central interval of the posterior of k that holds at least this probability."""
    sizes = sorted(posterior_k)
    below = np.cumsum([posterior_k[k] for k in sizes])
    tail = 0.5 - 0.5 * coverage
    low, high = np.searchsorted(below, [tail + ROUNDING, 1 - tail - ROUNDING])
    return sizes[low], sizes[min(high, len(sizes) - 1)]


def interval_of_noise(model: BayesianRegressor, coverage: float = 0.9) -> tuple[Floats, Floats]:
    """Find the central interval of the posterior of each output's noise, (c,) and (c,): standard deviations."""
    drawn = np.sqrt(np.concatenate([chain.draws.sigma_squared for chain in model.chains_]))
    low, high = np.quantile(drawn, [0.5 - 0.5 * coverage, 0.5 + 0.5 * coverage], axis=0)
    scale = model._predictive.outputs.scale
    return scale * low, scale * high


def linear_effect(model: AnnealedRegressor) -> Floats:
    """Find the linear coefficient (d,) of each standardised input; of several outputs, the largest."""
    notes = model.data_notes_
    spread = np.where(notes.outputs.std > 0, notes.outputs.std, 1.0)
    effects = np.atleast_2d(model.linear_coef_) * notes.inputs.std / spread[:, None]
    return effects[np.abs(effects).argmax(axis=0), np.arange(effects.shape[1])]


def input_use(model: NetworkRegressor) -> InputUse:
    """Say how the terms of the model use each input; where there never is a term, none is used."""
    use = model._input_use
    if model._largest_network > 0:
        return use
    nothing = np.zeros(len(model.data_notes_.input_names))
    return use._replace(probability=nothing, amount=None if use.amount is None else nothing)


def reach(model: NetworkRegressor) -> Floats:
    """Find how far the output goes along the range of each input (d,), in its standard deviations.

    The mean over places of the others, since inputs may act together; of several outputs, the farthest.
    """
    inputs, network = model.data_notes_.inputs, model._single_network
    places = inputs.draw(np.random.default_rng(0), PLACES)
    found = []
    for j in range(len(inputs.names)):
        grid = inputs.grid(j, POINTS_ON_A_RANGE)
        rows = np.repeat(places[None], len(grid), axis=0)
        rows[:, :, j] = grid[:, None]
        output = network.predict(rows.reshape(-1, len(inputs.names))).reshape(len(grid), PLACES, -1)
        found.append((np.ptp(output, axis=0).mean(axis=0) / network.outputs.scale).max())
    return np.array(found)


def rank_by_effect(model: NetworkRegressor) -> Ints:
    """Order the inputs (d,) by how far the output goes along their range, the farthest first."""
    return np.argsort(-reach(model), kind="stable")


def rank_by_strength(model: NetworkRegressor) -> Ints:
    """Order the inputs that the terms use by how strongly they do, and by their effect where that ties."""
    by_effect = rank_by_effect(model)
    network = model._single_network
    strength = network.mixture.inspection.strength(network.box, network.terms) * model.data_notes_.inputs.std
    order = by_effect[np.argsort(-strength[by_effect].round(6), kind="stable")]
    return order[strength[order] > 0]


def rank_numbers(model: NetworkRegressor) -> list[int]:
    """Order the inputs that the terms use and that are numbers, so that terms have places along them."""
    names = model.data_notes_.input_names
    return [j for j in rank_by_strength(model).tolist() if not names[j].levels]


def find_column(names: Sequence[str], wanted: int | str, noun: str) -> int:
    """Turn the name or number of an input or output into its number."""
    if isinstance(wanted, str) and wanted in names:
        return names.index(wanted)
    if not isinstance(wanted, str) and 0 <= wanted < len(names):
        return int(wanted)
    raise ValueError(f"There is no {noun} {wanted!r}: the {noun}s are 0 to {len(names) - 1}: {join_names(names)}.")
