"""The banner of a report: what is not to be trusted, and nothing where all is well."""

from dataclasses import replace

import numpy as np
import pytest

from saltus import AnnealedRegressor, BayesianRegressor, Radial
from saltus.inspection.doubts import find_doubts, is_converged

N = 120


def make_rows(rng, n=N):
    X = rng.uniform(-2, 2, (n, 2))
    return X, np.sin(X[:, 0])[:, None] + X[:, 1:] + 0.1 * rng.standard_normal((n, 1))


@pytest.fixture(scope="module")
def rows():
    return make_rows(np.random.default_rng(0))


@pytest.fixture(scope="module")
def model(rows):
    return AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(rows[0], rows[1][:, 0])


def test_a_sound_model_is_not_doubted(model, rows):
    assert find_doubts(model, rows, make_rows(np.random.default_rng(1))) == []


def test_held_out_rows_beyond_the_training_data(model, rows):
    X, y = make_rows(np.random.default_rng(1))
    X[: N // 4, 1] += 4.0
    (said, *_) = find_doubts(model, rows, (X, y))
    inputs = model.data_notes_.inputs
    share = ((inputs.min > X) | (inputs.max < X)).any(axis=1).mean()
    assert share > 0.25
    assert said.startswith(f"{100 * share:.1f} % of the held-out rows lie beyond the range of the training data, in x1")


def test_held_out_rows_that_are_predicted_far_worse(model, rows, rng):
    X, y = make_rows(np.random.default_rng(1))
    (said,) = find_doubts(model, rows, (X, y + 0.5 * rng.standard_normal(y.shape)))
    assert "The error of y is" in said
    assert "times as large on the 120 held-out rows as on the rows of the fit" in said
    (said,) = find_doubts(model, rows, (X, rng.standard_normal(y.shape)))
    assert said == "y is predicted no better than by its mean on the held-out rows."


@pytest.mark.filterwarnings("ignore::saltus.ManyInputsWarning")
def test_more_coefficients_than_rows_can_carry(rng):
    X = rng.standard_normal((30, 12))
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(X, X[:, 0])
    (said,) = find_doubts(model, None, None)
    assert "The model has 13 coefficients for 30 rows: it may follow the noise of these rows." in said
    assert "criterion='bic' in Python, --criterion bic on the command line" in said


def test_terms_that_are_too_narrow_to_be_true(rng):
    X, y = rng.uniform(-2, 2, (60, 1)), rng.standard_normal(60)
    family = Radial("gaussian", width=0.05, metric="standardized")
    model = AnnealedRegressor(family, criterion=0.01, n_iter=500, n_chains=1, random_state=0).fit(X, y)
    assert model.n_terms_ > 0
    said = " ".join(find_doubts(model, None, None))
    assert "Some terms are narrower than a tenth of a standard deviation along x0." in said
    assert "The remedy is criterion='ebic' in Python" in said


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_chains_that_disagree(rows):
    model = BayesianRegressor("gaussian", n_iter=500, n_draws=50, n_chains=2, random_state=0).fit(
        rows[0], rows[1][:, 0]
    )
    agreed = tuple(replace(each, rhat=1.0, ess_bulk=500.0, ess_tail=500.0) for each in model.diagnostics_)
    model.diagnostics_ = agreed
    assert is_converged(model)
    assert find_doubts(model, None, None) == []
    model.diagnostics_ = tuple(replace(each, rhat=1.3) if each.name == "f at point 0" else each for each in agreed)
    (said,) = find_doubts(model, None, None)
    assert said.startswith("The chains of the posterior disagree about the predictions")
    assert "n_iter in Python, --iterations on the command line" in said
