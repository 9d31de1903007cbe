"""The annealed regressor: the best network under an information criterion."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from saltus._typing import Floats
from saltus.engine.drivers.calibration import Calibration
from saltus.engine.drivers.chain import Settings
from saltus.engine.drivers.plausible import check_annealed
from saltus.engine.drivers.refining import Found, ManyRows, search
from saltus.engine.drivers.schedules import SCHEDULES, Schedule, resolve_schedule
from saltus.engine.kernels.state import NEVER, Tuning
from saltus.engine.problem.criteria import CRITERIA, Counts, criterion_value, make_criterion
from saltus.engine.problem.design import Design
from saltus.engine.problem.problem import Criterion
from saltus.engine.results.chains import AnnealResult
from saltus.engine.results.network import Network
from saltus.estimators.arguments import MOST_CHAINS, MOST_ITERATIONS, MOST_TERM_COST, check_index
from saltus.estimators.averaging import combine_networks
from saltus.estimators.base import NetworkRegressor, Search, describe_early_end
from saltus.estimators.calibrating import calibrate_search
from saltus.estimators.chains import FEWEST_CHAINS, count_chains
from saltus.estimators.checks import TrainingData, check_inputs
from saltus.estimators.many_rows import is_chunked
from saltus.estimators.searched import SearchedModel
from saltus.estimators.sizes import model_with_terms, smallest_within
from saltus.families import FAMILY_ATTRIBUTES, Family, FittedMixture, Mixture

# A move of shared parameters factors the whole design anew, which takes as long as this many steps or so.
STEPS_BETWEEN_SHARED_MOVES = 20
# Where rows are many, a search with some of them has this share of max_time, and all rows have what is left.
SHARE_OF_SEARCH = 0.4


class AnnealedRegressor(SearchedModel):
    """Regression network whose number of terms, and the terms, are found by reversible-jump simulated annealing.

    The model is a linear term plus k terms of one family or several. The fit chooses k, the parameters of each term and
    the parameters that terms share so that they maximise

        log pi = -N/2 sum_i ln RSS_i - P(number of parameters, k)

    over outputs i, which is minus an information criterion up to a constant. The search is the annealed reversible-jump
    chain of Andrieu, de Freitas and Doucet (UAI 2000), with quasi-Newton steps at its start and its end. Least squares
    gives the coefficients.

    Parameters
    ----------
    basis : str, family, or list of these, default="auto"
        The family of terms: a name, or a family with options such as ``saltus.Radial("gaussian", metric="euclidean")``;
        networks mix the families of a list. "auto": hinges, bumps, steps, ridges and polynomials (waves for one or two
        inputs) mixed, which suits most data.
        "linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric" and "mexican_hat" stand for
        :class:`saltus.Radial` with its defaults: functions of the distance to a centre under a learned metric;
        "hinges", "steps", "bumps", "wavelets", "mars" and "polynomials" for :class:`saltus.Product`; "ridges",
        "sigmoids" and "waves" for :class:`saltus.Ridge`.
    criterion : {"aicc", "bic", "mdl", "aic", "hqc", "ebic"} or float, default="aicc"
        The information criterion. A number is the cost C of one term in P = C k.
    term_cost : {"auto", "full", "paper"} or int, default="auto"
        How many parameters a term counts for, beside its coefficients. "full": all parameters of the term; "paper": 1,
        as in the paper; or a number. "auto": all parameters of a radial term; 3 for a wave; otherwise 1, 2, 4, 8 or 16,
        by cross-validation. A radial term has one parameter for each coordinate of its centre along an input that is
        switched on, and two for a width of its own. Each parameter that terms share counts for 1 where it is in use,
        such as a relevance that is not 0.
    linear : {"auto", "all", "selected", "none"}, default="auto"
        Which inputs have a slope. "all": every input; "selected": a slope is a term like all others, which the search
        takes in or leaves out; "none": no input. "auto": "all" where terms are radial, otherwise "selected".
    categorical_features : "from_dtype", None, or array-like of str, int or bool, default="from_dtype"
        Which columns of X are categories. "from_dtype": columns of text and of a categorical type of pandas or polars;
        a list of names or numbers of columns, or of a truth for each column: the columns of the list as well; None: no
        column. A column of text in which all cells are numbers or dates is read as numbers or dates.
    k_max : int or None, default=None
        The most terms. None: 50, or fewer where the columns of the design would outnumber half the distinct rows; with
        products or ridges 350, or a third of the rows, or fewer where there are more than 140 000 of these.
    n_iter : int or "auto", default="auto"
        Iterations of each chain. "auto": rounds of 20 000 iterations (fewer from 10 000 rows on), each annealed from
        the best state of its chain. The search ends when more than half of the chains are within 1 of the best log
        posterior (or 1e-4 times the number of rows), or when `patience` rounds have brought no improvement. With
        products or ridges, each chain grows a network, and `patience` short rounds follow.
    patience : int or None, default=1
        With `n_iter="auto"`, the number of rounds without an improvement of 1 (or 1e-4 times the number of rows) that
        end the fit. Each of these rounds is twice as long as the one before, and goes on with hops from one local
        optimum to the next (with `polish`). None: the fit ends after `max_time` alone, and spends it on hops after the
        first round. This finds the best optima.
    max_time : float or None, default=None
        Seconds after which the fit ends with the best model so far.
    n_chains : int or "auto", default="auto"
        Number of independent chains. "auto": 4, and up to 8 where there are fewer than 500 rows; 4 where chains share
        the time because `patience` is None. With products or ridges 8 for up to 400 rows, 6 for up to 3 000, then 4.
    combine : {"average", "best"}, default="average"
        Predict with the average of the networks that chains found, the best of each chain and those where rounds ended,
        weighted by their posterior at a temperature of twice the cost of a term; or with the best network of all. With
        products or ridges, the best of each chain and, in rounds of 10 000 iterations and more, four networks that it
        passed through at temperature 1, weighted by the inverse of the squared error that the criterion expects.
    parsimony : float or None, default=None
        Predict with one small network of `path_`: the smallest one whose error, with rows left out one by one, is at
        most so many per cent above the least error of `path_`. None: predict with the best network, or an average, as
        `combine` says.
    schedule : {"auto", "geometric", "linear", "logarithmic", "constant"} or schedule, default="auto"
        How the temperature falls: a name, or an object such as ``saltus.Geometric(start=1, end=0.01)``. "auto":
        geometrically, from 1/2, 1 or 2 times to 1/80 of what one more term costs where the round starts; with products
        or ridges, in rounds of 10 000 iterations and more, at 1 for four fifths of the round and then down to 1/80.
    acceptance : {"tempering", "two-stage"}, default="tempering"
        The kernel for pi to the power 1/T, or the paper's eq. (5), where the kernel for pi is the proposal of the
        annealed chain.
    polish : bool, default=True
        Whether to end with quasi-Newton steps on the parameters of the terms, own and shared, and the elimination of
        terms and inputs that are not needed.
    split_scale : float, default=0.1
        How far apart a split moves two terms, at most, in each parameter: twice this share of its range, which for a
        coordinate of a centre is the box of the data.
    walk_scale : float, default=0.1
        The largest standard deviation of a random walk update, as a share of the range of a parameter; smaller ones, by
        4 and 16, are mixed in.
    box_margin : float, default=0.1
        The box is the range of the data, widened on each side by this share of the range. The centres of radial terms
        live in the box.
    init : {"descent", "random", "empty"} or array-like of shape (k, n_features), default="descent"
        Where chains start. "descent": 20 random terms, improved by quasi-Newton steps and thinned out; with products or
        ridges, terms that come in one by one, each the best of hundreds. "random": a random number of random terms.
        "empty": no terms. Points: one term at each point, which is the centre of a radial term.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers of the chains. The same seed gives the same model for every `n_jobs`.
    n_jobs : int or None, default=None
        Number of chains that run at once, through joblib, on threads unless a joblib context says otherwise.
    verbose : int, default=0
        1 shows a line of progress on standard error.

    Attributes
    ----------
    n_terms_ : int
        The number k of terms found.
    intercept_ : float or ndarray of shape (n_outputs,)
    linear_coef_ : ndarray of shape (n_inputs,) or (n_outputs, n_inputs)
        The linear term, of the inputs that `data_notes_.input_names` names: the columns of X where all of these are
        numbers. 0 for an input that depends on others and was left out.
    term_coef_ : ndarray of shape (q,) or (n_outputs, q)
        The coefficient of each term; of a radial one, that of phi(r / width). A wave has two, of its cosine and its
        sine, whose phase is 0 at the mean of the inputs.
    centers_ : ndarray of shape (k, n_features)
        The centres of the terms, in the units of X. Given by the radial family.
    widths_ : ndarray of shape (k,)
        The widths of the terms, as multiples of what `metric_` and the family say: r^2 is divided by their squares.
        Given by the radial family.
    metric_ : ndarray of shape (n_features, n_features)
        The matrix M of r^2 = (x - mu)' M (x - mu). Given by the radial family.
    relevance_ : ndarray of shape (n_features,)
        The relevance of each input in terms of width 1, in units of one over the standard deviation of the input;
        exactly 0 for an input that is switched off, which the linear term may still use. Given by the radial family
        where its metric is learned.
    networks_ : tuple of Network
        The networks that predict: the best network, or all that are averaged. Other attributes describe the best one.
    weights_ : ndarray of shape (len(networks_),)
        The weights of `networks_` in the average.
    path_ : tuple of Size
        Smaller and smaller networks, from the best network down to no terms: `n_terms`, `criterion` as in
        `criterion_value_`, and `leave_one_out`, the error of rows that are left out one by one. See `with_terms`.
    noise_variance_ : float or ndarray of shape (n_outputs,)
        The maximum-likelihood estimate RSS_i / N.
    log_posterior_ : float
        -N/2 sum_i ln RSS_i - P at the best state over chains, y in its own units. Residuals within rounding of y
        count as rounding, so that an exact fit has a finite value.
    criterion_value_ : float
        -log likelihood + P, which is -log_posterior_ plus a constant: half of what other software calls AIC or BIC,
        with the parameters of the linear term and the noise, which every model has, left out.
    n_iter_ : int
        Iterations run by each chain.
    result_ : AnnealResult
        The chains: traces of k, log posterior and temperature, proposals and acceptances by move, best states,
        and how the search ended, in words.
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
        "term_cost": [StrOptions({"auto", "paper", "full"}), Interval(Integral, 1, MOST_TERM_COST, closed="both")],
        "n_iter": [Interval(Integral, 1, MOST_ITERATIONS, closed="both"), StrOptions({"auto"})],
        "n_chains": [Interval(Integral, 1, MOST_CHAINS, closed="both"), StrOptions({"auto"})],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "max_time": [Interval(Real, 0, None, closed="neither"), None],
        "schedule": [StrOptions({"auto", *SCHEDULES}), HasMethods(["temperature"])],
        "init": [StrOptions({"descent", "random", "empty"}), "array-like"],
        "polish": ["boolean"],
        "combine": [StrOptions({"best", "average"})],
        "parsimony": [Interval(Real, 0, None, closed="left"), None],
        "acceptance": [StrOptions({"two-stage", "tempering"})],
    }

    def __init__(
        self,
        basis: str | Family | list[str | Family] = "auto",
        *,
        criterion: str | float = "aicc",
        term_cost: str | int = "auto",
        linear: str = "auto",
        categorical_features: str | ArrayLike | None = "from_dtype",
        k_max: int | None = None,
        n_iter: int | str = "auto",
        patience: int | None = 1,
        max_time: float | None = None,
        n_chains: int | str = "auto",
        combine: str = "average",
        parsimony: float | None = None,
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
        self.criterion = criterion
        self.term_cost = term_cost
        self.linear = linear
        self.categorical_features = categorical_features
        self.k_max = k_max
        self.n_iter = n_iter
        self.patience = patience
        self.max_time = max_time
        self.n_chains = n_chains
        self.combine = combine
        self.parsimony = parsimony
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
        if is_chunked(X):
            from saltus.estimators.chunked import predict_chunks

            return predict_chunks(self, X)
        return self._squeeze(self._predict_mean(check_inputs(self, X)))

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
        number = check_index("chain", chain, len(self.result_.chains))
        inputs = check_inputs(self, X)
        for snapshot in self.result_.chains[number].snapshots:
            yield snapshot.iteration, self._squeeze(snapshot.network.predict(inputs))

    _several_variants: ClassVar[bool] = True

    def _criterion(self, counts: Counts, k_max: int, mixture: FittedMixture, term_cost: int) -> Criterion:
        return make_criterion(
            self.criterion,
            counts,
            k_max,
            n_own=mixture.parameter_counts,
            n_shared=mixture.n_switches,
            n_own_a_term=term_cost,
            n_of_sets=mixture.worth_of_sets,
            n_columns=(int(mixture.n_columns.min()), int(mixture.n_columns.max())),
        )

    def _calibrate(self, data: TrainingData, mixture: Mixture) -> Calibration:
        if not isinstance(self.term_cost, str):
            return Calibration(int(self.term_cost))
        if self.term_cost == "auto" and mixture.chooses_inputs and isinstance(self.criterion, str):
            known = mixture.known_cost
            return calibrate_search(self, data, mixture) if known is None else Calibration(known)
        return Calibration(1 if self.term_cost == "paper" else 0)

    @property
    def _n_planned(self) -> int | None:
        return None if isinstance(self.n_iter, str) else int(self.n_iter)

    def _plan(self, design: Design, seconds_used: float, many: ManyRows | None) -> Search:
        settings = self._settings(design, seconds_used)
        if many is not None:
            settings = replace(settings, share_of_time=SHARE_OF_SEARCH)
        return Search(
            n_chains=self._count_chains(design),
            n_iter=settings.n_iter,
            mark=settings.mark,
            run=partial(search, settings=settings, many=many),
            check=partial(check_annealed, settings=settings),
            max_seconds=settings.max_seconds,
            to_criterion=lambda best: criterion_value(best, design.problem.n_total, design.Y.shape[1]),
        )

    def _settings(self, design: Design, seconds_used: float = 0.0) -> Settings:
        n_iter = self._n_planned
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
                STEPS_BETWEEN_SHARED_MOVES if design.mixture.moves_shared else NEVER,
            ),
            start=self._starting_points(design),
            descend=isinstance(self.init, str) and self.init == "descent",
            polish=bool(self.polish),
            patience=None if self.patience is None else int(self.patience),
            grows=design.mixture.chooses_inputs,
            max_seconds=None if self.max_time is None else float(self.max_time),
            seconds_used=seconds_used,
            policy=self._policy,
        )

    def _count_chains(self, design: Design) -> int:
        if not isinstance(self.n_chains, str):
            return int(self.n_chains)
        if self.patience is None and isinstance(self.n_iter, str):
            return FEWEST_CHAINS  # which share the time
        return count_chains(design)

    def _store(self, data: TrainingData, design: Design, found: Found) -> str:
        result, self._path = found.result, found.path
        self._n_total = found.design.problem.n_total
        self._keep_result(result, *combine_networks(result, found.design, self.combine))
        if self.parsimony is not None and self._path is not None:
            smaller = model_with_terms(self, smallest_within(self._path, float(self.parsimony)))
            self.__dict__.update(vars(smaller))
        if not result.ended_early:
            return ""
        return describe_early_end(result.ended_early, f"the best after {self.n_iter_} iterations")

    def _keep_result(self, result: AnnealResult, networks: tuple[Network, ...], weights: Floats) -> None:
        """Keep a result, and the networks that predict, as fitted attributes."""
        best = result.chains[result.best_chain].best
        network, n_total = best.network, self._n_total
        self.networks_, self.weights_ = networks, weights
        self._keep(network.attributes, FAMILY_ATTRIBUTES)
        self.n_terms_ = best.n_terms
        self.intercept_ = self._squeeze_outputs(network.intercept)
        self.linear_coef_ = self._squeeze_outputs(network.linear_coef)
        self.term_coef_ = self._squeeze_outputs(network.term_coef)
        self.noise_variance_ = self._squeeze_outputs(best.rss / n_total)
        self.log_posterior_ = best.log_posterior
        self.criterion_value_ = criterion_value(best.log_posterior, n_total, best.rss.size)
        self.n_iter_ = result.chains[result.best_chain].n_iter
        self.result_ = result
