"""What every fitted model can show of itself. The work is done by packages that lie above, imported when called."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.estimators.checks import check_inputs, read_targets, read_weights, without_missing_targets
from saltus.estimators.fitted import FittedModel
from saltus.reading import take_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from onnx import ModelProto

    from saltus.inspection.formula import Formula
    from saltus.inspection.summary import Summary


class DescribedModel(FittedModel, BaseEstimator):
    """A model with a summary, pictures, a report, files and an ONNX form."""

    def summary(self) -> "Summary":
        """Say what was chosen and how sure that is: size, inputs, noise and convergence, in plain words.

        Returns
        -------
        summary : Summary
            Text: print it, slice it, or let a notebook show it.
        """
        check_is_fitted(self)
        return self._summarize()

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Find how much of the variance of y is predicted, R^2, where rows without a y do not count.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None

        Returns
        -------
        score : float
            1 is perfect, 0 what the mean of y would have.
        """
        if sample_weight is not None:
            sample_weight = read_weights(sample_weight)
        y = read_targets(self, y)
        X, y, sample_weight = without_missing_targets(take_table(X), y, sample_weight, stacklevel=3)
        return float(super().score(X, y, sample_weight))

    def formula(self) -> "Formula":
        """Write the network that describes the model as numbers: the best, or that of the most probable draw.

        Returns
        -------
        formula : Formula
            Its `predict` takes what `encode` gives, and is exact also where inputs are far from 0, such as x + 1e12:
            the fitted attributes, which are in the units of X, have lost digits there.
        """
        check_is_fitted(self)
        from saltus.inspection.formula import Formula

        return Formula.of(self._single_network)

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
        """Draw the fit, the size, what the inputs do, the terms and how the chains went, in one figure.

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

    def encode(self, X: ArrayLike) -> Floats:
        """Read a table as the model does: numbers, and the codes of levels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        inputs : ndarray of shape (n_samples, n_inputs)
            The inputs that `data_notes_.input_names` names, those that are numbers first. A code is the number of a
            level among `data_notes_.inputs.levels`. A missing value is NaN, or, where no training row lacks the value,
            its mean. Where all columns of X are numbers, the inputs are the columns of X.
        """
        check_is_fitted(self)
        return check_inputs(self, X)

    def to_onnx(self, dtype: DTypeLike = np.float64) -> "ModelProto":
        """Write the fitted model as an ONNX model, which predicts without Python. Needs the extra `onnx`.

        The input is `X` (N, n_features), for any N; of a model that was fitted to text, categories or dates, what
        `encode` makes of a table. The output of an AnnealedRegressor is `y`, of the shape that
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
        code: str | None = None,
    ) -> None:
        """Write one HTML file that shows the model to a colleague. Needs the extra `plot`.

        It has the summary, pictures, the model as a formula, what the data were, all options, and the code that makes
        it again, and a reader can try the model: the page carries it, with up to 40 of the rows given. It needs no
        network, runs no script but its own, and suits phones, print, and light and dark screens. A file of
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
        code : str or None
            What the page shows as the code that makes the model again, such as your script. None: code that reads the
            columns of X and y from a CSV file and fits the model with its options.
        """
        check_is_fitted(self)
        from saltus.report import write_report

        write_report(self, path, X, y, X_test=X_test, y_test=y_test, title=title, notes=notes, code=code)
