"""Does the search find the optimum, and does the optimum predict? ``python -m benchmarks.search --data robot_arm.csv``.

1. Robot arm data, defaults: errors on rows 201-400 (A) and 401-600 (B).
2. Friedman 1 beside scikit-learn's Gaussian process with a length scale for each input: error to the truth, CPU
   seconds, and which inputs are switched off.
3. The optimum within a budget of CPU seconds, beside greedy forward selection (orthogonal least squares) that ends in
   the same descent, from many starts, and SciPy's dual annealing at the best k known: one thread, one objective.
"""

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from scipy.optimize import dual_annealing
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from threadpoolctl import threadpool_limits

from saltus import AnnealedRegressor, Radial
from saltus._tiles import from_tiles
from saltus.demo import PAPER_OPTIONS, generate, read_csv
from saltus.engine.search.landscape import Landscape
from saltus.engine.search.pruning import prune
from saltus.estimators.checks import check_data
from saltus.families.radial.kernels import LARGEST_RELEVANCE, SMALLEST_RELEVANCE
from saltus.families.terms import TermSet
from saltus.plots import summed_mse

A, B = slice(200, 400), slice(400, 600)
N_CANDIDATES = 300


def cpu_seconds(fit) -> float:
    began = process_time()
    fit()
    return process_time() - began


def robot_arm(X, Y, seeds) -> None:
    print(f"\nRobot arm, defaults\n{'seed':>6} {'k':>3} {'A':>8} {'B':>8} {'A, best':>8} {'B, best':>8} {'CPU s':>6}")
    rows = []
    for seed in range(seeds):
        model = AnnealedRegressor("gaussian", random_state=seed)
        seconds = cpu_seconds(lambda model=model: model.fit(X[:200], Y[:200]))
        best = model.result_.chains[model.result_.best_chain].best.network
        errors = [summed_mse(Y[part], of(X[part])) for of in (model.predict, best.predict) for part in (A, B)]
        rows.append((model.n_terms_, *errors, seconds))
        print("{:6d} {:3d} {:8.5f} {:8.5f} {:8.5f} {:8.5f} {:6.2f}".format(seed, *rows[-1]), flush=True)
    print("median {:3.0f} {:8.5f} {:8.5f} {:8.5f} {:8.5f} {:6.2f}".format(*np.median(rows, axis=0)))


def gaussian_process(d):
    kernel = ConstantKernel() * RBF(np.ones(d)) + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True)


def friedman(n_rows, n_features, seeds, *, beside: bool) -> None:
    print(f"\nFriedman 1, {n_rows} rows, {n_features} inputs, noise 1: root mean squared error to the truth")
    print(f"{'seed':>6} {'k':>3} {'ours':>7} {'best':>7} {'GP':>7} {'CPU s':>6} {'GP s':>7}  x1-x3 on, x6... off")
    X_new, truth = make_friedman1(5000, n_features=n_features, noise=0.0, random_state=1000)
    rows = []
    for seed in range(seeds):
        X, y = make_friedman1(n_rows, n_features=n_features, noise=1.0, random_state=seed)
        model, peer = AnnealedRegressor("gaussian", random_state=seed), gaussian_process(n_features)
        seconds = cpu_seconds(lambda model=model, X=X, y=y: model.fit(X, y))
        peer_seconds = cpu_seconds(lambda peer=peer, X=X, y=y: peer.fit(X, y)) if beside else np.nan
        best = model.result_.chains[model.result_.best_chain].best.network
        predictions = [model.predict(X_new), best.predict(X_new)[:, 0], peer.predict(X_new) if beside else np.nan]
        errors = [np.sqrt(((p - truth) ** 2).mean()) for p in predictions]
        selected = (model.relevance_[:3] > 0).all() and (model.relevance_[5:] == 0).all()
        rows.append((model.n_terms_, *errors, seconds, peer_seconds, selected))
        print("{:6d} {:3d} {:7.3f} {:7.3f} {:7.3f} {:6.2f} {:7.2f}  {}".format(seed, *rows[-1]), flush=True)
    print("median {:3.0f} {:7.3f} {:7.3f} {:7.3f} {:6.2f} {:7.2f}".format(*np.median(rows, axis=0)[:-1]))
    print(f"right inputs in {int(np.sum([row[-1] for row in rows]))} of {seeds}")


def linear_term(landscape: Landscape):
    """Give the residuals of the linear term (N, c), and its Q."""
    problem = landscape.problem
    return np.split(from_tiles(problem.linear.tiles), [problem.rss_floor.size], axis=1)


def new_columns(landscape: Landscape, terms: TermSet):
    """Evaluate terms less what the linear term explains of them, (N, k), and their lengths before (k,)."""
    at_once = landscape.problem.k_max
    works = [landscape.evaluate(terms.take(slice(i, i + at_once)))[1] for i in range(0, len(terms), at_once)]
    Q, Phi = linear_term(landscape)[1], np.hstack([from_tiles(work.Phi) for work in works])
    return Phi - Q @ (Q.T @ Phi), np.sqrt(np.concatenate([work.lengths for work in works]))


