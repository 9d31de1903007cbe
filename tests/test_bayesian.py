"""BayesianRegressor: what it predicts is what its draws say, and that is what it should be."""

import subprocess
import sys
import tracemalloc
import warnings

import arviz_stats
import numpy as np
import pytest
from joblib import parallel_config
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from saltus import BayesianRegressor, Radial
from saltus.datasets import make_robot_arm
from saltus.demo import PAPER_PRIORS
from saltus.engine.results.chains import MoveCount
from saltus.engine.results.predictive import student_distribution
from saltus.inspection.diagnostics import Diagnostic, diagnose, judge
from tests.reference import design_matrix

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_iter": 2000, "n_draws": 40, "n_chains": 2, "random_state": 0}
GIVEN = {**QUICK, "metric": "standardized"}


@pytest.fixture(scope="module")
def fitted():
    X, Y = make_robot_arm(150, random_state=2)
    return X, Y, BayesianRegressor(Radial("gaussian", width=1.5), k_max=20, **GIVEN).fit(X, Y)


def shares(D, m_fixed):
    """What of the sum of squares of each column the linear term does not explain; 1 for the linear term itself."""
    linear = np.linalg.qr(D[:, :m_fixed])[0]
    rest = D - linear @ (linear.T @ D)
    return np.where(np.arange(D.shape[1]) < m_fixed, 1.0, (rest**2).sum(axis=0) / (D**2).sum(axis=0))


def components(X, Y, model, new):
    """Means, scales and degrees of the t distributions of new y, from scratch and by the normal equations."""
    X_mean, X_scale, Y_mean, Y_scale = X.mean(0), X.std(0), Y.mean(0), Y.std(0)
    scaled = (Y - Y_mean) / Y_scale
    n = len(X)

    def features(rows, draw):
        box = model._predictive.features.box
        D = design_matrix(rows, box.from_unit(draw.centers_unit), "gaussian", np.diag(1 / X_scale**2), 1.5)
        D[:, 1:3] = (rows - X_mean) / X_scale
        return D

    means, scales = [], []
    for chain in model.chains_:
        for draw in chain.draws:
            D, d = features(X, draw), features(new, draw)
            mean, scale = [], []
            for i in range(Y.shape[1]):
                W = D.T @ D + np.diag(shares(D, 3)) / draw.delta_squared[i]
                alpha = np.linalg.solve(W, D.T @ scaled[:, i])
                S = scaled[:, i] @ (scaled[:, i] - D @ alpha)
                leverage = np.einsum("nm,mn->n", d, np.linalg.solve(W, d.T))
                mean.append(Y_mean[i] + Y_scale[i] * d @ alpha)
                scale.append(Y_scale[i] * np.sqrt(S / n * (1 + leverage)))
            means.append(np.stack(mean, 1))
            scales.append(np.stack(scale, 1))
    return np.array(means), np.array(scales), n


def test_moments_and_quantiles_are_those_of_the_mixture(fitted):
    X, Y, model = fitted
    new = make_robot_arm(7, random_state=3)[0]
    means, scales, degrees = components(X, Y, model, new)
    assert len(means) == 80
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(mean, means.mean(0), rtol=1e-7, atol=1e-7)
    variance = (scales**2 * degrees / (degrees - 2)).mean(0) + means.var(0)
    np.testing.assert_allclose(std, np.sqrt(variance), rtol=1e-6)
    low, high = model.predict_interval(new, 0.8)
    for value, probability in ((low, 0.1), (high, 0.9)):
        np.testing.assert_allclose(student.cdf(value, degrees, means, scales).mean(0), probability, atol=1e-5)


def test_samples_have_the_moments_of_the_predictions(fitted):
    _, _, model = fitted
    new = make_robot_arm(5, random_state=4)[0]
    samples = model.sample_y(new, n_samples=4000, random_state=1)
    assert samples.shape == (5, 2, 4000)
    mean, std = model.predict(new, return_std=True)
    # Five standard errors of a mean of 4 000, for ten means: a false alarm in 200 000.
    assert np.abs((samples.mean(axis=2) - mean) / (std / np.sqrt(4000))).max() < 5
    np.testing.assert_allclose(samples.std(axis=2), std, rtol=0.1)


