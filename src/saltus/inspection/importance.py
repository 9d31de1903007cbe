"""Which inputs matter: how much larger the error is when the values of an input are shuffled among rows."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from saltus._thinning import spread_out
from saltus._typing import Floats, Ints
from saltus.estimators import NetworkRegressor
from saltus.inspection.findings import input_use, rank_by_effect

# So many rows are enough to rank inputs; each is shuffled so many times.
MOST_ROWS, TIMES = 300, 3
# What matters less than this share of the most important input, does not.
LEAST = 0.005
# Interactions are looked for among so many of the inputs that matter most, at so many places along each, averaged over
# so many places of the others.
MOST_PAIRED, PLACES_ALONG, PLACES = 6, 7, 12


class Interaction(NamedTuple):
    """How far the effect of two inputs is from the sum of the effects of each, in standard deviations of the output."""

    first: int
    second: int
    strength: float


def importance(model: NetworkRegressor, inputs: Floats, observed: Floats | None = None) -> Floats:
    """Find by how much the error grows when each input (d,) is shuffled, in standard deviations of the output.

    The root of the mean squared difference that shuffling makes is taken where nothing was observed at rows (N, d). Of
    several outputs the largest.
    """
    rows = spread_out(len(inputs), MOST_ROWS)
    X = inputs[rows]
    spread = np.where(model.data_notes_.outputs.std > 0, model.data_notes_.outputs.std, 1.0)
    predicted = model._predict_mean(X)
    truth = predicted if observed is None else observed[rows]
    rng = np.random.default_rng(0)
    found = np.zeros(X.shape[1])
    used = used_inputs(model)
    for j in used:
        squares = np.zeros(predicted.shape[1])
        for _ in range(TIMES):
            shuffled = X.copy()
            shuffled[:, j] = rng.permutation(X[:, j])
            squares += ((model._predict_mean(shuffled) - truth) ** 2).mean(axis=0) / TIMES
        errors = np.sqrt(squares) - np.sqrt(((predicted - truth) ** 2).mean(axis=0))
        found[j] = max((errors / spread).max(), 0.0)
    return found


def used_inputs(model: NetworkRegressor) -> Ints:
    """List the inputs that a prediction may depend on: in the terms, or in the linear term."""
    use = input_use(model).probability
    slopes = np.abs(model._single_network.linear_coef).max(axis=0) > 0
    inputs = model.data_notes_.inputs
    varies = inputs.max > inputs.min
    return np.flatnonzero(varies & (slopes | (use > 0))) if use is not None else np.flatnonzero(varies)


def rank_by_importance(model: NetworkRegressor, found: Floats) -> list[int]:
    """Order the inputs that matter, the most important first; where that ties, by their effect."""
    by_effect = rank_by_effect(model)
    order = by_effect[np.argsort(-found[by_effect], kind="stable")].tolist()
    used = set(used_inputs(model).tolist())
    mattering = [j for j in order if j in used and found[j] >= LEAST * found.max()]
    return mattering or [j for j in order if j in used]


def strongest_interactions(model: NetworkRegressor, ranked: list[int], most: int) -> list[Interaction]:
    """Find the pairs of inputs whose joint effect is farthest from the sum of their own, of the best network."""
    found = [interaction_of(model, first, second) for first, second in combinations(ranked[:MOST_PAIRED], 2)]
    return sorted((each for each in found if each.strength > 0), key=lambda each: -each.strength)[:most]


def interaction_of(model: NetworkRegressor, first: int, second: int) -> Interaction:
    """Measure the interaction of two inputs, on a grid of places along both."""
    inputs, network = model.data_notes_.inputs, model._single_network
    along = [inputs.grid(j, PLACES_ALONG) for j in (first, second)]
    places = inputs.draw(np.random.default_rng(0), PLACES)
    rows = np.repeat(places[None], along[0].size * along[1].size, axis=0)
    rows[:, :, first] = np.repeat(along[0], along[1].size)[:, None]
    rows[:, :, second] = np.tile(along[1], along[0].size)[:, None]
    output = network.predict(rows.reshape(-1, rows.shape[2]))
    joint = output.reshape(along[0].size, along[1].size, PLACES, -1).mean(axis=2) / network.outputs.scale
    own = joint.mean(axis=1, keepdims=True) + joint.mean(axis=0, keepdims=True) - joint.mean(axis=(0, 1), keepdims=True)
    strength = float(np.sqrt(((joint - own) ** 2).mean(axis=(0, 1))).max())
    return Interaction(first, second, strength if strength > 1e-9 else 0.0)
