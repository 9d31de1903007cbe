"""The annealed regressor: the best network under an information criterion."""

import os
from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.engine.drivers.anneal import anneal
from saltus.engine.drivers.blas import single_threaded_blas
from saltus.engine.drivers.rounds import Settings
from saltus.engine.drivers.schedules import SCHEDULES, Schedule, resolve_schedule
from saltus.engine.kernels.chain import NEVER, Tuning
from saltus.engine.problem.criteria import CRITERIA, Counts, criterion_value, learned_metric_table, penalty_table
from saltus.engine.problem.design import Design
from saltus.engine.results.chains import AnnealResult
from saltus.engine.results.network import Network
from saltus.engine.search.starts import cost_of_a_basis
from saltus.estimators.base import (
    STEPS_BETWEEN_METRIC_MOVES,
    NetworkRegressor,
    check_data,
    check_inputs,
    seed_sequence,
    warn_of_early_end,
)
from saltus.estimators.callbacks import FitTasks, with_callbacks
from saltus.estimators.progress import Callback, Reporter
from saltus.families import Radial

# By default all chains together see about as many rows. On the tasks of benchmarks/compare with no more than 200 rows,
# seeds 20-27, 8 chains have .974 of the error of 4 (0.7 CPU s against 0.34); with 80 rows, .987 (0.31 against 0.15).
ROWS_OF_ALL_CHAINS = 2000
FEWEST_CHAINS, MOST_CHAINS = 4, 8


