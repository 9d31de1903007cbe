"""The ONNX model of a regressor: its graph, and what it says of itself. Needs the extra `onnx`."""

import json
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper

import saltus
from saltus.estimators.base import NetworkRegressor
from saltus.estimators.unseen import means_for_new_gaps
from saltus.onnx.graph import OPSET, Graph

# The version of the file format that was current with the opset.
IR_VERSION = 7


def make_model(model: NetworkRegressor, dtype: "np.dtype[Any]") -> ModelProto:
    """Write a fitted model with an input and outputs of `dtype`, of the shapes that `predict` takes and gives."""
    element_type = helper.np_dtype_to_tensor_dtype(dtype)
    return assemble(model, element_type, element_type, one_dimensional=model._single_output)


def assemble(model: NetworkRegressor, input_type: int, output_type: int, *, one_dimensional: bool) -> ModelProto:
    """Write a fitted model, whose arithmetic is in float64 whatever the types of its input and its outputs."""
    notes = model.data_notes_
    graph = Graph()
    X = "X" if input_type == TensorProto.DOUBLE else graph.add("Cast", "X", to=TensorProto.DOUBLE)
    outputs = []
    X = graph.known(X, means_for_new_gaps(notes.inputs))
    low, high = model._reader.held
    if np.isfinite(low).any() or np.isfinite(high).any():
        X = graph.add("Min", graph.add("Max", X, graph.constant(low)), graph.constant(high))
    values = model._add_to_graph(graph, X)
    for (name, meaning), value in zip(model._onnx_outputs.items(), values, strict=True):
        if one_dimensional:
            value = graph.add("Squeeze", value, graph.constant(np.array([1])))
        graph.nodes.append(helper.make_node("Cast", [value], [name], name=f"Cast_{name}", to=output_type))
        shape = ["N"] if one_dimensional else ["N", len(notes.output_names)]
        outputs.append(helper.make_tensor_value_info(name, output_type, shape, meaning))
    order = f"Columns: {', '.join(notes.input_names)}"
    inputs = [helper.make_tensor_value_info("X", input_type, ["N", len(notes.input_names)], order)]
    made = helper.make_model(
        helper.make_graph(graph.nodes, type(model).__name__, inputs, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="saltus",
        producer_version=saltus.__version__,
        doc_string=_describe(model),
    )
    properties = {
        "saltus_version": saltus.__version__,
        "feature_names": json.dumps(notes.input_names),
        "levels": json.dumps({name: name.levels for name in notes.input_names if name.levels}),
        "output_names": json.dumps(notes.output_names),
        "estimator": repr(model),
    }
    helper.set_model_props(made, properties)
    return made


def _describe(model: NetworkRegressor) -> str:
    """Say what the graph computes."""
    names, how = ", ".join(model.data_notes_.output_names), model._how_it_predicts()
    return f"{names}, predicted by {how} ({type(model).__name__} of saltus)."
