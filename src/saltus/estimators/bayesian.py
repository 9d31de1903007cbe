"""The Bayesian regressor: an average over networks, weighted by their posterior."""

import os
import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

import saltus
from saltus._typing import Floats
from saltus.engine.drivers.blas import single_threaded_blas
from saltus.engine.drivers.sample import Posterior, PosteriorChain, SamplerSettings, network_of_draw, sample_posterior
from saltus.engine.kernels.chain import NEVER, Tuning
from saltus.engine.kernels.gibbs import Prior
from saltus.engine.problem.criteria import Counts
from saltus.engine.problem.design import Design
from saltus.engine.results.predictive import Features, Predictive
from saltus.estimators.base import (
    NetworkRegressor,
    check_data,
    check_inputs,
    early_end,
    seed_sequence,
    warn_of_early_end,
)
from saltus.estimators.callbacks import FitTasks, with_callbacks
from saltus.estimators.progress import Callback, Reporter
from saltus.families import Radial
from saltus.inspection.datatree import make_datatree
from saltus.inspection.diagnostics import diagnose, judge
from saltus.inspection.document import count

if TYPE_CHECKING:
    import xarray

# A metric move factors the whole design anew, and that of a posterior is larger than that of an annealed network.
STEPS_BETWEEN_METRIC_MOVES = 30

# Convergence is judged, among other things, by the function at so many fixed points.
N_POINTS = 3


