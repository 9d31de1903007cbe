"""Reports in a real browser: Debian's chromium, without a screen. Where there is none, these tests skip and say so."""

import base64
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest

from saltus import AnnealedRegressor, BayesianRegressor

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: pip install saltus[test]")
Service = pytest.importorskip("selenium.webdriver.chrome.service").Service

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
pytestmark = [
    pytest.mark.skipif(
        BROWSER is None or DRIVER is None,
        reason="no browser to look at reports with: apt-get install chromium chromium-driver",
    ),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
NAMES = [
    "<script>window.ran = 1</script>",
    '"><img src="https://example.org/x.png" onerror="window.ran = 2">',
    "x" * 200,
]
PHONE, TABLET, DESK, PAPER = 360, 768, 1280, 720
# By the Web Content Accessibility Guidelines, level AA.
LEAST_CONTRAST = 4.5


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.uniform(-3, 3, size=(60, 3)), columns=NAMES)
    y = (np.sin(X[NAMES[0]]) * X[NAMES[1]]).rename("</title></style><b>y</b>")
    model = AnnealedRegressor("gaussian", n_iter=200, n_chains=2, random_state=0).fit(X, y)
    model.report(folder / "annealed.html", X, y, X_test=X[:9], y_test=y[:9], notes=[NAMES[1]])
    X, Y = X.to_numpy()[:, :1], np.column_stack([y, y**2])
    model = BayesianRegressor("gaussian", n_iter=500, n_draws=25, n_chains=2, random_state=0).fit(X, Y)
    model.report(folder / "bayesian.html", X, Y)
    return {path.stem: path.as_uri() for path in folder.glob("*.html")}


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for option in OPTIONS:
        options.add_argument(option)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


@pytest.fixture(params=["annealed", "bayesian"])
def page(request, pages):
    return pages[request.param]


def open_page(browser, url, *, width=DESK, scheme="light", media="screen"):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"media": media, "features": [{"name": "prefers-color-scheme", "value": scheme}]},
    )
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width == PHONE},
    )
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(url)


def unfold(browser):
    browser.execute_script("document.querySelectorAll('details').forEach(each => { each.open = true })")


def luminance(color):
    red, green, blue = (int(part) / 255 for part in re.findall(r"\d+", color)[:3])
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    darker, lighter = sorted([luminance(one), luminance(other)])
    return (lighter + 0.05) / (darker + 0.05)


def colors_of_text(browser):
    """The colours of words on the page and in pictures, and of the page itself."""
    words = browser.execute_script(
        "return [...new Set([...document.querySelectorAll('h1, p, td, th, figcaption, a, code')]"
        ".map(e => getComputedStyle(e).color)"
        ".concat([...document.querySelectorAll('svg text')].map(e => getComputedStyle(e).fill)))]"
    )
    return words, browser.execute_script("return getComputedStyle(document.body).backgroundColor")


def test_nothing_is_said_on_the_console_and_nothing_is_asked_of_the_network(browser, page):
    open_page(browser, page)
    assert browser.get_log("browser") == []
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    requests = [message["params"] for message in messages if message["method"] == "Network.requestWillBeSent"]
    asked = [request["request"]["url"] for request in requests]
    assert page in asked
    assert [url for url in asked if url != page and not url.startswith("data:")] == []


def test_names_of_columns_run_nothing(browser, page):
    open_page(browser, page)
    assert browser.execute_script("return window.ran") is None
    assert browser.execute_script("return document.querySelectorAll('img').length") == 0
    assert browser.execute_script("return document.querySelectorAll('script').length") == 2
    assert browser.execute_script("return document.compatMode") == "CSS1Compat"


def test_every_picture_has_a_text_alternative(browser, page):
    open_page(browser, page)
    unfold(browser)
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    pictures = [node for node in nodes if node["role"]["value"] in ("img", "image") and not node["ignored"]]
    assert len(pictures) == browser.execute_script("return document.querySelectorAll('svg').length") >= 6
    for picture in pictures:
        assert len(picture["name"]["value"]) > 5
        assert len(picture["description"]["value"]) > 20


@pytest.mark.parametrize(
    ("width", "media"), [(PHONE, "screen"), (TABLET, "screen"), (DESK, "screen"), (PAPER, "print")]
)
def test_the_page_does_not_scroll_sideways(browser, page, width, media):
    open_page(browser, page, width=width, media=media)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    right_edges = "return [...document.querySelectorAll('svg')].map(e => e.getBoundingClientRect().right)"
    assert max(browser.execute_script(right_edges)) <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_light_and_dark(browser, page, scheme):
    open_page(browser, page, scheme=scheme)
    words, paper = colors_of_text(browser)
    assert (luminance(paper) > 0.5) == (scheme == "light")
    assert len(words) >= 3
    assert min(contrast(color, paper) for color in words) >= LEAST_CONTRAST


def test_paper_is_white_even_where_screens_are_dark(browser, page):
    open_page(browser, page, scheme="dark", media="print")
    words, paper = colors_of_text(browser)
    assert paper == "rgb(255, 255, 255)"
    assert min(contrast(color, paper) for color in words) >= LEAST_CONTRAST
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF")
    assert 2 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 20


