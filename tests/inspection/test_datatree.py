"""Draws of the posterior as a DataTree, which ArviZ reads."""

import subprocess
import sys

import arviz_stats
import numpy as np
import pytest

from saltus import BayesianRegressor, Radial
from saltus.datasets import make_robot_arm

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_iter": 2000, "n_draws": 40, "n_chains": 2, "random_state": 0}


@pytest.fixture(scope="module")
def model():
    X, Y = make_robot_arm(150, random_state=2)
    return BayesianRegressor(Radial("gaussian", width=1.5, metric="standardized"), k_max=20, **QUICK).fit(X, Y)


def test_datatree_holds_the_draws_and_arviz_reads_it(model):
    tree = model.to_datatree()
    posterior, terms, chains = tree["posterior"], tree["terms"], model.chains_
    assert dict(posterior.sizes)["chain"] == 2
    assert dict(posterior.sizes)["draw"] == 40
    for number, chain in enumerate(chains):
        assert (chain.draws.offsets == np.cumsum([0, *chain.draws.n_terms])).all()
        np.testing.assert_array_equal(posterior["k"][number], chain.draws.n_terms)
        np.testing.assert_array_equal(terms["exists"][number].sum("term"), chain.draws.n_terms)
        np.testing.assert_array_equal(tree["sample_stats"]["lp"][number], chain.draws.log_posterior)
        for n, draw in enumerate(chain.draws):
            centers = terms["centers"][number, n]
            k = len(draw.terms)
            assert np.isnan(centers[k:]).all()
            np.testing.assert_array_equal(centers[:k], model._predictive.features.box.from_unit(draw.terms.parameters))
    np.testing.assert_allclose(posterior["sigma_squared"].mean(("chain", "draw")), model.noise_variance_)
    by_name = {d.name: d for d in model.diagnostics_}
    assert float(arviz_stats.rhat(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].rhat)
    assert float(arviz_stats.ess(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].ess_bulk)


def test_arviz_summarizes_all_of_the_posterior(model):
    table = arviz_stats.summary(model.to_datatree())
    assert table.notna().all(axis=None)
    assert {"k", "rate"} <= set(table.index)


@pytest.fixture(params=["gaussian", "auto"])
def sine(request):
    rng = np.random.default_rng(1)
    X = rng.uniform(-3, 3, size=(80, 1))
    y = np.sin(X[:, 0]) + 0.2 * rng.standard_normal(80)
    return BayesianRegressor(request.param, **QUICK).fit(X, y), X, y


def test_rows_bring_log_likelihoods_by_which_arviz_leaves_them_out(sine):
    model, X, y = sine
    tree = model.to_datatree(X, y)
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "row")
    np.testing.assert_array_equal(tree["observed_data"]["y"], y)
    assert "posterior_predictive" not in tree
    # A new y of a normal with standard deviation 0.2 has this log density in the mean, less what is not known of f.
    expected = -0.5 * np.log(2 * np.pi * 0.2**2) - 0.5
    assert float(arviz_stats.loo(tree).elpd) / 80 == pytest.approx(expected, abs=0.2)


def test_log_likelihoods_are_those_of_coefficients_drawn_given_the_noise(sine):
    model, X, y = sine
    tree = model.to_datatree(X, y, posterior_predictive=True)
    sigma_squared = tree["posterior"]["sigma_squared"].to_numpy()
    log_likelihood = tree["log_likelihood"]["y"].to_numpy()
    # Squared distances of y from f: in the mean, those from the mean of f, and the variance of f.
    squared = sigma_squared * (-2 * log_likelihood - np.log(2 * np.pi * sigma_squared))
    mean = model.predict(X)
    of_function = np.concatenate(
        [mixture.of_function.moments()[1] for _, mixture in model._predictive.mixtures(X)]
    ).ravel()
    assert squared.min() >= 0
    assert squared.mean() == pytest.approx(((y - mean) ** 2 + of_function).mean(), rel=0.05)
    new = tree["posterior_predictive"]["y"].to_numpy()
    assert new.shape == (2, 40, 80)
    np.testing.assert_allclose(new.mean(axis=(0, 1)), mean, atol=0.25)
    assert new.std(axis=(0, 1)).mean() == pytest.approx(model.predict(X, return_std=True)[1].mean(), rel=0.1)


def test_rows_of_two_outputs_keep_them_apart(model):
    X, Y = make_robot_arm(150, random_state=2)
    tree = model.to_datatree(X, Y, posterior_predictive=True)
    assert tree["log_likelihood"]["y"].dims == ("chain", "draw", "row", "output")
    assert tree["posterior_predictive"]["y"].shape == (2, 40, 150, 2)


def test_rows_without_outputs_are_refused(model):
    with pytest.raises(ValueError, match="needs both X and y"):
        model.to_datatree([[0.0, 0.0]])
    with pytest.raises(ValueError, match="posterior_predictive=True needs them"):
        model.to_datatree(posterior_predictive=True)


def test_the_noise_is_drawn_with_the_terms(model):
    """Given the terms, S over the variance is chi-squared with N degrees of freedom: mean 1 +- .01 when divided."""
    draws = [draw for chain in model.chains_ for draw in chain.draws]
    ratio = np.array([draw.S / draw.sigma_squared for draw in draws]) / model._predictive.degrees
    assert abs(ratio.mean() - 1) < 4 * np.sqrt(2 / model._predictive.degrees / ratio.size)
    assert ratio.std() == pytest.approx(np.sqrt(2 / model._predictive.degrees), rel=0.3)


def test_datatree_survives_a_draw_without_terms_and_names_features():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"heat": rng.random(30), "speed": rng.random(30)})
    tree = BayesianRegressor("gaussian", k_max=0, **QUICK).fit(X, rng.random(30)).to_datatree()
    assert tree["terms"]["centers"].shape == (2, 40, 0, 2)
    assert list(tree["posterior"]["feature"].values) == ["heat", "speed"]


def test_exporting_never_imports_arviz():
    script = (
        "import sys, warnings; import numpy as np; from saltus import BayesianRegressor;"
        "warnings.simplefilter('ignore');"
        "X = np.arange(20.0)[:, None];"
        "BayesianRegressor('gaussian', n_iter=100, n_draws=10).fit(X, np.sin(X[:, 0])).to_datatree();"
        "assert 'arviz' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_xarray_the_message_says_what_to_install(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[xarray\]'"):
        model.to_datatree()
