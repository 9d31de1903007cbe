"""From the options of a BayesianRegressor to how its chains run."""

from typing import TYPE_CHECKING

import numpy as np

from saltus._typing import Floats
from saltus.engine.drivers.outputs import SamplerSettings
from saltus.engine.kernels.gibbs import Prior
from saltus.engine.kernels.state import NEVER, Tuning
from saltus.engine.problem.design import Design
from saltus.estimators.chains import FEWEST_CHAINS, count_chains

if TYPE_CHECKING:
    from saltus.estimators.bayesian import BayesianRegressor

# A move of shared parameters factors the whole design anew, and that of a posterior is larger than that of an annealed
# network.
SAMPLER_STEPS_BETWEEN_SHARED_MOVES = 30

# Iterations of a chain after its warm-up that are left to us. For terms that choose their inputs, as many as make so
# many floating-point operations, 8 for each row and column; networks have about so many columns.
USUAL_ITERATIONS = 20_000
FLOPS_OF_A_CHAIN = 2e10
ROWS_A_COLUMN, EXPECTED_COLUMNS = 20.0, (10.0, 150.0)
FEWEST_ITERATIONS = 2_000

# Up to so many rows, a chain under a g-prior runs beside hotter copies (benchmarks/README.md has what was tried), and
# fewer chains make up for the time: so many up to so many rows.
TEMPERATURES = (1.0, 1.5, 2.25, 3.4)
CHAINS_BESIDE_HOTTER = ((400, 4), (1_000, 3))


def resolve_chains(n_chains: int | str, design: Design, *, has_g_prior: bool) -> int:
    """Choose the number of chains."""
    if not isinstance(n_chains, str):
        return int(n_chains)
    if not design.mixture.chooses_inputs:
        return FEWEST_CHAINS
    if len(choose_temperatures(design, has_g_prior=has_g_prior)) == 1:
        return count_chains(design)
    return next(n for most_rows, n in CHAINS_BESIDE_HOTTER if design.problem.n_total <= most_rows)


def resolve_iterations(n_iter: int | str, design: Design) -> int:
    """Choose the iterations of a chain after its warm-up: fewer where terms choose their inputs and rows are many."""
    if not isinstance(n_iter, str):
        return int(n_iter)
    if not design.mixture.chooses_inputs:
        return USUAL_ITERATIONS
    n_total = design.problem.n_total
    n_columns = np.clip(n_total / ROWS_A_COLUMN, *EXPECTED_COLUMNS)
    n_allowed = FLOPS_OF_A_CHAIN / (8.0 * n_total * n_columns)
    return int(np.clip(n_allowed, FEWEST_ITERATIONS, USUAL_ITERATIONS))


def choose_temperatures(design: Design, *, has_g_prior: bool) -> tuple[float, ...]:
    """Choose the temperatures of a chain and its hotter copies."""
    is_small = design.problem.n_total <= CHAINS_BESIDE_HOTTER[-1][0]
    return TEMPERATURES if has_g_prior and design.mixture.chooses_inputs and is_small else TEMPERATURES[:1]


def make_settings(model: "BayesianRegressor", design: Design, start: Floats | None) -> SamplerSettings:
    """Make the settings of a model that knows how many iterations its chains have."""
    has_g_prior = not model._has_ridge(design.mixture.chooses_inputs)
    return SamplerSettings(
        n_warmup=model.n_warmup_,
        n_draws=min(model.n_draws, model.n_iter_),
        steps_between_draws=max(model.n_iter_ // model.n_draws, 1),
        tuning=Tuning(
            float(model.split_scale),
            float(model.walk_scale),
            two_stage=True,
            steps_between_shared_moves=SAMPLER_STEPS_BETWEEN_SHARED_MOVES if design.mixture.moves_shared else NEVER,
        ),
        prior=Prior(
            v0=float(model.noise_shape),
            g0=float(model.noise_scale),
            a=float(model.ridge_shape),
            b=float(model.ridge_scale),
            e1=float(model.rate_shape),
            e2=float(model.rate_rate),
        ),
        start=start,
        relative_ridge=model.ridge == "relative",
        has_g_prior=has_g_prior,
        fixed_g=None if isinstance(model.g, str) else float(model.g),
        policy=model._policy,
        temperatures=choose_temperatures(design, has_g_prior=has_g_prior),
    )