def test_fitted_attributes(fitted):
    X, Y, model = fitted
    assert sum(model.posterior_k_.values()) == pytest.approx(1)
    n_bases = np.concatenate([chain.draws.n_bases for chain in model.chains_])
    assert set(n_bases.tolist()) == set(model.posterior_k_)
    assert 0.001 < model.noise_variance_.min() <= model.noise_variance_.max() < 0.005
    assert model.n_warmup_ == 1000
    draws = [draw for chain in model.chains_ for draw in chain.draws]
    best = max(draws, key=lambda draw: draw.log_posterior)
    np.testing.assert_array_equal(model.map_estimate_.centers_unit, best.centers_unit)
    assert ((Y - model.map_estimate_.predict(X)) ** 2).mean() < 0.01
    for chain in model.chains_:
        assert sum(move.chosen for move in chain.moves.values()) == 3000


def test_intervals_cover(fitted):
    """On 2 000 new values the share inside 90 % intervals has standard error 0.007 for a fixed, right distribution."""
    _, _, model = fitted
    new, Y_new = make_robot_arm(1000, random_state=5)
    low, high = model.predict_interval(new, 0.9)
    assert 0.86 < ((low <= Y_new) & (Y_new <= high)).mean() < 0.94


def test_the_same_seed_gives_the_same_bits_whatever_n_jobs(fitted):
    X, Y, model = fitted
    for n_jobs in (1, 2, -1):
        other = clone(model).set_params(n_jobs=n_jobs).fit(X, Y)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    with parallel_config("loky", n_jobs=2):
        other = clone(model).fit(X, Y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_units_change_nothing():
    X, Y = make_robot_arm(100, random_state=3)
    new = make_robot_arm(20, random_state=4)[0]
    for basis in ("cubic", "gaussian"):
        model = BayesianRegressor(basis, k_max=10, **GIVEN).fit(X, Y)
        other = clone(model).fit(X * [1e-3, 1e3] + 5, Y * 1e4 - 3)
        np.testing.assert_allclose((other.predict(new * [1e-3, 1e3] + 5) + 3) / 1e4, model.predict(new), atol=1e-6)


def test_a_weight_is_a_number_of_rows(rng):
    X, Y = make_robot_arm(80, random_state=3)
    weight = rng.integers(0, 4, 80)
    model = BayesianRegressor("gaussian", k_max=8, **GIVEN)
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


def test_one_output(fitted):
    X, Y, _ = fitted
    model = BayesianRegressor("gaussian", **QUICK).fit(X, Y[:, 0])
    mean, std = model.predict(X, return_std=True)
    assert mean.shape == std.shape == (150,)
    assert model.sample_y(X, 3).shape == (150, 3)
    assert all(end.shape == (150,) for end in model.predict_interval(X))
    assert np.isscalar(model.noise_variance_)


def test_prediction_from_a_thousand_draws_takes_bounded_memory(fitted):
    X, Y, model = fitted
    model = clone(model).set_params(n_draws=500).fit(X, Y)
    new = make_robot_arm(10_000, random_state=5)[0]
    tracemalloc.start()
    model.predict(new, return_std=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 150e6


def test_draws_are_found_by_number_from_either_end(fitted):
    draws = fitted[2].chains_[0].draws
    first, *_, last = draws
    np.testing.assert_array_equal(draws[-1].K, last.K)
    np.testing.assert_array_equal(draws[-len(draws)].mean, first.mean)
    np.testing.assert_array_equal(np.concatenate([draw.K.ravel() for draw in draws]), draws.K)
    with pytest.raises(IndexError):
        draws[len(draws)]


def test_constant_and_exact_outputs():
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    for y in (np.full(30, 4.0), 1 + X @ [2.0, 3.0]):
        model = BayesianRegressor(**QUICK).fit(X, y)
        mean, std = model.predict(X, return_std=True)
        assert np.isfinite(std).all()
        np.testing.assert_allclose(mean, y, atol=0.05)


@pytest.mark.parametrize("coverage", [0, 1, 1.5, -0.1])
def test_impossible_coverage(fitted, coverage):
    with pytest.raises(ValueError, match=r"coverage must be between 0 and 1. Got"):
        fitted[2].predict_interval(fitted[0], coverage)


@pytest.mark.parametrize(
    ("option", "value"), [("n_warmup", -1), ("n_draws", 0), ("ridge_scale", 0), ("noise_shape", -1)]
)
def test_options(fitted, option, value):
    with pytest.raises(ValueError, match=f"The '{option}' parameter of BayesianRegressor must be .* Got"):
        BayesianRegressor(**{option: value}).fit(fitted[0], fitted[1])


def test_diagnostics_are_quiet_when_chains_agree_and_say_so():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    # A proper prior of the rate keeps it away from 0, where births are rare.
    options = {"widths": "shared", "k_max": 3, "rate_shape": 2.0, "rate_rate": 2.0, "n_draws": 500}
    model = BayesianRegressor(**options, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, y)
    assert model.status_ == "4 chains agree."
    names = [d.name for d in model.diagnostics_]
    assert names[:3] == ["k", "log posterior", "sigma^2"]
    assert all(d.rhat <= 1.01 for d in model.diagnostics_)


def test_complaints_name_their_remedy():
    X, Y = make_robot_arm(150, random_state=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model = BayesianRegressor(n_iter=60, n_warmup=0, n_draws=30, n_chains=3, random_state=1).fit(X, Y)
    said = " ".join(str(w.message) for w in caught)
    assert "Chains disagree on sigma^2" in said
    assert "Predictions suffer from this: raise n_iter" in said
    assert "Few effective draws of" in said
    assert "Chains disagree on k, log posterior" in model.status_
    assert "Raise n_iter" in model.status_
    assert all(w.filename == __file__ for w in caught)
    with pytest.warns(ConvergenceWarning, match=r"3 draws a chain are too few .* Raise n_draws"):
        BayesianRegressor(n_iter=100, n_draws=3).fit(X, Y)


def test_moves_never_accepted_and_sizes_never_changed_are_named():
    stuck = [{"birth": MoveCount(10, 5, 0), "update": MoveCount(10, 5, 3)}] * 2
    verdict = judge(diagnose({"k": np.ones((2, 50))}), stuck, n_draws=50, k_max=4)
    assert [text.split(".")[0] for text in verdict.warnings] == ["k never changed", "No birth was ever accepted"]
    assert verdict.status == " ".join(verdict.warnings)
    assert judge(diagnose({"k": np.zeros((2, 50))}), stuck, n_draws=50, k_max=0).warnings == ()


def test_chains_need_not_have_chosen_the_same_moves():
    birth, stretch = {"birth": MoveCount(10, 5, 2)}, {"stretch": MoveCount(1, 1, 0)}
    for moves in ([birth | stretch, birth], [birth, birth | stretch]):
        verdict = judge(diagnose({"k": np.arange(100.0).reshape(2, 50)}), moves, n_draws=50, k_max=4)
        assert [text.split(".")[0] for text in verdict.warnings] == ["No stretch was ever accepted"]


@pytest.mark.parametrize(
    ("name", "rhat", "ess", "grave"),
    [
        ("k", 1.5, 8.0, False),
        ("log posterior", 1.5, 8.0, False),
        ("f at point 0", 1.09, 64.0, False),
        ("f at point 0", 1.11, 64.0, True),
        ("f at point 1 of output 0", 1.0, 49.0, True),
        ("sigma^2", 1.0, 49.0, True),
        ("sigma^2 of output 1", 1.11, 500.0, True),
    ],
)
def test_only_what_predictions_suffer_from_is_warned_of(name, rhat, ess, grave):
    fine = [Diagnostic(name, 1.0, 900.0, 900.0) for name in ("k", "log posterior", "sigma^2", "f at point 0")]
    moves = [{"birth": MoveCount(10, 5, 2)}] * 4
    assert judge(fine, moves, n_draws=50, k_max=4).status == "4 chains agree."
    diagnostics = [*(d for d in fine if d.name != name), Diagnostic(name, rhat, ess, ess)]
    verdict = judge(diagnostics, moves, n_draws=50, k_max=4)
    assert bool(verdict.warnings) == grave
    assert ("Predictions are reliable to" in verdict.status) != grave
    assert name in verdict.status


def test_the_status_says_how_far_predictions_are_reliable():
    diagnostics = [Diagnostic("k", 1.2, 9.0, 9.0), Diagnostic("f at point 0", 1.0, 400.0, 90.0)]
    status = judge(diagnostics, [{"birth": MoveCount(10, 5, 2)}] * 4, n_draws=50, k_max=4).status
    assert "to 0.05 of their posterior standard deviation" in status
    assert "R-hat is 1.200 for k, above 1.01" in status
    assert "If k or the log posterior themselves are of interest, raise n_iter" in status


def test_datatree_holds_the_draws_and_arviz_reads_it(fitted):
    _, _, model = fitted
    tree = model.to_datatree()
    posterior, chains = tree["posterior"], model.chains_
    assert dict(posterior.sizes)["chain"] == 2
    assert dict(posterior.sizes)["draw"] == 40
    for number, chain in enumerate(chains):
        assert (chain.draws.offsets == np.cumsum([0, *chain.draws.n_bases])).all()
        np.testing.assert_array_equal(posterior["k"][number], chain.draws.n_bases)
        np.testing.assert_array_equal(posterior["center_exists"][number].sum("center"), chain.draws.n_bases)
        np.testing.assert_array_equal(tree["sample_stats"]["lp"][number], chain.draws.log_posterior)
        for n, draw in enumerate(chain.draws):
            centers = posterior["centers"][number, n]
            k = len(draw.centers_unit)
            assert np.isnan(centers[k:]).all()
            np.testing.assert_array_equal(centers[:k], model._predictive.features.box.from_unit(draw.centers_unit))
    np.testing.assert_allclose(posterior["sigma_squared"].mean(("chain", "draw")), model.noise_variance_)
    by_name = {d.name: d for d in model.diagnostics_}
    assert float(arviz_stats.rhat(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].rhat)
    assert float(arviz_stats.ess(tree, var_names=["k"])["k"]) == pytest.approx(by_name["k"].ess_bulk)


def test_datatree_survives_a_draw_without_centres_and_names_features():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"heat": rng.random(30), "speed": rng.random(30)})
    tree = BayesianRegressor(k_max=0, **QUICK).fit(X, rng.random(30)).to_datatree()
    assert tree["posterior"]["centers"].shape == (2, 40, 0, 2)
    assert list(tree["posterior"]["feature"].values) == ["heat", "speed"]


def test_exporting_never_imports_arviz():
    script = (
        "import sys, warnings; import numpy as np; from saltus import BayesianRegressor;"
        "warnings.simplefilter('ignore');"
        "X = np.arange(20.0)[:, None];"
        "BayesianRegressor(n_iter=100, n_draws=10).fit(X, np.sin(X[:, 0])).to_datatree();"
        "assert 'arviz' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_xarray_the_message_says_what_to_install(fitted, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[xarray\]'"):
        fitted[2].to_datatree()


@pytest.mark.parametrize("degrees", [3.0, 10.0, 25.0, 200.0, 1e6])
def test_distribution_function_of_t(degrees):
    t = np.linspace(-30, 30, 2001)
    np.testing.assert_allclose(student_distribution(degrees, t), student.cdf(t, degrees), atol=1e-9)


def test_a_learned_metric_finds_the_inputs_that_matter():
    rng = np.random.default_rng(0)
    X = rng.random((150, 4)) * [1.0, 100.0, 1e-3, 1.0]
    truth = np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1] / 100)
    y = truth + 0.1 * rng.standard_normal(150)
    # Under the wider ridge of the defaults an input that does not matter often stays, with a relevance near 0.
    priors = {**PAPER_PRIORS, "basis": "gaussian", "metric": "learned"}
    model = BayesianRegressor(**priors, n_jobs=2, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.inclusion_[:2], 1.0)
    assert (model.inclusion_[2:] < 0.7).all()
    assert (model.relevance_[2:] < 0.1 * model.relevance_[:2].min()).all()
    assert np.sqrt(((model.predict(X) - truth) ** 2).mean()) < 0.06
    assert model.chains_[0].moves["stretch"].accepted > 0
    tree = model.to_datatree()
    np.testing.assert_allclose(tree["posterior"]["relevance"].mean(("chain", "draw")), model.relevance_)
    network = model.map_estimate_
    assert ((network.predict(X)[:, 0] - truth) ** 2).mean() < 0.01
    given = clone(model).set_params(metric="standardized").fit(X, y)
    assert not hasattr(given, "relevance_")
    assert "relevance" not in given.to_datatree()["posterior"]
