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
    posterior, chains = tree["posterior"], model.chains_
    assert dict(posterior.sizes)["chain"] == 2
    assert dict(posterior.sizes)["draw"] == 40
    for number, chain in enumerate(chains):
        assert (chain.draws.offsets == np.cumsum([0, *chain.draws.n_terms])).all()
        np.testing.assert_array_equal(posterior["k"][number], chain.draws.n_terms)
        np.testing.assert_array_equal(posterior["term_exists"][number].sum("term"), chain.draws.n_terms)
        np.testing.assert_array_equal(tree["sample_stats"]["lp"][number], chain.draws.log_posterior)
        for n, draw in enumerate(chain.draws):
            centers = posterior["centers"][number, n]
            k = len(draw.terms)
            assert np.isnan(centers[k:]).all()
            np.testing.assert_array_equal(centers[:k], model._predictive.features.box.from_unit(draw.terms.parameters))
    np.testing.assert_allclose(posterior["sigma_squared"].mean(("chain", "draw")), model.noise_variance_)
    by_name = {d.name: d for d in model.diagnostics_}
    assert float(arviz_stats.rhat(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].rhat)
    assert float(arviz_stats.ess(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].ess_bulk)


def test_datatree_survives_a_draw_without_terms_and_names_features():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"heat": rng.random(30), "speed": rng.random(30)})
    tree = BayesianRegressor("gaussian", k_max=0, **QUICK).fit(X, rng.random(30)).to_datatree()
    assert tree["posterior"]["centers"].shape == (2, 40, 0, 2)
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
