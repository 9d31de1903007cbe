"""A chain and its hotter copies, which exchange their states, each have the law that they should.

|t| < 6 at 39 degrees of freedom fails by chance with probability 5e-7 for each of two dozen statistics.
"""

import numpy as np
import pytest

from saltus.engine.drivers import tempering
from saltus.engine.drivers.steppers import GStepper, Walk
from saltus.engine.drivers.tempering import STEPS_BETWEEN_EXCHANGES, Rung, log_exchange_ratio, run_rungs
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.kernels.target import log_density
from saltus.engine.problem.span import GPrior
from saltus.families.terms import terms_as_value
from tests.statistical.exact_g import BUMPS, K_MAX, WAVES, make_tiny_design, probabilities, values_of_g

LIMIT = 6.0
TEMPERATURES = (1.0, 1.7, 3.0)
N_CHAINS, N_STEPS, BETWEEN_LOOKS, N_WARM_UP = 40, 30_000, 100, 10


def make_rungs(rng, design, fixed):
    """Make chains without terms."""
    rungs = []
    for temperature in TEMPERATURES:
        stepper = GStepper(design, GPrior.of(design, 0.0, 0.0, fixed), temperature)
        problem = stepper.design.problem
        state = start_state(problem, design.linear.Q, design.Y, design.mixture.starting_shared)
        work, record = make_workspace(problem, state), start_record(state, 1)
        rungs.append(Rung(temperature, stepper, Walk(rng, Tuning(0.15, 0.2, False), state, work, record)))
    return rungs


def sampled(design, fixed):
    """Find the share of time at each k, and the mean of ln g, by chain and temperature; and whether states moved."""
    found, n_exchanged = [], 0
    for child in np.random.SeedSequence(1).spawn(N_CHAINS):
        rungs = make_rungs(np.random.default_rng(child), design, fixed)
        first, looks = rungs[0].walk.state, []
        for done in range(0, N_STEPS, BETWEEN_LOOKS):
            run_rungs(rungs, done, done + BETWEEN_LOOKS, afresh=False)
            looks.append([(int(rung.walk.state.terms.k[0]), np.log(rung.stepper.g[0])) for rung in rungs])
            n_exchanged += rungs[0].walk.state is not first
        k, log_g = np.moveaxis(np.array(looks[N_WARM_UP:]), 2, 0)
        found.append([[*(np.mean(k[:, r] == size) for size in range(K_MAX + 1)), log_g[:, r].mean()] for r in range(3)])
    return np.array(found), n_exchanged


def worst_t(name, fixed, basis):
    """Compare with what quadrature says, temperature by temperature."""
    design = make_tiny_design(name, basis)
    found, n_exchanged = sampled(design, fixed)
    assert n_exchanged > N_CHAINS * N_STEPS / BETWEEN_LOOKS / 10, "states must be exchanged"
    expected = []
    for temperature in TEMPERATURES:
        mass = probabilities(design, fixed, temperature)
        assert mass.sum(axis=1).min() > 0.02, "every k must matter"
        expected.append([*mass.sum(axis=1), mass.sum(axis=0) @ np.log(values_of_g(design, fixed))])
    off, spread = found.mean(axis=0) - np.array(expected), found.std(axis=0, ddof=1)
    moves = spread > 1e-12  # g may be given
    return np.abs(off[moves] / (spread[moves] / np.sqrt(N_CHAINS))).max()


@pytest.mark.parametrize(
    ("name", "fixed", "basis"), [("nine weighted rows", None, BUMPS), ("nine weighted rows", 5.0, WAVES)]
)
def test_each_temperature_has_its_power_of_the_posterior(name, fixed, basis):
    assert worst_t(name, fixed, basis) < LIMIT


def draw_without_temperature(prior, rng, problem, rss, n_columns, temperature):
    return DRAW(prior, rng, problem, rss, n_columns)


DRAW = GPrior.draw
BUGS = {
    "any exchange is accepted": (tempering, "log_exchange_ratio", lambda *_: 0.0),
    "exchanges for the worse": (tempering, "log_exchange_ratio", lambda *given: -log_exchange_ratio(*given)),
    "a g that is not tempered": (GPrior, "draw", draw_without_temperature),
}


@pytest.mark.planted
@pytest.mark.parametrize("name", BUGS)
def test_wrong_exchanges_are_caught(name, monkeypatch):
    monkeypatch.setattr(*BUGS[name])
    assert worst_t("nine weighted rows", None, BUMPS) > LIMIT


def test_an_exchange_takes_g_along():
    """So that what chains know of the density of their terms stays right."""
    design = make_tiny_design("nine weighted rows", BUMPS)
    rungs = make_rungs(np.random.default_rng(0), design, None)
    n_exchanged = 0
    for done in range(0, 20_000, STEPS_BETWEEN_EXCHANGES):
        before = rungs[0].walk.state
        value = run_rungs(rungs, done, done + STEPS_BETWEEN_EXCHANGES, afresh=False)
        n_exchanged += rungs[0].walk.state is not before
        for rung in rungs:
            state, problem = rung.walk.state, rung.stepper.design.problem
            expected = log_density(problem, state.factor.rss, terms_as_value(state.terms))
            assert state.log_posterior[0] == pytest.approx(expected)
        stepper = rungs[0].stepper
        above = stepper.prior.log_density_above(stepper.design.problem, stepper.g)
        assert value == pytest.approx(rungs[0].walk.state.log_posterior[0] + above)
    assert n_exchanged > 10


def test_an_exchange_keeps_the_product_of_the_densities():
    """What it is accepted with is the product after it over the product before."""
    (cold, hot), (here, there) = (1.0, 2.5), (-3.0, -1.0)
    before, after = here / cold + there / hot, there / cold + here / hot
    assert log_exchange_ratio((cold, hot), (here, there)) == pytest.approx(after - before)
