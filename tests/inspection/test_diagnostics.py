"""Chains that disagree are named, with a remedy."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from saltus import BayesianRegressor, Radial
from saltus.datasets import make_robot_arm
from saltus.engine.results.chains import MoveCount
from saltus.inspection.diagnostics import N_POINTS, Diagnostic, collect_scalars, diagnose, judge

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def test_diagnostics_are_quiet_when_chains_agree_and_say_so():
    rng = np.random.default_rng(0)
    X = rng.random((60, 1))
    y = X[:, 0] + 0.3 * rng.standard_normal(60)
    # A proper prior of the rate keeps it away from 0, where births are rare.
    family = Radial("gaussian", widths="shared")
    options = {"k_max": 3, "rate_shape": 2.0, "rate_rate": 2.0, "n_draws": 500}
    model = BayesianRegressor(family, **options, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model.fit(X, y)
    assert model.status_ == "4 chains agree."
    names = [d.name for d in model.diagnostics_]
    assert names[:3] == ["k", "log posterior", "sigma^2"]
    assert all(d.rhat <= 1.01 for d in model.diagnostics_)


def test_the_function_is_judged_with_all_that_is_uncertain_of_it():
    """Its draws spread as the posterior says, coefficients included; given the terms alone they spread far less."""
    rng = np.random.default_rng(3)
    X = rng.random((80, 1))
    y = X[:, 0] ** 2 + 0.3 * rng.standard_normal(80)
    model = BayesianRegressor("bumps", n_draws=500, n_iter=5_000, random_state=0)
    seen = {}

    def keep(chains, design, predictive):
        seen.update(design=design, predictive=predictive, chains=chains)
        return collect_scalars(chains, design, predictive)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("saltus.inspection.diagnostics.collect_scalars", keep)
        model.fit(X, y)
    scalars = collect_scalars(**seen)
    points = seen["design"].box.from_unit(np.random.default_rng(0).uniform(0.2, 0.8, (N_POINTS, 1)))
    ((_, mixture),) = seen["predictive"].mixtures(points)
    of_posterior = mixture.of_function.moments()[1][:, 0]
    of_means = mixture.mean[:, :, 0].var(axis=0)
    assert (of_means < 0.7 * of_posterior).all()
    for p in range(N_POINTS):
        # 4 000 draws, most of them worth an independent one: three standard errors are 7 %.
        assert scalars[f"f at point {p}"].var() == pytest.approx(of_posterior[p], rel=0.07)


def test_complaints_name_their_remedy():
    X, Y = make_robot_arm(150, random_state=2)
    with pytest.warns(ConvergenceWarning) as caught:
        model = BayesianRegressor("gaussian", n_iter=60, n_warmup=0, n_draws=30, n_chains=3, random_state=1).fit(X, Y)
    said = " ".join(str(w.message) for w in caught)
    assert "Chains disagree on sigma^2" in said
    assert "Predictions suffer from this: raise n_iter" in said
    assert "Few effective draws of" in said
    assert "Chains disagree on k, log posterior" in model.status_
    assert "Raise n_iter" in model.status_
    assert all(w.filename == __file__ for w in caught)
    with pytest.warns(ConvergenceWarning, match=r"3 draws a chain are too few .* Raise n_draws"):
        BayesianRegressor("gaussian", n_iter=100, n_draws=3).fit(X, Y)


def test_moves_never_accepted_and_sizes_never_changed_are_named():
    stuck = [{"birth": MoveCount(10, 5, 0), "update": MoveCount(10, 5, 3)}] * 2
    verdict = judge(diagnose({"k": np.ones((2, 50))}), stuck, n_draws=50, k_max=4)
    assert [text.split(".")[0] for text in verdict.warnings] == ["k never changed", "No birth was ever accepted"]
    assert verdict.status == " ".join(verdict.warnings)
    assert judge(diagnose({"k": np.zeros((2, 50))}), stuck, n_draws=50, k_max=0).warnings == ()


def test_chains_that_stay_apart_have_an_infinite_r_hat():
    (found,) = diagnose({"k": np.repeat([[1.0], [2.0]], 50, axis=1)})
    assert found.rhat == np.inf


def test_moves_that_were_never_chosen_are_not_missed():
    moves = [{"birth": MoveCount(10, 5, 2), "split": MoveCount(0, 0, 0)}] * 2
    assert judge(diagnose({"k": np.arange(100.0).reshape(2, 50)}), moves, n_draws=50, k_max=4).warnings == ()


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
