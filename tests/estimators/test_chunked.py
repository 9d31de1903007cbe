"""Rows that dask holds: the model is that of the same rows in memory, wherever the chunks are."""

import numpy as np
import pandas as pd
import pytest

from saltus import AnnealedRegressor, BayesianRegressor
from saltus.estimators import MissingTargetWarning
from tests.estimators.test_many_rows import FEW, QUICK
from tests.policies import with_policy

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")


def some_table(n=4000):
    rng = np.random.default_rng(3)
    X = rng.random((n, 3))
    y = 10 * np.abs(X[:, 0] - 0.4) + X[:, 1] + 0.2 * rng.standard_normal(n)
    return X, y


def make():
    return with_policy(AnnealedRegressor("hinges", **QUICK), **FEW)


@pytest.fixture(scope="module")
def in_memory():
    return make().fit(*some_table())


@pytest.mark.parametrize("chunk", [1500, 333])
def test_chunks_make_no_difference(in_memory, chunk):
    X, y = some_table()
    model = make().fit(da.from_array(X, chunks=(chunk, 2)), da.from_array(y, chunks=700))
    np.testing.assert_allclose(model.predict(X), in_memory.predict(X), rtol=0, atol=1e-9)
    assert model.n_terms_ == in_memory.n_terms_
    assert model.data_notes_.n_rows == 4000
    np.testing.assert_allclose(model.data_notes_.inputs.max, X.max(axis=0))
    assert model.log_posterior_ == pytest.approx(in_memory.log_posterior_, rel=1e-10)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads", pytest.param("processes", marks=pytest.mark.slow)])
def test_schedulers_make_no_difference(in_memory, scheduler):
    import dask

    X, y = some_table()
    with dask.config.set(scheduler=scheduler, num_workers=2):
        model = make().fit(da.from_array(X, chunks=(2000, 3)), da.from_array(y, chunks=2000))
    np.testing.assert_allclose(model.predict(X), in_memory.predict(X), rtol=0, atol=1e-9)


def test_few_rows_are_fitted_too():
    X, y = some_table(300)
    model = make().fit(da.from_array(X, chunks=100), da.from_array(y, chunks=100))
    assert np.std(y - model.predict(X)) < 0.3


def test_weights_and_rows_without_a_target():
    X, y = some_table()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    y[5:2000:5] = np.nan
    with pytest.warns(MissingTargetWarning):
        model = make().fit(*(da.from_array(each, chunks=900) for each in (X, y, weight)))
    counts = np.isfinite(y) & (weight > 0)
    assert model.data_notes_.n_rows == counts.sum()
    assert model.data_notes_.total_weight == weight[counts].sum()
    best = model.result_.chains[model.result_.best_chain].best
    residuals = y[counts] - best.network.predict(X[counts])[:, 0]
    assert best.rss[0] == pytest.approx(weight[counts] @ residuals**2, rel=1e-3)


def test_two_outputs_and_lazy_predictions():
    X, y = some_table()
    Y = np.stack([y, X[:, 2]], axis=1)
    chunked = da.from_array(X, chunks=(1000, 3))
    model = make().fit(chunked, da.from_array(Y, chunks=1000))
    lazy = model.predict(chunked)
    assert isinstance(lazy, da.Array)
    assert lazy.shape == (4000, 2)
    np.testing.assert_array_equal(lazy.compute(), model.predict(X))


def test_data_frames_with_text_and_gaps():
    X, y = some_table()
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["town"] = np.where(X[:, 2] > 0.5, "Oslo", "Rome")
    table.loc[::9, "b"] = np.nan
    table["rent"] = y + 2.0 * (table["town"] == "Oslo")
    lazy = dd.from_pandas(table, npartitions=5)
    names = ["a", "b", "c", "town"]
    model = make().fit(lazy[names], lazy["rent"])
    assert list(model.feature_names_in_) == names
    predicted = model.predict(lazy[names])
    assert isinstance(predicted, dd.Series)
    assert predicted.name == "rent"
    np.testing.assert_array_equal(predicted.compute(), model.predict(table[names]))
    assert np.std(table["rent"] - predicted.compute()) < 0.4
    assert model.data_notes_.output_names == ("rent",)


def test_frames_of_parquet_whose_columns_have_partitions_of_their_own(tmp_path):
    X, y = some_table()
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(y=y, z=X[:, 0], n=1)
    for i in range(8):
        table.iloc[500 * i : 500 * (i + 1)].to_parquet(tmp_path / f"{i}.parquet")
    lazy = dd.read_parquet(tmp_path / "*.parquet")
    assert lazy[["a", "b", "c"]].optimize().npartitions != lazy["y"].optimize().npartitions
    model = make().fit(lazy[["a", "b", "c"]], lazy[["y", "z"]], lazy["n"])
    assert model.data_notes_.output_names == ("y", "z")
    assert np.std(model.predict(table[["a", "b", "c"]]) - table[["y", "z"]].to_numpy()) < 0.3


@pytest.mark.slow
def test_a_cluster_gives_the_same_model_and_survives_a_killed_worker(in_memory):
    distributed = pytest.importorskip("distributed")
    X, y = some_table()
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        chunked = da.from_array(X, chunks=(500, 3)), da.from_array(y, chunks=500)
        killed = []

        def kill_once(progress):
            if progress.n_passes > 4 and not killed:
                killed.append(True)
                cluster.workers[0].process.process.kill()

        model = make().fit(*chunked, callback=kill_once)
        assert killed
        np.testing.assert_allclose(model.predict(X), in_memory.predict(X), rtol=0, atol=1e-9)
        np.testing.assert_array_equal(model.predict(chunked[0]).compute(), model.predict(X))
        assert client.status == "running"


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((8, 2)), np.ones(7), "X has 8 rows, and y has 7"),
        (np.ones((8, 2)), "in memory", "y is of type ndarray. Give y as a dask collection"),
        (np.ones((8, 2)), np.full(8, np.inf), "y contains infinity"),
        (np.full((8, 2), np.inf), np.arange(8.0), "infinity"),
    ],
)
def test_mistakes_are_told(X, y, message):
    y = np.ones(8) if isinstance(y, str) else da.from_array(y, chunks=4)
    with pytest.raises((ValueError, TypeError), match=message):
        make().fit(da.from_array(X, chunks=4), y)


def test_a_posterior_asks_for_rows_in_memory():
    X, y = some_table(100)
    with pytest.raises(TypeError, match="BayesianRegressor takes rows in memory"):
        BayesianRegressor().fit(da.from_array(X, chunks=50), da.from_array(y, chunks=50))