def test_pictures_on_a_phone_have_letters_that_can_be_read(browser, page):
    open_page(browser, page, width=PHONE)
    heights = browser.execute_script(
        "return [...document.querySelectorAll('svg text')].map(e => {"
        "const box = e.ownerSVGElement.getBoundingClientRect(), view = e.ownerSVGElement.viewBox.baseVal;"
        "return parseFloat(getComputedStyle(e).fontSize) * box.width / view.width})"
    )
    assert min(heights) >= 6
    assert np.median(heights) >= 9


# The model in the page.


def tables():
    """Tables whose models have terms of every sort: levels, sets of levels, gaps, and each family."""
    rng = np.random.default_rng(1)
    n = 200
    town, x = rng.choice(["a <b>", "b", "c", "d"], n), rng.uniform(-3, 3, (n, 3))
    gaps = np.where(rng.random(n) < 0.2, np.nan, x[:, 1])
    table = pd.DataFrame({"town": town, "x": x[:, 0], "gaps": gaps, "z": x[:, 2]})
    y = np.sin(x[:, 0]) * (town != "b") + np.where(np.isnan(gaps), 2.0, gaps) + x[:, 2] ** 2 + 0.1 * rng.normal(size=n)
    return table, np.asarray(y)


CHOICES = {
    "auto": lambda: AnnealedRegressor(n_iter=4000, n_chains=2, random_state=0),
    "two outputs": lambda: AnnealedRegressor(["steps", "bumps", "ridges"], n_iter=2000, n_chains=2, random_state=0),
    "waves": lambda: AnnealedRegressor(["waves", "polynomials"], n_iter=2000, n_chains=2, random_state=0),
    "gaussian": lambda: AnnealedRegressor("gaussian", n_iter=2000, n_chains=2, random_state=0),
    "thin plate": lambda: AnnealedRegressor("thin_plate", n_iter=1000, n_chains=2, random_state=0),
    "posterior": lambda: BayesianRegressor(n_iter=4000, n_draws=30, n_chains=2, random_state=0),
}


def change(browser, element, name, value, event="change"):
    """Set a property of a control, as a reader does who moves or ticks it."""
    script = "const e = document.getElementById(arguments[0]); e[arguments[1]] = arguments[2]; "
    browser.execute_script(script + "e.dispatchEvent(new Event(arguments[3]))", element, name, value, event)


def set_control(browser, at, value):
    change(browser, f"try-x{at}", "value", str(value), "input")


@pytest.mark.parametrize("choice", CHOICES)
def test_the_page_predicts_as_the_model_does(browser, tmp_path, choice):
    table, y = tables()
    Y = np.column_stack([y, -2 * y]) if choice == "two outputs" else y
    model = CHOICES[choice]().fit(table, Y)
    model.report(tmp_path / "r.html", table, Y, X_test=table[:30], y_test=Y[:30])
    open_page(browser, (tmp_path / "r.html").as_uri())
    inputs = browser.execute_script("return data.inputs")
    assert len(inputs) >= 3
    rng = np.random.default_rng(0)
    checked = 0
    for trial in range(12):
        if trial % 4 == 3:
            change(browser, "try-row", "value", str(trial))
        for each in inputs:
            if each["levels"]:
                set_control(browser, each["at"], int(rng.integers(len(each["levels"]))))
            elif each["gaps"] and trial % 3 == 1:
                change(browser, f"try-m{each['at']}", "checked", True)
            elif rng.random() < 0.7 and browser.execute_script("return x[arguments[0]]", each["at"]) is not None:
                set_control(browser, each["at"], rng.uniform(each["low"], each["high"]))
        x = np.array([[np.nan if v is None else v for v in browser.execute_script("return x")]], dtype=float)
        outputs = browser.find_elements("css selector", "output[id^=try-y]")
        shown = [float(output.get_attribute("data-exact")) for output in outputs]
        np.testing.assert_allclose(shown, model._predict_mean(x)[0], rtol=1e-9, atol=1e-9 * y.std())
        interval = browser.find_element("id", "try-i0").text
        low, high = map(float, re.findall(r"-?[\d.]+(?:e-?\d+)?", interval))
        assert low < shown[0] < high
        checked += 1
    assert checked == 12
    assert browser.get_log("browser") == []
    assert browser.execute_script("return document.querySelectorAll('#try-curve .here').length") <= 1
    assert len(browser.find_element("id", "try-caption").text) > 20


def test_a_slider_is_moved_by_the_keyboard_and_has_a_name(browser, pages):
    open_page(browser, pages["annealed"])
    slider = browser.find_element("css selector", "#try-controls input[type=range]")
    before = browser.find_element("id", "try-y0").get_attribute("data-exact")
    for _ in range(40):
        slider.send_keys("\ue014")  # the arrow to the right
    assert browser.find_element("id", "try-y0").get_attribute("data-exact") != before
    nodes = browser.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    sliders = [node for node in nodes if node["role"]["value"] == "slider" and not node["ignored"]]
    assert sliders
    assert all(node["name"]["value"] for node in sliders)
