"""Peers from PyPI and SciPy, each as its own documentation uses it. `benchmarks/requirements.txt` pins them.

What a package standardises by itself is left to it; what it asks the user to choose is chosen by the cross-validated
search of `scikit`, with the same budget for all. A package that is missing raises ImportError, which the tables name.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.interpolate import RBFInterpolator
from scipy.stats import loguniform
from sklearn.base import BaseEstimator, RegressorMixin

from benchmarks.compare.adapter import Adapter, PerOutput
from benchmarks.compare.scikit import Tuned, inverse_square_width
from benchmarks.compare.scores import Distribution
from saltus._typing import Floats


class BayesPPR(Adapter):
    """Bayesian projection pursuit (Collins, Francom and Rumsey, 2024): all defaults, 9 000 + 1 000 iterations."""

    def __init__(self, seed: int, **options: Any) -> None:
        from pyBayesPPR import bppr

        self.bppr, self.seed, self.options = bppr, seed, options

    def fit(self, X: Floats, Y: Floats) -> None:
        np.random.seed(self.seed)  # noqa: NPY002, the package draws from the global generator
        self.model = self.bppr(X, Y[:, 0], silent=True, **self.options)

    def predict(self, X: Floats) -> Floats:
        return self.model.predict(X).mean(axis=0)[:, None]

    def distribution(self, X: Floats) -> Distribution:
        return with_noise(self.seed, self.model.predict(X), self.model.samples.s2)

    @property
    def n_terms(self) -> float:
        """The mean number of ridge functions."""
        return float(np.mean(self.model.samples.n_ridge))

    @property
    def settings(self) -> str:
        return f"bppr({worded(self.options)})"


class Bass(Adapter):
    """Bayesian adaptive splines (Francom and Sanso, 2020): all defaults, 9 000 + 1 000 iterations.

    Its documentation: "Default settings of priors and algorithmic parameters should only be changed by users who
    understand the model."
    """

    def __init__(self, seed: int, **options: Any) -> None:
        import pyBASS

        self.bass, self.seed, self.options = pyBASS.bass, seed, options

    def fit(self, X: Floats, Y: Floats) -> None:
        np.random.seed(self.seed)  # noqa: NPY002, the package draws from the global generator
        self.model = self.bass(X, Y[:, 0], verbose=False, **self.options)

    def predict(self, X: Floats) -> Floats:
        return self.model.predict(X).mean(axis=0)[:, None]

    def distribution(self, X: Floats) -> Distribution:
        return Distribution(draws=self.model.predict(X, nugget=True)[:, :, None])

    @property
    def n_terms(self) -> float:
        """The mean number of basis functions."""
        return float(np.mean(self.model.samples.nbasis))

    @property
    def settings(self) -> str:
        return f"bass({worded(self.options)})"


class Bart(Adapter):
    """stochtree's BART, 200 trees: four chains, warm-started from grown forests as its multi-chain guide does."""

    def __init__(self, seed: int, num_chains: int = 4, num_gfr: int = 10, num_mcmc: int = 500) -> None:
        from stochtree import BARTModel

        self.model, self.seed = BARTModel(), seed
        self.options = {"num_gfr": num_gfr, "num_mcmc": num_mcmc}
        self.general = {"num_chains": num_chains, "num_threads": 1, "random_seed": seed}

    def fit(self, X: Floats, Y: Floats) -> None:
        self.model.sample(X, Y[:, 0], **self.options, general_params=self.general)

    def predict(self, X: Floats) -> Floats:
        return self.model.predict(X, type="mean", terms="y_hat")[:, None]

    def distribution(self, X: Floats) -> Distribution:
        draws = self.model.predict(X, type="posterior", terms="y_hat").T
        return with_noise(self.seed, draws, self.model.global_var_samples)

    @property
    def settings(self) -> str:
        return f"BARTModel.sample({worded(self.options)}, general_params={self.general})"


