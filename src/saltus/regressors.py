"""The scikit-learn estimators: they validate, delegate and store."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from saltus._typing import Floats
from saltus.bases import RADIAL_NAMES, Radial, resolve_basis
from saltus.criteria import CRITERIA, Counts, criterion_value, penalty_table
from saltus.engine.anneal import Settings, anneal
from saltus.engine.blas import single_threaded_blas
from saltus.engine.chain import Tuning
from saltus.engine.design import Box, Design, FixedPart, count_distinct_rows, make_design
from saltus.engine.result import AnnealResult
from saltus.metrics import METRICS, check_metric_matrix
from saltus.progress import ProgressLine
from saltus.schedules import SCHEDULES, Schedule, resolve_schedule

# The default k_max is this, or what keeps the design's columns at half the rows.
DEFAULT_K_MAX = 50

# Squares and products of values within these bounds can be represented.
SMALLEST_VALUE, LARGEST_VALUE = 1e-140, 1e140


@dataclass(frozen=True)
class TrainingData:
    """What `fit` was given, checked; rows of weight 0 are gone."""

    X: Floats  # (N, d)
    Y: Floats  # (N, c)
    weight: Floats  # (N,)
    single_output: bool  # y was one-dimensional


class DependentFeaturesWarning(UserWarning):
    """Some features were left out of the linear term, as they depend on the others."""


class AnnealedRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A radial basis network whose size and centres are found by reversible-jump simulated annealing.

    The model is a linear term plus k basis functions. k and the centres maximise

        log pi(k, mu) = -N/2 sum_i ln RSS_i(mu) - P(k)

    over outputs i, which is minus an information criterion up to a constant. The search is the annealed
    reversible-jump chain of Andrieu, de Freitas and Doucet (UAI 2000); the coefficients are least squares.

    Parameters
    ----------
    basis : str or Radial, default="cubic"
        "linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric", each of width 1,
        or a :class:`saltus.Radial` with a width of its own.
    metric : {"standardized", "euclidean", "mahalanobis"} or array-like of shape (n_features, n_features), \
            default="standardized"
        How distance to a centre is measured: each input in units of its standard deviation; in the inputs'
        own units; by the inverse covariance of the inputs (its pseudo-inverse where singular); or by the given
        positive semidefinite matrix M, r^2 = (x - mu)' M (x - mu).
    criterion : {"bic", "mdl", "aic", "aicc", "hqc", "ebic"} or float, default="bic"
        The information criterion. A number is the cost C of one basis function in P(k) = C k.
    center_cost : {"paper", "full"}, default="paper"
        How many parameters a centre counts for: 1, as in the paper, or one for each coordinate.
    k_max : int or None, default=None
        The most basis functions. None: 50, or fewer where the columns of the design would outnumber half the
        distinct rows.
    n_iter : int, default=50_000
        Iterations of each chain.
    n_chains : int, default=4
        Independent chains, of which the best state is taken.
    schedule : {"geometric", "linear", "logarithmic", "constant"} or schedule, default="geometric"
        How the temperature falls: a name, or an object such as ``saltus.Geometric(start=1, end=0.01)``.
    acceptance : {"two-stage", "tempering"}, default="two-stage"
        The paper's eq. (5), where the kernel for pi is the proposal of the annealed chain, or the kernel for
        pi to the power 1/T.
    split_scale : float, default=0.1
        How far apart a split moves two centres, at most, on each input: twice this share of the box.
    walk_scale : float, default=0.1
        The largest standard deviation of a random walk update, as a share of the box; smaller ones, by 4 and 16,
        are mixed in.
    box_margin : float, default=0.1
        Centres live in the range of the data, widened on each side by this share of it.
    init : {"random", "empty"} or array-like of shape (k, n_features), default="random"
        Where chains start: a random number of random centres, none, or the given ones.
    random_state : int, RandomState instance or None, default=None
        Seeds the chains. The result does not depend on n_jobs.
    n_jobs : int or None, default=None
        Chains run at once, through joblib, on threads unless a joblib context says otherwise.
    verbose : int, default=0
        1 shows a line of progress on standard error.

    Attributes
    ----------
    n_bases_ : int
        The number k of basis functions found.
    centers_ : ndarray of shape (k, n_features)
        Their centres, in the units of X.
    intercept_ : float or ndarray of shape (n_outputs,)
    linear_coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        The linear term; 0 for a feature that depends on others and was left out.
    basis_coef_ : ndarray of shape (k,) or (n_outputs, k)
        The coefficient of each basis function phi(r / width).
    metric_ : ndarray of shape (n_features, n_features)
        The matrix M of r^2 = (x - mu)' M (x - mu).
    noise_variance_ : float or ndarray of shape (n_outputs,)
        The maximum-likelihood estimate RSS_i / N.
    log_posterior_ : float
        -N/2 sum_i ln RSS_i - P(k) at the best state over chains, y in its own units. Residuals within rounding of y
        count as rounding, so that an exact fit has a finite value.
    criterion_value_ : float
        -log likelihood + P(k), which is -log_posterior_ plus a constant: half of what other software calls AIC or
        BIC, with the parameters of the linear term and the noise, which every model has, left out.
    n_iter_ : int
        Iterations run by each chain.
    result_ : AnnealResult
        The chains: traces of k, log posterior and temperature, proposals and acceptances by move, best states,
        and how it ended in words.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from saltus import AnnealedRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(200, 1))
    >>> y = np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(200)
    >>> model = AnnealedRegressor(n_iter=5000, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "basis": [StrOptions(set(RADIAL_NAMES)), Radial],
        "metric": [StrOptions(set(METRICS)), "array-like"],
        "criterion": [StrOptions(set(CRITERIA)), Interval(Real, 0, None, closed="left")],
        "center_cost": [StrOptions({"paper", "full"})],
        "k_max": [Interval(Integral, 0, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "schedule": [StrOptions(set(SCHEDULES)), HasMethods(["temperature"])],
        "acceptance": [StrOptions({"two-stage", "tempering"})],
        "split_scale": [Interval(Real, 0, 0.5, closed="right")],
        "walk_scale": [Interval(Real, 0, None, closed="neither")],
        "box_margin": [Interval(Real, 0, 10, closed="both")],
        "init": [StrOptions({"random", "empty"}), "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        basis: str | Radial = "cubic",
        *,
        metric: str | ArrayLike = "standardized",
        criterion: str | float = "bic",
        center_cost: str = "paper",
        k_max: int | None = None,
        n_iter: int = 50_000,
        n_chains: int = 4,
        schedule: str | Schedule = "geometric",
        acceptance: str = "two-stage",
        split_scale: float = 0.1,
        walk_scale: float = 0.1,
        box_margin: float = 0.1,
        init: str | ArrayLike = "random",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.metric = metric
        self.criterion = criterion
        self.center_cost = center_cost
        self.k_max = k_max
        self.n_iter = n_iter
        self.n_chains = n_chains
        self.schedule = schedule
        self.acceptance = acceptance
        self.split_scale = split_scale
        self.walk_scale = walk_scale
        self.box_margin = box_margin
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Find the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: a weight of 2 is the row twice, a weight of 0 is no row.

        Returns
        -------
        self
        """
        data = _check_data(self, X, y, sample_weight)
        with single_threaded_blas():
            design = self._make_design(data)
            result = self._anneal(design)
        self._store(design, result, single_output=data.single_output)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Predict with the best network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        return self._squeeze(self._network.predict(_check_inputs(self, X)))

    def staged_predict(self, X: ArrayLike, chain: int = 0) -> Iterator[tuple[int, Floats]]:
        """Predict with the networks that a chain passed through.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        chain : int, default=0
            Which chain.

        Yields
        ------
        iteration : int
            The number of iterations done; they grow geometrically.
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        if not 0 <= chain < len(self.result_.chains):
            raise ValueError(f"chain must be between 0 and {len(self.result_.chains) - 1}. Got {chain!r}.")
        inputs = _check_inputs(self, X)
        for snapshot in self.result_.chains[chain].snapshots:
            yield snapshot.iteration, self._squeeze(snapshot.network.predict(inputs))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def _anneal(self, design: Design) -> AnnealResult:
        seeds = _seed_sequence(self.random_state).spawn(self.n_chains)
        settings = Settings(
            n_iter=int(self.n_iter),
            schedule=resolve_schedule(self.schedule),
            tuning=Tuning(float(self.split_scale), float(self.walk_scale), self.acceptance == "two-stage"),
            start=self._starting_centers(design),
        )
        progress = ProgressLine(self.n_chains, self.n_iter) if self.verbose else None
        try:
            return anneal(seeds, design, settings, n_jobs=self.n_jobs, listener=progress)
        finally:
            if progress is not None:
                progress.close()

    def _make_design(self, data: TrainingData) -> Design:
        X, Y, weight = data.X, data.Y, data.weight
        n_features = X.shape[1]
        metric = self.metric if isinstance(self.metric, str) else check_metric_matrix(self.metric, n_features)
        box = Box.around(X, float(self.box_margin))
        fixed = FixedPart.of(box.to_unit(X), weight)
        m_fixed = fixed.Q.shape[1]
        self._warn_of_dependent_features(box, fixed)
        n_coordinates = int(box.varies.sum())
        counts = Counts(
            n_total=float(weight.sum()),
            n_outputs=Y.shape[1],
            n_fixed=m_fixed,
            center_parameters=1 if self.center_cost == "paper" else n_coordinates,
        )
        n_independent = min(count_distinct_rows(X, Y), int(counts.n_total))
        k_max = self._resolve_k_max(n_independent, m_fixed) if n_coordinates else 0
        return make_design(
            X,
            Y,
            weight,
            box=box,
            fixed=fixed,
            basis=resolve_basis(self.basis),
            metric=metric,
            penalty=penalty_table(self.criterion, counts, k_max),
        )

    def _resolve_k_max(self, n_rows: int, m_fixed: int) -> int:
        if self.k_max is None:
            return min(DEFAULT_K_MAX, max(n_rows // 2 - m_fixed, 0))
        needed = m_fixed + self.k_max + 1
        if self.k_max > 0 and n_rows < needed:
            raise ValueError(
                f"k_max={self.k_max} with {m_fixed} columns in the linear term needs at least {needed} distinct "
                f"rows, or the residuals vanish; got {n_rows}. Lower k_max, or leave it at None."
            )
        return int(self.k_max)

    def _starting_centers(self, design: Design) -> Floats | None:
        if isinstance(self.init, str):
            return None if self.init == "random" else np.empty((0, design.target.to_metric.shape[1]))
        centers = np.asarray(self.init, dtype=np.float64)
        if centers.ndim != 2 or centers.shape[1] != self.n_features_in_:
            raise ValueError(
                f"init must be an array of shape (k, {self.n_features_in_}), one row for each centre. "
                f"Got shape {centers.shape}."
            )
        if not np.isfinite(centers).all():
            raise ValueError("init must be finite. Got NaN or infinity in it.")
        if len(centers) > design.k_max:
            raise ValueError(
                f"init has {len(centers)} centres, but this data allows {design.k_max} (see k_max). Pass fewer."
            )
        unit = design.box.to_unit(centers)
        if not ((unit >= 0) & (unit <= 1)).all():
            raise ValueError(
                "init has centres outside the box of the data (its range, widened by box_margin). "
                "Move them inside or raise box_margin."
            )
        return unit

    def _warn_of_dependent_features(self, box: Box, fixed: FixedPart) -> None:
        used = np.flatnonzero(box.varies)[fixed.kept]
        left_out = sorted(set(range(self.n_features_in_)) - set(used.tolist()))
        if left_out:
            names = getattr(self, "feature_names_in_", None)
            shown = [str(names[j]) if names is not None else str(j) for j in left_out[:10]]
            more = f" and {len(left_out) - 10} more" if len(left_out) > 10 else ""
            warnings.warn(
                f"Features left out of the linear term, as they are constant or depend on those before them: "
                f"{', '.join(shown)}{more}. Their linear_coef_ is 0.",
                DependentFeaturesWarning,
                stacklevel=5,
            )

    def _store(self, design: Design, result: AnnealResult, *, single_output: bool) -> None:
        best = result.chains[result.best_chain].best
        network = best.network
        n_total = design.target.n_total
        self._network = network
        self._single_output = single_output
        self.n_bases_ = best.n_bases
        self.centers_ = network.centers
        self.intercept_ = self._squeeze_outputs(network.intercept)
        self.linear_coef_ = self._squeeze_outputs(network.linear_coef)
        self.basis_coef_ = self._squeeze_outputs(network.basis_coef)
        self.metric_ = network.metric
        self.noise_variance_ = self._squeeze_outputs(best.rss / n_total)
        self.log_posterior_ = best.log_posterior
        self.criterion_value_ = criterion_value(best.log_posterior, n_total, best.rss.size)
        self.n_iter_ = result.chains[result.best_chain].n_iter
        self.result_ = result

    def _squeeze(self, Y: Floats) -> Floats:
        return Y[:, 0] if self._single_output else Y

    def _squeeze_outputs(self, values: Floats) -> Any:
        return values[0] if self._single_output else values


def _check_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingData:
    inputs, outputs = validate_data(
        estimator, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
    )
    weight = _check_frequencies(sample_weight, inputs)
    present = weight > 0
    Y = np.asarray(outputs, dtype=np.float64).reshape(len(inputs), -1)
    data = TrainingData(inputs[present], Y[present], weight[present], single_output=np.ndim(outputs) == 1)
    _check_magnitude(data.X, "X")
    _check_magnitude(data.Y, "y")
    return data


def _check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Floats:
    inputs: Floats = validate_data(estimator, X, dtype=np.float64, reset=False)
    return inputs


def _seed_sequence(random_state: int | np.random.RandomState | None) -> np.random.SeedSequence:
    words = check_random_state(random_state).randint(0, 2**31 - 1, size=4)
    return np.random.SeedSequence([int(word) for word in words])


def _check_frequencies(sample_weight: ArrayLike | None, X: Floats) -> Floats:
    weight: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if weight.sum() < 2:
        raise ValueError(
            f"sample_weight says how often each row counts, and must add up to at least 2. Got a sum of "
            f"{weight.sum():.6g}."
        )
    return weight


def _check_magnitude(values: Floats, name: str) -> None:
    largest = np.abs(values).max(axis=0)
    for column, size in enumerate(largest.tolist()):
        where = f"{name}[:, {column}]" if largest.size > 1 else name
        if size > LARGEST_VALUE:
            raise ValueError(
                f"{where} holds values as large as {size:.3g}, whose squares overflow. Rescale it to stay below "
                f"{LARGEST_VALUE:g}."
            )
        if 0 < size < SMALLEST_VALUE:
            raise ValueError(
                f"{where} holds nothing larger than {size:.3g}, whose squares vanish. Rescale it to reach above "
                f"{SMALLEST_VALUE:g}."
            )
