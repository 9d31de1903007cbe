"""What the estimators have in common: options, `fit`, and the way from data to a design."""

import os
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral, Real
from time import monotonic
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from saltus._blas import single_threaded_blas
from saltus._typing import Floats
from saltus.engine.drivers.calibration import Calibration
from saltus.engine.drivers.checkpoints import Checkpoint
from saltus.engine.drivers.refining import ManyRows
from saltus.engine.problem.criteria import Counts
from saltus.engine.problem.design import Design, count_distinct_rows, make_design, with_variant
from saltus.engine.problem.problem import Criterion
from saltus.engine.problem.scaling import Box, LinearTerm
from saltus.engine.search.policy import DEFAULT_POLICY, SearchPolicy
from saltus.estimators.arguments import MOST_CHAINS, MOST_ITERATIONS, array_of, check_callback
from saltus.estimators.callbacks import CallbackSupportMixin, FitTasks, with_callbacks
from saltus.estimators.checkpointing import CheckpointFiles
from saltus.estimators.checks import TrainingData, check_data, seed_sequence
from saltus.estimators.description import DescribedModel
from saltus.estimators.largest import largest_k
from saltus.estimators.many_rows import Reading, is_chunked
from saltus.estimators.notes import DataNotes
from saltus.estimators.progress import Callback, Reporter, Ticker, ToCriterion
from saltus.families import FAMILIES, Family, FittedMixture, Mixture, UserFamily, resolve_basis
from saltus.families.inputs import FamilyRows
from saltus.families.options import NAMES
from saltus.reading import TableReader
from saltus.reading.reader import FROM_DTYPE

# A linear term of all inputs that has more columns than this share of the rows is warned of.
MOST_LINEAR = 0.5


