"""Searches on one target: ``python -m benchmarks.compare.engines --robot-arm-file robot_arm.csv -o out/``.

The target is the paper's eq. (3) on the robot arm: -N/2 sum_i ln RSS_i - C k with a cubic basis, Euclidean distance on
raw inputs and C of MDL. The best value seen so far, against evaluations of the target and against CPU seconds, of

- saltus as in the paper: one annealed chain, one evaluation an iteration; and its own search, rounds with descents;
- BayesBay's trans-dimensional simulated annealing, its defaults, on the target written in NumPy;
- SciPy's dual annealing of the centres at the paper's k = 12, on the same;
- greedy orthogonal least squares over random candidates, polished by L-BFGS, superfluous centres eliminated; from new
  candidates until time is over.
"""

import argparse
import json
import random
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.optimize import dual_annealing, minimize
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from benchmarks.compare.table import markdown
from saltus import AnnealedRegressor, Radial
from saltus._typing import Floats
from saltus.demo import PAPER_OPTIONS, generate, read_csv

BASIS = Radial("cubic", metric="euclidean")
N_TRAIN = 200
PAPER_K = 12
K_MAX = 50
BOX_MARGIN = 0.1
N_CANDIDATES = 300
# log pi of a state that no network should be in: columns that depend on each other.
NOWHERE = -1e6
# A candidate of which less than this share is new is no candidate.
DEPENDENT = 1e-5
# Steps of L-BFGS after each elimination, and how often elimination goes on past the best.
POLISH_STEPS, MOST_STALE = 20, 4

Curve = list[tuple[float, float, float]]  # evaluations, CPU seconds, best so far


class OverError(Exception):
    """The time is over."""


class Target:
    """The paper's eq. (3) in NumPy. It counts, keeps the best, and stops a search whose time is over."""

    def __init__(self, X: Floats, Y: Floats, seconds: float) -> None:
        self.X, self.Y, self.seconds = X, Y, seconds
        self.cost = 0.5 * (Y.shape[1] + 1) * np.log(len(X))  # MDL: a basis function has c coefficients and a centre
        margin = BOX_MARGIN * np.ptp(X, axis=0)
        self.low, self.high = X.min(axis=0) - margin, X.max(axis=0) + margin
        self.linear = np.hstack([np.ones((len(X), 1)), X])
        self.began = process_time()
        self.n_evaluations, self.best, self.is_over = 0, -np.inf, False
        self.curve: Curve = []

    def __call__(self, centers: Floats) -> float:
        """Find log pi at centres (k, d). O(N k^2)."""
        value = self.value(centers)
        self.note(value, 1)
        return value

    def note(self, value: float, n_evaluations: int) -> None:
        """Count evaluations of which `value` is the best."""
        self.n_evaluations += n_evaluations
        seconds = process_time() - self.began
        if value > self.best:
            self.best = value
            self.curve.append((self.n_evaluations, seconds, value))
        self.is_over = seconds > self.seconds
        if self.is_over:
            raise OverError

    def columns(self, centers: Floats) -> Floats:
        """Evaluate the basis functions (N, k)."""
        return np.sqrt(((self.X[:, None] - centers) ** 2).sum(axis=2)) ** 3

    def log_posterior(self, rss: Floats, k: int) -> Floats:
        """Find log pi from sums of squares (..., c) and the number of basis functions."""
        return -0.5 * len(self.X) * np.log(rss).sum(axis=-1) - self.cost * k

    def value(self, centers: Floats) -> float:
        """Find log pi, uncounted."""
        if np.any(centers < self.low) or np.any(centers > self.high):
            return NOWHERE
        Q, R = np.linalg.qr(np.hstack([self.linear, self.columns(centers)]))
        if np.abs(np.diag(R)).min() < 1e-8 * np.abs(np.diag(R)).max():
            return NOWHERE
        rss = ((self.Y - Q @ (Q.T @ self.Y)) ** 2).sum(axis=0)
        return float(self.log_posterior(rss, len(centers)))


def ours(target: Target, seed: int) -> Curve:
    """Anneal one chain as in the paper, as long as four times longer fits into the time."""
    curve: Curve = []
    n_iter = 200
    while True:
        options = {**PAPER_OPTIONS, "basis": BASIS, "criterion": "mdl", "n_iter": n_iter, "n_chains": 1}
        began = process_time()
        model = AnnealedRegressor(**options, random_state=seed).fit(target.X, target.Y)
        seconds = process_time() - began
        curve.append((n_iter, seconds, target.value(model.centers_)))
        if 4 * seconds > target.seconds:
            return curve
        n_iter *= 4


