"""Profiles agree with themselves, in NumPy, compiled and in ONNX, and with formulas of r written here."""

import numpy as np
import pytest

from saltus.families.options import RADIAL_NAMES
from saltus.families.profiles import GAUSSIAN, RADIAL_PROFILES
from tests.kernels import profile, profile_and_slope
from tests.reference import PROFILES as OF_DISTANCE

# Squared distances: 0, the smallest that are not, those that matter, and far away.
SQUARED = np.concatenate([[0.0], np.geomspace(1e-30, 1e6, 400), np.linspace(0.001, 50, 99)])


@pytest.fixture(params=enumerate(RADIAL_NAMES), ids=RADIAL_NAMES)
def numbered(request):
    """Number and name of a profile."""
    return request.param


def test_kernels_know_profiles_by_their_place_among_the_names():
    assert tuple(RADIAL_PROFILES) == RADIAL_NAMES
    assert OF_DISTANCE.keys() == RADIAL_PROFILES.keys()


def test_kernels_and_numpy_agree_with_the_formula(numbered):
    code, name = numbered
    expected = OF_DISTANCE[name](np.sqrt(SQUARED))
    scale = np.maximum(np.abs(expected), 1e-300)
    assert (np.abs(RADIAL_PROFILES[name].value(SQUARED) - expected) <= 2e-13 * scale).all()
    column = SQUARED.copy()
    profile(code, column)
    assert (np.abs(column - expected) <= 2e-13 * scale).all()
    again, slope = np.empty_like(SQUARED), np.empty_like(SQUARED)
    profile_and_slope(code, SQUARED, again, slope)
    np.testing.assert_allclose(again, column, rtol=5e-16)
    assert np.isfinite(slope).all()


def test_the_compiled_slope_is_the_derivative_by_the_squared_distance(numbered):
    code, name = numbered
    s = np.linspace(0.05, 30, 200)
    step = 1e-5 * s
    column, slope = np.empty_like(s), np.empty_like(s)
    profile_and_slope(code, s, column, slope)
    expected = (OF_DISTANCE[name](np.sqrt(s + step)) - OF_DISTANCE[name](np.sqrt(s - step))) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-10 * np.abs(expected).max())


def test_where_r_is_0_the_slope_is_0_or_that_of_a_smooth_function(numbered):
    code, name = numbered
    column, slope = np.empty(1), np.empty(1)
    profile_and_slope(code, np.zeros(1), column, slope)
    assert column[0] == OF_DISTANCE[name](np.zeros(1))[0]
    smooth = {"gaussian": -0.5, "multiquadric": 0.5, "inverse_multiquadric": -0.5, "mexican_hat": -1.5}
    assert slope[0] == smooth.get(name, 0.0)


def test_onnx_nodes_compute_the_same(numbered):
    onnx = pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    from saltus.onnx.graph import OPSET, Graph

    _, name = numbered
    graph = Graph()
    phi = RADIAL_PROFILES[name].add_nodes(graph, "s")
    values = [onnx.helper.make_tensor_value_info(value, onnx.TensorProto.DOUBLE, [None]) for value in ("s", phi)]
    made = onnx.helper.make_graph(graph.nodes, name, values[:1], values[1:], graph.constants)
    model = onnx.helper.make_model(made, opset_imports=[onnx.helper.make_opsetid("", OPSET)], ir_version=8)
    (found,) = runtime.InferenceSession(model.SerializeToString()).run(None, {"s": SQUARED})
    expected = RADIAL_PROFILES[name].value(SQUARED)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)


def test_what_profiles_say_of_themselves_is_so(numbered):
    _, name = numbered
    said, r = RADIAL_PROFILES[name], np.linspace(0.15, 3, 30)
    if said.degree is not None:
        np.testing.assert_allclose(said.value((2.5 * r) ** 2), 2.5**said.degree * said.value(r**2), rtol=1e-13)
    else:
        assert np.ptp(said.value((2.5 * r) ** 2) / said.value(r**2)) > 0.1
    assert not (said.has_width and said.degree is not None)
    assert said.fades == (said.value(np.array([0.0, 1e4])).tolist() == [1.0, 0.0])


def test_the_vector_exponential_is_the_library_s_to_the_last_bit_but_one():
    s = np.concatenate([[0.0], np.geomspace(1e-300, 3000, 4096 * 4 - 1)])
    column = s.copy()
    profile(GAUSSIAN, column)
    expected = np.exp(-0.5 * s)
    normal = expected > 1e-300
    np.testing.assert_allclose(column[normal], expected[normal], rtol=5e-16)
    np.testing.assert_allclose(column, expected, atol=1e-300)
    assert column[0] == 1
