"""Pictures draw the numbers of the model, into the Axes that they are given."""

import io
import sys
import types

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from saltus import AnnealedRegressor, BayesianRegressor, Radial, plots
from saltus.engine.results.chains import MoveCount
from saltus.inspection.curves import partial_dependence
from saltus.inspection.findings import criterion_by_size, rank_by_effect, rank_by_strength
from saltus.inspection.importance import importance, rank_by_importance
from saltus.plots.importance import places_for_importance

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

NAMES = ["angle", "load", "cost $"]


@pytest.fixture(autouse=True)
def _no_figure_left_open():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return Figure().subplots()


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.uniform(-3, 3, size=(60, 3)), columns=NAMES)
    return X, 2 * np.sin(X["angle"]) * X["load"] + 0.1 * rng.standard_normal(60)


@pytest.fixture(scope="module")
def annealed(data):
    return AnnealedRegressor("gaussian", n_iter=500, n_chains=2, random_state=0).fit(*data)


@pytest.fixture(scope="module")
def bayesian(data):
    model = BayesianRegressor(Radial("gaussian", metric="learned"), n_iter=1000, n_draws=50, n_chains=2, random_state=0)
    return model.fit(*data)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(50, 1))
    y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(50)
    return X, y, AnnealedRegressor("gaussian", n_iter=200, n_chains=2, random_state=0).fit(X, y)


@pytest.fixture(params=["annealed", "bayesian"])
def model(request):
    return request.getfixturevalue(request.param)


# What is drawn.


def test_the_trace_is_that_of_the_chains(annealed, ax):
    plots.plot_trace(annealed, "n_terms", ax=ax)
    best = annealed.result_.chains[annealed.result_.best_chain].trace
    assert len(ax.lines) == 2
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), best.n_terms)
    heat = ax.figure.axes[1]
    np.testing.assert_array_equal(heat.lines[0].get_ydata(), best.temperature)


def test_the_trace_of_a_posterior_is_its_draws(bayesian, ax):
    plots.plot_trace(bayesian, ax=ax)
    assert len(ax.lines) == 2
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), bayesian.chains_[1].draws.log_posterior)


def test_a_trace_of_something_else_is_refused(annealed, ax):
    with pytest.raises(ValueError, match=r"log_posterior, n_terms\. Got 'temperature'"):
        plots.plot_trace(annealed, "temperature", ax=ax)


def test_acceptance_is_summed_over_chains(annealed, ax):
    plots.plot_acceptance(annealed, ax=ax)
    total = sum((chain.moves["birth"] for chain in annealed.result_.chains), start=MoveCount(0, 0, 0))
    assert ax.patches[0].get_width() == pytest.approx(100 * total.accepted / total.chosen)
    assert [label.get_text() for label in ax.get_yticklabels()][:5] == ["birth", "death", "split", "merge", "update"]


def test_size_draws_the_criterion(annealed, ax):
    plots.plot_size(annealed, ax=ax)
    by_size = criterion_by_size(annealed)
    drawn = dict(zip(*ax.lines[0].get_data(), strict=True))
    assert drawn == {k: value for k, value in by_size.items() if abs(k - annealed.n_terms_) <= 5}
    assert ax.lines[1].get_data() == ([annealed.n_terms_], [by_size[annealed.n_terms_]])


def test_a_path_is_drawn_down_to_no_terms(annealed, ax):
    plots.plot_path(annealed, ax=ax)
    expected = {size.n_terms: size.leave_one_out for size in annealed.path_}
    assert dict(zip(*ax.lines[0].get_data(), strict=True)) == expected
    assert min(expected) == 0
    assert ax.lines[1].get_data() == ([max(expected)], [expected[max(expected)]])
    assert ax.get_ylim()[0] == 0


def test_without_a_path_it_is_said(annealed, ax, monkeypatch):
    monkeypatch.setattr(type(annealed), "path_", ())
    with pytest.raises(ValueError, match="has no path_"):
        plots.plot_path(annealed, ax=ax)


