"""Convergence of posterior chains, in figures and in words.

R-hat is rank-normalised and split, ESS is for the bulk and the tails (Vehtari et al. 2021), as computed by arviz-stats,
on scalars that do not depend on how terms are numbered.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saltus._typing import Floats
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import MoveCount
from saltus.engine.results.draws import Draws
from saltus.engine.results.predictive import Predictive
from saltus.families.registry import MAY_NEVER_BE_ACCEPTED
from saltus.inspection.document import count

# What the literature asks of every quantity, and is said in the status.
LARGEST_RHAT = 1.01
SMALLEST_ESS_A_CHAIN = 100
# What predictions stand on, and what these need: the Monte Carlo error is then a seventh of a standard deviation, and
# hardly shows beside the noise. Less is warned of.
PREDICTED = ("f at", "sigma^2")
LARGEST_RHAT_OF_PREDICTIONS = 1.1
SMALLEST_ESS_OF_PREDICTIONS = 50
# Convergence is judged, among other things, by the function at so many fixed points.
N_POINTS = 3
FEWEST_DRAWS = 4  # what split R-hat needs of a chain


@dataclass(frozen=True)
class Diagnostic:
    """How well chains agree on one scalar, and how many independent draws they are worth."""

    name: str
    rhat: float
    ess_bulk: float
    ess_tail: float

    @property
    def ess(self) -> float:
        """The smaller of the two."""
        return min(self.ess_bulk, self.ess_tail)


def collect_scalars(chains: Sequence[Draws], design: Design, predictive: Predictive) -> dict[str, Floats]:
    """Collect scalars that do not depend on how terms are numbered, each (n_chains, n_draws).

    The function is drawn with its coefficients: what chains disagree on is judged beside all that is uncertain of it.
    """
    scalars = {
        "k": np.array([draws.n_terms for draws in chains], dtype=np.float64),
        "log posterior": np.array([draws.log_posterior for draws in chains]),
    }
    points = design.box.from_unit(np.random.default_rng(0).uniform(0.2, 0.8, (N_POINTS, design.box.varies.sum())))
    drawn = [f for f, _ in predictive.functions(np.random.default_rng(0), points)]
    values = np.array(drawn).reshape(len(chains), -1, *drawn[0].shape)
    for i in range(design.Y.shape[1]):
        of = f" of output {i}" if design.Y.shape[1] > 1 else ""
        scalars[f"sigma^2{of}"] = np.array([draws.sigma_squared[:, i] for draws in chains])
        for p in range(N_POINTS):
            scalars[f"f at point {p}{of}"] = values[:, :, p, i]
    return scalars


def diagnose(scalars: Mapping[str, Floats]) -> tuple[Diagnostic, ...]:
    """Compute the diagnostics of scalars, each (n_chains, n_draws). NaN for one that never changed."""
    from arviz_stats.base import array_stats

    found = []
    for name, values in scalars.items():
        if values.shape[1] < FEWEST_DRAWS or np.ptp(values) == 0:
            found.append(Diagnostic(name, np.nan, np.nan, np.nan))
            continue
        axes = {"chain_axis": 0, "draw_axis": 1}
        # R-hat is infinite where every chain stays at a value of its own.
        with np.errstate(divide="ignore", invalid="ignore"):
            found.append(
                Diagnostic(
                    name,
                    rhat=float(array_stats.rhat(values, **axes)),
                    ess_bulk=float(array_stats.ess(values, method="bulk", **axes)),
                    ess_tail=float(array_stats.ess(values, method="tail", prob=(0.05, 0.95), **axes)),
                )
            )
    return tuple(found)


@dataclass(frozen=True)
class Verdict:
    """What is to be said of chains."""

    status: str  # everything
    warnings: tuple[str, ...]  # what predictions suffer from


def judge(
    diagnostics: Sequence[Diagnostic],
    moves: Sequence[Mapping[str, MoveCount]],
    *,
    n_draws: int,
    k_max: int,
    out_of_time: bool = False,
) -> Verdict:
    """Say in words what is wrong with the chains, and what to do about it; where time ran out, that is max_time."""
    n_chains = len(moves)
    longer = "max_time" if out_of_time else "n_iter, and n_warmup with it"
    if n_draws < FEWEST_DRAWS:
        remedy = "max_time" if out_of_time else "n_draws"
        verb = "is" if n_draws == 1 else "are"
        too_few = f"{count(n_draws, 'draw')} a chain {verb} too few to judge convergence by. Raise {remedy}."
        return Verdict(too_few, (too_few,))
    predicted = [d for d in diagnostics if d.name.startswith(PREDICTED)]
    slow = [
        *_disagreement(diagnostics, LARGEST_RHAT),
        *_shortage(diagnostics, SMALLEST_ESS_A_CHAIN * n_chains, f"{SMALLEST_ESS_A_CHAIN} a chain"),
    ]
    grave = [
        *_disagreement(predicted, LARGEST_RHAT_OF_PREDICTIONS),
        *_shortage(predicted, SMALLEST_ESS_OF_PREDICTIONS, f"{SMALLEST_ESS_OF_PREDICTIONS} in all"),
    ]
    stuck = _what_is_stuck(diagnostics, moves, "max_time" if out_of_time else "n_iter") if k_max > 0 else []
    if grave:
        slow.append(f"Raise {longer}.")
    elif slow:
        slow = [
            *_monte_carlo_error(predicted),
            *slow,
            f"If k or the log posterior themselves are of interest, raise "
            f"{'max_time' if out_of_time else 'n_iter, and n_warmup and n_draws with it'}.",
        ]
    warnings = [f"{said} Predictions suffer from this: raise {longer}." for said in grave]
    return Verdict(" ".join([*slow, *stuck]) or f"{count(n_chains, 'chain')} agree.", (*warnings, *stuck))


def _disagreement(diagnostics: Sequence[Diagnostic], largest: float) -> list[str]:
    apart = [d for d in diagnostics if d.rhat > largest]
    if not apart:
        return []
    worst = max(apart, key=lambda d: d.rhat)
    names = ", ".join(d.name for d in apart)
    return [f"Chains disagree on {names}: R-hat is {worst.rhat:.3f} for {worst.name}, above {largest}."]


def _shortage(diagnostics: Sequence[Diagnostic], smallest: float, smallest_in_words: str) -> list[str]:
    few = [d for d in diagnostics if d.ess < smallest]
    if not few:
        return []
    worst = min(few, key=lambda d: d.ess)
    names = ", ".join(d.name for d in few)
    return [f"Few effective draws of {names}: {worst.ess:.0f} for {worst.name}, below {smallest_in_words}."]


def _monte_carlo_error(predicted: Sequence[Diagnostic]) -> list[str]:
    sizes = [d.ess_bulk for d in predicted if np.isfinite(d.ess_bulk)]
    if not sizes:
        return []
    error = 1.0 / np.sqrt(min(sizes))
    return [
        f"Predictions are reliable to {error:.2g} of their posterior standard deviation, the Monte Carlo error of "
        f"{min(sizes):.0f} effective draws."
    ]


def _what_is_stuck(
    diagnostics: Sequence[Diagnostic], moves: Sequence[Mapping[str, MoveCount]], longer: str
) -> list[str]:
    said = []
    if any(d.name == "k" and np.isnan(d.rhat) for d in diagnostics):
        said.append(f"k never changed. Raise {longer}, or look whether one size is all that the data and k_max allow.")
    # Moves that no chain has ever chosen are none that the families make.
    chosen = (name for chain in moves for name in chain if chain[name].chosen > 0)
    names = dict.fromkeys(name for name in chosen if name not in MAY_NEVER_BE_ACCEPTED)
    never = [name for name in names if not any(chain[name].accepted for chain in moves if name in chain)]
    if never:
        said.append(
            f"No {', '.join(never)} was ever accepted. Raise {longer}, or change split_scale or walk_scale so that "
            f"proposals fit the data."
        )
    return said
