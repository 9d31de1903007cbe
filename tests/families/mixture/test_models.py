"""Models that mix families: files, ONNX, draws, words, pages and pictures agree with what they predict."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning, FileError, Product, Radial, Ridge, plots
from saltus.inspection.formula import Formula, digits_needed
from tests.equality import same
from tests.families.user.families import Stairs, Turns

mpl.use("agg")

NAMES = ["angle", "load", "constant", "speed"]
EVERY = ["gaussian", Product(("hinge", "wave", "identity")), "steps", Ridge(("sigmoid", "bump"), max_inputs=2)]
BASES = {
    "four families": EVERY,
    "a given metric": [Radial("cubic", metric="standardized"), "hinges", "steps", "ridges"],
    "products": Product(("hinge", "step", "bump", "hat"), extrapolate="free"),
    "ridges": Ridge(("hinge", "sigmoid", "bump")),
    "polynomials": ["polynomials", "sigmoids"],
    "a user's": [Turns(1.5, 2), "hinges", Turns(0.5)],
    "waves": "waves",
    "waves and others": [Ridge("wave", max_inputs=3), "gaussian", "hinges", Ridge("wave", 1, extrapolate="hold")],
}
SHOWN_BY_OTHERS = {"products", "ridges", "polynomials"}
QUICK = {"n_iter": 2000, "n_chains": 2, "init": "empty", "random_state": 0}
FEW_DRAWS = {"n_iter": 6000, "n_draws": 30, "n_chains": 2, "init": "empty", "random_state": 0}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.uniform(-3, 3, size=(90, 4)), columns=NAMES)
    X["constant"] = 1.5
    Y = np.column_stack([2 * np.sin(X["angle"]) * X["load"], (X["speed"] > 1) + np.maximum(X["load"], 0)])
    return X, pd.DataFrame(Y + 0.1 * rng.standard_normal(Y.shape), columns=["up", "down"])


@pytest.fixture(scope="module")
def new():
    """Rows inside the data and beyond."""
    return np.random.default_rng(8).uniform(-4, 4, size=(60, 4))


class Models(dict):
    """Both estimators with every basis, each fitted when it is first asked for."""

    def __init__(self, data):
        super().__init__()
        self.data = data

    def __missing__(self, key):
        kind, name = key
        if kind == "annealed":
            model = AnnealedRegressor(BASES[name], criterion=1.0, **QUICK)
        else:
            model = BayesianRegressor(BASES[name], **FEW_DRAWS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", saltus.DependentFeaturesWarning)
            self[key] = model.fit(*self.data)
        return self[key]


@pytest.fixture(scope="module")
def models(data):
    return Models(data)


def parametrize(key_of):
    """Make a parameter of each basis; what others show nearly as well is left out unless asked for."""
    marks = {name: [pytest.mark.slow] if name in SHOWN_BY_OTHERS else [] for name in BASES}
    return [pytest.param(key, id=", ".join(key), marks=marks[name]) for name in BASES for key in key_of(name)]


@pytest.fixture(params=parametrize(lambda name: [("annealed", name), ("bayesian", name)]))
def model(request, models):
    return models[request.param]


@pytest.fixture(params=parametrize(lambda name: [("annealed", name)]))
def annealed(request, models):
    return models[request.param]


@pytest.fixture(params=parametrize(lambda name: [("bayesian", name)]))
def bayesian(request, models):
    return models[request.param]


def test_columns_of_many_draws_are_those_of_each(bayesian, monkeypatch):
    mixture, draws = bayesian._predictive.features.mixture, bayesian._predictive.draws
    U, sets = np.random.default_rng(0).random((7, 3)), [draw.terms for draw in draws]
    expected = [mixture.columns(U, terms) for terms in sets]
    for most in (1, 100, 10**6):
        monkeypatch.setattr("saltus.families.mixture.mixture.NUMBERS_AT_A_TIME", most)
        for found, own in zip(mixture.columns_of_each(U, sets), expected, strict=True):
            np.testing.assert_allclose(found, own, rtol=1e-12, atol=1e-13)


def test_terms_of_several_families_are_found(models):
    best = models["annealed", "four families"]._single_network
    assert len(best.terms) > 3
    assert len(set(best.terms.family.tolist())) > 1
    draws = [draw for chain in models["bayesian", "four families"].chains_ for draw in chain.draws]
    assert set(np.concatenate([draw.terms.family for draw in draws]).tolist()) >= {0, 1, 2, 3}


def test_a_file_holds_all_of_it(model, new, tmp_path):
    model.save(tmp_path / "model.saltus")
    again = saltus.load(tmp_path / "model.saltus", families=[Stairs(), Turns(1.5, 2), Turns(0.5)])
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    assert repr(again) == repr(model)
    assert same(again._single_network, model._single_network)
    assert str(again.summary()) == str(model.summary())


@pytest.mark.filterwarnings("ignore::UserWarning")  # there are no names of features in an array
def test_onnx_predicts_the_same(model, new):
    made = model.to_onnx()
    onnx.checker.check_model(made, full_check=True)
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(None, {"X": new})
    scale = model.predict(new).std()
    np.testing.assert_allclose(found[0], model.predict(new), rtol=1e-9, atol=1e-9 * scale)
    if isinstance(model, BayesianRegressor):
        np.testing.assert_allclose(found[1], model.predict(new, return_std=True)[1], rtol=1e-9)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_formula_is_the_network(annealed, new):
    network = annealed._single_network
    formula = Formula.of(network)
    expected = network.predict(new)
    np.testing.assert_allclose(formula.predict(new), expected, rtol=1e-7, atol=1e-7 * expected.std())
    digits = digits_needed(network)
    inside = network.box.from_unit(np.random.default_rng(0).random((200, 3)))
    rounded = formula.rounded(digits).predict(inside)
    assert np.mean(np.abs(rounded - network.predict(inside)) < 0.05 * network.outputs.scale) > 0.95


def test_the_summary_names_what_is_used(model):
    text = str(model.summary())
    assert "angle" in text
    assert "load" in text
    assert "nan" not in text.lower().replace("finance", "")
    html = model.summary()._repr_html_()
    assert "angle" in html


def test_the_report_shows_every_term(annealed, data, tmp_path):
    annealed.report(tmp_path / "page.html", *data)
    html = (tmp_path / "page.html").read_text("utf-8")
    assert "angle" in html
    network = annealed._single_network
    numbers = network.mixture.inspection.numbers(network.box, network.terms)
    tables = numbers.tables(NAMES, ["up", "down"], network.term_coef, ".4g")
    n_rows = sum(len(table.rows) for table in tables if table.columns[0][0] == "j")
    assert n_rows == len(network.terms)


def test_a_report_of_a_posterior_can_be_written(bayesian, data, tmp_path):
    bayesian.report(tmp_path / "page.html", *data)
    assert "angle" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize("name", BASES)
def test_the_code_of_a_report_makes_the_model_again(models, data, run_recipe, name):
    model = models["annealed", name]
    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", saltus.DependentFeaturesWarning)
        again = run_recipe(model, X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_draws_are_in_the_datatree(bayesian):
    whole = bayesian.to_datatree()
    tree = whole["terms"]
    box, mixture = bayesian._predictive.features.box, bayesian._predictive.features.mixture
    for number, chain in enumerate(bayesian.chains_):
        np.testing.assert_array_equal(tree["exists"][number].sum("term"), chain.draws.n_terms)
        for n, draw in enumerate(chain.draws):
            k = len(draw.terms)
            np.testing.assert_array_equal(tree["family"][number, n][:k], draw.terms.family)
            assert np.isnan(tree["family"][number, n][k:]).all()
            np.testing.assert_array_equal(tree["places"][number, n][:k], mixture.inspection.places(box, draw.terms))
    assert ("relevance" in whole["posterior"]) == (mixture.radial_family >= 0)


def test_inputs_in_use_are_those_of_the_terms(model):
    use = model._input_use
    assert use.probability.shape == (4,)
    assert use.probability[2] == 0, "it does not vary"
    assert (use.probability[[0, 1]] > 0).all()


def test_every_picture_can_be_drawn(model, data):
    for draw in (
        lambda ax: plots.plot_trace(model, ax=ax),
        lambda ax: plots.plot_acceptance(model, ax=ax),
        lambda ax: plots.plot_size(model, ax=ax),
        lambda ax: plots.plot_fit(model, *data, ax=ax),
        lambda ax: plots.plot_dependence(model, 0, ax=ax),
        lambda ax: plots.plot_terms(model, ax=ax),
    ):
        ax = Figure().subplots()
        assert draw(ax) is ax
        assert ax.get_title(loc="left") != ""


def test_plot_draws_the_sensible_pictures(model, data):
    assert len(model.plot(*data).axes) > 5


def test_a_model_is_predicted_from_its_own_terms(annealed, new):
    """What inspection says a term is, times its coefficient, is what it adds."""
    network = annealed._single_network
    numbers = network.mixture.inspection.numbers(network.box, network.terms)
    linear = network.intercept + new @ network.linear_coef.T
    expected = network.predict(new)
    found = linear + numbers.columns(new) @ network.term_coef.T
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * expected.std())


@pytest.mark.parametrize("name", ["four families", "products", "a user's", "waves and others"])
@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
def test_a_search_ended_early_goes_on_from_its_checkpoint(data, tmp_path, name):
    path = tmp_path / "run.ckpt"
    model = AnnealedRegressor(BASES[name], **{**QUICK, "n_iter": 30_000})
    whole = model.fit(*data).result_
    told = []
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, callback=lambda progress: told.append(progress) or len(told) == 2)
    assert same(model.fit(*data, resume=path).result_, whole)
    with pytest.raises(FileError, match="other data or other options"):
        clone(model).set_params(basis="hinges").fit(*data, resume=path)


@pytest.mark.parametrize("name", ["four families", "ridges", "a user's", "waves"])
@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_sampler_ended_early_goes_on_from_its_checkpoint(data, tmp_path, monkeypatch, name):
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    path = tmp_path / "run.ckpt"
    model = BayesianRegressor(BASES[name], n_warmup=2000, **{**FEW_DRAWS, "n_iter": 12_000})
    whole = model.fit(*data).chains_
    with pytest.warns(EarlyEndWarning):
        model.fit(*data, checkpoint=path, checkpoint_every=0, callback=lambda progress: progress.iteration > 11_000)
    reports = []
    resumed = model.fit(*data, resume=path, callback=reports.append)
    assert same(resumed.chains_, whole)
    first = min(report.iteration for report in reports if report.chain == 0)
    assert first > 10_000, "a chain goes on from where it was"


def test_the_same_seed_gives_the_same_bits(data, models):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", saltus.DependentFeaturesWarning)
        again = AnnealedRegressor(EVERY, criterion=1.0, n_jobs=2, **QUICK).fit(*data)
    assert same(again.networks_, models["annealed", "four families"].networks_)


@pytest.mark.parametrize(
    ("basis", "match"),
    [
        ([], "empty list. Give at least one family"),
        (["hinges", "hinges"], "a family twice"),
        (["hinges", Product("hinge")], "a family twice"),
        (["gaussian", "cubic"], "more than one radial family"),
        (["gaussian", "quintic"], r"one of linear, .*, ridges, sigmoids, waves\. Got 'quintic'"),
        ("quintic", "basis"),
        (["gaussian", 3], r"basis has 3, neither a family nor the name of one\. Give families alone"),
        ([None], "basis has None, neither a family"),
        ([["gaussian"], "hinges"], r"basis has \['gaussian'\], neither a family"),
        (np.array(["gaussian", "hinges"]), "basis"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("kind", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
def test_a_bad_basis_is_refused(data, kind, basis, match):
    with pytest.raises(ValueError, match=match):
        kind(basis).fit(*data)


@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
def test_points_to_start_at_need_a_radial_family(data):
    X, y = data
    with pytest.raises(ValueError, match=r"no family of basis has centres\. Leave init at its default"):
        AnnealedRegressor("hinges", n_iter=100, init=X.to_numpy()[:2]).fit(X, y)


@pytest.mark.parametrize(
    "basis", ["hinges", "ridges", "waves", "polynomials", Turns(), ["gaussian", "steps", "ridges"]], ids=str
)
@pytest.mark.parametrize("kind", [AnnealedRegressor, BayesianRegressor])
@pytest.mark.filterwarnings("ignore::saltus.DependentFeaturesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_data_that_leave_little_to_find(rng, kind, basis):
    """Inputs that do not vary, that have two values, or a wild one; three rows; an output that is constant."""
    y, wild = rng.random(40), rng.random((40, 2))
    wild[0, 0] = 1e12
    model = kind(basis, n_iter=300, n_chains=1, init="empty", random_state=0)
    for X, y_of_rows in (
        (np.ones((40, 2)), y),
        (rng.integers(0, 2, (40, 3)).astype(float), y),
        (wild, y),
        (wild[1:4], y[1:4]),
        (wild[1:], np.full(39, 3.0)),
    ):
        assert np.isfinite(model.fit(X, y_of_rows).predict(X)).all()


def test_a_term_is_written_with_the_names_of_inputs(models):
    network = models["annealed", "a given metric"]._single_network
    numbers = network.mixture.inspection.numbers(network.box, network.terms)
    for table in numbers.tables(NAMES, ["up", "down"], network.term_coef, ".3g"):
        if "term" in [name for name, _ in table.columns]:
            for row in table.rows:
                assert re.search("angle|load|speed", row[1])
