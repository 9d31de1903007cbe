"""A summary says what was chosen and how sure that is."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from saltus import AnnealedRegressor, BayesianRegressor, Radial
from saltus.engine.search.policy import SearchPolicy
from saltus.inspection.findings import (
    criterion_by_size,
    interval_of_noise,
    interval_of_size,
    linear_effect,
    nearly_as_good,
    reach,
    share_explained,
    sizes_nearly_as_good,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::saltus.estimators.DependentFeaturesWarning"
)

NOISE = 0.1


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.uniform(-3, 3, size=(60, 3)), columns=["angle", "load", "batch"])
    X["batch"] = 7.0
    y = 2 * np.sin(X["angle"]) + X["load"] + NOISE * rng.standard_normal(60)
    return X, y.rename("lift")


@pytest.fixture(scope="module")
def annealed(data):
    return AnnealedRegressor(Radial("gaussian", widths="shared"), n_iter=500, n_chains=2, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def bayesian(data):
    model = BayesianRegressor(Radial("gaussian", metric="learned"), n_iter=2000, n_draws=50, n_chains=2, random_state=0)
    return model.fit(*data)


def section(model, title):
    return next(section for section in model.summary().sections if section.title == title)


def said(model, title):
    return " ".join(section(model, title).sentences)


def test_the_title_says_size_rows_and_variance(annealed):
    assert annealed.summary().headline.startswith(f"AnnealedRegressor: {annealed.n_terms_} terms for 60 rows, 99.")
    assert annealed.summary().headline.endswith("% of the variance of lift explained")


def test_sizes_are_compared_by_the_criterion(annealed):
    by_size = criterion_by_size(annealed)
    assert min(by_size, key=by_size.get) == annealed.n_terms_
    assert by_size[annealed.n_terms_] == pytest.approx(annealed.criterion_value_)
    for chain in annealed.result_.chains:
        for k, log_posterior in chain.best_by_n_terms.items():
            behind = annealed.log_posterior_ - log_posterior
            assert by_size[k] - annealed.criterion_value_ <= behind + 1e-9


def test_sizes_within_two_units_are_nearly_as_good(annealed, monkeypatch):
    by_size = {10: 105.0, 11: 101.9, 12: 100.0, 13: 102.0, 14: 102.1}
    assert sizes_nearly_as_good(by_size, nearly_as_good(annealed)) == [11, 12, 13]
    monkeypatch.setattr("saltus.inspection.summary.criterion_by_size", lambda model: by_size)
    monkeypatch.setattr(annealed, "n_terms_", 12)
    assert "12 terms; 11 to 13 are within 2 units of the criterion (AICc)." in said(annealed, "Size")
    monkeypatch.setattr("saltus.inspection.summary.criterion_by_size", lambda model: {12: 0.0, 13: 5.0})
    assert "no other number that was tried is within 2 units" in said(annealed, "Size")
    monkeypatch.setattr(annealed, "_policy", SearchPolicy(same_a_row=0.1))
    assert "12 and 13 are within 6 units" in said(annealed, "Size")


def test_inputs_are_told_apart_by_what_they_do(annealed):
    assert said(annealed, "Inputs") == (
        "angle appears in the terms. load appears in no term but the linear one; its effect is linear or none. "
        "The model does not use batch. Left out: batch (it is 7 in every row)."
    )
    table = section(annealed, "Inputs").tables[0]
    assert [name for name, _ in table.columns] == ["input", "effect", "linear effect", "relevance"]
    rows = {row[0]: row[1:] for row in table.rows}
    assert list(rows) == ["load", "angle", "batch"]  # by how much they move the output
    assert rows["angle"][2] == pytest.approx(annealed.relevance_[0])
    assert rows["load"][2] == "off"
    assert "the linear term alone" in table.caption


def test_reach_is_how_far_the_output_goes_along_an_input(data, annealed):
    X, _ = data
    notes = annealed.data_notes_
    spread, ranges = notes.outputs.std[0], notes.inputs.max - notes.inputs.min
    wanted = [np.ptp(2 * np.sin(X["angle"])), ranges[1], 0.0]  # of the truth
    np.testing.assert_allclose(reach(annealed), wanted / spread, rtol=0.1, atol=1e-12)


def test_reach_sees_inputs_that_act_together(data):
    X, _ = data
    model = AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(X, np.sin(X["angle"]) * X["load"])
    # Where the one is at its mean, which is near 0, the other hardly moves the output.
    assert reach(model)[:2].min() > 1.0


def test_linear_effect_is_the_standardised_coefficient(data):
    X, y = data
    outputs = np.column_stack([y, 100 * X["load"] + y])
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(X, outputs)
    standardised = (X - X.mean()) / X.std(ddof=0).replace(0, 1)
    targets = (outputs - outputs.mean(axis=0)) / outputs.std(axis=0)
    wanted = np.linalg.lstsq(standardised.to_numpy(), targets, rcond=None)[0]
    largest = wanted[np.arange(3), np.abs(wanted).argmax(axis=1)]
    np.testing.assert_allclose(linear_effect(model), largest, atol=1e-12)
    assert "The model is linear." in said(model, "Size")


def test_noise_is_in_the_units_of_y(data, annealed):
    X, y = data
    rescaled = AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(X, 1000 * y + 5)
    noise, noise_rescaled = (section(model, "Noise").tables[0].rows[0][1] for model in (annealed, rescaled))
    assert noise == pytest.approx(NOISE, rel=0.3)
    assert noise_rescaled == pytest.approx(1000 * noise, rel=0.01)
    residuals = y - annealed.result_.chains[annealed.result_.best_chain].best.network.predict(X.to_numpy())[:, 0]
    assert share_explained(annealed)[0] == pytest.approx(1 - residuals.var(ddof=0) / y.var(ddof=0))


def test_the_posterior_of_the_noise_has_the_units_of_y(bayesian):
    low, high = interval_of_noise(bayesian)
    assert 0.05 < low[0] < np.sqrt(bayesian.noise_variance_) < high[0] < 0.2


def test_convergence_is_told_in_words(data, annealed):
    verdict, ending = section(annealed, "Convergence").sentences
    assert verdict == (
        "2 of 2 chains ended within 1 of the best value of the criterion. There may be a better one that none of them "
        "found."
    )
    assert ending == "The search finished: each of its 2 chains ran 500 iterations."
    assert annealed.result_.status.startswith(ending)
    alone = AnnealedRegressor("gaussian", n_iter=10, n_chains=1, random_state=0).fit(*data)
    assert "There is one chain only" in said(alone, "Convergence")
    apart = AnnealedRegressor("gaussian", n_iter=10, n_chains=2, init="random", polish=False, random_state=0).fit(*data)
    assert "no two of 2 chains ended near" in said(apart, "Convergence")


def test_the_posterior_of_the_size_is_told(bayesian):
    mode = max(bayesian.posterior_k_, key=bayesian.posterior_k_.get)
    low, high = interval_of_size(bayesian.posterior_k_)
    assert f"Most probably {mode} term" in said(bayesian, "Size")
    assert "100 networks" in said(bayesian, "Size")
    assert f"{low} to {high} terms" in bayesian.summary().headline


def test_interval_of_size_holds_its_share():
    assert interval_of_size({3: 0.05, 4: 0.5, 5: 0.4, 6: 0.05}) == (4, 5)
    assert interval_of_size({3: 0.06, 4: 0.5, 5: 0.38, 6: 0.06}) == (3, 6)
    assert interval_of_size({2: 1.0}) == (2, 2)


def test_inclusion_probabilities_are_told(bayesian, data):
    X, y = data
    curved = clone(bayesian).fit(X, y + X["load"] ** 2)
    assert "load and angle appear in the terms, each with a probability above 95 %." in said(curved, "Inputs")
    table = section(curved, "Inputs").tables[0]
    assert [name for name, _ in table.columns] == ["input", "effect", "probability", "relevance"]
    assert [row[0] for row in table.rows] == ["load", "angle", "batch"]


def test_r_hat_and_effective_draws_are_told(bayesian):
    assert said(bayesian, "Convergence") == bayesian.status_
    rows = section(bayesian, "Convergence").tables[0].rows
    assert [row[0] for row in rows] == [d.name for d in bayesian.diagnostics_]
    assert [row[1] for row in rows] == [d.rhat for d in bayesian.diagnostics_]


def test_a_size_at_k_max_is_pointed_out(data):
    X, y = data
    family = Radial("gaussian", metric="standardized")
    options = {"k_max": 1, "n_chains": 1, "random_state": 0}
    assert "a larger k_max may find" in said(AnnealedRegressor(family, n_iter=50, **options).fit(X, y), "Size")
    bayesian = BayesianRegressor(family, n_iter=200, n_draws=20, **options).fit(X, y)
    assert "k_max cuts the posterior off" in said(bayesian, "Size")
    assert "metric='standardized'" in said(bayesian, "Inputs")


def test_inputs_that_do_not_vary_are_not_used():
    X, y = np.ones((20, 2)), np.arange(20.0)
    family, options = Radial("gaussian", metric="learned"), {"n_chains": 1, "random_state": 0}
    annealed = AnnealedRegressor(family, n_iter=10, **options).fit(X, y)
    bayesian = BayesianRegressor(family, n_iter=20, n_draws=10, **options).fit(X, y)
    left_out = "Left out: x0 (it is 1 in every row). Left out: x1 (it is 1 in every row)."
    assert said(annealed, "Inputs") == f"The model does not use x0 and x1. {left_out}"
    used = "x0 and x1 appear in the terms, each with a probability below 5 %."
    assert said(bayesian, "Inputs") == f"{used} {left_out}"


def test_text_and_html_say_the_same(annealed):
    summary = annealed.summary()
    assert str(summary) == repr(summary)
    for word in ("Size", "Inputs", "Noise", "Convergence", annealed.result_.status.split(":")[0], "angle", "lift"):
        assert word in str(summary)
        assert word in summary._repr_html_()


def test_names_cannot_break_text_or_html(data):
    X, y = data
    hostile = X.set_axis(["<script>alert(1)</script>", "two\nlines\x00", "x" * 10], axis=1)
    summary = (
        AnnealedRegressor("gaussian", n_iter=50, n_chains=1, random_state=0).fit(hostile, y.rename("<b>&")).summary()
    )
    assert "<script>" not in summary._repr_html_()
    assert "&lt;script&gt;" in summary._repr_html_()
    assert "two lines\ufffd" in str(summary)
    assert "&lt;b&gt;&amp;" in summary._repr_html_()


def test_long_lists_are_cut(data):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(60, 25))
    model = AnnealedRegressor("gaussian", n_iter=1, n_chains=1, init="empty", polish=False, random_state=0).fit(
        X, X[:, 0]
    )
    assert "and 15 more" in said(model, "Inputs")
    table = section(model, "Inputs").tables[0]
    assert len(table.rows) == 20
    assert table.caption.endswith("The first 20 of 25.")


def test_an_unfitted_model_has_no_summary():
    with pytest.raises(NotFittedError):
        AnnealedRegressor("gaussian").summary()
