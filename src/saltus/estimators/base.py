"""What the estimators have in common: options, checks, and the way from data to a design."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

import saltus
from saltus._typing import Floats
from saltus.engine.drivers.anneal import shares_memory
from saltus.engine.drivers.checkpoints import Checkpoint, Logbook, fingerprint
from saltus.engine.problem.criteria import Counts
from saltus.engine.problem.design import Box, Design, FixedPart, count_distinct_rows, make_design
from saltus.estimators.callbacks import CallbackSupportMixin
from saltus.estimators.magnitude import check_magnitude, places_of
from saltus.estimators.notes import ColumnNotes, DataNotes, given_output_names, name_inputs, name_outputs
from saltus.families import RADIAL_NAMES, Basis, Radial, resolve_basis
from saltus.families.distances import METRICS, check_metric_matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from onnx import ModelProto

    from saltus.inspection.summary import Summary

# The default k_max is this, or what keeps the design's columns at half the rows.
DEFAULT_K_MAX = 50

# A metric move factors the whole design anew, which takes as long as this many steps or so.
STEPS_BETWEEN_METRIC_MOVES = 20


@dataclass(frozen=True)
class TrainingData:
    """What `fit` was given, checked; rows of weight 0 are gone."""

    X: Floats  # (N, d)
    Y: Floats  # (N, c)
    weight: Floats  # (N,)
    single_output: bool  # y was one-dimensional


class DependentFeaturesWarning(UserWarning):
    """Some features were left out of the linear term, as they depend on the others.

    Attributes
    ----------
    features : tuple of int
        Their numbers.
    """

    def __init__(self, message: str, features: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.features = tuple(features)


class EarlyEndWarning(UserWarning):
    """A fit was ended before its time, by Ctrl-C or a callback; the model is what had been found by then."""


class NetworkRegressor(CallbackSupportMixin, MultiOutputMixin, RegressorMixin, BaseEstimator):
    """A regressor that is found among networks of basis functions. Subclasses supply the penalty and the search."""

    basis: str | Radial
    metric: str | ArrayLike
    widths: str
    k_max: int | None
    box_margin: float
    init: str | ArrayLike
    n_features_in_: int
    data_notes_: DataNotes
    _single_output: bool

    # Whether the scale of distances may be chosen inside, where the basis has none of its own.
    _rescale_distances: ClassVar[bool] = True

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "basis": [StrOptions(set(RADIAL_NAMES)), Radial],
        "metric": [StrOptions(set(METRICS)), "array-like"],
        "widths": [StrOptions({"auto", "shared", "own"})],
        "k_max": [Interval(Integral, 0, None, closed="left"), None],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "split_scale": [Interval(Real, 0, 0.5, closed="right")],
        "walk_scale": [Interval(Real, 0, None, closed="neither")],
        "box_margin": [Interval(Real, 0, 10, closed="both")],
        "init": [StrOptions({"random", "empty"}), "array-like"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    @contextmanager
    def _as_it_was_if_it_fails(self) -> Iterator[None]:
        """Leave the estimator as it was if what is done inside fails or is interrupted."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with np.printoptions(threshold=12, edgeitems=2, precision=4):  # of a long array, its corners are enough
            return str(super().__repr__(N_CHAR_MAX))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def summary(self) -> "Summary":
        """Say what was chosen and how sure that is: size, inputs, noise and convergence, in plain words.

        Returns
        -------
        summary : Summary
            Print it, or let a notebook show it.
        """
        check_is_fitted(self)
        from saltus.inspection.summary import summarize

        return summarize(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, from which :func:`saltus.load` makes it again.

        The file holds arrays and JSON and nothing that could run. It is written whole or not at all.

        Parameters
        ----------
        path : str or path-like
            An existing file is replaced.

        Raises
        ------
        FileError
            If a parameter is an object of a class that is not of this library, such as a schedule of one's own.
        """
        from saltus.storage.files import save

        save(self, path)

    def plot(self, X: ArrayLike | None = None, y: ArrayLike | None = None, *, output: int | str = 0) -> "Figure":
        """Draw the fit, the size, what the inputs do, the centres and how the chains went, in one figure.

        `saltus.plots` has each picture alone. Needs the extra `plot`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or None
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Rows to draw; a model does not keep those that it was fitted to. Without them, the fit is left out unless
            there is one input.
        output : int or str, default=0
            Which output, by number or name.

        Returns
        -------
        figure : matplotlib Figure
        """
        check_is_fitted(self)
        from saltus.plots import plot_overview

        return plot_overview(self, X, y, output=output)

    def to_onnx(self, dtype: DTypeLike = np.float64) -> "ModelProto":
        """Write the fitted model as an ONNX model, which predicts without Python. Needs the extra `onnx`.

        The input is `X` (N, n_features), for any N. The output of an AnnealedRegressor is `y`, of the shape that
        `predict` gives it; those of a BayesianRegressor are `mean` and `std`, of a new y, noise included.

        Parameters
        ----------
        dtype : {np.float64, np.float32}, default=np.float64
            The type of the input and the outputs. The arithmetic is in float64 either way: the terms of a network are
            often thousands of times larger than their sum, whose third digit float32 would spoil.

        Returns
        -------
        model : onnx.ModelProto
            :func:`saltus.export_onnx` writes it to a file.
        """
        from saltus.onnx.export import make_onnx

        return make_onnx(self, dtype)

    def report(
        self,
        path: str | os.PathLike[str],
        X: ArrayLike | None = None,
        y: ArrayLike | None = None,
        *,
        X_test: ArrayLike | None = None,
        y_test: ArrayLike | None = None,
        title: str | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Write one HTML file that shows the model to a colleague. Needs the extra `plot`.

        It has the summary, pictures, the model as a formula, what the data were, all options, and the code that makes
        it again. It needs no network, runs no script, and suits phones, print, and light and dark screens. A file of
        that name is replaced, once the new one is complete.

        Parameters
        ----------
        path : str or path
        X : array-like of shape (n_samples, n_features) or None
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Rows to draw and to score, such as those of the fit, which a model does not keep.
        X_test, y_test : array-like or None
            Rows that the fit has not seen, to draw and to score.
        title : str or None
        notes : sequence of str
            What else to say of the data, such as how many rows were left out, and why.
        """
        check_is_fitted(self)
        from saltus.report import write_report

        write_report(self, path, X, y, X_test=X_test, y_test=y_test, title=title, notes=notes)

    def _penalty(self, counts: Counts, k_max: int) -> Floats:
        raise NotImplementedError

    @property
    def _learns_metric(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "learned"

    # What widths="auto" chooses where either may be right.
    _auto_widths: ClassVar[tuple[bool, ...]] = (True,)

    def _kinds_of_widths(self, basis: Basis) -> tuple[bool, ...]:
        """List whether each basis function has a width of its own, for every kind of chain."""
        if self.widths == "own" and basis.degree is not None:
            raise ValueError(
                f"widths='own' needs a basis with a width, such as 'gaussian': for {basis!r}, another width is only "
                f"another coefficient. Choose another basis, or widths='shared'."
            )
        if self.widths == "auto" and self._learns_metric and basis.has_width:
            return self._auto_widths
        return (self.widths == "own",)

    def _make_design(self, data: TrainingData) -> Design:
        X, Y, weight = data.X, data.Y, data.weight
        n_features = X.shape[1]
        metric = self.metric if isinstance(self.metric, str) else check_metric_matrix(self.metric, n_features)
        box = Box.around(X, float(self.box_margin))
        fixed = FixedPart.of(box.to_unit(X), weight)
        m_fixed = fixed.Q.shape[1]
        self._warn_of_dependent_features(box, fixed)
        n_coordinates = int(box.varies.sum())
        n_independent = min(count_distinct_rows(X, Y), int(weight.sum()))
        k_max = self._resolve_k_max(n_independent, m_fixed) if n_coordinates else 0
        basis = resolve_basis(self.basis)
        counts = Counts(float(weight.sum()), Y.shape[1], m_fixed, n_coordinates)
        first, *others = self._kinds_of_widths(basis)
        penalties = [self._penalty(replace(counts, own_widths=own), k_max) for own in (first, *others)]
        design = make_design(
            X,
            Y,
            weight,
            box=box,
            fixed=fixed,
            basis=basis,
            metric=metric,
            penalty=penalties[0],
            own_widths=first,
            rescale=self._rescale_distances,
        )
        return replace(design, alternative=design.with_own_widths(penalties[1])) if others else design

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
            return np.empty((0, design.to_metric.shape[1])) if self.init == "empty" else None
        centers = np.asarray(self.init, dtype=np.float64)
        if centers.ndim != 2 or centers.shape[1] != self.n_features_in_:
            raise ValueError(
                f"init must be an array of shape (k, {self.n_features_in_}), one row for each centre. "
                f"Got shape {centers.shape}."
            )
        if not np.isfinite(centers).all():
            raise ValueError("init must be finite. Got NaN or infinity in it.")
        k_max = min(kind.k_max for kind in design.kinds)
        if len(centers) > k_max:
            raise ValueError(f"init has {len(centers)} centres, but this data allows {k_max} (see k_max). Pass fewer.")
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
            warning = DependentFeaturesWarning(
                f"Features left out of the linear term, as they are constant or depend on those before them: "
                f"{', '.join(shown)}{more}. Their linear_coef_ is 0.",
                left_out,
            )
            warnings.warn(warning, stacklevel=6)

    def _logbook(
        self,
        design: Design,
        options: str,
        checkpoint: str | os.PathLike[str] | None,
        checkpoint_every: float,
        resume: str | os.PathLike[str] | None,
        n_chains: int,
    ) -> tuple[Logbook | None, Checkpoint | None]:
        """Open the checkpoints that `fit` was asked to write and to go on from."""
        if checkpoint is None and resume is None:
            return None, None
        if not checkpoint_every >= 0:
            raise ValueError(f"checkpoint_every is a number of seconds, 0 or more. Got {checkpoint_every!r}.")
        if not shares_memory():
            raise ValueError("Checkpoints need chains on threads. Leave out the joblib backend that uses processes.")
        from saltus.storage.checkpoints import read_checkpoint, write_checkpoint

        mark = fingerprint(design, f"{saltus.__version__} {type(self).__name__} {options}")
        resumed = None if resume is None else read_checkpoint(resume, design, mark, n_chains)
        if checkpoint is None:
            return None, resumed
        return Logbook(lambda state: write_checkpoint(checkpoint, state), mark, float(checkpoint_every)), resumed

    def _squeeze(self, Y: Floats) -> Floats:
        return Y[:, 0] if self._single_output else Y

    def _squeeze_outputs(self, values: Floats) -> Any:
        return values[0] if self._single_output else values


def check_data(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> TrainingData:
    """Check what `fit` was given, by scikit-learn's rules and ours, and note on the estimator what it was."""
    inputs, outputs = validate_data(
        estimator, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
    )
    weight = _check_frequencies(sample_weight, inputs)
    present = weight > 0
    Y = np.asarray(outputs, dtype=np.float64).reshape(len(inputs), -1)
    data = TrainingData(inputs[present], Y[present], weight[present], single_output=np.ndim(outputs) == 1)
    feature_names = getattr(estimator, "feature_names_in_", None)
    check_magnitude(data.X, places_of("X", feature_names, data.X.shape[1]))
    check_magnitude(data.Y, places_of("y", given_output_names(y, data.Y.shape[1]), data.Y.shape[1]))
    estimator.data_notes_ = DataNotes(
        n_rows=len(data.X),
        total_weight=float(data.weight.sum()),
        inputs=ColumnNotes.of(name_inputs(feature_names, data.X.shape[1]), data.X, data.weight),
        outputs=ColumnNotes.of(name_outputs(y, data.Y.shape[1]), data.Y, data.weight),
    )
    return data


def check_inputs(estimator: BaseEstimator, X: ArrayLike) -> Floats:
    """Check what `predict` was given."""
    inputs: Floats = validate_data(estimator, X, dtype=np.float64, reset=False)
    return inputs


def warn_of_early_end(ending: str, what: str) -> None:
    """Say that a fit was ended before its time."""
    warnings.warn(early_end(ending, what), EarlyEndWarning, stacklevel=5)


def early_end(ending: str, what: str) -> str:
    """Say that a model is made of what there was when its fit was ended."""
    return f"{ending}: the model is made of what there was by then, {what}."


def seed_sequence(random_state: int | np.random.RandomState | None) -> np.random.SeedSequence:
    """Turn scikit-learn's idea of a seed into NumPy's, from which chains draw theirs."""
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
