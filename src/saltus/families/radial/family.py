"""Radial terms: what a user chooses, and what becomes of it on given data."""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from saltus._tiles import to_tiles
from saltus._typing import Bools, Floats, is_number
from saltus.families.inputs import FamilyRows, gaps_in_tiles
from saltus.families.options import METRICS, RADIAL_NAMES, WIDTHS
from saltus.families.profiles import RADIAL_PROFILES, Profile
from saltus.families.radial.distances import check_metric_matrix, metric_factor, squared_distances
from saltus.families.radial.inspection import RadialInspection
from saltus.families.radial.kernels import (
    LARGEST_RELEVANCE,
    LOG_LARGEST,
    LOG_SHARPEST,
    LOG_SMALLEST,
    SMALLEST_RELEVANCE,
    WIDTH_COST,
    RadialData,
    sharpness_at,
)
from saltus.families.radial.search import MIDDLE, RadialSearch
from saltus.families.registry import RADIAL
from saltus.families.terms import TermSet

RadialName = Literal["linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric", "mexican_hat"]

# A term that fades is refused where the sum of its squares over the rows is below this. Where its width is given: no
# row is within three of its widths, so that the data cannot say what it does at its centre, and least squares would say
# anything. Where its width is learned: it sees fewer rows than so many, and one as narrow as a row has so many places
# to sit that it finds noise to explain. On a line with noise, 1 000 rows and 3 inputs, the worst of three errors to the
# truth is 1.4 with the first, 0.10 with the second; on the Bumps of Donoho and Johnstone 101, and 5.3.
FAINTEST, FEWEST_ROWS = 1e-4, 3.0
# Under a ridge, one row is enough. Without it the sampler fills places between rows with functions that none of them
# sees, as a prior that expects many would have it, and narrows the rest to make room: on Friedman 2, 500 rows, the
# worst of four errors to the truth is 2.2 times that of a Gaussian process, and 1.3 with it.
FEWEST_ROWS_OF_A_RIDGE = 1.0

# Squares and cubes of distances within these bounds neither overflow nor vanish.
SMALLEST_DISTANCE, LARGEST_DISTANCE = 1e-50, 1e50


def _as_tuples(metric: object) -> tuple[tuple[float, ...], ...]:
    """Turn a matrix into a value; whether it is a metric is for the check beside the data."""
    try:
        rows = np.asarray(metric)
        matrix = np.empty(0) if np.iscomplexobj(rows) else rows.astype(np.float64)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    if matrix.ndim != 2:
        raise ValueError(f"metric must be one of {', '.join(METRICS)} or a matrix. Got {metric!r}.")
    return tuple(tuple(map(float, row)) for row in matrix)


