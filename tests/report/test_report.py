"""A report is one file that shows the model, whatever the columns are called."""

import base64
import hashlib
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, EarlyEndWarning, Geometric, Radial
from saltus.inspection.formula import ROUNDING
from saltus.report import render_report
from saltus.report.formula import formula_html
from saltus.report.parts import what_is_drawn
from saltus.report.pictures import pictures_of_fit
from saltus.report.recipe import changed_options, option_table, recipe_caveats, recipe_code
from saltus.report.rows import name_rows
from saltus.report.svg import VARIABLES

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

HOSTILE = ["<script>alert(1)</script>", '" onload="alert(2)', "$x^{ \x01\n&amp; 漢字", "</svg></style>" + "long " * 60]
QUICK = {"n_iter": 200, "n_chains": 2, "random_state": 0}


class Page(HTMLParser):
    """The elements of a page, and the cells of its tables."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.tables, self.text = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data):
        self.text.append(data)
        if self.elements and self.elements[-1][0] in ("td", "th") and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data.strip()

    def ids(self):
        return [attributes["id"] for _, attributes in self.elements if "id" in attributes]

    def table(self, corner):
        return next(table for table in self.tables if table[0][0] == corner)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(11)
    X = pd.DataFrame(rng.uniform(-3, 3, size=(60, 4)), columns=HOSTILE)
    y = 2 * np.sin(X[HOSTILE[0]]) * X[HOSTILE[1]] + X[HOSTILE[2]] + 0.1 * rng.standard_normal(60)
    return X, y.rename("<img src=x onerror=alert(3)>")


@pytest.fixture(scope="module")
def annealed(data):
    return AnnealedRegressor(Radial("gaussian", width=1.5), schedule=Geometric(2, 0.1), **QUICK).fit(*data)


@pytest.fixture(scope="module")
def html(annealed, data):
    X, y = data
    notes = ["3 rows dropped: <b>missing</b>."]
    return render_report(annealed, X[:40], y[:40], X_test=X[40:], y_test=y[40:], title="Lift & drag", notes=notes)


@pytest.fixture(scope="module")
def page(html):
    return Page(html)


@pytest.fixture(scope="module")
def line():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(50, 1))
    Y = np.column_stack([np.sinc(X[:, 0]), X[:, 0]]) + 0.1 * rng.standard_normal((50, 2))
    model = BayesianRegressor("gaussian", n_iter=1000, n_draws=50, n_chains=2, random_state=0)
    return model.fit(X, Y), X, Y


@pytest.fixture(scope="module")
def line_html(line, tmp_path_factory):
    model, X, Y = line
    path = tmp_path_factory.mktemp("report") / "report.html"
    model.report(path, X, Y)
    return path.read_text("utf-8")


# One file, which nothing can break out of.


def test_the_page_loads_nothing_and_runs_one_script(page, html):
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"img", "iframe", "object", "embed", "form", "base"}
    scripts = [attributes for tag, attributes in page.elements if tag == "script"]
    assert scripts == [{"type": "application/json", "id": "model"}, {}]
    (policy,) = re.findall(r"script-src 'sha256-([^']+)'", html)
    script = html[html.rindex("<script>") + len("<script>") : html.rindex("</script>")]
    assert base64.b64decode(policy) == hashlib.sha256(script.encode()).digest()
    assert [attributes for tag, attributes in page.elements if tag == "link"] == [{"rel": "icon", "href": "data:,"}]
    for _, attributes in page.elements:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "srcset", "action")]
        assert attributes.get("href", "#").startswith(("#", "data:,"))
        assert "url(" not in attributes.get("style", "").replace("url(#", "")


def test_the_style_loads_nothing(html):
    style = html[html.index("<style>") : html.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert html.count("<style") == 1


def test_every_name_is_shown_as_it_is(page):
    text = "".join(page.text)
    for name in ("<script>alert(1)</script>", '" onload="alert(2)', "$x^{ \ufffd &amp; 漢字", "3 rows dropped: <b>"):
        assert name in text


def test_pictures_have_text_alternatives(page):
    pictures = [attributes for tag, attributes in page.elements if tag == "svg"]
    pictures = [attributes for attributes in pictures if attributes.get("id") != "try-curve"]  # drawn in the browser
    assert len(pictures) >= 9
    for attributes in pictures:
        assert attributes["role"] == "img"
        assert {attributes["aria-labelledby"], attributes["aria-describedby"]} <= set(page.ids())
    alternatives = re.findall(r"As .* goes from -?[\d.]+ to [\d.]+, .* It is lowest", "".join(page.text))
    assert len(alternatives) == 3  # the fourth input makes no difference


def test_ids_are_unique_and_references_lead_somewhere(page, html):
    ids = page.ids()
    assert len(ids) == len(set(ids))
    references = re.findall(r"url\(#([^)]+)\)", html)
    references += [attributes["href"][1:] for tag, attributes in page.elements if tag in ("use", "a")]
    assert len(references) > 20
    assert set(references) <= set(ids)


def test_pictures_take_their_colours_from_the_page(page):
    styles = [attributes.get("style", "") for _, attributes in page.elements]
    assert not [style for style in styles if any(color in style.lower() for color in VARIABLES)]
    assert any("var(--blue)" in style for style in styles)
    assert any("var(--ink)" in style for style in styles)


def test_a_loaded_model_gives_the_same_page(line, line_html, tmp_path):
    model, X, Y = line
    model.save(tmp_path / "model.saltus")
    assert render_report(saltus.load(tmp_path / "model.saltus"), X, Y) == line_html


# What it says.


def test_it_has_all_its_parts(page, annealed):
    text = "".join(page.text)
    parts = (
        "Which inputs matter",
        "Try it",
        "What each input does",
        "How well it predicts",
        "Formula",
        "Size",
        "Search",
    )
    for part in ("Lift & drag", *parts, "Options", "Data", "Make it again"):
        assert part in text
    assert annealed.result_.status.split(". ")[0] in text
    assert saltus.__version__ in text


def test_scores_are_those_of_the_rows(page, annealed, data):
    X, y = data[0][40:], data[1][40:]
    predicted = annealed.predict(X)
    (row,) = (row for row in page.table("rows") if row[0] == "held-out rows (20)")
    wanted = [score(y, predicted) for score in (r2_score, root_mean_squared_error, mean_absolute_error)]
    np.testing.assert_allclose([float(cell) for cell in row[2:]], wanted, rtol=1e-3)


def test_a_posterior_tells_how_many_rows_are_in_its_band(line, line_html):
    model, X, Y = line
    low, high = model.predict_interval(X, 0.9)
    rows = Page(line_html).table("rows")[1:]
    assert [row[1] for row in rows] == ["y0", "y1"]
    inside = ((low <= Y) & (high >= Y)).mean(axis=0)
    assert [float(row[-1].split()[0]) for row in rows] == pytest.approx(100 * inside)
    assert "the one with the highest density" not in line_html
    assert (
        "The chains of the posterior disagree, so the formula of one draw would mislead and is not shown." in line_html
    )


def test_data_are_noted(page, data):
    values = data[0][HOSTILE[0]].to_numpy()
    shown = [float(cell) for cell in page.table("column")[1][2:]]
    np.testing.assert_allclose(shown, [values.min(), values.mean(), values.std(), values.max()], rtol=1e-3)


def test_options_that_differ_are_marked(page, annealed):
    options = {row[0]: row[1:] for row in page.table("option")[1:]}
    assert set(options) == set(annealed.get_params(deep=False))
    assert options["basis"] == [
        "Radial(name='gaussian', width=1.5, metric='learned', widths='auto')",
        "'auto'",
        "changed",
    ]
    assert options["criterion"] == ["'aicc'", "'aicc'", ""]
    assert sum(row[-1] == "changed" for row in options.values()) == len(changed_options(annealed)) == 5


def test_inputs_alone_are_enough_to_draw(line):
    model, X, _ = line
    titles = [picture.title for picture in pictures_of_fit(model, None, "rows given")]
    assert titles == ["Fit of y0", "Fit of y1"]
    assert "a band that holds 90&nbsp;% of new observations" in next(pictures_of_fit(model, None, "")).to_html()
    assert "Try it" in render_report(model, X)


def test_what_is_not_drawn_is_said():
    X = np.random.default_rng(0).uniform(size=(40, 7))
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(X, X[:, :4])
    said = "the first 3 of 4 outputs and the 6 of 7 inputs that matter, the most important ones"
    assert said in what_is_drawn(model, 7)
    assert "inputs" not in what_is_drawn(model, 6)


# The formula.


def evaluate_page(html, X):
    """Predict with nothing but what a reader of the formula sees."""
    page = Page(html)
    text = "".join(page.text).replace("\N{MINUS SIGN}", "-")
    intercepts = [float(number) for number in re.findall(r"≈ (-?[\d.e+-]+)", text)]
    _, *inputs = page.table("input")
    linear = np.array([[float(cell) for cell in row[1 : 1 + len(intercepts)]] for row in inputs])
    header, *terms = page.table("j")
    used = [i for i, row in enumerate(inputs) if f"μ: {row[0]}" in header]
    terms = np.array(terms, dtype=float)[:, 1:]
    offsets = X[:, None, used] - terms[:, : len(used)]
    if page.tables[1][0][0] == "M":
        M = np.array([row[1:] for row in page.table("M")[1:]], dtype=float)
        squared = np.einsum("nki,ij,nkj->nk", offsets, M, offsets)
    else:
        squared = ((offsets / [float(inputs[i][-1]) for i in used]) ** 2).sum(axis=2)
    first = len(used)
    if "width w" in header:
        assert "/ wj²" in text
        squared /= terms[:, first] ** 2
        first += 1
    r = np.sqrt(squared)
    (profile,) = re.findall(r"φ\(r\) = (.*), where", text)
    phi = {"exp(-r²/2)": np.exp(-(r**2) / 2), "r³": r**3, "√(1 + r²)": np.sqrt(1 + r**2), "r": r}[profile]
    return np.array(intercepts) + X @ linear + phi @ terms[:, first:]


@pytest.mark.parametrize(
    "family",
    [
        Radial("gaussian", width=0.7),
        Radial("cubic", metric="standardized"),
        Radial("multiquadric", width=2.0, metric="mahalanobis"),
        Radial("linear", metric="euclidean"),
    ],
    ids=lambda family: family.name,
)
def test_a_reader_can_predict_by_the_formula(family):
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 100, size=(60, 3)) @ [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]
    Y = np.column_stack([np.sin(X[:, 0] / 20) + X[:, 1] / 30, 1000 * np.cos(X[:, 1] / 25)])
    Y += 0.01 * rng.standard_normal(Y.shape)
    model = AnnealedRegressor(family, combine="best", **QUICK).fit(X, Y)
    assert model.n_terms_ > 0
    error = np.abs(evaluate_page(formula_html(model), X) - model.predict(X)) / Y.std(axis=0)
    assert error.max() < 3 * ROUNDING  # looked at in other places than those where digits were chosen


def test_a_linear_model_is_a_line(data):
    X, y = data
    model = AnnealedRegressor("gaussian", k_max=0, n_iter=1, n_chains=1, random_state=0).fit(X, y)
    shown = formula_html(model)
    assert "φ" not in shown
    assert "This is the whole model." in shown


# The code that makes it again.


@pytest.mark.parametrize(
    "options",
    [
        {"basis": Radial("cubic", width=2), "schedule": Geometric(3, 0.1), "criterion": np.float64(0.5)},
        {
            "basis": Radial("gaussian", metric=[[1.0, 2 / 7], [2 / 7, 2.0]]),
            "init": np.array([[1 / 3, 0.5], [0.1, 0.9]]),
            "criterion": 0.5,
        },
    ],
)
def test_the_code_makes_the_model_again(options, run_recipe):
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(40, 2))
    y = np.sin(6 * X[:, 0])
    model = AnnealedRegressor(**options, n_iter=1000, n_chains=1, random_state=np.int64(4)).fit(X, y)
    assert model.n_terms_ > 0
    again = run_recipe(model, X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_code_reads_tables_as_they_were(run_recipe):
    rng = np.random.default_rng(3)
    n = 80
    table = pd.DataFrame(
        {
            "my town": rng.choice(["Oslo", "Rome", None], n),
            "code": pd.Categorical(rng.choice(["01", "1", "2"], n)),
            "price": [f"${value:,.2f}" for value in rng.uniform(500, 5000, n)],
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 800, n), unit="D"),
            "is": rng.random(n) < 0.5,
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            **{f"a column whose name is long, number {j}": rng.normal(size=n) for j in range(4)},
        }
    )
    Y = pd.DataFrame({"lift": rng.normal(size=n) + (table["my town"] == "Rome"), "drag": rng.normal(size=n)})
    weight = rng.integers(1, 3, n)
    model = AnnealedRegressor(n_iter=300, n_chains=1, random_state=0).fit(table, Y, weight)
    again = run_recipe(model, table, Y, weight)
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert again.data_notes_.inputs.levels == model.data_notes_.inputs.levels
    assert again.data_notes_.output_names == ("lift", "drag")


def test_code_that_is_given_is_shown(line):
    model, X, Y = line
    page = Page(render_report(model, X, Y, code="import my_script  # <b>"))
    assert "import my_script  # <b>" in page.text
    assert "read_csv" not in "".join(page.text)


def test_what_keeps_the_code_from_that_is_said(line):
    assert recipe_caveats(line[0])[0].startswith("The same versions")
    X = np.random.default_rng(0).uniform(size=(60, 20))
    family = Radial("gaussian", metric=np.eye(20))
    options = {"n_iter": 1, "max_time": 5, "n_chains": 1, "polish": False, "init": "empty"}
    model = AnnealedRegressor(family, **options).fit(X, X[:, 0], np.r_[2, np.ones(59)])
    assert [caveat.split()[0] for caveat in recipe_caveats(model)] == ["No", "max_time", "What"]
    assert "(basis=basis, n_iter=1, max_time=5, " in recipe_code(model)
    assert "Radial" not in recipe_code(model)
    assert "\nbasis = ...  # too large to print: put what the fit was given\n" in recipe_code(model)
    assert '\nsample_weight = table["sample_weight"]\n' in recipe_code(model)
    (row,) = (row for row in option_table(model).rows if row[0] == "basis")
    assert row[1].startswith("Radial(name='gaussian', width=1.0, metric=((1.0, 0.0, ")
    assert row[1].endswith(" ...")
    assert len(row[1]) <= 100
    assert recipe_code(model).endswith(".fit(X, y, sample_weight)")
    generator = AnnealedRegressor("gaussian", n_iter=1, n_chains=1, random_state=np.random.RandomState(0)).fit(
        X, X[:, 0]
    )
    assert "random_state" not in recipe_code(generator)
    assert "a generator" in recipe_caveats(generator)[0]


@pytest.mark.parametrize("kind", [AnnealedRegressor, BayesianRegressor])
def test_code_does_not_make_a_fit_again_that_was_ended_before_its_time(kind):
    X = np.random.default_rng(0).uniform(size=(60, 1))
    model = kind(n_iter=10**8, n_chains=2, random_state=0)
    if kind is BayesianRegressor:
        model.set_params(n_warmup=10, n_draws=10**7)
    with pytest.warns(EarlyEndWarning):
        model.fit(X, X[:, 0] ** 2, callback=lambda progress: progress.iteration > 100)
    assert recipe_caveats(model) == ["The fit was ended early; this code does not end it at the same point."]


def test_rows_of_the_fit_are_told_from_others(line):
    model, X, Y = line
    assert name_rows(model, X, Y) == "rows of the fit"
    assert name_rows(model, X[1:], Y[1:]) == "rows given"
    assert name_rows(model, X, Y + 1e-9) == "rows given"


# The file.


def test_a_report_that_fails_leaves_the_old_one(line, tmp_path):
    model, X, Y = line
    path = tmp_path / "report.html"
    path.write_text("the old one")
    with pytest.raises(ValueError, match="y must have 2 columns"):
        model.report(path, X, Y[:, 0])
    assert path.read_text("utf-8") == "the old one"
    assert list(tmp_path.iterdir()) == [path]


def test_what_makes_no_sense_is_refused(line, tmp_path):
    model, X, Y = line
    for options, message in (
        ({"y": Y}, "y was given without X"),
        ({"X_test": X}, "X_test and y_test belong together"),
        ({"notes": "one"}, "notes must be a list of sentences"),
    ):
        with pytest.raises(ValueError, match=message):
            model.report(tmp_path / "report.html", **options)
    assert list(tmp_path.iterdir()) == []


def test_an_unfitted_model_has_no_report(tmp_path):
    with pytest.raises(NotFittedError):
        AnnealedRegressor("gaussian").report(tmp_path / "report.html")
