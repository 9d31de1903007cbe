"""saltus, with its defaults and whatever options a name carries."""

from typing import Any

import numpy as np

from benchmarks.compare.adapter import Adapter, columns, flat
from benchmarks.compare.scores import COVERAGE, Distribution
from saltus import AnnealedRegressor, BayesianRegressor
from saltus._typing import Floats
from saltus.families import make_family
from saltus.families.options import DEFAULT_RADIAL_NAME, OPTIONS
from saltus.families.registry import RADIAL, RIDGE, USER, WAVE

N_DRAWS_OF_Y = 400
NAMES_OF_GEOMETRIES = {RADIAL: "radial", RIDGE: "ridges", WAVE: "waves", USER: "own"}
SHORT = {"n_iter": 200, "n_chains": 1}


def with_basis(options: dict[str, Any]) -> dict[str, Any]:
    """Read ``basis=gaussian@1.5``, and options of a radial family, as a family with them."""
    name, _, width = str(options.get("basis", DEFAULT_RADIAL_NAME)).partition("@")
    names = {option.name for option in OPTIONS}
    family = {key: value for key, value in options.items() if key in names}
    if not width and not family:
        return options
    rest = {key: value for key, value in options.items() if key not in names}
    return {**rest, "basis": make_family(name, width=float(width or 1.0), **family)}


def name_of_family(member: Any) -> str:
    """Name a family as tables do: products by their profiles."""
    if member.geometry in NAMES_OF_GEOMETRIES:
        return NAMES_OF_GEOMETRIES[member.geometry]
    return " ".join("linear" if profile == "identity" else f"{profile}s" for profile in member.options.profiles)


class Annealed(Adapter):
    """AnnealedRegressor. It has no predictive distribution."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.model = AnnealedRegressor(**with_basis(options), random_state=seed)

    def warm_up(self, X: Floats, Y: Floats) -> None:
        AnnealedRegressor(**{**self.model.get_params(), **SHORT}).fit(X, flat(Y)).predict(X)

    def fit(self, X: Floats, Y: Floats) -> None:
        self.model.fit(X, flat(Y))

    def predict(self, X: Floats) -> Floats:
        return columns(self.model.predict(X))

    @property
    def n_terms(self) -> float:
        return float(self.model.n_terms_)

    @property
    def families(self) -> dict[str, float]:
        """The terms of each family, in the mean over the networks that predict."""
        found: dict[str, float] = {}
        for network, weight in zip(self.model.networks_, self.model.weights_, strict=True):
            for member, which, _ in network.mixture.each(network.terms):
                name = name_of_family(member)
                found[name] = found.get(name, 0.0) + float(weight) * which.size
        return found

    @property
    def settings(self) -> str:
        return repr(self.model)


class Bayes(Adapter):
    """BayesianRegressor. Intervals are its own; the CRPS is of draws of new y."""

    def __init__(self, seed: int, **options: Any) -> None:
        self.model = BayesianRegressor(**with_basis(options), random_state=seed)

    def warm_up(self, X: Floats, Y: Floats) -> None:
        model = BayesianRegressor(**{**self.model.get_params(), **SHORT}).fit(X, flat(Y))
        model.predict(X, return_std=True)

    def fit(self, X: Floats, Y: Floats) -> None:
        self.model.fit(X, flat(Y))

    def predict(self, X: Floats) -> Floats:
        return columns(self.model.predict(X))

    def distribution(self, X: Floats) -> Distribution:
        low, high = self.model.predict_interval(X, COVERAGE)
        draws = self.model.sample_y(X, n_samples=N_DRAWS_OF_Y)
        by_draw = draws.T[:, :, None] if draws.ndim == 2 else np.moveaxis(draws, -1, 0)
        return Distribution(draws=by_draw, low=columns(low), high=columns(high))

    @property
    def n_terms(self) -> float:
        """The posterior mean of k."""
        return sum(k * probability for k, probability in self.model.posterior_k_.items())

    @property
    def settings(self) -> str:
        return repr(self.model)


OURS = {
    "annealed": Annealed,
    "annealed-best": lambda seed, **options: Annealed(seed, **{"combine": "best", **options}),
    "bayes": Bayes,
}