def greedy(landscape: Landscape, rng, seconds: float) -> float:
    """Forward selection among random candidates, then the descent; from new candidates until the time is over."""
    began, best = process_time(), -np.inf
    (family,) = landscape.mixture.members
    relevance = family.starting_shared * (1.5 if family.learns_metric else 1.0)
    while process_time() - began < seconds:
        candidates = landscape.mixture.draw(rng, N_CANDIDATES, relevance)
        Phi, lengths = new_columns(landscape, candidates)
        E = linear_term(landscape)[0].copy()
        chosen: list[int] = []
        value, n_stale, top = landscape.value(candidates.take(slice(0))), 0, (-np.inf, 0)
        while n_stale < 3 and len(chosen) < landscape.problem.k_max:
            squared = np.einsum("nk,nk->k", Phi, Phi)
            usable = squared > (3e-5 * lengths) ** 2
            gain = np.where(usable[:, None], (Phi.T @ E) ** 2 / np.where(usable, squared, 1.0)[:, None], 0.0)
            j = int((-np.log((E**2).sum(axis=0) - gain).sum(axis=1)).argmax())
            if not usable[j]:
                break
            column = Phi[:, j] / np.sqrt(squared[j])
            E -= np.outer(column, column @ E)
            Phi -= np.outer(column, column @ Phi)
            chosen.append(j)
            value = landscape.log_posterior((E**2).sum(axis=0), candidates.take(np.array(chosen)))
            n_stale = 0 if value > top[0] else n_stale + 1
            top = max(top, (value, len(chosen)))
        start = landscape.candidate(candidates.take(np.array(chosen[: top[1] + 3], dtype=np.int64)))
        best = max(best, prune(landscape, start).log_posterior)
    return best


def dual(landscape: Landscape, k: int, seed: int, seconds: float) -> float:
    """SciPy's dual annealing over centres and log relevances at a fixed k."""
    (family,) = landscape.mixture.members
    q, d, n_free = family.starting_shared.size, family.n_parameters, family.n_switches
    best = -np.inf

    def negative(x):
        nonlocal best
        relevance = np.exp(x[k * d :]) if n_free else np.ones(q)
        value = landscape.value(family.as_terms(x[: k * d].reshape(k, d)).with_shared(relevance))
        best = max(best, value)
        return -value if np.isfinite(value) else 1e6

    bounds = [(0.0, 1.0)] * (k * d) + [(np.log(SMALLEST_RELEVANCE), np.log(LARGEST_RELEVANCE))] * n_free
    began = process_time()
    dual_annealing(
        negative, bounds, maxiter=10**6, seed=seed, callback=lambda *_: process_time() - began > seconds,
        minimizer_kwargs={"method": "L-BFGS-B", "bounds": bounds, "options": {"maxfun": 2000}},
    )  # fmt: skip
    return best


def optimum(name, X, Y, options, seeds, budgets) -> None:
    design = None
    found: dict[str, dict[float, list[float]]] = {}
    for seed in range(seeds):
        model = AnnealedRegressor(**{"basis": "gaussian", **options}, random_state=seed)
        design = model._make_design(check_data(model, X, Y, None))
        shift, landscape = design.log_posterior_shift, Landscape.of(design)
        for budget in budgets:
            model.set_params(max_time=budget, n_iter="auto", patience=None).fit(X, Y)
            values = found.setdefault("ours", {}).setdefault(budget, [])
            values.append(model.log_posterior_)
            rng = np.random.default_rng(seed)
            values = found.setdefault("greedy, polished", {}).setdefault(budget, [])
            values.append(greedy(landscape, rng, budget) + shift)
            values = found.setdefault("dual annealing", {}).setdefault(budget, [])
            values.append(dual(landscape, model.n_terms_, seed, budget) + shift)
        plain = AnnealedRegressor(
            **{
                "basis": "gaussian",
                **options,
                "n_iter": 200_000,
                "init": "random",
                "polish": False,
                "n_chains": 1,
                "random_state": seed,
            },
        ).fit(X, Y)
        found.setdefault("200 000 plain iterations", {}).setdefault(0.0, []).append(plain.log_posterior_)
    best = max(max(values) for by_budget in found.values() for values in by_budget.values())
    print(f"\n{name}: the best found is {best:.2f}; share of {seeds} seeds within 1 of it, and medians")
    for method, by_budget in found.items():
        for budget, values in by_budget.items():
            share = np.mean(np.array(values) > best - 1.0)
            print(
                f"{method:>26} {budget:5.1f} s  {share:5.2f}  median {np.median(values):9.2f}  worst {min(values):9.2f}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--budgets", type=float, nargs="+", default=[1.0, 3.0, 10.0])
    parser.add_argument("--parts", nargs="+", default=["arm", "friedman", "wide", "large", "optimum"])
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = generate(0) if options.data is None else read_csv(options.data)
    AnnealedRegressor("gaussian", patience=None, max_time=1).fit(data.X[:200], data.Y[:200])  # compiles
    with threadpool_limits(1):
        if "arm" in options.parts:
            robot_arm(data.X, data.Y, options.seeds)
        if "friedman" in options.parts:
            friedman(500, 10, options.seeds, beside=True)
        if "wide" in options.parts:
            friedman(1000, 30, options.seeds, beside=False)
        if "large" in options.parts:
            friedman(2000, 10, options.seeds, beside=True)
        if "optimum" in options.parts:
            paper = {**PAPER_OPTIONS, "basis": Radial("cubic", metric="euclidean"), "criterion": "mdl"}
            ours = {name: paper[name] for name in ("basis", "criterion", "term_cost")}
            X, y = make_friedman1(500, n_features=10, noise=1.0, random_state=1)
            optimum("Robot arm, cubic, MDL", data.X[:200], data.Y[:200], ours, options.seeds, options.budgets)
            shared = {"basis": Radial("gaussian", widths="shared")}
            optimum("Friedman 1, learned metric, one width", X, y, shared, options.seeds, options.budgets)


if __name__ == "__main__":
    main()
