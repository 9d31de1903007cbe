"""Speed of the fused chain: ``python -m benchmarks.kernel``.

For each (N, k): microseconds an iteration of a whole annealing held at about that k, and the ratio to one NumPy
``Q.T @ p`` of the same N and m on one thread, in the same run. Then the plain oracle of tests/reference.py on the
first, the growth with N at fixed k, and the time of a first fit.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from saltus.engine.drivers.schedules import Geometric
from saltus.engine.kernels.chain import run_block
from saltus.engine.kernels.state import ACCEPTED, CHOSEN, Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.design import Design, make_design
from saltus.engine.problem.problem import Criterion
from saltus.engine.problem.scaling import Box, LinearTerm
from saltus.engine.search.starts import set_terms
from saltus.families import Radial, resolve_basis
from saltus.families.inputs import FamilyRows
from tests.reference import ReferenceChain

N_INPUTS, N_OUTPUTS = 2, 2
REPEATS = 7
TUNING = Tuning(split_scale=0.1, walk_scale=0.1, two_stage=True)


def make_problem(n_rows: int, k: int, basis: str) -> tuple[np.ndarray, Design]:
    """Make data with k bumps, and a penalty that keeps a chain near k terms."""
    rng = np.random.default_rng(n_rows + k)
    X = rng.random((n_rows, N_INPUTS))
    centers = rng.random((k, N_INPUTS))
    distance = np.linalg.norm(X[:, None] - centers, axis=2)
    Y = np.exp(-8 * distance**2) @ rng.standard_normal((k, N_OUTPUTS))
    Y += 0.1 * Y.std() * rng.standard_normal(Y.shape)
    weight = np.ones(n_rows)
    box = Box.around(X, 0.1)
    U = box.to_unit(X)
    mixture = resolve_basis(Radial(basis, metric="standardized"), X.shape[1]).fit(
        FamilyRows(U, weight, box.width, box.varies, rescale=True, ranges=np.stack([X.min(axis=0), X.max(axis=0)]))
    )
    # A well around k: the chain is free to move, but not to leave.
    sizes = np.arange(k + 8)
    penalty = 1.5 * np.log(n_rows) * sizes + 50.0 * np.maximum(np.abs(sizes - k) - 2, 0) ** 2 * np.log(n_rows)
    criterion = Criterion(np.zeros(10 * penalty.size), penalty, True)
    linear = LinearTerm.of(U, weight)
    return X, make_design(X, Y, weight, box=box, linear=linear, mixture=mixture, criterion=criterion)


@dataclass
class Measured:
    """A chain at work."""

    microseconds: float
    mean_k: float
    acceptance: float


def measure_chain(design: Design, k: int, seconds: float) -> Measured:
    rng = np.random.default_rng(0)
    state = start_state(design.problem, design.linear.Q, design.Y, design.mixture.starting_shared)
    work = make_workspace(design.problem, state)
    set_terms(design, state, design.mixture.encode(rng.random((k, N_INPUTS))))

    def run(temperature: np.ndarray):
        record = start_record(state, temperature.size)
        began = perf_counter()
        run_block(rng, design.problem, TUNING, state, work, record, temperature, temperature.size, 0, 1)
        return perf_counter() - began, record

    run(np.ones(10))
    rate = 100 / run(np.ones(100))[0]
    run(np.ones(int(rate * seconds)))  # settle
    # Each repeat is a whole annealing, from the first temperature of the default schedule to its last.
    n = max(int(rate * seconds / REPEATS), 100)
    runs = [run(Geometric().temperature(np.arange(n), n)) for _ in range(REPEATS)]
    counts = sum(record.counts for _, record in runs)
    return Measured(
        microseconds=min(elapsed for elapsed, _ in runs) / n * 1e6,
        mean_k=float(np.mean([record.trace_k.mean() for _, record in runs])),
        acceptance=counts[:, ACCEPTED].sum() / counts[:, CHOSEN].sum(),
    )


def measure_product(n_rows: int, m: int, seconds: float) -> float:
    """Microseconds of NumPy's Q.T @ p."""
    rng = np.random.default_rng(0)
    Q, p = rng.standard_normal((n_rows, m)), rng.standard_normal(n_rows)
    n = max(int(seconds / REPEATS / (n_rows * m * 2e-10 + 1e-6)), 3)
    best = np.inf
    for _ in range(REPEATS):
        began = perf_counter()
        for _ in range(n):
            Q.T @ p
        best = min(best, perf_counter() - began)
    return best / n * 1e6


