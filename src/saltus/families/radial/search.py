"""What descents, starts and hops ask of radial terms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._tiles import rounded, to_tiles
from saltus._typing import Floats, Ints
from saltus.families.radial.kernels import LARGEST_RELEVANCE, LOG_SHARPEST, SMALLEST_RELEVANCE, RadialData
from saltus.families.registry import Families

if TYPE_CHECKING:
    from saltus.families.radial.family import FittedRadial

# Inputs that are tried for elimination at a time, the least relevant.
MOST_INPUTS_TRIED = 3

# Relevances are shaken by a factor whose logarithm has at most this standard deviation; then one that is 0 is switched
# on with this probability.
METRIC_SHAKE, SWITCH_ON_PROBABILITY = 0.5, 0.5

# The middle of the coordinate of a width, where the sharpness is 1.
MIDDLE = 0.5


def rows_of(data: RadialData, rows: Ints) -> Floats:
    """Take rows (n, q) out of their tiles."""
    tile, row = np.divmod(rows, data.rows.shape[2])
    return data.rows[tile, :, row]


@dataclass(frozen=True)
class FreeRadial:
    """The parameters of k radial terms that a descent changes, as a point x within bounds.

    Coordinates of centres along inputs that are switched off do not matter and are left out; the others are scaled so
    that one step of the search is about as long in every direction. After them come the log relevances.
    """

    families: Families  # with the inputs that are on, for parameters scaled like x
    x: Floats  # (n,)
    low: Floats  # (n,)
    high: Floats  # (n,)
    shared: Floats  # (q,), of the inputs that are on
    _parameters: Floats
    _all_shared: Floats
    _moving: Ints
    _scale: Floats

    @classmethod
    def of(cls, families: Families, parameters: Floats, shared: Floats) -> "FreeRadial | None":
        """Pack the terms; None where nothing can move."""
        data = families.radial
        on = np.flatnonzero(shared > 0)
        scale: Floats = np.linalg.norm(data.to_metric[on], axis=0)
        if data.own_widths:
            scale[-1] = 2.0 * LOG_SHARPEST
        moving = np.flatnonzero(scale > 0)
        k = len(parameters)
        if k == 0 or moving.size == 0:
            return None
        scale = scale[moving]
        used = of_inputs_in_use(data, shared)
        to_metric = np.ascontiguousarray(used.to_metric[:, moving] / scale)
        x, high = (parameters[:, moving] * scale).ravel(), np.tile(scale, k)
        low = np.zeros_like(high)
        if data.learns_metric:
            x = np.append(x, np.log(shared[on]))
            low = np.append(low, np.full(on.size, np.log(SMALLEST_RELEVANCE)))
            high = np.append(high, np.full(on.size, np.log(LARGEST_RELEVANCE)))
        scaled = used._replace(to_metric=to_metric, width_scale=1.0)
        return cls(families._replace(radial=scaled), x, low, high, shared[on], parameters, shared, moving, scale)

    def unpack(self, x: Floats) -> tuple[Floats, Floats]:
        """Find the parameters (k, p) and shared parameters (s,) at a point."""
        parameters, shared = self._parameters.copy(), self._all_shared.copy()
        n_own = len(parameters) * self._moving.size
        parameters[:, self._moving] = np.clip(x[:n_own].reshape(len(parameters), -1) / self._scale, 0.0, 1.0)
        if self.families.radial.learns_metric:
            shared[shared > 0] = np.exp(x[n_own:])
        return parameters, shared


def of_inputs_in_use(data: RadialData, shared: Floats) -> RadialData:
    """Keep what makes a difference: the inputs that are on."""
    on = shared > 0
    rows = data.rows if on.all() else np.ascontiguousarray(data.rows[:, on])
    return data._replace(rows=rows, to_metric=data.to_metric[on])


@dataclass(frozen=True)
class RadialSearch:
    """The answers of fitted radial terms."""

    family: "FittedRadial"

    def sample(self, families: Families, rows: Ints) -> Families:
        """Take some rows, rounded, in tiles."""
        data = families.radial
        sampled = data._replace(rows=to_tiles(rounded(rows_of(data, rows))), to_metric=rounded(data.to_metric))
        return families._replace(radial=sampled)

    def with_free_shared(
        self, families: Families, parameters: Floats, shared: Floats
    ) -> tuple[Families, Floats, Floats]:
        """Free the relevances even where the metric is given: the families, the point x, the shared parameters in use.

        x is not scaled: the parameters one after another, then the logarithms of the relevances that are not 0.
        """
        on = shared > 0
        used = of_inputs_in_use(families.radial, shared)._replace(learns_metric=True)
        return families._replace(radial=used), np.append(parameters, np.log(shared[on])), shared[on]

    def in_use(self, families: Families, shared: Floats) -> Families:
        """Keep what makes a difference."""
        return families._replace(radial=of_inputs_in_use(families.radial, shared))

    def free(self, families: Families, parameters: Floats, shared: Floats) -> FreeRadial | None:
        """Pack what a descent changes; None where that is nothing."""
        return FreeRadial.of(families, parameters, shared)

    def columns_of_rows(self, families: Families, root_weight: Floats, parameters: Floats, shared: Floats) -> Floats:
        """Evaluate the terms at the rows of a fit, times the roots of their weights: (N, k), padded. O(N k q)."""
        rows = families.radial.rows
        centers, sharpness = self.family.decode(parameters)
        Phi = np.empty((root_weight.size, len(parameters)), order="F")
        for j, center in enumerate(centers @ self.family.to_metric.T):
            squared = np.zeros(root_weight.shape)
            for i, coordinate in enumerate(center):
                if shared[i] > 0:
                    squared += (sharpness[j] * shared[i] * (rows[:, i] - coordinate)) ** 2
            Phi[:, j] = (self.family.radial.profile.value(squared) * root_weight).ravel()
        return Phi

    def without_one_shared(self, shared: Floats) -> list[Floats]:
        """List shared parameters with one of the least relevant inputs less."""
        on = np.flatnonzero(shared > 0)
        if not self.family.learns_metric or on.size < 2:
            return []
        found = []
        for i in on[np.argsort(shared[on], kind="stable")[:MOST_INPUTS_TRIED]]:
            without = shared.copy()
            without[i] = 0.0
            found.append(without)
        return found

    def parameters_of_rows(self, families: Families, rows: Ints) -> Floats:
        """Find the parameters (n, p) of terms centred at rows, the coordinate of a width being 0."""
        data = families.radial
        at = np.linalg.lstsq(data.to_metric, rows_of(data, rows).T, rcond=None)[0].T
        return rounded(np.clip(at, 0.0, 1.0))

    def prepare_start(self, parameters: Floats) -> Floats:
        """Give all terms the width that is in the middle. Mutates and returns the parameters (k, p)."""
        if self.family.own_widths:
            parameters[:, -1] = MIDDLE
        return parameters

    def order_by_distance(self, families: Families, parameters: Floats, shared: Floats, point: Floats) -> Ints:
        """List terms from the nearest to a point (p,) to the farthest, in their metric."""
        apart = (parameters - point) @ families.radial.to_metric.T * shared
        return np.argsort((apart**2).sum(axis=1), kind="stable")

    def shake_shared(self, rng: np.random.Generator, shared: Floats) -> Floats:
        """Shake the relevances of the inputs that are on, and perhaps switch another on."""
        on = shared > 0
        shaken = shared * np.exp(METRIC_SHAKE * rng.random() * rng.standard_normal(shared.size))
        shaken = np.where(on, np.clip(shaken, SMALLEST_RELEVANCE, LARGEST_RELEVANCE), 0.0)
        if not on.all() and rng.random() < SWITCH_ON_PROBABILITY:
            shaken[rng.choice(np.flatnonzero(~on))] = 1.0 / np.sqrt(shared.size)
        return shaken
