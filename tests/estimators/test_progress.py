"""The line of progress."""

import sys
import threading
from time import sleep
from types import SimpleNamespace

import pytest
from sklearn.model_selection import GridSearchCV

import saltus
from saltus import AnnealedRegressor
from saltus.estimators.progress import Line, Reporter, Ticker


def test_one_line_of_progress(data, capsys):
    AnnealedRegressor("gaussian", n_iter=2000, n_chains=2, verbose=1).fit(*data)
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "100%" in err
    assert "k = " in err
    assert "accepted" in err


def test_on_a_terminal_the_line_draws_over_itself_and_says_how_long_it_will_take(data, capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    AnnealedRegressor("gaussian", n_iter=300_000, n_chains=2, verbose=1, max_time=60).fit(*data)
    err = capsys.readouterr().err
    assert err.count("\r") > 1
    assert err.count("\n") == 1
    assert "s left" in err


def test_something_moves_before_there_is_a_chain(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_TICKS", 0.01)
    with Ticker(draws=True) as ticker:
        sleep(0.1)
        ticker.stop()
        said = capsys.readouterr().err
        sleep(0.05)
        assert capsys.readouterr().err == ""
    assert "saltus looks for a first network: 0 s" in said
    with Ticker(draws=False):
        sleep(0.05)
    assert capsys.readouterr().err == ""


def test_nothing_is_said_of_iterations_that_there_are_not(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("saltus.estimators.progress.SECONDS_BETWEEN_REPORTS", 0.0)
    with Reporter(1, 1000, verbose=True) as reporter:
        reporter(saltus.Progress(0, 0, 0, -1.0, 1.0, 0.0))
        assert "k = " not in capsys.readouterr().err
        reporter(saltus.Progress(0, 10, 3, -1.0, 1.0, 0.5))
        assert "k = 3" in capsys.readouterr().err


@pytest.fixture
def line(monkeypatch):
    """A line on a terminal, of a fit of two chains of 1000 iterations, and a clock of one's own."""
    clock = [0.0]
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("saltus.estimators.progress.monotonic", lambda: clock[0])

    def at(seconds, chain, iteration, k=3, log_posterior=-1.0):
        clock[0] = seconds
        made.update(saltus.Progress(chain, iteration, k, log_posterior, 1.0, 0.5), draw=True)

    made = Line(2, 1000, None, lambda log_posterior: 100 - log_posterior)
    yield made, at
    made.close()


def test_the_time_left_is_said_once_it_is_known_and_not_at_the_end(line, capsys):
    made, at = line
    at(30.0, 0, 1)  # it was compiled
    at(30.5, 0, 51)
    assert "left" not in capsys.readouterr().err
    at(32.0, 0, 201)
    assert capsys.readouterr().err.rstrip().endswith(" 18 s left")  # 1799 iterations at 100 a second
    at(33.0, 1, 501)  # resumed from there
    assert capsys.readouterr().err.rstrip().endswith(" 19 s left")
    made.close()  # before its time
    assert "left" not in capsys.readouterr().err


def test_the_line_shows_the_best_state_and_of_a_sampler_the_present_one(line, capsys):
    made, at = line
    at(1.0, 0, 100, k=7, log_posterior=-1.0)
    at(2.0, 0, 200, k=4, log_posterior=-9.0)
    assert "k = 7  best criterion 101.00" in capsys.readouterr().err.split("\r")[-1]
    made._to_criterion = None
    at(3.0, 0, 300, k=5, log_posterior=-8.0)
    assert "k = 5  log posterior -8.00" in capsys.readouterr().err.split("\r")[-1]


def test_the_line_counts_the_passes_over_all_rows(line, capsys):
    made, at = line
    at(1.0, 0, 1000, k=7, log_posterior=-1.0)
    made.update(saltus.Progress(1, 1000, 9, -1e6, 0.0, 0.0, n_passes=12), draw=True)
    assert capsys.readouterr().err.split("\r")[-1].strip() == "saltus asks all rows: 12 passes  k = 9"


def test_fits_on_other_threads_and_in_a_grid_search_do_not_garble_the_line(data, capsys):
    search = GridSearchCV(
        AnnealedRegressor("gaussian", n_iter=500, n_chains=2, verbose=1, random_state=0),
        {"k_max": [2, 4]},
        cv=2,
        n_jobs=2,
    )
    search.fit(*data)
    err = capsys.readouterr().err
    assert err.count("saltus") == err.count("\n")

    def fit():
        AnnealedRegressor("gaussian", n_iter=50_000, n_chains=2, verbose=1).fit(*data)

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    err = capsys.readouterr().err
    assert err.count("saltus") == err.count("\n") >= 1


def test_a_notebook_keeps_the_last_line(data, capsys, monkeypatch):
    """What is executed to a page has one line, not all that was drawn over."""
    shown = []

    class Handle:
        def update(self, data, raw):
            shown[-1] = data["text/plain"]

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Handle()

    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=SimpleNamespace(display=display)))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    AnnealedRegressor("gaussian", n_iter=100_000, n_chains=2, verbose=1).fit(*data)
    assert capsys.readouterr().err == ""
    assert len(shown) == 1
    assert "100%" in shown[0]
