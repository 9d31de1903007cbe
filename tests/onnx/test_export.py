"""Models exported to ONNX predict in onnxruntime what they predict here.

The terms of a fitted network are up to 1e5 times larger than their sum, so that `predict` itself is only right to a few
units in the last place of the terms. That is what is asked of the graph: 16 such units, 4e-15 of the size of the terms.
"""

import copy
import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import skl2onnx
from onnx.reference import ReferenceEvaluator
from skl2onnx._supported_operators import sklearn_operator_name_map
from sklearn.base import clone
from sklearn.ensemble import VotingRegressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Radial, UnseenValuesWarning, export_onnx
from saltus.demo import PAPER_PRIORS
from saltus.engine.problem.scaling import from_mean
from saltus.estimators.base import DependentFeaturesWarning
from saltus.families.options import RADIAL_NAMES
from saltus.onnx.export import register_with_skl2onnx

UNITS_OF_ROUNDING = 16 * np.finfo(np.float64).eps
# The prior of a posterior keeps terms small: its mean and standard deviation are plainly right to this.
RELATIVE = 1e-12
FLOAT32 = np.finfo(np.float32).eps

MATRIX = [[2.0, 0.3, 0.0], [0.3, 1.0, 0.2], [0.0, 0.2, 0.5]]
QUICK = {"n_iter": 300, "n_chains": 2, "polish": False, "init": "random", "random_state": 0}
FEW_DRAWS = {"n_iter": 300, "n_draws": 23, "n_chains": 2, "random_state": 0}

REGRESSORS = [AnnealedRegressor("gaussian", **QUICK), BayesianRegressor("gaussian", **FEW_DRAWS)]

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def make_data(n=60, d=3):
    rng = np.random.default_rng(5)
    X = 1000.0 + rng.uniform(-3, 3, size=(n, d))
    Y = np.stack([np.sin(X[:, 0]) + 0.3 * X[:, -1], np.abs(X[:, 0] - 1000) * X[:, -1]], axis=1)
    return X, Y + 0.05 * rng.standard_normal(Y.shape)


def session(model):
    content = model if isinstance(model, bytes) else model.SerializeToString()
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def run(model, X):
    return session(model).run(None, {"X": X})


def size_of_terms(model, X):
    """Add up the sizes of all that `predict` adds up, (N, c)."""
    total = 0.0
    for weight, network in zip(model.weights_, model.networks_, strict=True):
        U = network.box.to_unit(X)
        phi = network.mixture.columns(U, network.terms)
        scaled = np.abs(network.constant) + np.abs(from_mean(U, network.means)) @ np.abs(network.slope)
        scaled = scaled + np.abs(phi) @ np.abs(network.coefficients)
        total = total + weight * (np.abs(network.outputs.mean) + network.outputs.scale * scaled)
    return total


def assert_same(model, X):
    """Compare an AnnealedRegressor with its graph, in both types."""
    made = model.to_onnx()
    onnx.checker.check_model(made, full_check=True)
    expected = model.predict(X)
    (found,) = run(made, X)
    tolerance = UNITS_OF_ROUNDING * size_of_terms(model, X).reshape(expected.shape)
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    assert (np.abs(found - expected) <= tolerance).all()
    X_short = X.astype(np.float32)
    (found,) = run(model.to_onnx(np.float32), X_short)
    expected = model.predict(X_short)
    assert found.dtype == np.float32
    assert (np.abs(found - expected) <= FLOAT32 * np.abs(expected) + tolerance).all()


def assert_same_moments(model, X):
    """Compare a BayesianRegressor with its graph, in both types."""
    made = model.to_onnx()
    onnx.checker.check_model(made, full_check=True)
    expected_mean, expected_std = model.predict(X, return_std=True)
    mean, std = run(made, X)
    assert mean.shape == expected_mean.shape
    assert std.shape == expected_std.shape
    np.testing.assert_allclose(mean, expected_mean, rtol=RELATIVE, atol=RELATIVE * expected_mean.std())
    np.testing.assert_allclose(std, expected_std, rtol=RELATIVE)
    X_short = X.astype(np.float32)
    expected_mean, expected_std = model.predict(X_short, return_std=True)
    mean, std = run(model.to_onnx(np.float32), X_short)
    assert mean.dtype == std.dtype == np.float32
    np.testing.assert_allclose(mean, expected_mean, rtol=FLOAT32, atol=RELATIVE * expected_mean.std())
    np.testing.assert_allclose(std, expected_std, rtol=FLOAT32)