@dataclass(frozen=True)
class Radial:
    """Radial terms phi(r / width).

    Parameters
    ----------
    name : str
        "linear" (r), "cubic" (r^3), "thin_plate" (r^2 ln r), "gaussian" (exp(-r^2/2)),
        "multiquadric" (sqrt(1 + r^2)), "inverse_multiquadric" (1 / sqrt(1 + r^2)) or "mexican_hat"
        ((1 - r^2) exp(-r^2/2), the wavelet).
    width : float, default=1.0
        The number that r is divided by, in the units of the metric: under "standardized", a width of 1 is a standard
        deviation of the inputs. "linear" and "cubic" give the same model whatever the width.
    metric : {"learned", "standardized", "euclidean", "mahalanobis"} or array-like of shape (n_features, n_features), \
            default="learned"
        How the distance r to a centre is measured. "learned": each input in units of its standard deviation, times a
        relevance that the fit finds, which is 0 for inputs that do not matter; "standardized": without relevances;
        "euclidean": in the inputs' own units; "mahalanobis": by the inverse covariance of the inputs (its
        pseudo-inverse where singular); or a positive semidefinite matrix M, r^2 = (x - mu)' M (x - mu).
    widths : {"auto", "shared", "own"}, default="auto"
        Whether terms share one width, or each has its own, found with its centre: between 1/4 and 4 times `width`.
        "auto": half of the chains of an AnnealedRegressor are of each sort and the criterion decides, and those of a
        BayesianRegressor have their own, where the metric is learned and the term is "gaussian", "multiquadric",
        "inverse_multiquadric" or "mexican_hat"; otherwise shared. "linear" and "cubic" have no width, and "own" is
        refused.

    Examples
    --------
    >>> from saltus import Radial
    >>> Radial("gaussian", width=0.5)
    Radial(name='gaussian', width=0.5, metric='learned', widths='auto')
    """

    name: RadialName
    width: float = 1.0
    metric: str | tuple[tuple[float, ...], ...] = "learned"
    widths: str = "auto"

    def __post_init__(self) -> None:
        if self.name not in RADIAL_NAMES:
            raise ValueError(f"Radial basis must be one of {', '.join(RADIAL_NAMES)}. Got {self.name!r}.")
        if not (is_number(self.width) and 0 < self.width < np.inf):
            raise ValueError(f"The width of a basis must be a positive number. Got {self.width!r}.")
        if isinstance(self.metric, str):
            if self.metric not in METRICS:
                raise ValueError(f"metric must be one of {', '.join(METRICS)} or a matrix. Got {self.metric!r}.")
        else:
            # As a value, so that two families can be compared.
            object.__setattr__(self, "metric", _as_tuples(self.metric))
        if self.widths not in WIDTHS:
            raise ValueError(f"widths must be one of {', '.join(WIDTHS)}. Got {self.widths!r}.")

    is_radial = True
    needs_numbers = True
    n_columns = 1
    known_cost = None

    @property
    def profile(self) -> Profile:
        """What is done with the distance."""
        return RADIAL_PROFILES[self.name]

    @property
    def learns_metric(self) -> bool:
        """Whether relevances are found with the centres."""
        return self.metric == "learned"

    def variants(self, *, several: bool) -> tuple["Radial", ...]:
        """List what chains may be made of: terms that share a width, that have their own, or `several` of these."""
        profile = self.profile
        if self.widths == "own" and profile.degree is not None:
            raise ValueError(
                f"widths='own' needs a basis with a width, such as 'gaussian': for {self.name!r}, another width is "
                f"only another coefficient. Choose another basis, or widths='shared'."
            )
        if self.widths != "auto":
            return (self,)
        shared, own = (replace(self, widths=widths) for widths in ("shared", "own"))
        if not (self.learns_metric and profile.has_width):
            return (shared,)
        return (shared, own) if several else (own,)

    def fit(self, rows: FamilyRows) -> "FittedRadial":
        """Find the metric of rows."""
        varies, n_numbers = rows.varies, rows.numbers.shape[1]
        metric: str | Floats
        if isinstance(self.metric, str):
            metric = self.metric
        else:
            metric = check_metric_matrix(self.metric, varies.size)[np.ix_(varies, varies)]
            metric = metric[:n_numbers, :n_numbers]
            if varies.any() and not metric.any():
                raise ValueError(
                    "The given metric is zero on every feature that varies, so every distance would be 0. Give another."
                )
        to_metric = metric_factor(metric, rows.numbers, rows.weight, rows.box_width[:n_numbers]) / self.width
        self._check_distances(to_metric)
        learns_metric, metric_scale = self.learns_metric and len(to_metric) > 0, 1.0
        if rows.rescale and self.profile.degree is not None and not learns_metric:
            metric_scale = float(np.abs(to_metric).max(initial=0.0)) or 1.0
            to_metric = to_metric / metric_scale
        return FittedRadial(self, to_metric, metric_scale, self.widths == "own", learns_metric)

    def _check_distances(self, to_metric: Floats) -> None:
        largest = float(np.abs(to_metric).sum(axis=1).max(initial=1.0 if to_metric.size == 0 else 0.0))
        if not SMALLEST_DISTANCE < largest < LARGEST_DISTANCE:
            raise ValueError(
                f"Distances between rows are of the order of {largest:.3g} widths of the basis {self!r}, which "
                f"{'overflows' if largest > 1 else 'vanishes'} in its function. Rescale X, change the width, or use "
                f"metric='standardized'."
            )


