"""The Bayesian regressor: an average over networks, weighted by their posterior."""

import warnings
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.engine.drivers.calibration import Calibration
from saltus.engine.drivers.chain import left_of
from saltus.engine.drivers.outputs import Posterior, SamplerSettings
from saltus.engine.drivers.plausible import check_sampled
from saltus.engine.drivers.refining import ManyRows
from saltus.engine.drivers.sample import network_of_draw, sample_posterior
from saltus.engine.problem.criteria import Counts, free_criterion
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Criterion
from saltus.engine.problem.span import degrees_of_freedom, span_criterion
from saltus.engine.results.left_out import correct_intervals
from saltus.engine.results.leverages import effective_parameters
from saltus.engine.results.predictive import Features, Predictive
from saltus.estimators.annealed import AnnealedRegressor
from saltus.estimators.arguments import (
    MOST_CHAINS,
    MOST_ITERATIONS,
    MOST_SCALE,
    MOST_SHAPE,
    check_count,
    check_coverage,
)
from saltus.estimators.base import NetworkRegressor, Search, describe_early_end
from saltus.estimators.calibrating import calibrate_sampler
from saltus.estimators.checks import TrainingData, check_inputs
from saltus.estimators.sampled import SampledModel, rng_of
from saltus.estimators.sampling import make_settings, resolve_chains, resolve_iterations
from saltus.families import FAMILY_POSTERIOR_ATTRIBUTES, Family, FittedMixture, Mixture