def assert_same_as_predict(model, X):
    (assert_same if isinstance(model, AnnealedRegressor) else assert_same_moments)(model, X)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def annealed(data):
    X, Y = data
    return AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(X, Y[:, 0])


@pytest.fixture(scope="module")
def bayesian(data):
    X, Y = data
    with pytest.warns(ConvergenceWarning):
        return BayesianRegressor(Radial("gaussian", metric="learned"), **FEW_DRAWS).fit(X, Y)


@pytest.mark.parametrize("metric", ["learned", "standardized", "euclidean", "mahalanobis", MATRIX])
@pytest.mark.parametrize("basis", RADIAL_NAMES)
def test_every_basis_and_metric(data, basis, metric):
    X, Y = data
    model = AnnealedRegressor(Radial(basis, metric=metric), **QUICK).fit(X, Y)
    assert max(network.n_terms for network in model.networks_) > 0
    assert_same(model, X)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
def test_width_of_ones_own(data, basis):
    X, Y = data
    assert_same(AnnealedRegressor(Radial(basis, width=0.4), **QUICK).fit(X, Y[:, 0]), X)


@pytest.mark.parametrize("combine", ["average", "best"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_average_and_best(data, combine, n_outputs):
    X, Y = data
    model = AnnealedRegressor("gaussian", combine=combine, n_iter=500, n_chains=3, random_state=0).fit(
        X, Y[:, :n_outputs]
    )
    assert (len(model.networks_) > 1) == (combine == "average")
    assert_same(model, X)


def test_far_from_the_data(annealed, data):
    X, _ = data
    assert_same(annealed, 1000.0 + 100.0 * (X - 1000.0))


def test_one_input_and_one_output(data):
    # All constants have one element then, and onnxruntime would make float32 of those beside a MatMul.
    X, Y = data
    assert_same(AnnealedRegressor(Radial("gaussian", metric="euclidean"), **QUICK).fit(X[:, :1], Y[:, 0]), X[:, :1])


@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda regressor: type(regressor).__name__)
def test_the_optimizer_fuses_nothing_into_a_matrix_product(data, regressor, tmp_path):
    X, Y = data
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    options.log_severity_level = 3
    made = clone(regressor).fit(X[:, :1], Y[:, 0]).to_onnx()
    onnxruntime.InferenceSession(made.SerializeToString(), options, providers=["CPUExecutionProvider"])
    graph = onnx.load(tmp_path / "optimized.onnx").graph
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.name == "body"]
    operators = [node.op_type for part in (graph, *bodies) for node in part.node]
    assert {"MatMul", "Gemm"} & set(operators)
    assert "FusedMatMul" not in operators


@pytest.mark.parametrize("basis", RADIAL_NAMES)
def test_rows_at_centers(basis):
    X = np.linspace(0.0, 1.0, 33)[:, None]  # multiples of 1/32, so that a distance of 0 is exactly 0
    options = {**QUICK, "n_iter": 1, "init": X[3:9]}
    model = AnnealedRegressor(Radial(basis, metric="euclidean"), box_margin=0, combine="best", **options)
    model.fit(X, np.sin(5 * X[:, 0]))
    assert np.isin(X, model.centers_).sum() >= 2
    assert_same(model, X)


def test_no_terms(data):
    X, Y = data
    model = AnnealedRegressor("gaussian", k_max=0, **QUICK).fit(X, Y)
    assert model.n_terms_ == 0
    assert_same(model, X)


