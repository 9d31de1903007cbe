"""Convergence of posterior chains, in figures and in words.

R-hat is rank-normalised and split, ESS is for the bulk and the tails (Vehtari et al. 2021), as computed by arviz-stats,
on scalars that do not depend on how centres are numbered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats
from saltus.engine.result import MoveCount

LARGEST_RHAT = 1.01
SMALLEST_ESS_A_CHAIN = 100
FEWEST_DRAWS = 4  # what split R-hat needs of a chain


@dataclass(frozen=True)
class Diagnostic:
    """How well chains agree on one scalar, and how many independent draws they are worth."""

    name: str
    rhat: float
    ess_bulk: float
    ess_tail: float


def diagnose(scalars: Mapping[str, Floats]) -> tuple[Diagnostic, ...]:
    """Compute the diagnostics of scalars, each (n_chains, n_draws). NaN for one that never changed."""
    from arviz_stats.base import array_stats

    found = []
    for name, values in scalars.items():
        if values.shape[1] < FEWEST_DRAWS or np.ptp(values) == 0:
            found.append(Diagnostic(name, np.nan, np.nan, np.nan))
            continue
        axes = {"chain_axis": 0, "draw_axis": 1}
        found.append(
            Diagnostic(
                name,
                rhat=float(array_stats.rhat(values, **axes)),
                ess_bulk=float(array_stats.ess(values, method="bulk", **axes)),
                ess_tail=float(array_stats.ess(values, method="tail", prob=(0.05, 0.95), **axes)),
            )
        )
    return tuple(found)


def complaints(
    diagnostics: Sequence[Diagnostic], moves: Sequence[Mapping[str, MoveCount]], *, n_draws: int, k_max: int
) -> list[str]:
    """Say in words what is wrong with the chains, and what to do about it."""
    said = []
    n_chains = len(moves)
    if n_draws < FEWEST_DRAWS:
        return [f"{n_draws} draws a chain are too few to judge convergence by. Raise n_draws."]
    apart = [d for d in diagnostics if d.rhat > LARGEST_RHAT]
    if apart:
        worst = max(apart, key=lambda d: d.rhat)
        said.append(
            f"Chains disagree on {', '.join(d.name for d in apart)}: R-hat is {worst.rhat:.3f} for {worst.name}, above "
            f"{LARGEST_RHAT}. Raise n_iter, and n_warmup with it."
        )
    few = [d for d in diagnostics if min(d.ess_bulk, d.ess_tail) < SMALLEST_ESS_A_CHAIN * n_chains]
    if few:
        worst = min(few, key=lambda d: min(d.ess_bulk, d.ess_tail))
        said.append(
            f"Few effective draws of {', '.join(d.name for d in few)}: {min(worst.ess_bulk, worst.ess_tail):.0f} for "
            f"{worst.name}, below {SMALLEST_ESS_A_CHAIN} a chain. Raise n_draws, and n_iter with it."
        )
    if k_max > 0:
        if any(d.name == "k" and np.isnan(d.rhat) for d in diagnostics):
            said.append("k never changed. Raise n_iter, or look whether one size is all that the data and k_max allow.")
        # No input is ever switched where all of them are needed.
        names = [name for name in moves[0] if name != "switch"]
        never = [name for name in names if not any(chain[name].accepted for chain in moves)]
        if never:
            said.append(
                f"No {', '.join(never)} was ever accepted. Raise n_iter, or change split_scale or walk_scale so that "
                f"proposals fit the data."
            )
    return said
