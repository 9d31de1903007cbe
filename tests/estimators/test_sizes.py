"""Models of fewer terms than the best."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import saltus
from saltus import AnnealedRegressor
from saltus.estimators.sizes import smallest_within
from tests.problems import make_problem

QUICK = {"n_iter": 300, "n_chains": 2, "random_state": 0}
BASES = ["gaussian", "hinges", ["steps", "ridges"], ["waves", "gaussian"]]


def fitted(basis, name="two outputs", **options):
    problem = make_problem(name)
    return problem, AnnealedRegressor(basis, **{**QUICK, **options}).fit(problem.X, problem.Y, problem.weight)


@pytest.mark.parametrize("basis", BASES)
@pytest.mark.parametrize("name", ["two outputs", "weights"])
def test_the_path_begins_at_the_best_network_and_ends_with_none(basis, name):
    _, model = fitted(basis, name)
    sizes = [size.n_terms for size in model.path_]
    assert sizes == list(range(model.n_terms_, -1, -1))
    assert model.path_[0].criterion == pytest.approx(model.criterion_value_, rel=1e-9)


@pytest.mark.parametrize("basis", ["gaussian", "waves"])
def test_errors_with_rows_left_out_are_those_of_fits_without_them(basis):
    problem, model = fitted(basis, "sinc", linear="all")
    network = model._single_network
    U = network.box.to_unit(problem.X)
    for size in model.path_:
        terms = model._path.terms.take(slice(size.n_terms))
        D = np.hstack([np.ones((len(U), 1)), U, network.mixture.columns(U, terms)])
        errors = []
        for row in range(len(U)):
            others = np.delete(np.arange(len(U)), row)
            alpha = np.linalg.lstsq(D[others], problem.Y[others], rcond=None)[0]
            errors.append(problem.Y[row] - D[row] @ alpha)
        assert size.leave_one_out == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-6)


@pytest.mark.parametrize("basis", BASES)
def test_a_smaller_model_is_a_model(basis, tmp_path):
    problem, model = fitted(basis)
    for k in (0, 1, model.n_terms_):
        small = model.with_terms(k)
        assert small.n_terms_ == k == len(small.networks_[0].terms)
        assert small.summary()
        assert small.path_ == model.path_
        small.save(tmp_path / "small.saltus")
        loaded = saltus.load(tmp_path / "small.saltus")
        assert np.array_equal(loaded.predict(problem.X), small.predict(problem.X))
        assert loaded.with_terms(0).n_terms_ == 0
        residuals = problem.Y - small.predict(problem.X)
        if basis == "gaussian":  # by least squares
            assert small.noise_variance_ == pytest.approx((residuals**2).mean(axis=0), rel=1e-6)
    whole = model.with_terms(model.n_terms_)
    assert whole.predict(problem.X) == pytest.approx(model._single_network.predict(problem.X), rel=1e-6, abs=1e-9)
    assert model.n_terms_ == whole.n_terms_
    assert len(model.networks_) >= 1


def test_parsimony_takes_the_smallest_within_its_share():
    _, best = fitted("gaussian", "three inputs")
    for per_cent in (0, 20, 1000):
        _, model = fitted("gaussian", "three inputs", parsimony=per_cent)
        least = min(size.leave_one_out for size in best.path_)
        wanted = min(s.n_terms for s in best.path_ if s.leave_one_out <= (1 + per_cent / 100) * least)
        assert model.n_terms_ == wanted == smallest_within(best._path, per_cent)
        assert len(model.networks_) == 1


def test_nothing_is_said_of_a_network_without_terms(capfd):
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    assert len(AnnealedRegressor("gaussian", k_max=0).fit(X, X[:, 0]).path_) == 1
    said = capfd.readouterr()
    assert said.out == said.err == ""


def test_what_is_not_there():
    _, model = fitted("gaussian")
    with pytest.raises(ValueError, match="between 0 and"):
        model.with_terms(model.n_terms_ + 1)
    for wrong in (-1, 1.5, True, "1"):
        with pytest.raises(ValueError, match="whole number between 0 and"):
            model.with_terms(wrong)
    with pytest.raises(NotFittedError):
        AnnealedRegressor("gaussian").with_terms(1)
    assert not hasattr(AnnealedRegressor("gaussian"), "path_")
    object.__setattr__(model, "_path", None)
    assert model.path_ == ()
    with pytest.raises(ValueError, match="too many rows"):
        model.with_terms(1)


@pytest.mark.parametrize(
    ("errors", "per_cent", "wanted"),
    [
        ([[0.0], [0.0]], 10.0, 0),  # two rows are fitted exactly, whatever is left out
        ([[1.0], [0.0]], 10.0, 1),
        ([[2.0, 1.0], [1.0, 2.0], [1.5, 1.5]], 10.0, 2),  # what suits one output does not suit the other
        ([[1e200], [1e139]], 1e300, 0),
        ([], 10.0, 0),
    ],
)
def test_the_smallest_within_a_share_of_the_least(errors, per_cent, wanted):
    errors = np.array(errors)
    path = SimpleNamespace(leave_one_out=errors, largest=len(errors) - 1)
    assert smallest_within(path, per_cent) == wanted