def test_an_average_with_an_empty_network(annealed, data):
    X, _ = data
    first = annealed.networks_[0]
    empty = replace(first, terms=first.terms.take(slice(0)), coefficients=first.coefficients[:0])
    model = copy.copy(annealed)
    model.networks_, model.weights_ = (first, empty), np.array([0.7, 0.3])
    assert_same(model, X)


@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda regressor: type(regressor).__name__)
def test_constant_features_have_no_say(data, regressor):
    X, Y = data
    X = np.insert(X, 1, 7.0, axis=1)
    with pytest.warns(DependentFeaturesWarning):
        model = clone(regressor).fit(X, Y)
    X[:, 1] = np.arange(len(X))
    assert_same_as_predict(model, X)


@pytest.mark.parametrize("regressor", REGRESSORS, ids=lambda regressor: type(regressor).__name__)
def test_nothing_but_constant_features(data, regressor):
    X, Y = np.full((60, 2), 3.0), data[1]
    with pytest.warns(DependentFeaturesWarning):
        assert_same_as_predict(clone(regressor).fit(X, Y), X + np.arange(60)[:, None])


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize(
    ("basis", "metric"), [("cubic", "standardized"), ("gaussian", "learned"), ("thin_plate", "mahalanobis")]
)
def test_moments_of_the_posterior(data, basis, metric, n_outputs):
    X, Y = data
    assert_same_moments(BayesianRegressor(Radial(basis, metric=metric), **FEW_DRAWS).fit(X, Y[:, :n_outputs]), X)


@pytest.mark.parametrize("options", [{"k_max": 0}, {"n_draws": 1, "n_chains": 1}], ids=str)
def test_moments_without_terms_or_with_a_single_draw(data, options):
    X, Y = data
    assert_same_moments(BayesianRegressor("gaussian", **{**FEW_DRAWS, **options}).fit(X, Y[:, 0]), X)


def test_moments_where_no_input_is_in_the_metric(bayesian, data):
    # Terms are constant then; a ridge keeps them apart from the intercept.
    X, _ = data
    draws = tuple(replace(draw, terms=draw.terms.with_shared(np.zeros(3))) for draw in bayesian._predictive.draws)
    model = copy.copy(bayesian)
    model._predictive = replace(bayesian._predictive, draws=draws)
    assert_same_moments(model, X)


def test_moments_of_two_rows_have_no_deviation():
    model = BayesianRegressor("gaussian", **FEW_DRAWS).fit([[0.0], [1.0]], [0.0, 1.0])
    _, std = run(model.to_onnx(), np.array([[0.5]]))
    assert np.isinf(std).all()


def test_a_posterior_of_real_size_is_a_small_graph():
    X, Y = make_data(200)
    model = BayesianRegressor(**PAPER_PRIORS, n_iter=2000, n_draws=250, random_state=0).fit(X, Y[:, 0])
    draws = model._predictive.draws
    sizes = [len(draw.terms) for draw in draws]
    assert len(draws) == 1000
    assert np.mean(sizes) > 15
    made = model.to_onnx()
    assert len(made.graph.node) < 100
    n_bytes = sum(draw.K.nbytes + draw.mean.nbytes + draw.terms.parameters.nbytes for draw in draws)
    assert made.ByteSize() < 1.5 * n_bytes
    assert_same_moments(model, X)


def test_draws_are_not_padded_to_the_size_of_the_largest():
    X = np.linspace(-3, 3, 150)[:, None]
    y = np.sinc(X[:, 0]) + 0.1 * np.random.default_rng(0).standard_normal(150)
    model = BayesianRegressor("gaussian", n_iter=2000, n_draws=250, random_state=0).fit(X, y)
    draws = model._predictive.draws
    numbers = np.array([draw.K.size + draw.mean.size for draw in draws])
    assert numbers.max() > 2 * numbers.mean()
    assert model.to_onnx().ByteSize() < 0.6 * len(draws) * 8 * numbers.max()