def measure_oracle(X: np.ndarray, design: Design, k: int, n_steps: int = 300) -> float:
    rng = np.random.default_rng(0)
    (family,) = design.mixture.members
    chain = ReferenceChain(
        X=design.box.to_unit(X),
        Y=design.Y[: len(X)],
        to_metric=family.to_metric,
        basis=family.radial.name,
        penalty=lambda size, _: design.problem.criterion.by_size[size],
        k_max=design.k_max,
        split_scale=TUNING.split_scale,
        walk_scale=TUNING.walk_scale,
        centers=rng.random((k, N_INPUTS)),
    )
    began = perf_counter()
    for _ in range(n_steps):
        chain.step(rng, 1.0)
    return (perf_counter() - began) / n_steps * 1e6


FIRST_FIT = """
import sys, warnings
from time import perf_counter
began = perf_counter()
import numpy as np
import saltus
estimator = getattr(saltus, sys.argv[1])
imported = perf_counter()
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.uniform(-3, 3, size=(300, 2))
y = np.sin(X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(300)
estimator(random_state=0).fit(X, y)
print(imported - began, perf_counter() - imported)
"""


def measure_first_fits() -> None:
    """Time the README's fit in a new process, by the clock: two processors compile."""
    for name in ("AnnealedRegressor", "BayesianRegressor"):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "NUMBA_CACHE_DIR": folder}
            for label in ("compiling", "from the cache"):
                done = subprocess.run(
                    [sys.executable, "-c", FIRST_FIT, name], env=environment, capture_output=True, text=True, check=True
                )
                imports, fit = map(float, done.stdout.split())
                print(f"  {name:18} {label:15} imports {imports:5.2f} s, first fit {fit:5.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3.0, help="for each measurement")
    parser.add_argument("--basis", default="cubic")
    options = parser.parse_args()

    print(f"{'N':>7} {'k':>4} {'mean k':>7} {'accepted':>9} {'us/iteration':>13} {'us Q.T @ p':>11} {'ratio':>6}")
    for n_rows, k in ((200, 12), (2_000, 30), (20_000, 50)):
        X, design = make_problem(n_rows, k, options.basis)
        chain = measure_chain(design, k, options.seconds)
        product = measure_product(n_rows, 1 + N_INPUTS + k, options.seconds)
        print(
            f"{n_rows:7d} {k:4d} {chain.mean_k:7.1f} {chain.acceptance:9.3f} {chain.microseconds:13.3f} "
            f"{product:11.3f} {chain.microseconds / product:6.2f}",
            flush=True,
        )
        if n_rows == 200:
            oracle = measure_oracle(X, design, k)
            print(
                f"{'':13}the plain oracle: {oracle:.0f} us/iteration, {oracle / chain.microseconds:.0f} times as long"
            )

    print("growth with N at k = 12:")
    sizes = (2_000, 20_000, 200_000)
    times = []
    for n_rows in sizes:
        _, design = make_problem(n_rows, 12, options.basis)
        times.append(measure_chain(design, 12, options.seconds).microseconds)
        print(f"  N = {n_rows:7d}: {times[-1]:10.2f} us/iteration", flush=True)
    exponent = np.log(times[-1] / times[0]) / np.log(sizes[-1] / sizes[0])
    print(f"  exponent from {sizes[0]} to {sizes[-1]}: {exponent:.3f}")

    print("a first fit in a new process:")
    measure_first_fits()


if __name__ == "__main__":
    main()