def test_size_draws_the_posterior(bayesian, ax):
    plots.plot_size(bayesian, ax=ax)
    assert [bar.get_height() for bar in ax.patches] == list(bayesian.posterior_k_.values())


def test_one_input_is_drawn_as_a_curve_with_its_band(line, ax):
    X, y, model = line
    plots.plot_fit(model, X, y, ax=ax)
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), X[:, 0])
    grid, curve = ax.lines[1].get_data()
    np.testing.assert_allclose(curve, model.predict(grid[:, None]))
    band = ax.collections[0].get_paths()[0].get_extents()
    half_width = 1.6448536 * np.sqrt(model.noise_variance_)
    assert band.y1 == pytest.approx(curve.max() + half_width)
    assert plots.plot_fit(model, ax=Figure().subplots()).get_xlabel() == "x0"


def test_more_inputs_are_drawn_as_predicted_against_observed(model, data, ax):
    plots.plot_fit(model, *data, ax=ax)
    observed, predicted = ax.lines[-1].get_data()
    np.testing.assert_array_equal(observed, data[1])
    np.testing.assert_allclose(predicted, model.predict(data[0]))


def test_the_bands_of_a_posterior_are_its_intervals(bayesian, data):
    mean, low, high = bayesian._predict_band(data[0].to_numpy(), 0.8)
    np.testing.assert_allclose(mean[:, 0], bayesian.predict(data[0]))
    np.testing.assert_allclose((low[:, 0], high[:, 0]), bayesian.predict_interval(data[0], 0.8))


def test_a_band_may_be_that_of_the_function(line, ax):
    X, y, _ = line
    model = BayesianRegressor("bumps", n_iter=500, n_chains=1, random_state=0).fit(X, y)
    plots.plot_fit(model, X, y, coverage=0.5, of="function", ax=ax)
    assert ax.get_legend_handles_labels()[1] == ["rows", "50 % of the function", "prediction"]
    low, high = model.predict_interval(ax.lines[1].get_xdata()[:, None], 0.5, of="function")
    band = ax.collections[0].get_paths()[0].get_extents()
    assert (band.y0, band.y1) == pytest.approx((low.min(), high.max()))
    with pytest.raises(ValueError, match='of must be "y"'):
        plots.plot_fit(model, of="noise", ax=Figure().subplots())


def test_an_annealed_model_has_no_band_of_the_function(line, ax):
    with pytest.raises(ValueError, match="gives no intervals of the function"):
        plots.plot_fit(line[2], of="function", ax=ax)


def test_predicted_against_observed_needs_rows(annealed, data, ax):
    with pytest.raises(ValueError, match="pass X and y"):
        plots.plot_fit(annealed, ax=ax)
    with pytest.raises(ValueError, match=r"y must have 1 column, as in fit\. Got 2"):
        plots.plot_fit(annealed, data[0], np.ones((60, 2)), ax=ax)


def test_many_rows_are_thinned(line, ax):
    _, _, model = line
    X = np.linspace(-3, 3, 5000)[:, None]
    plots.plot_fit(model, X, X[:, 0], ax=ax)
    assert len(ax.lines[0].get_xdata()) == 1000


# Partial dependence.


def test_partial_dependence_averages_over_rows(model, data):
    X = data[0].to_numpy()
    curve = partial_dependence(model, 1, X)
    for point in (0, 17, -1):
        rows = X.copy()
        rows[:, 1] = curve.grid[point]
        wanted = model.predict(pd.DataFrame(rows, columns=NAMES)).mean()
        assert curve.mean[point] == pytest.approx(wanted, rel=1e-9)