@pytest.mark.parametrize("n_rows", [1, 500])
def test_any_number_of_rows(annealed, bayesian, data, n_rows):
    X = np.resize(data[0], (n_rows, 3))
    assert_same(annealed, X)
    assert_same_moments(bayesian, X)


@pytest.mark.parametrize("basis", RADIAL_NAMES)
@pytest.mark.parametrize("metric", ["learned", "mahalanobis"])
def test_missing_values(data, basis, metric):
    X = np.array(data[0])
    X[3, 0] = X[4, 2] = np.nan
    model = AnnealedRegressor(Radial(basis, metric=metric), criterion=0.5, **QUICK).fit(X, data[1][:, 0])
    assert model.n_terms_ > 0
    X[::2, 0] = X[1::3, 2] = np.nan
    assert_same(model, X)
    X[5, :] = np.nan  # in the second column no training row has a gap
    with pytest.warns(UnseenValuesWarning, match="'x1'"):
        assert_same(model, X)


def test_another_runtime_agrees(annealed, data):
    # Not of a posterior: in older releases of onnx, the reference runtime joins what a Scan should stack.
    made = annealed.to_onnx()
    (theirs,) = ReferenceEvaluator(made).run(None, {"X": data[0]})
    np.testing.assert_allclose(run(made, data[0])[0], theirs, rtol=1e-9)


def test_loaded_models_export_the_same_bytes(annealed, bayesian, tmp_path):
    for model in (annealed, bayesian):
        model.save(tmp_path / "model.saltus")
        assert saltus.load(tmp_path / "model.saltus").to_onnx() == model.to_onnx()


def test_what_a_model_says_of_itself(bayesian, data):
    frame = pd.DataFrame(data[0], columns=["depth", "width", "été"])
    y = pd.Series(data[1][:, 0], name="flow")
    made = AnnealedRegressor("gaussian", **QUICK).fit(frame, y).to_onnx()
    said = session(made).get_modelmeta()
    assert json.loads(said.custom_metadata_map["feature_names"]) == ["depth", "width", "été"]
    assert json.loads(said.custom_metadata_map["output_names"]) == ["flow"]
    assert said.custom_metadata_map["saltus_version"] == saltus.__version__
    assert "n_iter=300" in said.custom_metadata_map["estimator"]
    assert said.producer_name == "saltus"
    assert "flow" in said.description
    assert " terms" in said.description
    assert "46 draws" in bayesian.to_onnx().doc_string


def test_export_writes_a_file(annealed, data, tmp_path):
    export_onnx(annealed, tmp_path / "model.onnx", dtype=np.float32)
    made = onnx.load(tmp_path / "model.onnx")
    assert made == annealed.to_onnx(np.float32)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_export_replaces_a_file_only_if_told(annealed, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("precious")
    with pytest.raises(FileExistsError, match="overwrite=True"):
        export_onnx(annealed, path)
    assert path.read_text("utf-8") == "precious"
    export_onnx(annealed, path, overwrite=True)
    assert onnx.load(path) == annealed.to_onnx()


def test_a_model_that_is_too_large_is_not_written(annealed, tmp_path, monkeypatch):
    monkeypatch.setattr("saltus.onnx.export.LARGEST_MODEL", 100)
    (tmp_path / "model.onnx").write_text("precious")
    with pytest.raises(ValueError, match="fewer draws"):
        export_onnx(annealed, tmp_path / "model.onnx", overwrite=True)
    assert (tmp_path / "model.onnx").read_text("utf-8") == "precious"


def test_bad_requests_are_named(annealed, tmp_path):
    with pytest.raises(ValueError, match=r"np.float64 or np.float32. Got .*int"):
        annealed.to_onnx(np.int64)
    with pytest.raises(NotFittedError):
        AnnealedRegressor("gaussian").to_onnx()
    with pytest.raises(NotFittedError):
        export_onnx(make_pipeline(StandardScaler(), AnnealedRegressor("gaussian")), tmp_path / "model.onnx")


def test_onnx_is_imported_only_when_needed():
    code = "import sys; from saltus import AnnealedRegressor, export_onnx; sys.exit('onnx' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(("missing", "advice"), [("onnx", r"saltus\[onnx\]"), ("skl2onnx", "pip install skl2onnx")])
def test_a_missing_package_is_named(annealed, tmp_path, monkeypatch, missing, advice):
    for name in ("model", "graph", "posterior", "pipeline"):
        monkeypatch.delitem(sys.modules, f"saltus.onnx.{name}", raising=False)
    monkeypatch.setitem(sys.modules, missing, None)
    model = annealed if missing == "onnx" else make_pipeline(StandardScaler()).fit(np.eye(3))
    with pytest.raises(ImportError, match=advice):
        export_onnx(model, tmp_path / "model.onnx")


@pytest.mark.parametrize("target_opset", [13, None])
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_pipelines(data, dtype, tolerance, target_opset):
    # The scaler of skl2onnx computes in the type of X, and would lose three digits to an offset of 1000 in float32.
    X, Y = (data[0] - 1000.0).astype(dtype), data[1]
    pipeline = make_pipeline(StandardScaler(), AnnealedRegressor("gaussian", **QUICK)).fit(X.astype(np.float64), Y)
    register_with_skl2onnx()
    made = skl2onnx.to_onnx(pipeline, X[:1], target_opset=target_opset)
    onnx.checker.check_model(made, full_check=True)
    (found,) = run(made, X)
    expected = pipeline.predict(X.astype(np.float64))
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * expected.std())


