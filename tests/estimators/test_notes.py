"""What a model remembers of its data, and how it shows itself."""

import numpy as np
import pandas as pd
import pytest

from saltus import AnnealedRegressor, BayesianRegressor, Geometric, Radial


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.uniform(0, 5, size=(40, 2)), columns=["width", "height"])


def fitted(X, y, sample_weight=None):
    return AnnealedRegressor("gaussian", n_iter=50, n_chains=1, init="empty", polish=False, random_state=0).fit(
        X, y, sample_weight
    )


def test_notes_hold_names_and_ranges(frame):
    y = pd.Series(frame["width"] + 1, name="area")
    notes = fitted(frame, y).data_notes_
    assert (notes.n_rows, notes.total_weight) == (40, 40.0)
    assert notes.input_names == ("width", "height")
    assert notes.output_names == ("area",)
    for found, wanted in zip(
        (notes.inputs.min, notes.inputs.mean, notes.inputs.std, notes.inputs.max),
        (frame.min(), frame.mean(), frame.std(ddof=0), frame.max()),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(notes.outputs.std, y.std(ddof=0))


@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_columns_of_a_size_that_cannot_be_squared_are_named(frame, size):
    y = pd.Series(frame["width"], name="area")
    with pytest.raises(ValueError, match=r"^The column 'height' of X holds .* Rescale it"):
        fitted(frame.assign(height=size), y)
    with pytest.raises(ValueError, match=r"^The column 'area' of y holds .* Rescale it"):
        fitted(frame, y * size)
    with pytest.raises(ValueError, match=r"^The column 'up' of y holds .* Rescale it"):
        fitted(frame, pd.DataFrame({"down": y, "up": y * size}))
    with pytest.raises(ValueError, match=r"^y\[:, 1\] holds .* Rescale it"):
        fitted(frame, np.column_stack([y, y * size]))


def test_a_weight_of_two_is_the_row_twice(frame):
    X, y = frame.to_numpy(), frame["width"].to_numpy()
    weight = np.r_[np.zeros(5), np.full(10, 2.0), np.ones(25)]
    weighted, repeated = fitted(X, y, weight).data_notes_, np.repeat(X, weight.astype(int), axis=0)
    assert (weighted.n_rows, weighted.total_weight) == (35, 45.0)
    np.testing.assert_allclose(weighted.inputs.mean, repeated.mean(axis=0))
    np.testing.assert_allclose(weighted.inputs.std, repeated.std(axis=0))
    np.testing.assert_allclose(weighted.inputs.min, repeated.min(axis=0))


def test_columns_without_names_are_numbered(frame):
    X = frame.to_numpy()
    assert fitted(X, X[:, 0]).data_notes_.input_names == ("x0", "x1")
    assert fitted(X, X[:, 0]).data_notes_.output_names == ("y",)
    assert fitted(X, X).data_notes_.output_names == ("y0", "y1")
    assert fitted(X, pd.DataFrame(X)).data_notes_.output_names == ("y0", "y1")
    assert fitted(X, frame).data_notes_.output_names == ("width", "height")


def test_the_bayesian_regressor_keeps_notes_too(frame):
    with pytest.warns(match="draws a chain are too few"):
        model = BayesianRegressor("gaussian", n_iter=20, n_draws=2, n_chains=1, random_state=0).fit(
            frame, frame["width"]
        )
    assert model.data_notes_.output_names == ("width",)


def test_repr_shows_what_was_chosen_and_only_the_corners_of_arrays():
    init = np.random.default_rng(0).uniform(size=(40, 3))
    shown = repr(AnnealedRegressor(Radial("cubic", width=0.5), schedule=Geometric(2, 0.1), init=init))
    assert "basis=Radial(name='cubic', width=0.5, metric='learned', widths='auto')" in shown
    assert "schedule=Geometric(start=2, end=0.1)" in shown
    assert "shape=(40, 3)" in shown
    assert len(shown) < 400
    assert repr(AnnealedRegressor()) == "AnnealedRegressor()"


def test_html_repr_shows_the_options():
    shown = AnnealedRegressor(Radial("cubic", width=0.5, metric=np.eye(2)))._repr_html_()
    assert "AnnealedRegressor" in shown
    assert "cubic" in shown
    assert "((1.0, 0.0), (0.0, 1.0))" in shown
