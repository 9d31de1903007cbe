"""The posterior predictive distribution as nodes of an ONNX graph, in float64. Needs the extra `onnx`.

Draws are stacked and gone through in a few Scan nodes, so that the graph does not grow with their number.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto, helper

from saltus._typing import Floats, Ints
from saltus.engine.results.draws import Draw
from saltus.engine.results.predictive import Predictive
from saltus.families.mixture.nodes import MixtureStack
from saltus.onnx.graph import Graph, on_all_features

# Draws are padded to the size of the largest in their group, so that they can be stacked. Groups are of like size.
N_GROUPS = 4

# Draws evaluated at once: with fewer, single rows take longer; with more, many rows take more memory.
MOST_DRAWS_AT_ONCE = 5


def add_moments(graph: Graph, X: str, predictive: Predictive) -> tuple[str, str]:
    """Add the mean and the standard deviation of a new y at X (N, d); return their names, each (N, c).

    The means of all draws are kept, 8 c bytes for each draw and row, so that their variance is summed around its own
    centre.
    """
    features, outputs, degrees = predictive.features, predictive.outputs, predictive.degrees
    draws = sorted(predictive.draws, key=lambda draw: len(draw.terms))
    shifted = graph.add("Sub", X, graph.constant(features.box.lower))
    fixed = _add_fixed_columns(graph, shifted, predictive)
    terms = features.mixture.inspection.stack(
        [features.mixture] * len(draws), [draw.terms for draw in draws], same_shared=False
    )
    coordinates: dict[int, str] = {}
    if len(draws[-1].terms):
        coordinates = terms.add_coordinates(graph, shifted, features.box.width, features.box.varies)
    means: list[str] = []
    signals: list[str] = []
    for rows in np.array_split(np.arange(len(draws)), min(N_GROUPS, len(draws))):
        stack = Stack.of([draws[row] for row in rows], rows, terms, predictive)
        mean, signal = add_scan(graph, coordinates, fixed, stack, f"scan{len(means)}_")
        means.append(mean)
        signals.append(graph.sum(signal, 0, 1))
    n_draws = graph.number(len(draws))
    mean = graph.add("Div", graph.total([graph.sum(part, 0, 1) for part in means]), n_draws)  # (c, N, 1)
    squares = [graph.sum(graph.square(graph.add("Sub", part, mean)), 0, 1, 4) for part in means]
    between = graph.add("Div", graph.total(squares), n_draws)  # (c, N)
    noise = np.mean([draw.S for draw in draws], axis=0) / degrees * outputs.scale**2
    within = graph.add("Add", graph.add("Div", graph.total(signals), n_draws), graph.constant(noise[:, None]))
    # Student's t distribution with two degrees of freedom has no variance.
    inflation = degrees / (degrees - 2.0) if degrees > 2.0 else np.inf
    variance = graph.add("Add", graph.add("Mul", within, graph.number(inflation)), between)
    mean = graph.add("Transpose", graph.add("Squeeze", mean, graph.constant(np.array([2]))), perm=[1, 0])
    mean = graph.add("Add", mean, graph.constant(outputs.mean))
    return mean, graph.add("Transpose", graph.add("Sqrt", variance), perm=[1, 0])


@dataclass(frozen=True)
class Stack:
    """Draws of like size in one array each, padded with zeros to m = m_fixed + k columns of the design.

    Columns times `on_fixed` and `on_terms` are the mean of y, then K'd, whose squares add up to the squared scale.
    """

    on_fixed: Floats  # (n, c, m_fixed, 1 + m)
    on_terms: Floats  # (n, c, k, 1 + m)
    terms: MixtureStack

    @classmethod
    def of(cls, draws: Sequence[Draw], rows: Ints, terms: MixtureStack, predictive: Predictive) -> "Stack":
        """Stack draws, in the units of y, which are the given rows of all terms."""
        scale = predictive.outputs.scale
        m_fixed = 1 + len(predictive.features.kept)
        part = terms.part(rows)
        m = m_fixed + part.n_columns
        columns = np.zeros((len(draws), len(scale), m, 1 + m))
        for j, draw in enumerate(draws):
            at = np.concatenate([np.arange(m_fixed), m_fixed + part.columns_of(j)])
            columns[j, :, at, 0] = draw.mean * scale
            root = (scale * np.sqrt(draw.S / predictive.degrees))[:, None, None] * draw.K
            columns[j, :, at[:, None], 1 + np.arange(at.size)] = root.transpose(1, 2, 0)
        return cls(columns[:, :, :m_fixed], columns[:, :, m_fixed:], part)


def add_scan(graph: Graph, coordinates: dict[int, str], fixed: str, stack: Stack, prefix: str) -> tuple[str, str]:
    """Go through draws, B at a time; return the names of their means (n / B, B, c, N, 1) and signals (n / B, B, c, N).

    What all draws share goes in as a state that never changes: tools that sort nodes by their inputs would overlook
    names that the body takes from outside.
    """
    body = Graph(prefix)
    state = {f"{prefix}fixed": fixed}
    arrays = {f"{prefix}on_fixed": stack.on_fixed}
    columns = body.add("MatMul", f"{prefix}fixed", f"{prefix}on_fixed")
    if coordinates and stack.on_terms.size:
        inside = {number: f"{prefix}coordinates{number}" for number in stack.terms.numbers}
        state |= {name: coordinates[number] for number, name in inside.items()}
        arrays[on_terms := f"{prefix}on_terms"] = stack.on_terms
        names = {name: f"{prefix}{name}" for name in stack.terms.arrays}
        arrays |= {names[name]: array for name, array in stack.terms.arrays.items()}
        phi = stack.terms.add_columns(body, inside, names)
        columns = body.add("Add", columns, body.add("MatMul", phi, on_terms))
    mean, root_signal = body.split(columns, [1, stack.on_fixed.shape[-1] - 1], axis=-1)
    outputs = [*(body.add("Identity", name) for name in state), mean, body.sum(body.square(root_signal), -1)]
    n = len(stack.on_fixed)
    at_once = max(size for size in range(1, MOST_DRAWS_AT_ONCE + 1) if n % size == 0)
    stacked = {name: array.reshape(n // at_once, at_once, *array.shape[1:]) for name, array in arrays.items()}
    inputs = dict.fromkeys(state) | {name: array.shape[1:] for name, array in stacked.items()}
    subgraph = helper.make_graph(
        body.nodes,
        f"{prefix}body",
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, shape) for name, shape in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.DOUBLE, None) for name in outputs],
        body.constants,
    )
    *_, means, signals = graph.add_many(
        len(outputs),
        "Scan",
        *state.values(),
        *(graph.constant(array) for array in stacked.values()),
        body=subgraph,
        num_scan_inputs=len(stacked),
    )
    return means, signals


def _add_fixed_columns(graph: Graph, shifted: str, predictive: Predictive) -> str:
    """Add the columns of the linear term (N, m_fixed): 1, then the features in use, standardised."""
    features = predictive.features
    box = features.box
    first = np.zeros(1 + len(features.kept))
    first[0] = 1.0
    selection = np.zeros((len(features.means), len(first)))
    selection[features.kept, np.arange(1, len(first))] = 1.0 / features.spreads[features.kept]
    at_means = on_all_features(features.means, box.varies) * box.width
    centred = graph.add("Sub", graph.known(shifted, at_means), graph.constant(at_means))
    standardized = graph.constant(on_all_features(selection, box.varies) / box.width[:, None])
    return graph.add("Add", graph.add("MatMul", centred, standardized), graph.constant(first))
