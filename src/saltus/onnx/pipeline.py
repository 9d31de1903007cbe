"""The regressors in pipelines that skl2onnx converts. Needs skl2onnx and the extra `onnx`."""

from typing import Any

import numpy as np
import skl2onnx
from onnx import ModelProto, helper
from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, guess_proto_type, guess_tensor_type
from skl2onnx.common.utils import check_input_and_output_numbers
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from saltus.estimators import AnnealedRegressor, BayesianRegressor, NetworkRegressor
from saltus.onnx.graph import OPSET
from saltus.onnx.model import assemble


def register() -> None:
    """Register both regressors."""
    skl2onnx.update_registered_converter(
        AnnealedRegressor, "SaltusAnnealedRegressor", _set_shapes, _convert, parser=_parse
    )
    skl2onnx.update_registered_converter(
        BayesianRegressor,
        "SaltusBayesianRegressor",
        _set_shapes,
        _convert,
        parser=_parse,
        options={"return_std": [True, False]},
    )


def convert(estimator: BaseEstimator, dtype: "np.dtype[Any]") -> ModelProto:
    """Convert an estimator that contains regressors of ours; a last step with a standard deviation gives it."""
    register()
    tensor_type = DoubleTensorType if dtype == np.float64 else FloatTensorType
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    gives_std = isinstance(last, NetworkRegressor) and "std" in last._onnx_outputs
    options = {id(last): {"return_std": True}} if gives_std else None
    return skl2onnx.to_onnx(
        estimator, initial_types=[("X", tensor_type([None, estimator.n_features_in_]))], options=options
    )


def _parse(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:
    """Declare the outputs of a regressor."""
    operator = scope.declare_local_operator(f"Saltus{type(model).__name__}", model)
    operator.inputs = inputs
    names = list(model._onnx_outputs)
    if "std" in names and not scope.get_options(model, {"return_std": False})["return_std"]:
        names.remove("std")
    for name in names:
        operator.outputs.append(scope.declare_local_variable(name, guess_tensor_type(inputs[0].type)))
    return operator.outputs


def _set_shapes(operator: Any) -> None:
    """Give the outputs their shape (N, c)."""
    check_input_and_output_numbers(operator, input_count_range=1, output_count_range=[1, 2])
    n_rows = operator.inputs[0].get_first_dimension()
    n_outputs = len(operator.raw_operator.data_notes_.output_names)
    for output in operator.outputs:
        output.set_type(type(guess_tensor_type(operator.inputs[0].type))([n_rows, n_outputs]))


def _convert(scope: Any, operator: Any, container: Any) -> None:
    """Add the nodes of a regressor."""
    if not operator.raw_operator._reader.takes_numbers:
        raise RuntimeError(
            "This regressor reads text, categories or dates, which ONNX has no nodes for. Export the regressor alone: "
            "its ONNX model takes the numbers and codes that its method encode makes of a table."
        )
    if container.target_opset < OPSET:
        raise RuntimeError(f"saltus needs opset {OPSET} or later. Got target_opset={container.target_opset}; raise it.")
    made = assemble(
        operator.raw_operator,
        guess_proto_type(operator.inputs[0].type),
        guess_proto_type(operator.outputs[0].type),
        one_dimensional=False,
    )
    names = {made.graph.input[0].name: operator.inputs[0].onnx_name}
    # The mean comes first; a standard deviation that nobody asked for becomes a value like any other.
    for ours, theirs in zip(made.graph.output, operator.outputs, strict=False):
        names[ours.name] = theirs.onnx_name
    for tensor in made.graph.initializer:
        names[tensor.name] = scope.get_unique_variable_name(f"saltus_{tensor.name}")
        container.add_initializer(names[tensor.name], None, None, tensor)
    for node in made.graph.node:
        for value in node.output:
            names.setdefault(value, scope.get_unique_variable_name(f"saltus_{value}"))
        container.add_node(
            node.op_type,
            [names[value] for value in node.input],
            [names[value] for value in node.output],
            name=scope.get_unique_operator_name(f"saltus_{node.name}"),
            **{attribute.name: helper.get_attribute_value(attribute) for attribute in node.attribute},
        )
