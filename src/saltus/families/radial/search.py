"""What descents, starts and hops ask of radial terms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from saltus._tiles import rounded, to_tiles
from saltus._typing import Floats, Ints
from saltus.families.free import FreeTerms
from saltus.families.radial.kernels import LARGEST_RELEVANCE, LOG_SHARPEST, SMALLEST_RELEVANCE, RadialData
from saltus.families.terms import TermSet

if TYPE_CHECKING:
    from saltus.families.radial.family import FittedRadial

# Inputs that are tried for elimination at a time, the least relevant.
MOST_INPUTS_TRIED = 3

# Relevances are shaken by a factor whose logarithm has at most this standard deviation; then one that is 0 is switched
# on with this probability.
METRIC_SHAKE, SWITCH_ON_PROBABILITY = 0.5, 0.5

# The terms that a descent starts from are anywhere in the box of those rows that are not outlying, the range between
# these quantiles, widened on each side by this share; half of them on the nearest row. Anywhere in the box of all rows
# will not do, as a few outliers leave it empty but for a corner. Friedman 1, 3 of 500 rows scattered 20 times as wide
# as the others, mean error to the truth over seeds 20-24: AnnealedRegressor 1.29 then, 0.27 so; BayesianRegressor 1.02,
# 0.42.
OUTLYING, MARGIN = 0.05, 0.5

# The middle of the coordinate of a width, where the sharpness is 1.
MIDDLE = 0.5


def rows_of(data: RadialData, rows: Ints) -> Floats:
    """Take rows (n, q) out of their tiles."""
    tile, row = np.divmod(rows, data.rows.shape[2])
    return data.rows[tile, :, row]


def of_inputs_in_use(data: RadialData, shared: Floats) -> RadialData:
    """Keep what makes a difference: the inputs that are on."""
    on = shared > 0
    if on.all():
        return data
    is_gap = np.ascontiguousarray(data.is_gap[:, on]) if data.has_gaps else data.is_gap
    return data._replace(rows=np.ascontiguousarray(data.rows[:, on]), is_gap=is_gap, to_metric=data.to_metric[on])


@dataclass(frozen=True)
class RadialSearch:
    """The answers of fitted radial terms."""

    family: "FittedRadial"

    def sample(self, data: RadialData, rows: Ints) -> RadialData:
        """Take some rows, rounded, in tiles."""
        tile, row = np.divmod(rows, data.rows.shape[2])
        is_gap = to_tiles(data.is_gap[tile, :, row])
        taken = to_tiles(rounded(rows_of(data, rows)))
        return data._replace(rows=taken, is_gap=is_gap, to_metric=rounded(data.to_metric))

    def free(self, data: RadialData, terms: TermSet, *, raw: bool) -> FreeTerms:
        """Pack what a descent changes: parameters of terms, and the logarithms of the relevances that are not 0.

        Coordinates of centres along inputs that are switched off do not matter and are left out; the others are scaled
        so that one step of the search is about as long in every direction. As they are with `raw`, and the relevances
        free even where the metric is given.
        """
        parameters, shared = terms.parameters, terms.shared
        on = np.flatnonzero(shared > 0)
        used = of_inputs_in_use(data, shared)
        moving, scale = np.arange(data.to_metric.shape[1]), np.ones(data.to_metric.shape[1])
        if raw:
            used = used._replace(learns_metric=True)
        else:
            scale = np.linalg.norm(data.to_metric[on], axis=0)
            if data.own_widths:
                scale[-1] = 2.0 * LOG_SHARPEST
            moving = np.flatnonzero(scale > 0)
            scale = scale[moving]
            to_metric = np.ascontiguousarray(used.to_metric[:, moving] / scale)
            used = used._replace(to_metric=to_metric, width_scale=1.0)
        bounds = (SMALLEST_RELEVANCE, LARGEST_RELEVANCE)
        n_shared = on.size * used.learns_metric

        def unpack(points: list[Floats], x_shared: Floats) -> TermSet:
            found, relevance = parameters.copy(), shared.copy()
            if points:
                found[:, moving] = np.clip(np.array(points) / scale, 0.0, 1.0)
            if used.learns_metric:
                relevance[relevance > 0] = np.exp(x_shared)
            return terms.with_parameters(found).with_shared(relevance)

        return FreeTerms(
            data=used,
            x=list(parameters[:, moving] * scale),
            low=[np.zeros(moving.size)] * len(terms),
            high=[scale] * len(terms),
            decoded=np.zeros((len(terms), self.family.n_decoded)),
            unpack=unpack,
            shared=shared[on],
            x_shared=np.log(shared[on])[:n_shared],
            low_shared=np.full(n_shared, np.log(bounds[0])),
            high_shared=np.full(n_shared, np.log(bounds[1])),
        )

    def columns_of_rows(self, data: RadialData, root_weight: Floats, terms: TermSet) -> Floats:
        """Evaluate the terms at the rows of a fit, times the roots of their weights: (N, k), padded. O(N k q)."""
        centers, sharpness = self.family.decode(terms.parameters)
        Phi = np.empty((root_weight.size, len(terms)), order="F")
        for j, center in enumerate(centers @ self.family.to_metric.T):
            squared = np.zeros(root_weight.shape)
            for i, coordinate in enumerate(center):
                if terms.shared[i] > 0:
                    along = (sharpness[j] * terms.shared[i] * (data.rows[:, i] - coordinate)) ** 2
                    squared += np.where(data.is_gap[:, i] > 0, 0.0, along) if data.has_gaps else along
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

    def at_rows(self, data: RadialData, rows: Ints) -> Floats:
        """Find the parameters (n, p) of terms centred at rows, the coordinate of a width being 0.

        Where a row lacks a coordinate, in the middle of the box.
        """
        at = np.linalg.lstsq(data.to_metric, rows_of(data, rows).T, rcond=None)[0].T
        if data.has_gaps:
            tile, row = np.divmod(rows, data.rows.shape[2])
            lacks = data.is_gap[tile, :, row] @ (data.to_metric != 0).astype(np.int64)
            at = np.where(lacks > 0, MIDDLE, at)
        return rounded(np.clip(at, 0.0, 1.0))

    def draw_start(self, rng: np.random.Generator, data: RadialData, rows: Ints, weight: Floats, n: int) -> TermSet:
        """Draw n terms to descend from, near some rows of given weights, half of them on rows.

        Anywhere in the box of those rows that are not outlying; all have the width that is in the middle.
        """
        at_rows = self.at_rows(data, rows)
        lower, upper = weighted_quantiles(at_rows, weight, (OUTLYING, 1 - OUTLYING))
        # The whole box where nearly all rows are the same.
        reach = np.where(upper > lower, MARGIN * (upper - lower), 1.0)
        lower, upper = np.maximum(lower - reach, 0.0), np.minimum(upper + reach, 1.0)
        drawn = lower + (upper - lower) * rng.random((n, at_rows.shape[1]))
        for term in drawn[: n // 2]:
            term[:] = at_rows[((at_rows - term) ** 2).sum(axis=1).argmin()]
        if self.family.own_widths:
            drawn[:, -1] = MIDDLE
        return self.family.as_terms(drawn)

    def order_by_distance(self, data: RadialData, terms: TermSet, point: Floats) -> Ints:
        """List terms from the nearest to a point (p,) to the farthest, in their metric."""
        apart = (terms.parameters - point) @ data.to_metric.T * terms.shared
        return np.argsort((apart**2).sum(axis=1), kind="stable")

    def shake_shared(self, rng: np.random.Generator, shared: Floats) -> Floats:
        """Shake the relevances of the inputs that are on, and perhaps switch another on."""
        on = shared > 0
        shaken = shared * np.exp(METRIC_SHAKE * rng.random() * rng.standard_normal(shared.size))
        shaken = np.where(on, np.clip(shaken, SMALLEST_RELEVANCE, LARGEST_RELEVANCE), 0.0)
        if not on.all() and rng.random() < SWITCH_ON_PROBABILITY:
            shaken[rng.choice(np.flatnonzero(~on))] = 1.0 / np.sqrt(shared.size)
        return shaken


def weighted_quantiles(values: Floats, weight: Floats, shares: tuple[float, ...]) -> Floats:
    """Find quantiles of the columns of values (n, d), as (len(shares), d): a weight of 2 counts as two rows."""
    order = values.argsort(axis=0, kind="stable")
    below = weight[order].cumsum(axis=0)
    at = [(below < share * below[-1]).sum(axis=0) for share in shares]
    return np.stack([values[order[i, np.arange(values.shape[1])], np.arange(values.shape[1])] for i in at])