def our_search(target: Target, seed: int) -> Curve:
    """Search in rounds with descents, for 1/16, 1/4 and all of the time. Descents evaluate more than they count."""
    options: dict[str, Any] = {
        "basis": BASIS,
        "term_cost": "paper",
        "criterion": "mdl",
        "patience": None,
    }
    curve: Curve = []
    for share in (1 / 16, 1 / 4, 1):
        model = AnnealedRegressor(**options, max_time=share * target.seconds, random_state=seed)
        began = process_time()
        model.fit(target.X, target.Y)
        curve.append((float("nan"), process_time() - began, target.value(model.centers_)))
    return curve


def bayesbay(target: Target, seed: int) -> Curve:
    """Anneal with BayesBay, from its default temperature of 10 to 1 over the iterations that the time allows."""
    import bayesbay as bb

    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002, the package draws from the global generators
    names = [f"x{j}" for j in range(target.X.shape[1])]
    coordinates = [
        bb.prior.UniformPrior(name, vmin=low, vmax=high, perturb_std=0.1 * (high - low))
        for name, low, high in zip(names, target.low, target.high, strict=True)
    ]
    space = bb.parameterization.ParameterSpace(
        "centers", n_dimensions_min=1, n_dimensions_max=K_MAX, parameters=coordinates
    )

    def log_likelihood(state: Any) -> float:
        return target(np.column_stack([state["centers"][name] for name in names]))

    inversion = bb.BayesianInversion(
        log_likelihood=bb.likelihood.LogLikelihood(log_like_func=log_likelihood),
        parameterization=bb.parameterization.Parameterization(space),
        n_chains=1,
        on_forward_error="raise",
    )
    n_iter = int(target.seconds / seconds_of_an_evaluation(target))
    inversion.run(
        sampler=bb.samplers.SimulatedAnnealing(temperature_start=10),
        n_iterations=n_iter,
        burnin_iterations=n_iter - 1,
        save_every=n_iter,
        verbose=False,
    )
    return target.curve


def dual(target: Target, seed: int) -> Curve:
    """Anneal the centres with SciPy at the paper's k."""
    bounds = list(zip(np.tile(target.low, PAPER_K), np.tile(target.high, PAPER_K), strict=True))
    dual_annealing(lambda x: -target(x.reshape(PAPER_K, -1)), bounds, maxiter=10**6, rng=seed)
    return target.curve


def greedy(target: Target, seed: int) -> Curve:
    """Select among random candidates by orthogonal least squares, polish, eliminate; again from new candidates."""
    rng = np.random.default_rng(seed)
    while True:
        candidates = rng.uniform(target.low, target.high, (N_CANDIDATES, target.X.shape[1]))
        centers = polish(target, candidates[select(target, candidates)])
        value, n_stale = target(centers), 0
        while len(centers) > 1 and n_stale < MOST_STALE:
            without = [np.delete(centers, j, axis=0) for j in range(len(centers))]
            centers = polish(target, max(without, key=target))
            before, value = value, max(value, target(centers))
            n_stale = 0 if value > before else n_stale + 1


def polish(target: Target, centers: Floats) -> Floats:
    """Go downhill from centres by L-BFGS with finite differences, which count as evaluations."""
    bounds = list(zip(np.tile(target.low, len(centers)), np.tile(target.high, len(centers)), strict=True))
    found = minimize(lambda x: -target(x.reshape(centers.shape)), centers.ravel(), method="L-BFGS-B", bounds=bounds,
                     options={"maxiter": POLISH_STEPS})  # fmt: skip
    return found.x.reshape(centers.shape)


