"""Why a search ended, in words."""

import dataclasses

import numpy as np
import pytest

from saltus import AnnealedRegressor
from saltus.engine.drivers.chain import Settings
from saltus.engine.drivers.endings import remedy, why_stop
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.results.chains import AnnealResult
from tests.engine.designs import make

IN_ROUNDS = Settings(None, None, None, None, descend=True, polish=True, max_seconds=2.5)
GIVEN = dataclasses.replace(IN_ROUNDS, n_iter=30_000)


def stopped(why):
    stop_signal = StopSignal()
    stop_signal.stop(why)
    return stop_signal


@pytest.mark.parametrize(
    ("settings", "stop_signal", "sentence"),
    [
        (GIVEN, stopped("Interrupted"), "The search stopped: Ctrl-C interrupted it."),
        (IN_ROUNDS, stopped("Stopped by the callback"), "The search stopped: a callback asked it to."),
        (IN_ROUNDS, StopSignal(0.0), "The search stopped: its time limit (max_time) of 2.5 s was over."),
        (GIVEN, StopSignal(), "The search finished: each of its 3 chains ran 30 000 iterations."),
        (IN_ROUNDS, StopSignal(), ""),
    ],
)
def test_the_ending_says_what_stopped_the_search(data, settings, stop_signal, sentence):
    assert why_stop(np.array([5.0, 3.0, 1.0]), [0.0, 5.0], settings, stop_signal, make(*data)) == sentence


@pytest.mark.parametrize(
    ("values", "history", "patience", "sentence"),
    [
        ([5.0, 4.5, 1.0], [5.0, 7.0], 1, "2 of 3 chains ended within 1 of the best log posterior"),
        ([5.0, 4.5, 1.0], [5.0], 1, ""),
        ([5.0], [5.0, 7.0], 1, ""),
        ([5.0, 1.0], [4.5, 5.0], 1, "the last 20 000 iterations of each chain found no better model"),
        ([5.0, 1.0], [4.5, 5.0], 2, ""),
        ([5.0, 1.0], [4.5, 4.6, 5.0], 2, "the last 60 000 iterations of each chain found no better model"),
        ([5.0, 1.0], [4.5, 5.0, 5.0], None, ""),
    ],
)
def test_rounds_end_where_chains_are_near_or_improve_no_more(data, values, history, patience, sentence):
    settings = dataclasses.replace(IN_ROUNDS, patience=patience)
    said = why_stop(np.array(values), history, settings, StopSignal(), make(*data))
    assert said.startswith(f"The search stopped: {sentence}") if sentence else said == ""


def test_the_status_says_how_many_chains_are_near_and_what_may_help(data):
    chain = AnnealedRegressor("gaussian", n_iter=1000, n_chains=1, k_max=1, random_state=0).fit(*data).result_.chains[0]
    behind = dataclasses.replace(chain, best=dataclasses.replace(chain.best, log_posterior=-1e9))
    for settings, stop_signal, named in [
        (GIVEN, StopSignal(), "a larger n_iter"),
        (IN_ROUNDS, StopSignal(), "a larger patience or n_chains"),
        (IN_ROUNDS, StopSignal(max_seconds=0.0), "a larger max_time"),
        (GIVEN, stopped("Interrupted"), "a fit that is left to end by itself"),
    ]:
        options = {"ending": "It ended.", "near": 2.0, "remedy": remedy(settings, stop_signal)}
        status = AnnealResult.from_chains((chain, behind), **options).status
        assert status == (
            f"It ended. Chain 0 ran 1 000 iterations and found the best model, with log posterior "
            f"{chain.best.log_posterior:.6g} and 1 term. 1 of 2 chains ended within 2 of this log posterior. "
            f"As no other chain came so near, {named} may find a better model."
        )
        assert AnnealResult.from_chains((chain, chain), **options).status.endswith(
            "2 of 2 chains ended within 2 of this log posterior."
        )
        assert AnnealResult.from_chains((chain,), **options).status.endswith("1 term.")