def test_without_rows_other_inputs_are_at_their_means(model, data):
    curve = partial_dependence(model, 0)
    row = data[0].mean().to_frame().T
    row["angle"] = curve.grid[5]
    assert curve.mean[5] == pytest.approx(model.predict(row)[0])
    assert (curve.grid[0], curve.grid[-1]) == (data[0]["angle"].min(), data[0]["angle"].max())


def test_the_band_of_a_partial_dependence_is_that_of_the_average(bayesian, data):
    """Against 200 functions of each of 100 draws; the ends are right to 4 standard errors, at 1 in 16 000 each."""
    X = data[0].to_numpy()
    curve = partial_dependence(bayesian, 0, X)
    rng, predictive = np.random.default_rng(0), bayesian._predictive
    rows = X.copy()
    rows[:, 0] = curve.grid[10]
    averages = []
    for draw in predictive.draws:
        (D,) = predictive.features.columns(rows, [draw])
        for _ in range(200):
            sigma = np.sqrt(draw.S[0] / rng.chisquare(predictive.degrees))
            alpha = draw.mean[:, 0] + sigma * (draw.K[0] @ rng.standard_normal(len(draw.K[0])))
            averages.append((D @ alpha).mean())
    scale = predictive.outputs.scale[0]
    averages = predictive.outputs.mean[0] + scale * np.array(averages)
    error = 4 * np.sqrt(0.05 * 0.95 / averages.size)
    assert (averages < curve.low[10]).mean() == pytest.approx(0.05, abs=error)
    assert (averages > curve.high[10]).mean() == pytest.approx(0.05, abs=error)


def test_dependence_is_drawn_for_an_input_by_name_or_number(model, data, ax):
    plots.plot_dependence(model, "load", data[0], ax=ax)
    curve = partial_dependence(model, 1, data[0].to_numpy())
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), curve.mean)
    assert len(ax.collections) == isinstance(model, BayesianRegressor)  # the band
    assert ax.get_xlabel() == "load"


def test_an_input_that_is_not_there_is_named(annealed, ax):
    with pytest.raises(ValueError, match=r"no input 'lode': the inputs are 0 to 2: angle, load and cost \$"):
        plots.plot_dependence(annealed, "lode", ax=ax)
    with pytest.raises(ValueError, match="no output 1"):
        plots.plot_dependence(annealed, 0, output=1, ax=ax)


# Terms.


def test_inputs_are_ranked_by_what_they_do(annealed):
    assert rank_by_strength(annealed).tolist() == np.argsort(-annealed.relevance_).tolist()[:2]
    assert rank_by_effect(annealed).tolist()[2] == 2


def test_terms_are_marked_by_the_sign_of_their_coefficient(annealed, data, ax):
    plots.plot_terms(annealed, data[0], features=["angle", "load"], ax=ax)
    marks = [mark for mark in ax.collections if str(mark.get_label()).startswith("coefficient")]
    drawn = {str(mark.get_label()): np.asarray(mark.get_offsets()) for mark in marks}
    for label, sign in (("coefficient > 0", 1), ("coefficient < 0", -1)):
        wanted = annealed.centers_[np.sign(annealed.term_coef_) == sign][:, :2]
        np.testing.assert_allclose(drawn.get(label, np.empty((0, 2))), wanted)
    assert len(drawn) > 0


def test_terms_of_other_draws_are_dots(bayesian, ax):
    plots.plot_terms(bayesian, ax=ax)
    (dots,) = (line for line in ax.lines if line.get_label() == "other draws")
    assert len(dots.get_xdata()) == min(2000, sum(chain.draws.n_terms.sum() for chain in bayesian.chains_))


def test_over_one_input_coefficients_are_drawn(line, ax):
    _, _, model = line
    plots.plot_terms(model, ax=ax)
    np.testing.assert_array_equal(ax.lines[-1].get_xdata(), model.centers_[:, 0])
    np.testing.assert_array_equal(ax.lines[-1].get_ydata(), model.term_coef_)
    low, high = ax.get_xlim()  # that of the data, not of the terms alone
    assert low < model.data_notes_.inputs.min[0]
    assert high > model.data_notes_.inputs.max[0]


