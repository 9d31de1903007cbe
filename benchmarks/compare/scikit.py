"""scikit-learn's regressors. All see standardised inputs; what is tuned is tuned with one budget."""

from typing import Any

import numpy as np
from scipy.stats import loguniform, randint
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import KFold, RandomizedSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from benchmarks.compare.adapter import Adapter, PerOutput, columns, flat
from benchmarks.compare.scores import Distribution
from saltus._typing import Floats

# The tuning budget, the same for every model that is tuned: so many random candidates, each cross-validated.
N_CANDIDATES = 20
N_FOLDS = 3
# Above this many rows the search is made on a random part of them, and the winner is fitted to all.
MOST_ROWS_TO_TUNE = 2000


class GaussianProcess(Adapter):
    """A constant times an RBF kernel with a length scale for each input, plus white noise where there is noise.

    Maximum likelihood: one ascent from length scales of one standard deviation, as scikit-learn's default; `n_restarts`
    adds random ones.
    """

    def __init__(self, seed: int, n_restarts: int = 0) -> None:
        self.seed, self.n_restarts = seed, n_restarts

    def fit(self, X: Floats, Y: Floats) -> None:
        kernel = ConstantKernel() * RBF(np.ones(X.shape[1]))
        if not self.exact:
            kernel += WhiteKernel()
        process = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=self.n_restarts, random_state=self.seed
        )
        self.model = make_pipeline(StandardScaler(), process).fit(X, flat(Y))

    def predict(self, X: Floats) -> Floats:
        return columns(self.model.predict(X))

    def distribution(self, X: Floats) -> Distribution:
        mean, std = self.model.predict(X, return_std=True)  # the white kernel's noise is in std
        return Distribution(mean=columns(mean), std=columns(std))

    @property
    def n_terms(self) -> float:
        """A kernel for each row."""
        return float(len(self.model[-1].X_train_))

    @property
    def settings(self) -> str:
        return f"StandardScaler, {self.model[-1]!r}"


def inverse_square_width(n_inputs: int) -> Any:
    """Spread gamma of exp(-gamma r^2) from a plane to a hundredth of a standard deviation, wider where r is longer."""
    return loguniform(1e-2 / n_inputs, 1e4 / n_inputs**2)


class Tuned(Adapter):
    """An estimator on standardised inputs and outputs, its options chosen by cross-validated random search.

    Each space maps an option to values, to a distribution, or to what gives one for a number of inputs.
    """

    def __init__(self, seed: int, estimator: BaseEstimator, *spaces: dict[str, Any]) -> None:
        self.seed, self.estimator, self.spaces = seed, estimator, spaces

    def fit(self, X: Floats, Y: Floats) -> None:
        pipeline = make_pipeline(StandardScaler(), self.estimator)
        model = TransformedTargetRegressor(pipeline, transformer=StandardScaler(), check_inverse=False)
        step = f"regressor__{pipeline.steps[-1][0]}__"
        spaces = [
            {step + name: values(X.shape[1]) if callable(values) else values for name, values in space.items()}
            for space in self.spaces
        ]
        search = RandomizedSearchCV(
            model,
            spaces,
            n_iter=N_CANDIDATES,
            cv=KFold(N_FOLDS, shuffle=True, random_state=self.seed),
            scoring="neg_mean_squared_error",
            random_state=self.seed,
            refit=False,
        )
        rows = np.random.default_rng(self.seed).permutation(len(X))[:MOST_ROWS_TO_TUNE]
        search.fit(X[rows], flat(Y[rows]))
        self.chosen = {name.removeprefix(step): value for name, value in search.best_params_.items()}
        self.model = model.set_params(**search.best_params_).fit(X, flat(Y))

    def predict(self, X: Floats) -> Floats:
        return columns(self.model.predict(X))

    @property
    def fitted(self) -> Any:
        """The estimator at the end of the pipeline."""
        return self.model.regressor_[-1]

    @property
    def n_terms(self) -> float | None:
        for name in ("support_", "dual_coef_"):
            if hasattr(self.fitted, name):
                return float(len(getattr(self.fitted, name)))
        if hasattr(self.fitted, "n_layers_"):
            return float(sum(bias.size for bias in self.fitted.intercepts_[:-1]))
        return None

    @property
    def settings(self) -> str:
        chosen = ", ".join(
            f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value!r}"
            for name, value in self.chosen.items()
        )
        return f"{type(self.fitted).__name__} of {N_CANDIDATES} candidates in {N_FOLDS} folds: {chosen}"


def kernel_ridge(seed: int) -> Adapter:
    """RBF kernel, width and ridge tuned."""
    return Tuned(seed, KernelRidge(kernel="rbf"), {"alpha": loguniform(1e-6, 10), "gamma": inverse_square_width})


def support_vectors(seed: int) -> Adapter:
    """RBF kernel, width and cost tuned, the tube a tenth of the standard deviation of y; one for each output."""
    space = {"C": loguniform(0.3, 1e3), "gamma": inverse_square_width}
    return PerOutput(lambda: Tuned(seed, SVR(kernel="rbf", cache_size=500), space))


def perceptron(seed: int) -> Adapter:
    """One to three layers by Adam or, on up to 2000 rows where its documentation prefers it, L-BFGS; all tuned."""
    layers = [(50,), (100,), (50, 50), (100, 100), (50, 50, 50)]
    common = {"hidden_layer_sizes": layers, "alpha": loguniform(1e-5, 10), "activation": ["relu", "tanh"]}
    adam = {**common, "solver": ["adam"], "learning_rate_init": loguniform(3e-4, 3e-2), "early_stopping": [True, False]}
    estimator = MLPRegressor(max_iter=1000, random_state=seed)
    return Tuned(seed, estimator, adam, {**common, "solver": ["lbfgs"]})


def boosting(seed: int) -> Adapter:
    """Boosted trees, rate, size and regularisation tuned; one for each output."""
    space = {
        "learning_rate": loguniform(0.02, 0.3),
        "max_iter": randint(50, 500),
        "max_leaf_nodes": randint(4, 32),
        "min_samples_leaf": randint(2, 40),
        "l2_regularization": loguniform(1e-6, 10),
    }
    return PerOutput(lambda: Tuned(seed, HistGradientBoostingRegressor(random_state=seed), space))


SCIKIT = {
    "gp": GaussianProcess,
    "gp-restarts": lambda seed, **options: GaussianProcess(seed, **{"n_restarts": 4, **options}),
    "kernel-ridge": kernel_ridge,
    "svr": support_vectors,
    "mlp": perceptron,
    "boosting": boosting,
}