def select(target: Target, candidates: Floats) -> list[int]:
    """Add the candidate that helps most while that pays: one product scores all, and counts as so many evaluations."""
    Q = np.linalg.qr(target.linear)[0]
    E, Phi = target.Y - Q @ (Q.T @ target.Y), target.columns(candidates)
    lengths = np.sqrt((Phi**2).sum(axis=0))
    Phi -= Q @ (Q.T @ Phi)
    chosen: list[int] = []
    value = float(target.log_posterior((E**2).sum(axis=0), 0))
    while len(chosen) < K_MAX:
        squared = (Phi**2).sum(axis=0)
        usable = squared > (DEPENDENT * lengths) ** 2
        gains = np.where(usable[:, None], (Phi.T @ E) ** 2 / np.where(usable, squared, 1.0)[:, None], 0.0)
        values = target.log_posterior((E**2).sum(axis=0) - gains, len(chosen) + 1)
        target.note(float(values.max()), len(candidates))
        if values.max() <= value:
            break
        j, value = int(values.argmax()), float(values.max())
        column = Phi[:, j] / np.sqrt(squared[j])
        E = E - np.outer(column, column @ E)
        Phi = Phi - np.outer(column, column @ Phi)
        chosen.append(j)
    return chosen


def seconds_of_an_evaluation(target: Target) -> float:
    """Time the target at the paper's k."""
    centers = np.random.default_rng(0).uniform(target.low, target.high, (PAPER_K, target.X.shape[1]))
    began = process_time()
    for _ in range(100):
        target.value(centers)
    return (process_time() - began) / 100


ENGINES: dict[str, Callable[[Target, int], Curve]] = {
    "saltus, one chain": ours,
    "saltus, its own search": our_search,
    "BayesBay": bayesbay,
    "dual annealing, k = 12": dual,
    "greedy, polished": greedy,
}


def measure(engine: str, X: Floats, Y: Floats, seed: int, seconds: float) -> Curve:
    """Run a search; its curve ends with all of its evaluations and seconds."""
    target = Target(X, Y, seconds)
    try:
        return ENGINES[engine](target, seed)
    except Exception:  # BayesBay wraps what a target raises
        if not target.is_over:
            raise
        return [*target.curve, (target.n_evaluations, process_time() - target.began, target.best)]


def best_within(curve: Curve, column: int, limit: float) -> float:
    """Find the best value within so many evaluations (column 0) or CPU seconds (column 1)."""
    return max((point[2] for point in curve if point[column] <= limit), default=float("nan"))


def engines_table(records: list[dict[str, Any]]) -> str:
    """Make one row an engine: medians over seeds of the best value within powers of ten."""
    evaluations = (1_000, 10_000, 100_000, 1_000_000)
    last = max(point[1] for record in records for point in record["curve"])
    seconds = [s for s in (0.1, 1.0, 10.0, 100.0) if s < 1.5 * last]
    rows = []
    for engine in dict.fromkeys(record["engine"] for record in records):
        curves = [record["curve"] for record in records if record["engine"] == engine and "curve" in record]
        within = [(1, s * 1.05) for s in seconds] + [(0, float(n)) for n in evaluations]
        medians = [np.median([best_within(curve, *limit) for curve in curves]) for limit in within]
        ends = np.array([curve[-1] for curve in curves])
        cost = 1e6 * np.median(ends[:, 1] / ends[:, 0])
        cells = ["" if np.isnan(value) else f"{value:.2f}" for value in (*medians, cost)]
        rows.append([engine, *cells])
    header = ["search", *(f"{s:g} CPU s" for s in seconds), *(f"{n} evaluations" for n in evaluations)]
    return markdown([*header, "microseconds an evaluation"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--robot-arm-file", type=Path, help="MacKay's data; otherwise the generator's")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU seconds of each search")
    parser.add_argument("-o", "--out", type=Path, default=Path("out"))
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    data = generate(0) if options.robot_arm_file is None else read_csv(options.robot_arm_file)
    X, Y = data.X[:N_TRAIN], data.Y[:N_TRAIN]
    options.out.mkdir(parents=True, exist_ok=True)
    AnnealedRegressor(**{**PAPER_OPTIONS, "basis": BASIS, "n_iter": 10}).fit(X, Y)
    AnnealedRegressor(BASIS, n_iter=10).fit(X, Y)
    records = []
    with threadpool_limits(1), (options.out / "engines.jsonl").open("w") as file:
        for engine, seed in tqdm(list(product(ENGINES, range(options.seeds))), unit="search"):
            record: dict[str, Any] = {"engine": engine, "seed": seed}
            try:
                record["curve"] = measure(engine, X, Y, seed, options.seconds)
            except ImportError as error:
                record["message"] = f"missing: {error}"
            records.append(record)
            print(json.dumps(record), file=file, flush=True)
    print(engines_table([record for record in records if "curve" in record]))
    for said in dict.fromkeys(f"{record['engine']}: {record['message']}" for record in records if "message" in record):
        print(said)


if __name__ == "__main__":
    main()