class RelevanceVectors(Tuned):
    """fastrvm's RVR with an RBF kernel; its width, and whether it has an intercept, tuned."""

    def __init__(self, seed: int) -> None:
        from fastrvm import RVR

        super().__init__(seed, RVR(kernel="rbf"), {"gamma": inverse_square_width, "fit_intercept": [True, False]})

    def distribution(self, X: Floats) -> Distribution:
        inputs, outputs = self.model.regressor_[0], self.model.transformer_
        mean, std = self.fitted.predict(inputs.transform(X), return_std=True)
        return Distribution(mean=outputs.inverse_transform(mean[:, None]), std=std[:, None] * outputs.scale_)

    @property
    def n_terms(self) -> float:
        return float(self.fitted.n_relevance_)


class Kriging(Adapter):
    """SMT's KRG, squared exponential with a width for each input, ten starts: its defaults.

    Its noise tutorial estimates the noise by `eval_noise` where there is some.
    """

    def __init__(self, seed: int, **options: Any) -> None:
        from smt.surrogate_models import KRG

        self.krg, self.seed, self.options = KRG, seed, options

    def warm_up(self, X: Floats, Y: Floats) -> None:
        model = Kriging(self.seed, **{**self.options, "n_start": 1})
        model.exact = self.exact
        model.fit(X, Y)
        model.distribution(X)

    def fit(self, X: Floats, Y: Floats) -> None:
        self.model = self.krg(print_global=False, seed=self.seed, eval_noise=not self.exact, **self.options)
        self.model.set_training_values(X, Y[:, 0])
        self.model.train()

    def predict(self, X: Floats) -> Floats:
        return self.model.predict_values(X)

    def distribution(self, X: Floats) -> Distribution:
        variance = self.model.predict_variances(X)
        if not self.exact:  # of the function alone; the noise is in units of the process variance
            variance = variance + self.model.optimal_noise * self.model.optimal_par["sigma2"]
        return Distribution(mean=self.predict(X), std=np.sqrt(np.maximum(variance, 1e-300)))

    @property
    def n_terms(self) -> float:
        """A kernel for each row."""
        return float(len(self.model.X_norma))

    @property
    def settings(self) -> str:
        return f"KRG(eval_noise={not self.exact}{', ' if self.options else ''}{worded(self.options)})"


class Mars(Adapter):
    """mars-earth's Earth with Friedman's knot spacing at 0.05, py-earth's default: without it every row is a knot.

    Additive and with pairs of inputs, whichever has the smaller GCV, the method's own criterion; 2 a knot for the
    first, 3 for the second, as in Friedman's paper and R's earth.
    """

    PENALTIES = ((1, 2.0), (2, 3.0))

    def __init__(self, seed: int, spacing: float = 0.05) -> None:
        from pymars import Earth

        self.earth, self.spacing = Earth, spacing

    def fit(self, X: Floats, Y: Floats) -> None:
        spans = {"minspan_alpha": self.spacing, "endspan_alpha": self.spacing}
        degrees = [(degree, penalty) for degree, penalty in self.PENALTIES if degree <= X.shape[1]]
        fits = [self.earth(max_degree=degree, penalty=penalty, **spans).fit(X, Y[:, 0]) for degree, penalty in degrees]
        self.model = min(fits, key=lambda fit: fit.gcv_)

    def predict(self, X: Floats) -> Floats:
        return self.model.predict(X)[:, None]

    @property
    def n_terms(self) -> float:
        return float(len(self.model.basis_))

    @property
    def settings(self) -> str:
        return repr(self.model)


class Trees(Adapter):
    """Boosted trees of a package of their own, or boosted functions of one input and of pairs, with all defaults."""

    def __init__(self, make: Callable[..., Any], **options: Any) -> None:
        self.make, self.options = make, options

    def fit(self, X: Floats, Y: Floats) -> None:
        self.model = self.make(**self.options).fit(X, Y[:, 0])

    def predict(self, X: Floats) -> Floats:
        return np.asarray(self.model.predict(X))[:, None]

    @property
    def settings(self) -> str:
        return f"{self.make.__name__}({worded(self.options)})"