class DependentFeaturesWarning(UserWarning):
    """Some features were left out of the linear term, as they are constant or depend on other features.

    Attributes
    ----------
    features : tuple of int
        The numbers of these features.
    """

    def __init__(self, message: str, features: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.features = tuple(features)


class ManyInputsWarning(UserWarning):
    """A linear term of all inputs has so many coefficients that it follows the noise of the rows."""


class EarlyEndWarning(UserWarning):
    """Ctrl-C or a callback ended a fit early; the model is made of what the fit had found by then."""


@dataclass(frozen=True)
class Search:
    """How an estimator will search, once it knows the design."""

    n_chains: int
    n_iter: int | None  # of each chain; None where that is not known before
    mark: str  # the options that a checkpoint depends on
    run: Callable[..., Any]  # takes the seeds, the design, and how to run; what it returns is for `_store`
    check: Callable[[Checkpoint, Design], None]  # raises ValueError for a checkpoint that it cannot have left
    max_seconds: float | None = None
    to_criterion: ToCriterion | None = None  # what progress is told as, rather than a log posterior


class NetworkRegressor(CallbackSupportMixin, DescribedModel, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor among networks of terms; its methods are `fit`, the hooks of it, and the steps from data to a design.

    Subclasses supply the criterion and the search. The steps share options, so they stay together.
    """

    basis: str | Family | list[str | Family]
    linear: str
    categorical_features: str | ArrayLike | None
    k_max: int | None
    box_margin: float
    init: str | ArrayLike
    n_features_in_: int
    n_jobs: int | None
    random_state: int | np.random.RandomState | None
    verbose: int
    data_notes_: DataNotes
    noise_variance_: Any
    _single_output: bool
    _reader: TableReader

    # How searches spend their effort.
    _policy: SearchPolicy = DEFAULT_POLICY

    # Whether terms that have no scale of their own may be given the one that suits the arithmetic. A ridge would see
    # it.
    _may_rescale: ClassVar[bool] = True

    # Whether chains may be of several variants, where the options of a family leave that open.
    _several_variants: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "basis": [StrOptions(set(NAMES)), *FAMILIES, UserFamily, list, tuple],
        "linear": [StrOptions({"auto", "all", "selected", "none"})],
        "categorical_features": ["array-like", StrOptions({FROM_DTYPE}), None],
        "k_max": [Interval(Integral, 0, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, MOST_ITERATIONS, closed="both")],
        "n_chains": [Interval(Integral, 1, MOST_CHAINS, closed="both")],
        "split_scale": [Interval(Real, 0, 0.5, closed="right")],
        "walk_scale": [Interval(Real, 0, None, closed="neither")],
        "box_margin": [Interval(Real, 0, 10, closed="both")],
        "init": [StrOptions({"random", "empty"}), "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [Interval(Integral, None, -1, closed="right"), Interval(Integral, 1, None, closed="left"), None],
        "verbose": ["verbose"],
    }

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with np.printoptions(threshold=12, edgeitems=2, precision=4):  # of a long array, its corners are enough
            return str(super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        return tags

    @with_callbacks  # type: ignore[untyped-decorator]
    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        callback: Callback | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: str | os.PathLike[str] | None = None,
    ) -> Self:
        """Fit the model to rows: find the best network, or sample the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, text, categories and dates, in an array, a list or a data frame; values may be missing.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: a weight of 2 is the row twice, a weight of 0 is no row.
        callback : callable, default=None
            Called with a :class:`saltus.Progress` at most ten times a second; the fit ends if it returns a true value.
            It is not called for chains that run in other processes.
        checkpoint : str or path-like, default=None
            The file that holds the state of the fit; it is written every `checkpoint_every` seconds and at the end.
        checkpoint_every : float, default=60.0
            Seconds between two checkpoints.
        resume : str or path-like, default=None
            The checkpoint file of a fit that is to be continued, with the same data and parameters. The model is, to
            the last bit, that of a fit which was never interrupted, whatever `random_state` is now. Only `max_time`
            begins to count again, so that a fit that `max_time` ends may differ.

        Returns
        -------
        self
            Ctrl-C ends the fit early, with a warning. The model then has the best network so far, or the draws so far,
            or during the warm-up the present states of the chains. Ctrl-C pressed twice raises KeyboardInterrupt.
        """
        began = monotonic()
        check_callback(callback)
        files = CheckpointFiles.of(checkpoint, checkpoint_every, resume)
        tasks = FitTasks(self, X, y, self._n_planned)
        with as_it_was_if_it_fails(self), single_threaded_blas(), Ticker(draws=bool(self.verbose)) as ticker:
            reading = self._read(X, y, sample_weight)
            design = self._make_design(reading.seen)
            search = self._plan(design, monotonic() - began, reading.many)
            tasks.expect(search.n_chains)
            checkpointer, resumed = files.open(
                reading.seen, design, f"{type(self).__name__} {search.mark}", search.n_chains, search.check
            )
            seeds = seed_sequence(self.random_state).spawn(search.n_chains)
            n_jobs = None if self.n_jobs is None else min(self.n_jobs, search.n_chains)
            with Reporter(
                search.n_chains,
                search.n_iter,
                max_seconds=search.max_seconds,
                callbacks=[tasks] if callback is None else [callback, tasks],
                verbose=bool(self.verbose),
                to_criterion=search.to_criterion,
                ticker=ticker,
            ) as reporter:
                found = search.run(
                    seeds, design, n_jobs=n_jobs, listener=reporter, checkpointer=checkpointer, resumed=resumed
                )
            self._single_output = reading.seen.single_output
            ending = self._store(reading.seen, design, found)
        tasks.close()
        if ending:
            warnings.warn(ending, EarlyEndWarning, stacklevel=4)
        return self

    @property
    @abstractmethod
    def _n_planned(self) -> int | None:
        """How many iterations a chain will have; None where that is not known before."""

    def _read(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Reading:
        """Check what `fit` was given, and say which rows its search sees: all of them."""
        if is_chunked(X) or is_chunked(y):
            raise TypeError(
                f"{type(self).__name__} takes rows in memory, and was given a dask collection. Compute a part of it, "
                f"such as 100 000 rows, or use AnnealedRegressor, which takes it as it is."
            )
        return Reading(check_data(self, X, y, sample_weight))

    @abstractmethod
    def _plan(self, design: Design, seconds_used: float, many: ManyRows | None) -> Search:
        """Turn the options into a search; so many seconds have passed since the fit began.

        The rows that it sees may be a part of many.
        """

    @abstractmethod
    def _store(self, data: TrainingData, design: Design, found: Any) -> str:
        """Keep what the search returned as fitted attributes; return a warning if it was ended before its time."""

    @abstractmethod
    def _criterion(self, counts: Counts, k_max: int, mixture: FittedMixture, term_cost: int) -> Criterion:
        """Say what terms and their parameters cost; a term counts for `term_cost` parameters, or 0: for its own."""

    def _has_ridge(self, chooses_inputs: bool) -> bool:
        """Say whether coefficients have a prior, a ridge, which holds down what the data do not."""
        return False

    def _calibrate(self, data: TrainingData, mixture: Mixture) -> Calibration:
        """Say how many parameters every term counts for, and how chains start."""
        return Calibration(0)

    def _make_design(self, data: TrainingData) -> Design:
        mixture = resolve_basis(self.basis, data.X.shape[1])
        linear = self.linear
        if linear == "auto":
            linear = "selected" if mixture.chooses_inputs or data.n_levels.any() else "all"
        if linear == "all" and data.n_levels.any():
            raise ValueError(
                "linear='all' needs inputs that are numbers, and some inputs are categories. Choose linear='selected', "
                "under which the search takes each level of a category in or leaves it out."
            )
        if linear == "selected":
            mixture = mixture.with_linear_terms()
        calibration = self._calibrate(data, mixture)
        design = self._design_of(data, mixture, linear == "all", calibration.term_cost)
        design = replace(design, descends=calibration.descends)
        if linear == "all":
            self._warn_of_dependent_features(design.box, design.linear)
            self._warn_of_many_inputs(len(design.linear.kept), float(data.weight.sum()))
        return design

    def _design_of(
        self, data: TrainingData, mixture: Mixture, all_linear: bool, term_cost: int, *, is_part: bool = False
    ) -> Design:
        """Prepare what chains work on. Where rows are part of the data, k_max may be less than asked for."""
        X, Y, weight = data.X, data.Y, data.weight
        box = Box.around(X, float(self.box_margin), data.n_levels)
        U = box.to_unit(X)
        linear = LinearTerm.of(U, weight, only_constant=not all_linear)
        m_fixed = linear.Q.shape[1]
        n_independent = min(count_distinct_rows(X, Y), int(weight.sum()))
        may_be_hundreds = mixture.chooses_inputs and not self._has_ridge(mixture.chooses_inputs)
        counted = n_independent, m_fixed, mixture.most_columns
        k_max = largest_k(self.k_max, *counted, may_be_hundreds, is_part=is_part) if box.varies.any() else 0
        counts = Counts(float(weight.sum()), Y.shape[1], m_fixed, n_independent)
        ranges = np.stack([np.nanmin(X[:, box.varies], axis=0), np.nanmax(X[:, box.varies], axis=0)])
        n_levels = data.n_levels[box.varies]
        rows = FamilyRows(U, weight, box.width[box.varies], box.varies, self._may_rescale, ranges, n_levels)
        first, *others = (variant.fit(rows) for variant in mixture.variants(several=self._several_variants))
        ridge = self._has_ridge(mixture.chooses_inputs)
        criterion = self._criterion(counts, k_max, first, term_cost)
        design = make_design(X, Y, weight, box=box, linear=linear, mixture=first, criterion=criterion, ridge=ridge)
        for other in others:
            criterion = self._criterion(counts, k_max, other, term_cost)
            design = with_variant(design, X, other, criterion, ridge=ridge)
        return design

    def _starting_points(self, design: Design) -> Floats | None:
        """Find the points (k, inputs that vary) of the unit cube that terms start at; None where these are drawn."""
        if isinstance(self.init, str):
            return np.empty((0, int(design.box.varies.sum()))) if self.init == "empty" else None
        n_inputs = len(self._reader.order)
        what = f"an array of shape (k, {n_inputs}), one row of numbers for each term"
        points = array_of("init", what, self.init, np.float64)
        if points.ndim != 2 or points.shape[1] != n_inputs:
            raise ValueError(
                f"init must be an array of shape (k, {n_inputs}), one row for each term. Got shape {points.shape}."
            )
        if not np.isfinite(points).all():
            raise ValueError("init must be finite. Got NaN or infinity in it.")
        k_max = min(variant.k_max for variant in design.variants)
        if len(points) > k_max:
            raise ValueError(f"init has {len(points)} terms, but this data allows {k_max} (see k_max). Pass fewer.")
        unit = design.box.to_unit(points)
        if not ((unit >= 0) & (unit <= 1)).all():
            raise ValueError(
                "init has points outside the box of the data (its range, widened by box_margin). "
                "Move them inside or raise box_margin."
            )
        return unit

    def _warn_of_dependent_features(self, box: Box, linear: LinearTerm) -> None:
        used = np.flatnonzero(box.varies)[linear.kept]
        left_out = sorted(set(range(len(box.varies))) - set(used.tolist()))
        if left_out:
            names = self._reader.names if hasattr(self, "feature_names_in_") else range(len(box.varies))
            shown = [str(names[j]) for j in left_out[:10]]
            more = f" and {len(left_out) - 10} more" if len(left_out) > 10 else ""
            warning = DependentFeaturesWarning(
                f"Features left out of the linear term, as they are constant or depend on the features before them: "
                f"{', '.join(shown)}{more}. Their linear_coef_ is 0.",
                left_out,
            )
            warnings.warn(warning, stacklevel=6)

    def _warn_of_many_inputs(self, n_kept: int, n_rows: float) -> None:
        if n_kept + 1 > MOST_LINEAR * n_rows:
            warnings.warn(
                f"The linear term has {n_kept + 1} coefficients for {n_rows:.6g} rows: it follows the noise of these "
                f"rows, and prediction intervals are too narrow or useless. Choose linear='selected', under which the "
                f"search takes each input in or leaves it out.",
                ManyInputsWarning,
                stacklevel=6,
            )

    def _keep(self, attributes: Mapping[str, Any], known: Iterable[str]) -> None:
        """Keep the fitted attributes that a family names, and forget those of an earlier fit."""
        for name in known:
            self.__dict__.pop(name, None)
        self.__dict__.update(attributes)

    def _squeeze(self, Y: Floats) -> Floats:
        return Y[:, 0] if self._single_output else Y

    def _squeeze_outputs(self, values: Floats) -> Any:
        return values[0] if self._single_output else values


@contextmanager
def as_it_was_if_it_fails(estimator: BaseEstimator) -> Iterator[None]:
    """Leave an estimator as it was if what is done inside fails or is interrupted."""
    before = dict(estimator.__dict__)
    try:
        yield
    except BaseException:
        estimator.__dict__ = before
        raise


def describe_early_end(ending: str, what: str) -> str:
    """Say that a model is made of what there was when its fit was ended."""
    return f"{ending}: the model is made of what the fit had found by then, {what}."
