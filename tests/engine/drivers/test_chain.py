"""What a chain has to do next."""

from dataclasses import replace

import numpy as np

from saltus.engine.drivers.chain import Settings
from saltus.engine.drivers.endings import why_stop
from saltus.engine.drivers.stop import StopSignal
from saltus.engine.search.policy import SearchPolicy
from tests.engine.designs import make
from tests.many import N_ROWS

A_ROUND = SearchPolicy().iterations_a_round


def test_a_small_improvement_is_none_where_rows_are_many(many_rows):
    settings = Settings(None, None, None, None, descend=True, polish=True)
    history, design = [0.0, 50.0, 100.0], make(*many_rows)
    one_is_near, none_is_near = np.array([100.0, 40.0]), np.array([100.0, 0.0])
    assert settings.iterations_of_round(history, design) == A_ROUND
    assert not why_stop(one_is_near, history, settings, StopSignal(), design)
    settings = replace(settings, policy=SearchPolicy(same_a_row=70 / N_ROWS))
    assert settings.iterations_of_round(history, design) == 4 * A_ROUND
    assert why_stop(one_is_near, history, settings, StopSignal(), design) == (
        "The search stopped: 2 of 2 chains ended within 70 of the best log posterior."
    )
    assert why_stop(none_is_near, history, settings, StopSignal(), design) == (
        "The search stopped: the last 40 000 iterations of each chain found no better model (none that gains 70 in log "
        "posterior)."
    )
