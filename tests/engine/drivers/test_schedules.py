"""Schedules begin and end where they say, and fall on the way."""

import numpy as np
import pytest

from saltus import Constant, Geometric, Linear, Logarithmic
from saltus.engine.drivers.schedules import StayThenCool


@pytest.mark.parametrize(
    ("schedule", "first", "last"),
    [
        (Linear(), 1.0, 0.1),
        (Geometric(3.0, 0.03), 3.0, 0.03),
        (Logarithmic(2.0), 2.0, 2.0 * np.log(2) / np.log(1001)),
        (Constant(0.7), 0.7, 0.7),
        (StayThenCool(1.0, 0.02, 0.8), 1.0, 0.02),
    ],
)
def test_schedules(schedule, first, last):
    temperature = schedule.temperature(np.arange(1000), 1000)
    assert temperature[0] == pytest.approx(first)
    assert temperature[-1] == pytest.approx(last)
    assert (np.diff(temperature) <= 0).all()
    assert np.isfinite(schedule.temperature(np.arange(1), 1)).all()


def test_schedules_fall_as_they_say():
    i = np.arange(101)
    assert np.ptp(np.diff(Linear().temperature(i, 101))) == pytest.approx(0, abs=1e-15)
    assert np.ptp(np.diff(np.log(Geometric().temperature(i, 101)))) == pytest.approx(0, abs=1e-14)
    stays, cools = np.split(StayThenCool(1.0, 0.1, 0.8).temperature(i, 101), [81])
    assert (stays == 1).all()
    assert np.ptp(np.diff(np.log(cools))) == pytest.approx(0, abs=1e-13)