def test_a_linear_model_says_that_it_has_no_terms(data, ax):
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(*data)
    plots.plot_terms(model, ax=ax)
    assert "the model is linear" in ax.texts[0].get_text()
    with pytest.raises(ValueError, match=r"two inputs\. Got 1"):
        plots.plot_terms(model, features=["angle"], ax=ax)


# Figures.


def test_every_picture_returns_the_axes_that_it_was_given(model, data):
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
    assert plt.get_fignums() == []


def test_no_share_of_rows_is_above_100_percent(annealed, data):
    ax = plots.plot_calibration(annealed, *data)
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 100), (0, 100))


def test_without_axes_pyplot_holds_the_picture(annealed):
    assert plots.plot_size(annealed).figure is plt.gcf()


def test_plot_draws_the_sensible_pictures(model, data):
    figure = model.plot(*data)
    titles = [ax.get_title(loc="left") for ax in figure.axes if ax.get_title(loc="left")]
    assert titles[:3] == ["Predicted against observed: y", "Which inputs matter", "Dependence on load"]
    assert titles[-3] == "Terms"
    assert titles[-2].startswith("Log posterior of 2 chains")
    assert titles[-1] == "Accepted, by move"
    used = rank_by_importance(model, importance(model, *places_for_importance(model, *data)))
    assert len(titles) == 6 + min(len(used), 3)
    assert len(model.plot().axes) >= 8


def test_inputs_alone_are_enough_to_average_over(line):
    X, _, model = line
    assert model.plot(X).axes[0].get_title(loc="left") == "Fit"


def test_names_are_not_formulas(annealed, data):
    """An odd number of dollars, or a pair of them around nonsense, would otherwise end in an error when drawn."""
    X = data[0].set_axis(["$x^{$", "a very long name " * 9, "two\nlines"], axis=1)
    model = AnnealedRegressor("gaussian", n_iter=50, n_chains=1, random_state=0).fit(X, data[1])
    figure = model.plot(X, data[1])
    figure.savefig(io.BytesIO(), format="png", dpi=20)
    labels = [ax.get_xlabel() for ax in figure.axes]
    assert any(r"\$x^{\$" in label for label in labels)
    assert max(map(len, labels)) <= 35


def test_a_cell_of_a_notebook_shows_the_figure_once(annealed, monkeypatch):
    shown, shell = [], types.SimpleNamespace(execution_count=1)
    notebook, display = types.ModuleType("IPython"), types.ModuleType("IPython.display")
    notebook.get_ipython, display.Image, display.display = lambda: shell, bytes, shown.append
    monkeypatch.setitem(sys.modules, "IPython", notebook)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    figure = annealed.plot()
    figure._ipython_display_()
    assert shown == []  # it has a window
    monkeypatch.setattr(mpl, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    figure._ipython_display_()  # the last line of the cell
    figure._ipython_display_()  # the end of the cell
    assert len(shown) == 1
    assert shown[0].startswith(b"\x89PNG")
    plt.close(figure)
    shell.execution_count = 2
    figure._ipython_display_()
    assert len(shown) == 2


def test_without_matplotlib_the_error_says_what_to_install(annealed, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'saltus\[plot\]'"):
        annealed.plot()


NEED_NO_ROWS = ("acceptance", "fit", "importance", "overview", "path", "size", "terms", "trace")


@pytest.mark.parametrize("name", NEED_NO_ROWS)
def test_what_is_no_fitted_model_is_refused(name):
    draw = getattr(plots, f"plot_{name}")
    with pytest.raises(TypeError, match=r"model must be an AnnealedRegressor or a BayesianRegressor\. Got 5"):
        draw(5)
    with pytest.raises(NotFittedError):
        draw(AnnealedRegressor())