class BayesianRegressor(SampledModel):
    """The full posterior over networks of every size, by reversible-jump Markov chain Monte Carlo.

    For terms that choose their inputs, under a g-prior: see `prior`. For radial ones, the hierarchical model of
    Andrieu, de Freitas and Doucet (Neural Computation, 2001), on standardised inputs and outputs: the number k of terms
    has a Poisson prior, cut at k_max, whose rate L has a Gamma prior; the parameters of terms are uniform, and with
    them the centres of radial terms in the box of the data; the coefficients of output i are N(0, sigma_i^2 delta_i^2),
    with inverse-gamma priors on sigma_i^2 and delta_i^2. For radial terms whose metric is learned, each input is
    in the metric with probability 1/2, with a relevance whose logarithm is uniform between those of 0.01 and 100, and
    the squares of a Gaussian over the rows sum to 1 or more. Where terms have widths of their own, the logarithm of
    each width is uniform between those of 1/4 and 4. Predictions average over the posterior of the size, the terms and
    all of these.

    The defaults were chosen by error to the truth on simulated data. ``saltus.demo.PAPER_PRIORS`` has the options that
    make it the papers' model: cubic radial terms under the standardised metric, ``ridge="plain"``, ``ridge_scale=10``.

    Parameters
    ----------
    basis, linear, categorical_features, k_max, split_scale, walk_scale, box_margin, init, random_state, n_jobs, verbose
        As in :class:`saltus.AnnealedRegressor`.
    n_iter : int or "auto", default="auto"
        Iterations of each chain after its warm-up. "auto": 20 000 for radial terms; for terms that choose their inputs
        as many, or as few as 2 000 where rows are many.
    n_warmup : int or None, default=None
        Iterations of each chain before the first draw is kept. None: half of n_iter, or what a third of `max_time`
        allows if that is less.
    max_time : float or None, default=None
        Seconds after which the fit ends with the draws so far. Chains that run one after the other, as `n_jobs` says,
        have equal shares of this time.
    n_draws : int, default=125
        Draws kept of each chain, evenly spaced over n_iter.
    n_chains : int or "auto", default="auto"
        Independent chains. "auto": 4 for radial terms; for terms that choose their inputs under a g-prior 4 for up to
        400 rows and 3 for up to 1 000, where each runs beside three hotter copies of itself, with which it exchanges
        its state (parallel tempering); otherwise 8 for up to 400 rows, 6 for up to 3 000, then 4.
    prior : {"auto", "g", "ridge"}, default="auto"
        The prior of the coefficients and of k. "g": a g-prior, under which coefficients may be as large as the data
        ask, and a geometric prior of k: P(k) is proportional to exp(-k/2) times the probability that k terms drawn at
        random depend neither on each other nor on too few rows. "ridge": the hierarchical ridge and the Poisson prior
        of the papers. "auto": "g" for terms that choose their inputs, "ridge" for radial terms.
    g : "auto" or float, default="auto"
        g of the g-prior: the prior of the coefficients says as much as 1/g of the data. "auto": it has a prior of its
        own, (1 + g/N)^(-3/2), and is drawn with the rest.
    noise_shape, noise_scale : float, default=0.0
        v0 and g0 of sigma^2 ~ IG(v0/2, g0/2), in units of the variance of y. 0 and 0 is the papers' improper prior.
    ridge : {"relative", "plain"}, default="relative"
        With prior="ridge", which column a coefficient multiplies. "plain": the column of its term, as in the papers.
        "relative": the part of that column which the linear term does not explain, scaled to the length of the column,
        so that wide terms, which are nearly linear, may have large coefficients.
    ridge_shape, ridge_scale : float, default=2.0 and 200.0
        a and b of delta^2 ~ IG(a, b). The papers: 2 and 10.
    rate_shape, rate_rate : float, default=1e-4 and 1e-4
        e1 and e2 of L ~ Gamma(1/2 + e1, e2), as in the papers.

    Attributes
    ----------
    posterior_k_ : dict
        The posterior probability of each number of terms.
    effective_parameters_ : float or ndarray of shape (n_outputs,)
        The effective degrees of freedom of the fit, in the mean over draws: the trace of the matrix that makes fitted
        values of y. It is the number of coefficients, less what their prior holds back.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        The posterior mean of the noise variance.
    relevance_, inclusion_ : ndarray of shape (n_features,)
        The posterior mean of the relevance of each input in the terms, and the posterior probability that the relevance
        is not 0. Given by the radial family where its metric is learned.
    map_estimate_ : Network
        The network of the draw with the highest joint density, its coefficients at their posterior mean.
    chains_ : tuple of PosteriorChain
        The draws of each chain, and how often each move was chosen, could be made, and was accepted.
    diagnostics_ : tuple of Diagnostic
        R-hat and effective sample sizes of k, the log posterior, the noise variances, and the function at a few points.
    status_ : str
        Whether `max_time` ended the fit, and whether the chains converged, in words. A ConvergenceWarning names what
        makes predictions unreliable: moves that were never accepted, a k that never changed, and an R-hat above 1.1 or
        fewer than 50 effective draws, in all, of the noise variance or of the function at the points.
    n_chains_ : int
        Number of chains, also of those that `max_time` ended before their first draw.
    n_iter_ : int
        Iterations of each chain after its warm-up.
    n_warmup_ : int
        Iterations of each chain before its first draw; fewer where `max_time` did not allow as many.
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

    _may_rescale: ClassVar[bool] = False

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NetworkRegressor._parameter_constraints,
        "n_iter": [Interval(Integral, 1, MOST_ITERATIONS, closed="both"), StrOptions({"auto"})],
        "n_warmup": [Interval(Integral, 0, MOST_ITERATIONS, closed="both"), None],
        "n_draws": [Interval(Integral, 1, MOST_ITERATIONS, closed="both")],
        "n_chains": [Interval(Integral, 1, MOST_CHAINS, closed="both"), StrOptions({"auto"})],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "prior": [StrOptions({"auto", "g", "ridge"})],
        "g": [StrOptions({"auto"}), Interval(Real, 0, MOST_SCALE, closed="right")],
        "noise_shape": [Interval(Real, 0, MOST_SHAPE, closed="both")],
        "noise_scale": [Interval(Real, 0, MOST_SCALE, closed="both")],
        "ridge": [StrOptions({"relative", "plain"})],
        "ridge_shape": [Interval(Real, 0, MOST_SHAPE, closed="right")],
        "ridge_scale": [Interval(Real, 0, MOST_SCALE, closed="right")],
        "rate_shape": [Interval(Real, 0, MOST_SHAPE, closed="both")],
        "rate_rate": [Interval(Real, 0, MOST_SCALE, closed="both")],
    }

    def __init__(
        self,
        basis: str | Family | list[str | Family] = "auto",
        *,
        linear: str = "auto",
        categorical_features: str | ArrayLike | None = "from_dtype",
        k_max: int | None = None,
        n_iter: int | str = "auto",
        n_warmup: int | None = None,
        max_time: float | None = None,
        n_draws: int = 125,
        n_chains: int | str = "auto",
        prior: str = "auto",
        g: str | float = "auto",
        noise_shape: float = 0.0,
        noise_scale: float = 0.0,
        ridge: str = "relative",
        ridge_shape: float = 2.0,
        ridge_scale: float = 200.0,
        rate_shape: float = 1e-4,
        rate_rate: float = 1e-4,
        split_scale: float = 0.1,
        walk_scale: float = 0.1,
        box_margin: float = 0.1,
        init: str | ArrayLike = "random",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.linear = linear
        self.categorical_features = categorical_features
        self.k_max = k_max
        self.n_iter = n_iter
        self.n_warmup = n_warmup
        self.max_time = max_time
        self.n_draws = n_draws
        self.n_chains = n_chains
        self.prior = prior
        self.g = g
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

    def predict_interval(self, X: ArrayLike, coverage: float = 0.9, *, of: str = "y") -> tuple[Floats, Floats]:
        """Predict central intervals for new y, or for the function.

        Where rows of the data, each left out in turn, show that the posterior is wrong about how new y spread (their
        noise is not normal, say), intervals of new y are corrected for that, and `summary` says so.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9
            The probability that y, or the function, is inside, half of the rest on each side.
        of : {"y", "function"}, default="y"
            What is to be inside: a new y, noise included, or the function, which is the mean of y.

        Returns
        -------
        low, high : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        coverage = check_coverage(coverage)
        if of not in ("y", "function"):
            raise ValueError(f'of must be "y", for a new y, or "function", for the mean of y. Got {of!r}.')
        inputs = check_inputs(self, X)
        low = np.empty((len(inputs), len(self._predictive.outputs.scale)))
        high = np.empty_like(low)
        for rows, mixture in self._predictive.mixtures(inputs):
            low[rows], high[rows] = self._predictive.interval(mixture, coverage, of=of)
        return self._squeeze(low), self._squeeze(high)

    def sample_y(
        self, X: ArrayLike, n_samples: int = 1, random_state: int | np.random.RandomState | None = 0
    ) -> Floats:
        """Draw new y, noise included, from the posterior; one sample is one function at all rows.

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
        n = check_count("n_samples", n_samples)
        return self._squeeze(self._predictive.sample(rng_of(random_state), check_inputs(self, X), n))

    def _has_ridge(self, chooses_inputs: bool) -> bool:
        """Say whether the prior of the coefficients is the hierarchical ridge."""
        return self.prior == "ridge" or (self.prior == "auto" and not chooses_inputs)

    def _criterion(self, counts: Counts, k_max: int, mixture: FittedMixture, term_cost: int) -> Criterion:
        # k and what terms share have a prior instead.
        n_a_term, n_shared = mixture.most_parameters(counts.n_outputs), mixture.n_switches
        if self._has_ridge(mixture.chooses_inputs):
            return free_criterion(k_max, n_a_term, n_shared)
        # With as many parameters as rows that differ, residuals could vanish, and rounding would be the noise.
        n_most = counts.n_outputs * (counts.n_distinct - 1 - counts.n_fixed)
        return span_criterion(k_max, n_a_term, n_shared, n_most)

    def _prior_settings(self, design: Design) -> SamplerSettings:
        self.n_iter_, self.n_warmup_ = 1, 0
        return make_settings(self, design, None)

    def _calibrate(self, data: TrainingData, mixture: Mixture) -> Calibration:
        has_random_start = isinstance(self.init, str) and self.init == "random"
        if not mixture.chooses_inputs or self._has_ridge(mixture.chooses_inputs) or not has_random_start:
            return Calibration(0)
        searching = AnnealedRegressor(self.basis, linear=self.linear, k_max=self.k_max, box_margin=self.box_margin)
        searching._policy = self._policy
        return calibrate_sampler(searching, data, mixture, self.max_time)

    @property
    def _n_planned(self) -> int | None:
        if isinstance(self.n_iter, str):
            return None
        return (self.n_iter // 2 if self.n_warmup is None else int(self.n_warmup)) + self.n_iter

    def _plan(self, design: Design, seconds_used: float, many: ManyRows | None) -> Search:
        has_g_prior = not self._has_ridge(design.mixture.chooses_inputs)
        self.n_chains_ = resolve_chains(self.n_chains, design, has_g_prior=has_g_prior)
        self.n_iter_ = resolve_iterations(self.n_iter, design)
        self.n_warmup_ = self.n_iter_ // 2 if self.n_warmup is None else int(self.n_warmup)
        settings = make_settings(self, design, self._starting_points(design))
        start = None if settings.start is None else settings.start.tolist()
        max_seconds = left_of(self.max_time, seconds_used)
        return Search(
            n_chains=self.n_chains_,
            n_iter=settings.n_total,
            mark=f"{replace(settings, start=None)} {start}",
            run=partial(
                sample_posterior, settings=settings, max_seconds=max_seconds, may_cut_warmup=self.n_warmup is None
            ),
            check=partial(check_sampled, settings=settings),
            max_seconds=max_seconds,
        )

    def _what_there_is(self, posterior: Posterior) -> str:
        """Say what a fit that was ended early is made of."""
        from saltus.inspection.document import count

        n_chains = len(posterior.chains)
        n_done = posterior.n_unconverged
        if n_done is None:
            return f"{count(n_chains, 'chain')} of {count(len(posterior.chains[0].draws), 'draw')}"
        when = "in warm-up" if n_done < self.n_warmup_ else "before any draw"
        return (
            f"the state of {count(n_chains, 'chain')} {when}, after {count(n_done, 'iteration')}. Predictions are "
            f"those of unconverged states: let it run for longer"
        )

    def _store(self, data: TrainingData, design: Design, posterior: Posterior) -> str:
        from saltus.inspection.diagnostics import FEWEST_DRAWS, collect_scalars, diagnose, judge

        chains = posterior.chains
        draws = tuple(draw for chain in chains for draw in chain.draws)
        has_ridge, v0 = self._has_ridge(design.mixture.chooses_inputs), float(self.noise_shape)
        degrees = design.problem.n_total + v0 if has_ridge else degrees_of_freedom(design.problem, v0)
        predictive = Predictive(Features.of(design), design.outputs, draws, degrees)
        chain_of_draw = np.repeat(np.arange(len(chains)), [len(chain.draws) for chain in chains])
        corrected = correct_intervals(predictive, chain_of_draw, data.X, data.Y, data.weight)
        self._predictive = replace(predictive, corrected=corrected)
        self.effective_parameters_ = self._squeeze_outputs(effective_parameters(predictive, data.X, data.weight))
        sizes, counts = np.unique(np.concatenate([chain.draws.n_terms for chain in chains]), return_counts=True)
        self.posterior_k_ = {int(k): float(n) / len(draws) for k, n in zip(sizes, counts, strict=True)}
        variance = np.mean([draw.sigma_squared for draw in draws], axis=0) * design.outputs.scale**2
        self.noise_variance_ = self._squeeze_outputs(variance)
        self.map_estimate_ = network_of_draw(design, max(draws, key=lambda draw: draw.log_posterior))
        shared = np.concatenate([chain.draws.shared for chain in chains])
        self._keep(design.mixture.inspection.posterior_attributes(design.box, shared), FAMILY_POSTERIOR_ATTRIBUTES)
        self.chains_ = chains
        self.diagnostics_ = diagnose(collect_scalars([chain.draws for chain in chains], design, predictive))
        why = f"Stopped by max_time after {self.max_time:g} s" if posterior.out_of_time else posterior.ended_early
        ending = describe_early_end(why, self._what_there_is(posterior)) if why else ""
        if posterior.n_unconverged is not None:
            self.status_ = ending
            return ending
        n_draws = len(chains[0].draws)
        verdict = judge(
            self.diagnostics_,
            [chain.moves for chain in chains],
            n_draws=n_draws,
            k_max=design.k_max,
            out_of_time=posterior.out_of_time,
        )
        self.status_ = verdict.status
        if posterior.out_of_time:
            self.status_ = f"{why}, with {self._what_there_is(posterior)}. {verdict.status}"
        for said in verdict.warnings:
            warnings.warn(said, ConvergenceWarning, stacklevel=5)
        # An end by max_time is expected, unless it comes too soon to judge.
        return "" if posterior.out_of_time and n_draws >= FEWEST_DRAWS else ending
