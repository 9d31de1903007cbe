"""A report tells first what a colleague asks first: how well rows are predicted that the fit has not seen."""

import re

import numpy as np
import pytest
from sklearn.metrics import r2_score, root_mean_squared_error

from saltus import AnnealedRegressor
from saltus.inspection.document import percent
from saltus.report import render_report

N = 80
ORDER = [
    '<p class="headline">',
    '<p class="footnote">',
    '<div class="banner"',
    "<h2>Which inputs matter</h2>",
    "<h2>Try it</h2>",
    "<h2>What each input does</h2>",
    "<h2>How well it predicts</h2>",
    "<h2>Formula</h2>",
    "<h2>Size</h2>",
    "<h2>Search</h2>",
    "<h2>Options</h2>",
    "<h2>Data</h2>",
    "<h2>Make it again</h2>",
]


def rows(seed, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N, 2)) + shift
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.standard_normal(N)


@pytest.fixture(scope="module")
def model():
    return AnnealedRegressor("gaussian", n_iter=1000, n_chains=2, random_state=0).fit(*rows(0))


@pytest.fixture(scope="module")
def page(model):
    X, y = rows(0)
    X_test, y_test = rows(1, shift=1.0)
    return render_report(model, X, y, X_test=X_test, y_test=y_test)


def test_what_comes_first_is_what_matters_first(page):
    places = [page.index(each) for each in ORDER]
    assert places == sorted(places)


def test_the_headline_is_about_held_out_rows_and_the_footnote_about_the_others(model, page):
    X_test, y_test = rows(1, shift=1.0)
    predicted = model.predict(X_test)
    headline = re.search(r'<p class="headline">(.*?)</p>', page)[1].replace("&nbsp;", " ")
    assert "on 80 rows that the fit did not see" in headline
    assert f"The typical error of y is {root_mean_squared_error(y_test, predicted):.3g}" in headline
    assert f"{percent(r2_score(y_test, predicted))} of its variance is predicted" in headline
    X, y = rows(0)
    footnote = re.search(r'<p class="footnote">(.*?)</p>', page)[1].replace("&nbsp;", " ")
    assert (
        f"On the rows of the fit the model predicts {percent(r2_score(y, model.predict(X)))} of the variance"
        in footnote
    )


def test_a_banner_is_there_only_where_there_is_something_to_say(model, page):
    assert "lie beyond the range of the training data" in page[page.index('<div class="banner"') :]
    X, y = rows(0)
    assert '<div class="banner"' not in render_report(model, X, y, X_test=X[:40], y_test=y[:40])


def test_what_few_ask_for_is_folded(page):
    for name in ("Size", "Search", "Options", "Data", "Make it again"):
        assert re.search(rf"<h2>{name}</h2>\s*<details><summary>", page), name
    assert "<details open" not in page


def test_a_long_formula_is_folded(model, page):
    assert not re.search(r"<h2>Formula</h2>\s*<details>", page)
    X, y = rows(0)
    large = AnnealedRegressor("steps", criterion=0.01, k_max=20, n_iter=500, n_chains=1, random_state=0).fit(X, y)
    assert large.n_terms_ > 10
    folded = render_report(large, X, y)
    assert re.search(rf"<h2>Formula</h2>\s*<details><summary>A formula of {large.n_terms_} terms", folded)