class AnnealedRegressor(NetworkRegressor):
    """A radial basis network whose size and centres are found by reversible-jump simulated annealing.

    The model is a linear term plus k basis functions. k and the centres maximise

        log pi(k, mu, rho) = -N/2 sum_i ln RSS_i(mu, rho) - P(k, rho)

    with the relevances rho of a learned metric, over outputs i, which is minus an information criterion up to a
    constant. The search is the annealed reversible-jump chain of Andrieu, de Freitas and Doucet (UAI 2000), helped by
    quasi-Newton steps where it starts and ends; the coefficients are least squares.

    Parameters
    ----------
    basis : str or Radial, default="gaussian"
        "linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric", each of width 1,
        or a :class:`saltus.Radial` with a width of its own.
    metric : {"learned", "standardized", "euclidean", "mahalanobis"} or array-like of shape (n_features, n_features), \
            default="learned"
        How distance to a centre is measured: each input in units of its standard deviation, times a relevance that is
        found with the centres and is 0 for inputs that do not matter; without relevances; in the inputs' own units;
        by the inverse covariance of the inputs (its pseudo-inverse where singular); or by the given positive
        semidefinite matrix M, r^2 = (x - mu)' M (x - mu).
    widths : {"auto", "shared", "own"}, default="auto"
        Whether basis functions share one width, or each has its own, found with its centre: between 1/4 and 4 times the
        width of the basis. "auto": half of the chains are of each kind and the criterion decides, where the metric is
        learned and the basis is "gaussian", "multiquadric" or "inverse_multiquadric"; otherwise shared. "linear" and
        "cubic" have no width, and "own" is refused.
    criterion : {"aicc", "bic", "mdl", "aic", "hqc", "ebic"} or float, default="aicc"
        The information criterion. A number is the cost C of one basis function in P(k) = C k.
    center_cost : {"full", "paper"}, default="full"
        How many parameters a centre counts for: one for each coordinate along an input that is switched on and two for
        a width of its own, or 1, as in the paper. Each relevance of a learned metric that is not 0 counts for 1.
    k_max : int or None, default=None
        The most basis functions. None: 50, or fewer where the columns of the design would outnumber half the
        distinct rows.
    n_iter : int or "auto", default="auto"
        Iterations of each chain. "auto": in rounds of 20 000, or in proportion less from 10 000 rows on, each annealed
        from the best state of its chain, until more than half of the chains agree on the best value to within 1 (or
        1e-4 for each row), or rounds bring no improvement; rounds that bring none are followed by longer ones.
    patience : int or None, default=1
        With "auto", how many rounds without an improvement of 1 (or 1e-4 for each row) end the fit. Each is twice as
        long as the one before, and goes on with hops from one local optimum to the next (with `polish`). None: no
        number of rounds does, only `max_time`, and all of it but the first round is spent on hops. This finds the best
        optima.
    max_time : float or None, default=None
        Seconds after which the fit ends with the best model so far.
    n_chains : int or "auto", default="auto"
        Independent chains. "auto": 4, and more where there are fewer than 500 rows, up to 8 at 250; 4 where they share
        the time because `patience` is None.
    combine : {"average", "best"}, default="average"
        Predict with the average of the networks that chains found, the best of each and those where rounds ended,
        weighted by their posterior at a temperature of twice the cost of a basis function; or with the best of all.
    schedule : {"auto", "geometric", "linear", "logarithmic", "constant"} or schedule, default="auto"
        How the temperature falls: a name, or an object such as ``saltus.Geometric(start=1, end=0.01)``. "auto":
        geometrically, from 1/2, 1 or 2 times to 1/80 of what one more basis function costs where the round starts.
    acceptance : {"tempering", "two-stage"}, default="tempering"
        The kernel for pi to the power 1/T, or the paper's eq. (5), where the kernel for pi is the proposal of the
        annealed chain.
    polish : bool, default=True
        Whether to end with quasi-Newton steps on centres, widths and relevances, and the elimination of what is not
        needed.
    split_scale : float, default=0.1
        How far apart a split moves two centres, at most, on each input: twice this share of the box.
    walk_scale : float, default=0.1
        The largest standard deviation of a random walk update, as a share of the box; smaller ones, by 4 and 16,
        are mixed in.
    box_margin : float, default=0.1
        Centres live in the range of the data, widened on each side by this share of it.
    init : {"descent", "random", "empty"} or array-like of shape (k, n_features), default="descent"
        Where chains start: 20 random centres, taken downhill by quasi-Newton steps and thinned out; a random number of
        random centres; none; or the given ones.
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
    widths_ : ndarray of shape (k,)
        Their widths, as multiples of what `metric_` and the basis say: r^2 is divided by their squares.
    intercept_ : float or ndarray of shape (n_outputs,)
    linear_coef_ : ndarray of shape (n_features,) or (n_outputs, n_features)
        The linear term; 0 for a feature that depends on others and was left out.
    basis_coef_ : ndarray of shape (k,) or (n_outputs, k)
        The coefficient of each basis function phi(r / width).
    relevance_ : ndarray of shape (n_features,)
        The relevance of each input in basis functions of width 1, in units of one over its standard deviation; exactly
        0 for an input that is switched off, which the linear term may still use. Only with metric="learned".
    networks_ : tuple of Network
        The networks that predict: the best, or all that are averaged. Other attributes describe the best.
    weights_ : ndarray of shape (len(networks_),)
        Their weights.
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
    data_notes_ : DataNotes
        The number of rows, and the names and ranges of inputs and outputs.
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
        **NetworkRegressor._parameter_constraints,
        "criterion": [StrOptions(set(CRITERIA)), Interval(Real, 0, None, closed="left")],
        "center_cost": [StrOptions({"paper", "full"})],
        "n_iter": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "n_chains": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "schedule": [StrOptions({"auto", *SCHEDULES}), HasMethods(["temperature"])],
        "init": [StrOptions({"descent", "random", "empty"}), "array-like"],
        "polish": ["boolean"],
        "combine": [StrOptions({"best", "average"})],
        "acceptance": [StrOptions({"two-stage", "tempering"})],
    }

    def __init__(
        self,
        basis: str | Radial = "gaussian",
        *,
        metric: str | ArrayLike = "learned",
        widths: str = "auto",
        criterion: str | float = "aicc",
        center_cost: str = "full",
        k_max: int | None = None,
        n_iter: int | str = "auto",
        patience: int | None = 1,
        max_time: float | None = None,
        n_chains: int | str = "auto",
        combine: str = "average",
        schedule: str | Schedule = "auto",
        acceptance: str = "tempering",
        polish: bool = True,
        split_scale: float = 0.1,
        walk_scale: float = 0.1,
        box_margin: float = 0.1,
        init: str | ArrayLike = "descent",
        random_state: int | np.random.RandomState | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.basis = basis
        self.metric = metric
        self.widths = widths
        self.criterion = criterion
        self.center_cost = center_cost
        self.k_max = k_max
        self.n_iter = n_iter
        self.patience = patience
        self.max_time = max_time
        self.n_chains = n_chains
        self.combine = combine
        self.schedule = schedule
        self.acceptance = acceptance
        self.polish = polish
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
        """Find the network.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Numbers, without missing values.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), default=None
            How often each row counts: a weight of 2 is the row twice, a weight of 0 is no row.
        callback : callable, default=None
            Told a :class:`saltus.Progress` at most ten times a second; the fit ends if it returns something true.
            Chains in other processes are not heard of.
        checkpoint : str or path-like, default=None
            A file to keep the state of the fit in, written anew every `checkpoint_every` seconds and at the end.
        checkpoint_every : float, default=60.0
            Seconds between two checkpoints.
        resume : str or path-like, default=None
            A checkpoint to go on from. The result is, to the last bit, that of a fit which was never interrupted; with
            the same data and parameters, whatever `random_state` is now. `max_time` counts anew, so that what depends
            on the clock does not come out the same.

        Returns
        -------
        self
            Ctrl-C ends the fit early, with a warning and the best network so far; pressed twice, it raises.
        """
        n_iter = None if isinstance(self.n_iter, str) else int(self.n_iter)
        tasks = FitTasks(self, X, y, n_iter)
        with self._as_it_was_if_it_fails(), single_threaded_blas():
            data = check_data(self, X, y, sample_weight)
            design = self._make_design(data)
            settings = self._settings(design)
            n_chains = self._count_chains(design)
            tasks.expect(n_chains)
            mark = self._mark(settings)
            logbook, resumed = self._logbook(design, mark, checkpoint, checkpoint_every, resume, n_chains)
            seeds = seed_sequence(self.random_state).spawn(n_chains)
            with Reporter(
                n_chains,
                settings.n_iter,
                max_seconds=settings.max_seconds,
                callbacks=[tasks] if callback is None else [callback, tasks],
                verbose=bool(self.verbose),
                to_criterion=lambda best: criterion_value(best, design.target.n_total, design.Y.shape[1]),
            ) as reporter:
                result = anneal(
                    seeds, design, settings, n_jobs=self.n_jobs, listener=reporter, logbook=logbook, resumed=resumed
                )
            self._store(design, result, single_output=data.single_output)
        tasks.close()
        if result.ended_early:
            warn_of_early_end(result.ended_early, f"the best after {self.n_iter_} iterations")
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Predict with the best network, or an average, as `combine` says.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        check_is_fitted(self)
        inputs = check_inputs(self, X)
        predictions = [
            weight * network.predict(inputs) for weight, network in zip(self.weights_, self.networks_, strict=True)
        ]
        return self._squeeze(np.sum(predictions, axis=0))

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
        inputs = check_inputs(self, X)
        for snapshot in self.result_.chains[chain].snapshots:
            yield snapshot.iteration, self._squeeze(snapshot.network.predict(inputs))

    # Half of the chains share one width.
    _auto_widths: ClassVar[tuple[bool, ...]] = (False, True)

    def _penalty(self, counts: Counts, k_max: int) -> Floats:
        table = learned_metric_table if self._learns_metric else penalty_table
        return table(self.criterion, counts, k_max, full_cost=self.center_cost == "full")

    def _settings(self, design: Design) -> Settings:
        n_iter = None if isinstance(self.n_iter, str) else int(self.n_iter)
        if n_iter is None and self.patience is None and self.max_time is None:
            raise ValueError(
                "With patience=None, a fit goes on until max_time, which is None. Give it in seconds, or give patience "
                "as a number of rounds."
            )
        return Settings(
            n_iter=n_iter,
            schedule=None
            if isinstance(self.schedule, str) and self.schedule == "auto"
            else resolve_schedule(self.schedule),
            tuning=Tuning(
                float(self.split_scale),
                float(self.walk_scale),
                self.acceptance == "two-stage",
                STEPS_BETWEEN_METRIC_MOVES if design.learns_metric else NEVER,
            ),
            start=self._starting_centers(design),
            descend=isinstance(self.init, str) and self.init == "descent",
            polish=bool(self.polish),
            patience=None if self.patience is None else int(self.patience),
            max_seconds=None if self.max_time is None else float(self.max_time),
        )

    def _count_chains(self, design: Design) -> int:
        """Say how many chains there are, by default more where rows are few and chains are quick."""
        if not isinstance(self.n_chains, str):
            return int(self.n_chains)
        if self.patience is None and isinstance(self.n_iter, str):
            return FEWEST_CHAINS  # which share the time
        return int(np.clip(np.ceil(ROWS_OF_ALL_CHAINS / design.target.n_total), FEWEST_CHAINS, MOST_CHAINS))

    def _mark(self, settings: Settings) -> str:
        """Write down the options that a checkpoint depends on."""
        start = None if settings.start is None else settings.start.tobytes()
        schedule = settings.schedule
        plain = replace(settings, start=None, schedule=None, max_seconds=None)
        return repr((plain, start, type(schedule).__qualname__, vars(schedule) if schedule else None))

    def _store(self, design: Design, result: AnnealResult, *, single_output: bool) -> None:
        best = result.chains[result.best_chain].best
        network = best.network
        n_total = design.target.n_total
        self.networks_, self.weights_ = combine_networks(result, design, self.combine)
        self._single_output = single_output
        self.__dict__.pop("relevance_", None)
        if design.learns_metric:
            self.relevance_ = np.zeros(self.n_features_in_)
            self.relevance_[design.box.varies] = best.relevance
        self.n_bases_ = best.n_bases
        self.centers_ = network.centers
        self.widths_ = network.widths
        self.intercept_ = self._squeeze_outputs(network.intercept)
        self.linear_coef_ = self._squeeze_outputs(network.linear_coef)
        self.basis_coef_ = self._squeeze_outputs(network.basis_coef)
        self.metric_ = network.metric
        self.noise_variance_ = self._squeeze_outputs(best.rss / n_total)
        self.log_posterior_ = best.log_posterior
        self.criterion_value_ = criterion_value(best.log_posterior, n_total, best.rss.size)
        self.n_iter_ = result.chains[result.best_chain].n_iter
        self.result_ = result


def combine_networks(result: AnnealResult, design: Design, combine: str) -> tuple[tuple[Network, ...], Floats]:
    """Choose the networks that predict, and weigh them: the best, or all local optima by their posterior.

    The posterior is taken at a temperature, at which a network behind by what two basis functions cost counts e times
    less. At 1 the best would outweigh all others by an accident of where its search ended.
    """
    best = result.chains[result.best_chain].best
    if combine == "best":
        return (best.network,), np.ones(1)
    # A chain that came back to where it was counts once.
    found = {
        round(optimum.log_posterior, 6): optimum
        for chain in result.chains
        for optimum in (chain.best, *chain.local_optima)
    }
    values = np.array(list(found))
    temperature = 2.0 * cost_of_a_basis(design.kinds[design.kind_of(best.places)], best.n_bases, best.relevance)
    weights: Floats = np.exp((values - values.max()) / temperature)
    return tuple(optimum.network for optimum in found.values()), weights / weights.sum()