@dataclass(frozen=True)
class FittedRadial:
    """Radial terms on given data, with all methods that the mixture asks.

    It knows where their metric is Euclidean, and what their parameters mean: a term has the v coordinates of its centre
    in the unit cube and, where widths are the terms' own, one for its width. Terms share the relevances (q,) of a
    learned metric; they are 1 where it is given.
    """

    radial: Radial
    to_metric: Annotated[Floats, "qv"]  # takes the unit cube to where the metric is Euclidean
    metric_scale: float  # distances inside are the user's divided by this, where units do not matter
    own_widths: bool
    learns_metric: bool

    geometry = RADIAL
    widest_spread = np.inf
    n_columns = 1
    n_choices = 0  # discrete, of a term

    @property
    def n_parameters(self) -> int:
        """The number of parameters of a term."""
        return self.to_metric.shape[1] + self.own_widths

    @property
    def starting_shared(self) -> Floats:
        """Relevances (q,) such that the distance between two rows is 1.4 or so, whatever the number of inputs."""
        q = len(self.to_metric)
        return np.full(q, 1.0 / np.sqrt(q)) if self.learns_metric else np.ones(q)

    @property
    def search(self) -> RadialSearch:
        """What descents, starts and hops ask."""
        return RadialSearch(self)

    @property
    def inspection(self) -> RadialInspection:
        """What summaries, reports and pictures ask."""
        return RadialInspection(self)

    @property
    def coefficient_spread(self) -> float:
        """The standard deviation of coefficients in a mixture: terms that fade have a height of 1."""
        return 1.0 if self.radial.profile.fades else np.inf

    @property
    def n_decoded(self) -> int:
        """The numbers of a decoded term: the coordinates of its centre in the metric, and its sharpness."""
        return len(self.to_metric) + 1

    @property
    def n_switches(self) -> int:
        """The number of shared parameters that may be in or out."""
        return len(self.to_metric) if self.learns_metric else 0

    @property
    def parameter_counts(self) -> tuple[int, int]:
        """What a term counts for: at least, with one input in use where that is for the data to decide, and at most."""
        n_inputs = self.to_metric.shape[1]
        fewest = min(n_inputs, 1) if self.learns_metric else n_inputs
        return fewest + WIDTH_COST * self.own_widths, n_inputs + WIDTH_COST * self.own_widths

    @property
    def coefficient_scale(self) -> float:
        """What coefficients inside are divided by to be those of phi(r / width), r in the user's units."""
        # phi(s r) = s^p phi(r) where the metric was rescaled by s inside.
        return self.metric_scale ** (self.radial.profile.degree or 0.0)

    smallest_complement = -np.inf

    def smallest_squared_norm(self, *, ridge: bool) -> float:
        """Choose the smallest squared norm of a column. Of a given width, a ridge holds it down itself."""
        if not self.radial.profile.fades:
            return 0.0
        if self.learns_metric:
            return FEWEST_ROWS_OF_A_RIDGE if ridge else FEWEST_ROWS
        return 0.0 if ridge else FAINTEST

    def decode(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Take parameters (k, p) apart: centres (k, v) in the unit cube, and sharpnesses (k,)."""
        if not self.own_widths:
            return parameters, np.ones(len(parameters))
        return parameters[:, :-1], sharpness_at(parameters[:, -1])

    def as_terms(self, parameters: Floats) -> TermSet:
        """Make terms of parameters (k, p), with the shared parameters that descents start from."""
        k = len(parameters)
        return TermSet(np.zeros(k, dtype=np.int64), np.zeros((k, 0), dtype=np.int64), parameters, self.starting_shared)

    def accepts(self, terms: TermSet) -> bool:
        """Say whether terms could be its own: there is nothing to choose."""
        return True

    def accepts_shared(self, shared: Floats) -> bool:
        """Say whether its terms could share relevances (q,): 0 or within bounds; 1 where the metric is given."""
        if not self.learns_metric:
            return bool((shared == 1.0).all())
        # As descents leave them, to a last digit.
        low, high = SMALLEST_RELEVANCE * (1 - 1e-9), LARGEST_RELEVANCE * (1 + 1e-9)
        return bool(((shared == 0.0) | ((shared >= low) & (shared <= high))).all())

    def encode(self, centers: Floats) -> TermSet:
        """Make terms of centres (k, v) in the unit cube, with a sharpness of 1."""
        return self.as_terms(np.hstack([centers, np.full((len(centers), int(self.own_widths)), MIDDLE)]))

    def draw(self, rng: np.random.Generator, n: int) -> TermSet:
        """Draw n terms from nu."""
        return self.as_terms(rng.random((n, self.n_parameters)))

    def draw_shared(self, rng: np.random.Generator) -> Floats:
        """Draw relevances (q,) from their prior: each input on with probability 1/2; 1 where the metric is given."""
        q = len(self.to_metric)
        if not self.learns_metric:
            return self.starting_shared
        return np.where(rng.random(q) < 0.5, np.exp(rng.uniform(LOG_SMALLEST, LOG_LARGEST, q)), 0.0)

    def data(self, U: Floats, like: RadialData | None) -> RadialData:
        """Prepare rows U (N, v) of the unit cube for kernels, or share those that another variant has prepared."""
        q, v = self.to_metric.shape
        numbers = U[:, :v]
        is_gap = np.isnan(numbers)
        return RadialData(
            profile=RADIAL_NAMES.index(self.radial.name),
            rows=to_tiles(np.where(is_gap, 0.0, numbers) @ self.to_metric.T) if like is None else like.rows,
            has_gaps=bool(is_gap.any()),
            is_gap=gaps_in_tiles(self._gaps_in_metric(is_gap)) if like is None else like.is_gap,
            to_metric=np.ascontiguousarray(np.hstack([self.to_metric, np.zeros((q, int(self.own_widths)))])),
            own_widths=self.own_widths,
            learns_metric=self.learns_metric,
            n_inputs=v,
            width_scale=2.0 * LOG_SHARPEST,
        )

    def _gaps_in_metric(self, is_gap: Bools) -> Floats:
        """Put NaN where a coordinate (N, q) is missing, given which inputs (N, v) are: each has one."""
        missing = is_gap @ (self.to_metric != 0).T if is_gap.any() else np.zeros((len(is_gap), len(self.to_metric)))
        return np.where(missing > 0, np.nan, 0.0)

    def columns(self, U: Floats, terms: TermSet) -> Floats:
        """Evaluate the terms at rows U (N, v) of the unit cube: (N, k). O(N k q)."""
        centers, sharpness = self.decode(terms.parameters)
        to_metric = terms.shared[:, None] * self.to_metric
        numbers = U[:, : to_metric.shape[1]]
        is_gap = np.isnan(numbers)
        X_metric = np.where(is_gap, 0.0, numbers) @ to_metric.T + self._gaps_in_metric(is_gap)
        squared = squared_distances(X_metric, centers @ to_metric.T) * sharpness**2
        return self.radial.profile.value(squared)