class BayesianRegressor(NetworkRegressor):
    """The full posterior over radial basis networks of every size, by reversible-jump Markov chain Monte Carlo.

    The hierarchical model of Andrieu, de Freitas and Doucet (Neural Computation, 2001), on standardised inputs and
    outputs: k has a Poisson prior, cut at k_max, whose rate L has a Gamma prior; centres are uniform in the box of the
    data; the coefficients of output i are N(0, sigma_i^2 delta_i^2 V^-1), with inverse-gamma priors on sigma_i^2 and
    delta_i^2. Under metric="learned" each input is in the metric with probability 1/2, with a relevance whose logarithm
    is uniform between those of 0.01 and 100, and the squares of a Gaussian over the rows sum to 1 or more.
    Where widths are their own, the logarithm of each is uniform between those of 1/4 and 4. Predictions average over
    sizes, centres and all of these.

    The defaults were chosen by error to the truth on simulated data. ``saltus.demo.PAPER_PRIORS`` has the options that
    make it the papers' model: a cubic basis under the standardised metric, ``ridge="plain"``, ``ridge_scale=10``,
    ``rate_shape=rate_rate=1e-4``.

    Parameters
    ----------
    basis, metric, widths, k_max, split_scale, walk_scale, box_margin, init, random_state, n_jobs, verbose
        As in :class:`saltus.AnnealedRegressor`.
    n_iter : int, default=20_000
        Iterations of each chain after its warm-up.
    n_warmup : int or None, default=None
        Iterations of each chain before the first draw is kept. None: half of n_iter.
    n_draws : int, default=125
        Draws kept of each chain, evenly spaced over n_iter.
    n_chains : int, default=4
        Independent chains.
    noise_shape, noise_scale : float, default=0.0
        v0 and g0 of sigma^2 ~ IG(v0/2, g0/2), in units of the variance of y. 0 and 0 is the papers' improper prior.
    ridge : {"relative", "plain"}, default="relative"
        V, which is diagonal. "plain": I, as in the papers. "relative": for a basis function the share of its sum of
        squares over the rows that the linear term does not explain, so that wide basis functions, which are nearly
        linear, may have large coefficients; 1 for the linear term itself.
    ridge_shape, ridge_scale : float, default=2.0 and 2e4
        a and b of delta^2 ~ IG(a, b). The papers: 2 and 10.
    rate_shape, rate_rate : float, default=1000.0 and 10.0
        e1 and e2 of L ~ Gamma(1/2 + e1, e2): by default L is near 100, so that what keeps k small is the ridge and not
        the prior of k. The papers: 1e-4 and 1e-4.

    Attributes
    ----------
    posterior_k_ : dict
        The posterior probability of each number of basis functions.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        The posterior mean of the noise variance.
    relevance_, inclusion_ : ndarray of shape (n_features,)
        The posterior mean of the relevance of each input in the basis functions, and the posterior probability that it
        is not 0. Only with metric="learned".
    map_estimate_ : Network
        The network of the draw with the highest joint density, its coefficients at their posterior mean.
    chains_ : tuple of PosteriorChain
        The draws of each chain, and how often each move was chosen, could be made, and was accepted.
    diagnostics_ : tuple of Diagnostic
        R-hat and effective sample sizes of k, the log posterior, the noise variances, and the function at a few points.
    status_ : str
        Whether the chains converged, in words. What predictions suffer from also comes as a ConvergenceWarning: moves
        that were never accepted, a k that never changed, and an R-hat above 1.1 or fewer than 50 effective draws, in
        all, of the noise variance or of the function at the points.
    n_warmup_ : int
        Iterations of each chain before its first draw.
    data_notes_ : DataNotes
        The number of rows, and the names and ranges of inputs and outputs.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from saltus import BayesianRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(150, 1))
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.standard_normal(150)
    >>> model = BayesianRegressor(random_state=0).fit(X, y)
    >>> mean, std = model.predict(X, return_std=True)
    >>> low, high = model.predict_interval(X, 0.9)
    >>> bool(0.8 < np.mean((low <= y) & (y <= high)) <= 1)
    True
    """

    # r^3 is on the scale of the metric: the ridge prior sees it.
    _rescale_distances: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NetworkRegressor._parameter_constraints,
        "n_warmup": [Interval(Integral, 0, None, closed="left"), None],
        "n_draws": [Interval(Integral, 1, None, closed="left")],
        "noise_shape": [Interval(Real, 0, None, closed="left")],
        "noise_scale": [Interval(Real, 0, None, closed="left")],
        "ridge": [StrOptions({"relative", "plain"})],
        "ridge_shape": [Interval(Real, 0, None, closed="neither")],
        "ridge_scale": [Interval(Real, 0, None, closed="neither")],
        "rate_shape": [Interval(Real, 0, None, closed="left")],
        "rate_rate": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        basis: str | Radial = "gaussian",
        *,
        metric: str | ArrayLike = "learned",
        widths: str = "auto",
        k_max: int | None = None,
        n_iter: int = 20_000,
        n_warmup: int | None = None,
        n_draws: int = 125,
        n_chains: int = 4,
        noise_shape: float = 0.0,
        noise_scale: float = 0.0,
        ridge: str = "relative",
        ridge_shape: float = 2.0,
        ridge_scale: float = 2e4,
        rate_shape: float = 1000.0,
        rate_rate: float = 10.0,
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
        self.widths = widths
        self.k_max = k_max
        self.n_iter = n_iter
        self.n_warmup = n_warmup
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.noise_shape = noise_shape
        self.noise_scale = noise_scale
        self.ridge = ridge
        self.ridge_shape = ridge_shape
        self.ridge_scale = ridge_scale
        self.rate_shape = rate_shape
        self.rate_rate = rate_rate
        self.split_scale = split_scale
        self.walk_scale = walk_scale
        self.box_margin = box_margin
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        """Sample the posterior.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: a weight of 2 is the row twice, a weight of 0 is no row.
        callback : callable, default=None
            Told a :class:`saltus.Progress` at most ten times a second; the fit ends if it returns something true.
        checkpoint, checkpoint_every, resume
            As in :meth:`saltus.AnnealedRegressor.fit`.

        Returns
        -------
        self
            Ctrl-C ends the fit early, with a warning and the draws that there are, or during warm-up the states that
            chains are in; pressed twice, it raises.
        """
        n_warmup = self.n_iter // 2 if self.n_warmup is None else int(self.n_warmup)
        tasks = FitTasks(self, X, y, n_warmup + self.n_iter)
        tasks.expect(self.n_chains)
        callbacks: list[Callback] = [tasks] if callback is None else [callback, tasks]
        with self._as_it_was_if_it_fails(), single_threaded_blas():
            data = check_data(self, X, y, sample_weight)
            design = self._make_design(data)
            settings = self._settings(design)
            start = None if settings.start is None else settings.start.tolist()
            options = f"{replace(settings, start=None)} {start}"
            logbook, resumed = self._logbook(design, options, checkpoint, checkpoint_every, resume, self.n_chains)
            n_total = settings.n_warmup + settings.n_draws * settings.steps_between_draws
            seeds = seed_sequence(self.random_state).spawn(self.n_chains)
            with Reporter(self.n_chains, n_total, callbacks=callbacks, verbose=bool(self.verbose)) as reporter:
                posterior = sample_posterior(
                    seeds, design, settings, n_jobs=self.n_jobs, listener=reporter, logbook=logbook, resumed=resumed
                )
            self._store(design, posterior, single_output=data.single_output)
        tasks.close()
        if posterior.ended_early:
            warn_of_early_end(posterior.ended_early, self._what_there_is(posterior))
        return self

    def predict(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict the mean of y, and its standard deviation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        return_std : bool, default=False

        Returns
        -------
        mean : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        std : ndarray of the same shape
            Of a new y, noise included. Only with `return_std`.
        """
        check_is_fitted(self)
        inputs = check_inputs(self, X)
        mean = np.empty((len(inputs), len(self._predictive.outputs.scale)))
        variance = np.empty_like(mean)
        for rows, mixture in self._predictive.mixtures(inputs):
            mean[rows], variance[rows] = mixture.moments()
        if return_std:
            return self._squeeze(mean), self._squeeze(np.sqrt(variance))
        return self._squeeze(mean)

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9) -> tuple[Floats, Floats]:
        """Predict central intervals for new y.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            The probability that y is inside, half of the rest on each side.

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must be between 0 and 1. Got {coverage!r}.")
        inputs = check_inputs(self, X)
        low = np.empty((len(inputs), len(self._predictive.outputs.scale)))
        high = np.empty_like(low)
        for rows, mixture in self._predictive.mixtures(inputs):
            low[rows] = mixture.quantile(0.5 - 0.5 * coverage)
            high[rows] = mixture.quantile(0.5 + 0.5 * coverage)
        return self._squeeze(low), self._squeeze(high)

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0
    ) -> Floats:
        """Draw new y from the posterior; the rows of one sample share their function.

        Parameters
        ----------
        X : array-like of shape (n_samples_X, n_features)
        n_samples : int, default=1
        random_state : int, RandomState instance or None, default=0

        Returns
        -------
        y : ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
        """
        check_is_fitted(self)
        rng = np.random.default_rng(check_random_state(random_state).randint(0, 2**31 - 1, size=4))
        return self._squeeze(self._predictive.sample(rng, check_inputs(self, X), n_samples))

    def to_datatree(self) -> "xarray.DataTree":
        """Export the draws in the layout that ArviZ reads.

        Centres are in the user's units, NaN where a draw has fewer than the most; `center_exists` says where.

        Returns
        -------
        tree : xarray.DataTree
            With the groups `posterior` (k, sigma_squared, delta_squared, rate, centers, center_exists, widths, and the
            relevance of a learned metric) and `sample_stats` (lp). Needs the extra `xarray`.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)])
        return make_datatree(
            [chain.draws for chain in self.chains_],
            self._predictive.features.box,
            self._predictive.outputs,
            [str(name) for name in names],
            {"inference_library": "saltus", "inference_library_version": saltus.__version__, "model": repr(self)},
            learns_metric=self._learns_metric,
        )

    def _penalty(self, counts: Counts, k_max: int) -> Floats:
        # k and the relevances have a prior instead.
        return np.zeros((k_max + 1, counts.center_parameters + 1) if self._learns_metric else k_max + 1)

    def _settings(self, design: Design) -> SamplerSettings:
        self.n_warmup_ = self.n_iter // 2 if self.n_warmup is None else int(self.n_warmup)
        return SamplerSettings(
            n_warmup=self.n_warmup_,
            n_draws=min(self.n_draws, self.n_iter),
            steps_between_draws=max(self.n_iter // self.n_draws, 1),
            tuning=Tuning(
                float(self.split_scale),
                float(self.walk_scale),
                two_stage=True,
                steps_between_metric_moves=STEPS_BETWEEN_METRIC_MOVES if design.learns_metric else NEVER,
            ),
            prior=Prior(
                v0=float(self.noise_shape),
                g0=float(self.noise_scale),
                a=float(self.ridge_shape),
                b=float(self.ridge_scale),
                e1=float(self.rate_shape),
                e2=float(self.rate_rate),
            ),
            relative_ridge=self.ridge == "relative",
            start=self._starting_centers(design),
        )

    def _what_there_is(self, posterior: Posterior) -> str:
        """Say what a fit that was ended early is made of."""
        n_chains = len(posterior.chains)
        n_done = posterior.n_unconverged
        if n_done is None:
            return f"{count(n_chains, 'chain')} of {count(len(posterior.chains[0].draws), 'draw')}"
        when = "in warm-up" if n_done < self.n_warmup_ else "before any draw"
        return (
            f"the state of {count(n_chains, 'chain')} {when}, after {count(n_done, 'iteration')}. Predictions are "
            f"those of unconverged states: let it run for longer"
        )

    def _store(self, design: Design, posterior: Posterior, *, single_output: bool) -> None:
        chains = posterior.chains
        draws = tuple(draw for chain in chains for draw in chain.draws)
        self._single_output = single_output
        self._predictive = Predictive(
            Features.of(design), design.outputs, draws, design.target.n_total + float(self.noise_shape)
        )
        sizes, counts = np.unique(np.concatenate([chain.draws.n_bases for chain in chains]), return_counts=True)
        self.posterior_k_ = {int(k): float(n) / len(draws) for k, n in zip(sizes, counts, strict=True)}
        variance = np.mean([draw.sigma_squared for draw in draws], axis=0) * design.outputs.scale**2
        self.noise_variance_ = self._squeeze_outputs(variance)
        self.map_estimate_ = network_of_draw(design, max(draws, key=lambda draw: draw.log_posterior))
        for name in ("relevance_", "inclusion_"):
            self.__dict__.pop(name, None)
        if design.learns_metric:
            relevance = np.concatenate([chain.draws.relevance for chain in chains])
            self.relevance_, self.inclusion_ = np.zeros((2, self.n_features_in_))
            self.relevance_[design.box.varies] = relevance.mean(axis=0)
            self.inclusion_[design.box.varies] = (relevance > 0).mean(axis=0)
        self.chains_ = chains
        self.diagnostics_ = diagnose(self._scalars(chains, design))
        if posterior.n_unconverged is not None:
            self.status_ = early_end(posterior.ended_early, self._what_there_is(posterior))
            return
        verdict = judge(
            self.diagnostics_, [chain.moves for chain in chains], n_draws=len(chains[0].draws), k_max=design.k_max
        )
        self.status_ = verdict.status
        for said in verdict.warnings:
            warnings.warn(said, ConvergenceWarning, stacklevel=5)

    def _scalars(self, chains: tuple[PosteriorChain, ...], design: Design) -> dict[str, Floats]:
        """Collect scalars that do not depend on how centres are numbered, each (n_chains, n_draws)."""
        draws = [chain.draws for chain in chains]
        scalars = {
            "k": np.array([chain.n_bases for chain in draws], dtype=np.float64),
            "log posterior": np.array([chain.log_posterior for chain in draws]),
        }
        points = design.box.from_unit(np.random.default_rng(0).uniform(0.2, 0.8, (N_POINTS, design.box.varies.sum())))
        features = self._predictive.features
        values = np.array([[features.columns(points, draw) @ draw.mean for draw in chain] for chain in draws])
        for i in range(design.Y.shape[1]):
            of = f" of output {i}" if design.Y.shape[1] > 1 else ""
            scalars[f"sigma^2{of}"] = np.array([chain.sigma_squared[:, i] for chain in draws])
            for p in range(N_POINTS):
                scalars[f"f at point {p}{of}"] = values[:, :, p, i]
        return scalars