def catboost(seed: int, **options: Any) -> Adapter:
    """Make CatBoost as its authors recommend it, with its defaults; on one thread, without files."""
    from catboost import CatBoostRegressor

    quiet = {"verbose": 0, "thread_count": 1, "allow_writing_files": False}
    return PerOutput(lambda: Trees(CatBoostRegressor, random_seed=seed, **quiet, **options))


def lightgbm(seed: int, **options: Any) -> Adapter:
    """Make LightGBM with its defaults, on one thread."""
    from lightgbm import LGBMRegressor

    return PerOutput(lambda: Trees(LGBMRegressor, random_state=seed, n_jobs=1, verbose=-1, **options))


def ebm(seed: int, **options: Any) -> Adapter:
    """Make the explainable boosting machine of InterpretML with its defaults, on one thread."""
    from interpret.glassbox import ExplainableBoostingRegressor

    return PerOutput(lambda: Trees(ExplainableBoostingRegressor, random_state=seed, n_jobs=1, **options))


class Interpolator(RegressorMixin, BaseEstimator):
    """SciPy's RBFInterpolator as an estimator; above 5 000 rows with the neighbours its documentation advises."""

    MOST_ROWS = 5000
    N_NEIGHBORS = 100

    def __init__(self, kernel: str = "thin_plate_spline", smoothing: float = 0.0, epsilon: float = 1.0) -> None:
        self.kernel, self.smoothing, self.epsilon = kernel, smoothing, epsilon

    def fit(self, X: Floats, y: Floats) -> "Interpolator":
        neighbors = self.N_NEIGHBORS if len(X) > self.MOST_ROWS else None
        self.n_features_in_ = X.shape[1]
        self.model_ = RBFInterpolator(
            X, y, kernel=self.kernel, smoothing=self.smoothing, epsilon=self.epsilon, neighbors=neighbors
        )
        return self

    def predict(self, X: Floats) -> Floats:
        return self.model_(X)


def interpolator(seed: int) -> Adapter:
    """Tune the smoothing, the kernel, and its width where it has one."""
    smoothing = loguniform(1e-8, 1e3)
    polyharmonic = {"kernel": ["thin_plate_spline", "cubic", "linear"], "smoothing": smoothing}
    local = {"kernel": ["gaussian", "multiquadric"], "smoothing": smoothing, "epsilon": loguniform(0.05, 20)}
    return Tuned(seed, Interpolator(), polyharmonic, local)


def with_noise(seed: int, draws: Floats, noise_variance: Floats) -> Distribution:
    """Add noise to draws (n_draws, n) of a function, each with its own variance."""
    noise = np.random.default_rng(seed).standard_normal(draws.shape) * np.sqrt(noise_variance)[:, None]
    return Distribution(draws=(draws + noise)[:, :, None])


def worded(options: dict[str, Any]) -> str:
    """Write options as arguments."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


# The module that each needs, where it is not SciPy's.
NEEDS = {
    "bppr": "pyBayesPPR",
    "bass": "pyBASS",
    "bart": "stochtree",
    "rvm": "fastrvm",
    "mars": "pymars",
    "krg": "smt",
    "catboost": "catboost",
    "lightgbm": "lightgbm",
    "ebm": "interpret",
}

PEERS = {
    "bppr": lambda seed, **options: PerOutput(lambda: BayesPPR(seed, **options)),
    "bass": lambda seed, **options: PerOutput(lambda: Bass(seed, **options)),
    "bart": lambda seed, **options: PerOutput(lambda: Bart(seed, **options)),
    "rvm": lambda seed: PerOutput(lambda: RelevanceVectors(seed)),
    "mars": lambda seed, **options: PerOutput(lambda: Mars(seed, **options)),
    "krg": lambda seed, **options: PerOutput(lambda: Kriging(seed, **options)),
    "rbf": interpolator,
    "catboost": catboost,
    "lightgbm": lightgbm,
    "ebm": ebm,
}
