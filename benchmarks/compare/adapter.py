"""The one shape in which the harness sees every model."""

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from benchmarks.compare.scores import Distribution
from saltus._typing import Floats


class Adapter(ABC):
    """A model with settings. Y is always (N, c).

    `exact` tells it that the data have no noise, as a user of an emulator would.
    """

    exact: bool = False

    @abstractmethod
    def fit(self, X: Floats, Y: Floats) -> None:
        """Fit, tuning included: this is what is timed."""

    @abstractmethod
    def predict(self, X: Floats) -> Floats:
        """Predict the mean (n, c)."""

    def distribution(self, X: Floats) -> Distribution | None:
        """Predict new Y as a distribution; None for a model that has none."""
        return None

    def warm_up(self, X: Floats, Y: Floats) -> None:  # noqa: B027, most models do not compile
        """Compile what a fit of this shape needs."""

    @property
    def n_terms(self) -> float | None:
        """How many basis functions or kernels the model has, outputs together; None where that says little."""
        return None

    @property
    def families(self) -> dict[str, float] | None:
        """How many terms of each family the model has, where it chose among families."""
        return None

    @property
    def settings(self) -> str:
        """What was fitted, in words a reader can check."""
        return repr(self)


class PerOutput(Adapter):
    """A model of one output, fitted to each output by itself."""

    def __init__(self, make: Callable[[], Adapter]) -> None:
        self.make = make
        self.models: list[Adapter] = []

    def fit(self, X: Floats, Y: Floats) -> None:
        self.models = [self._make() for _ in Y.T]
        for model, y in zip(self.models, Y.T, strict=True):
            model.fit(X, y[:, None])

    def predict(self, X: Floats) -> Floats:
        return np.hstack([model.predict(X) for model in self.models])

    def distribution(self, X: Floats) -> Distribution | None:
        parts = [model.distribution(X) for model in self.models]
        if any(part is None for part in parts):
            return None
        kept = ("mean", "std", "draws", "low", "high")
        stacked = {
            name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in kept
            if getattr(parts[0], name) is not None
        }
        return Distribution(**stacked)

    def warm_up(self, X: Floats, Y: Floats) -> None:
        self._make().warm_up(X, Y[:, :1])

    def _make(self) -> Adapter:
        model = self.make()
        model.exact = self.exact
        return model

    @property
    def n_terms(self) -> float | None:
        counts = [model.n_terms for model in self.models]
        return None if any(count is None for count in counts) else sum(counts)

    @property
    def settings(self) -> str:
        each = self.models[0].settings
        return each if len(self.models) == 1 else f"{each}, one for each output"


def flat(Y: Floats) -> Floats:
    """Give one output as a vector, several as they are."""
    return Y[:, 0] if Y.shape[1] == 1 else Y


def columns(Y: Floats) -> Floats:
    """Give a vector as one column."""
    return Y[:, None] if Y.ndim == 1 else Y
