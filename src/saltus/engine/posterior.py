"""The sampling driver: chains of the full posterior, and what is kept of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed
from scipy.linalg import solve_triangular

from saltus._typing import Floats, Ints
from saltus.engine.anneal import (
    ITERATIONS_BETWEEN_REBUILDS,
    Listener,
    place_centers,
    place_independent_centers,
    starting_centers,
)
from saltus.engine.chain import ACCEPTED, CHOSEN, FEASIBLE, Tuning, start_record, start_state
from saltus.engine.crew import Crew
from saltus.engine.design import Design
from saltus.engine.moves import MOVES
from saltus.engine.network import Network, make_network
from saltus.engine.result import MoveCount
from saltus.engine.sample import Prior, run_sample_block, start_hierarchy

# Moves between two draws of the variances, the ridge and the rate, which cost O(m^3) each.
STEPS_BETWEEN_GIBBS = 20


@dataclass(frozen=True)
class SamplerSettings:
    """How chains of the posterior run."""

    n_warmup: int
    n_draws: int
    steps_between_draws: int
    tuning: Tuning
    prior: Prior
    start: Floats | None  # (k, d) in the unit cube, or None for a random start


@dataclass(frozen=True)
class Draw:
    """One draw: the centres, and the posterior of everything above them given those, in scaled units.

    Given the centres and delta^2, alpha_i has a Student's t distribution with `degrees` of freedom, mean `mean` and
    scale S_i / degrees times W_i^-1, where W_i = R_i'R_i.
    """

    centers_unit: Floats  # (k, d_varying)
    mean: Floats  # (m, c)
    R: Floats  # (c, m, m)
    S: Floats  # (c,), g0 + y_i'P_i y_i
    delta_squared: Floats  # (c,)
    sigma_squared: Floats  # (c,)
    rate: float
    log_posterior: float


@dataclass(frozen=True)
class PosteriorChain:
    """One chain of the posterior."""

    draws: tuple[Draw, ...]
    moves: dict[str, MoveCount]

    @property
    def n_bases(self) -> Ints:
        """The number of basis functions of each draw."""
        return np.array([len(draw.centers_unit) for draw in self.draws])

    @property
    def log_posterior(self) -> Floats:
        """The log density of (k, mu, delta^2, L) at each draw, up to a constant."""
        return np.array([draw.log_posterior for draw in self.draws])


def sample_posterior(
    seeds: Sequence[np.random.SeedSequence],
    design: Design,
    settings: SamplerSettings,
    *,
    n_jobs: int | None = None,
    listener: Listener | None = None,
) -> tuple[PosteriorChain, ...]:
    """Run one chain for each seed, on threads unless the caller's joblib backend says otherwise."""
    crew = Crew()
    jobs = (
        delayed(run_posterior_chain)(seed, design, settings, crew=crew, number=number, listener=listener)
        for number, seed in enumerate(seeds)
    )
    try:
        return tuple(Parallel(n_jobs=n_jobs, prefer="threads")(jobs))
    finally:
        crew.dismiss()


def run_posterior_chain(
    seed: np.random.SeedSequence,
    design: Design,
    settings: SamplerSettings,
    *,
    crew: Crew,
    number: int = 0,
    listener: Listener | None = None,
) -> PosteriorChain:
    """Run one chain: warm up, then keep a draw every so many iterations."""
    with crew.working():
        rng = np.random.default_rng(seed)
        target, prior = design.target, settings.prior
        state = start_state(target, design.fixed.Q, design.Y)
        place_independent_centers(design, state, starting_centers(rng, design, settings.start))
        # The ridge starts wide: the data, not a narrow guess, should say how large coefficients are.
        start_delta_squared = np.full(design.Y.shape[1], 100.0)
        hierarchy = start_hierarchy(state, design.fixed.R, start_delta_squared, rate=1.0 + float(state.k[0]))
        record = start_record(state, 1)
        draws: list[Draw] = []
        done = 0
        while len(draws) < settings.n_draws and not crew.is_dismissed:
            warming_up = done < settings.n_warmup
            end = min(done + settings.steps_between_draws, settings.n_warmup if warming_up else done + 10**9)
            while done < end:
                until_rebuild = ITERATIONS_BETWEEN_REBUILDS - done % ITERATIONS_BETWEEN_REBUILDS
                n_steps = min(end - done, until_rebuild)
                log_posterior = run_sample_block(
                    rng, target, prior, settings.tuning, state, hierarchy, record, n_steps, done, STEPS_BETWEEN_GIBBS
                )
                done += n_steps
                if done % ITERATIONS_BETWEEN_REBUILDS == 0:
                    place_centers(design, state, state.centers[: state.k[0]].copy())
            if not warming_up:
                k = int(state.k[0])
                m = target.m_fixed + k
                ridge = hierarchy.ridge
                R = ridge.R[:, :m, :m].copy()
                zeta = ridge.zeta[:, :m, 0]
                draws.append(
                    Draw(
                        centers_unit=state.centers[:k].copy(),
                        mean=np.stack([solve_triangular(R[i], zeta[i], check_finite=False) for i in range(len(R))], 1),
                        R=R,
                        S=prior.g0 + np.maximum(ridge.S, target.rss_floor),
                        delta_squared=ridge.delta_squared.copy(),
                        sigma_squared=hierarchy.sigma_squared.copy(),
                        rate=float(hierarchy.rate[0]),
                        log_posterior=float(log_posterior),
                    )
                )
            if listener is not None:
                listener(number, done, int(state.k[0]), float(log_posterior))
        moves = {
            name: MoveCount(int(row[CHOSEN]), int(row[FEASIBLE]), int(row[ACCEPTED]))
            for name, row in zip(MOVES, record.counts, strict=True)
        }
        return PosteriorChain(tuple(draws), moves)


def network_of_draw(design: Design, draw: Draw) -> Network:
    """Build the network whose coefficients are the posterior mean given the centres of a draw."""
    return make_network(design, draw.centers_unit, draw.mean)