def test_pipelines_with_a_posterior(data):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), BayesianRegressor("gaussian", **FEW_DRAWS)).fit(X, Y[:, 0])
    register_with_skl2onnx()
    expected_mean, expected_std = pipeline.predict(X, return_std=True)
    (mean,) = run(skl2onnx.to_onnx(pipeline, X[:1]), X)
    np.testing.assert_allclose(mean[:, 0], expected_mean, rtol=RELATIVE, atol=RELATIVE * expected_mean.std())
    mean, std = run(skl2onnx.to_onnx(pipeline, X[:1], options={BayesianRegressor: {"return_std": True}}), X)
    np.testing.assert_allclose(mean[:, 0], expected_mean, rtol=RELATIVE, atol=RELATIVE * expected_mean.std())
    np.testing.assert_allclose(std[:, 0], expected_std, rtol=RELATIVE)


def test_two_of_ours_in_one_estimator(data):
    X, Y = data
    parts = [
        ("one", BayesianRegressor("gaussian", **FEW_DRAWS)),
        ("two", BayesianRegressor("gaussian", **FEW_DRAWS)),
        ("three", REGRESSORS[0]),
    ]
    voting = VotingRegressor(parts).fit(X, Y[:, 0])
    register_with_skl2onnx()
    (found,) = run(skl2onnx.to_onnx(voting, X[:1]), X)
    np.testing.assert_allclose(found[:, 0], voting.predict(X), rtol=0, atol=1e-12 * np.std(Y))


def test_pipelines_need_a_recent_opset(data):
    X, Y = data
    register_with_skl2onnx()
    with pytest.raises(RuntimeError, match=r"opset 13 or later\. Got target_opset=12"):
        skl2onnx.to_onnx(AnnealedRegressor("gaussian", **QUICK).fit(X, Y), X[:1], target_opset=12)


def test_export_of_a_pipeline_registers_by_itself(data, tmp_path):
    X, Y = data
    pipeline = make_pipeline(StandardScaler(), BayesianRegressor("gaussian", **FEW_DRAWS)).fit(X, Y)
    sklearn_operator_name_map.pop(BayesianRegressor, None)  # as if nobody had registered
    export_onnx(pipeline, tmp_path / "pipeline.onnx")
    mean, std = run((tmp_path / "pipeline.onnx").read_bytes(), X)
    expected_mean, expected_std = pipeline.predict(X, return_std=True)
    np.testing.assert_allclose(mean, expected_mean, rtol=RELATIVE, atol=RELATIVE * expected_mean.std())
    np.testing.assert_allclose(std, expected_std, rtol=RELATIVE)
