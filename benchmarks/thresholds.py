"""Does p(k) depend on the tolerance against dependent columns? ``python -m benchmarks.thresholds``.

The posterior of the number of terms under copies of the package whose tolerance against columns that depend on each
other is another, for each task and prior: the mean of k under each, and the total variation of p(k) between the first
tolerance and each other. Beside it, what chance alone makes: the same between two halves of the chains under the first.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

TASKS = ("sinc", "smooth", "robot arm")
PRIORS = {"auto": ("auto", "auto"), "gaussian, g": ("gaussian", "g"), "gaussian, ridge": ("gaussian", "ridge")}
TOLERANCES = (1e-8, 1e-12)
# The g-prior has the one, a ridge the other.
SETTINGS = {"factor.py": "COLLINEAR = 1e-10", "ridge.py": "SMALLEST_SHARE = 1e-10"}


def rows(task: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows of a task."""
    from saltus.datasets import make_robot_arm

    rng = np.random.default_rng(100)
    if task == "robot arm":
        return make_robot_arm(200, random_state=100)
    n, d = (100, 1) if task == "sinc" else (200, 2)
    X = rng.uniform(-3, 3, (n, d))
    truth = np.sinc(X[:, 0]) if d == 1 else np.sin(X[:, 0]) * np.cos(0.7 * X[:, 1])
    return X, truth + 0.1 * rng.standard_normal(n)


def sizes(task: str, name: str, n_iter: int, n_chains: int) -> list[list[int]]:
    """Count the draws of each chain with each k."""
    from saltus import BayesianRegressor

    basis, prior = PRIORS[name]
    model = BayesianRegressor(
        basis, prior=prior, n_iter=n_iter, n_draws=n_iter // 50, n_chains=n_chains, random_state=0, n_jobs=2
    )
    model.fit(*rows(task))
    return [np.bincount(chain.draws.n_terms, minlength=400).tolist() for chain in model.chains_]


def under(tolerance: float, arguments: list[str]) -> dict[str, np.ndarray]:
    """Run this script on a copy of the package with another tolerance."""
    import saltus

    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder) / "saltus"
        shutil.copytree(Path(saltus.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
        for name, setting in SETTINGS.items():
            file = package / "engine" / "kernels" / name
            source = file.read_text()
            assert setting in source
            file.write_text(source.replace(setting, f"{setting.split()[0]} = {tolerance!r}"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([folder, str(Path.cwd())])}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.thresholds", "--worker", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: np.array(counts) for name, counts in json.loads(done.stdout).items()}


def share(counts: np.ndarray) -> np.ndarray:
    """Find p(k) from the counts of chains."""
    return counts.sum(axis=0) / counts.sum()


def variation(a: np.ndarray, b: np.ndarray) -> float:
    """Find the total variation between two p(k), given counts of chains."""
    return float(0.5 * np.abs(share(a) - share(b)).sum())


def main() -> None:
    """Print a line for each task and prior."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--priors", nargs="+", default=list(PRIORS), choices=PRIORS)
    parser.add_argument("--tolerances", nargs="+", type=float, default=list(TOLERANCES))
    parser.add_argument("--iterations", type=int, default=400_000)
    parser.add_argument("--chains", type=int, default=16)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        found = {
            f"{task}: {name}": sizes(task, name, options.iterations, options.chains)
            for task in options.tasks
            for name in options.priors
        }
        print(json.dumps(found))
        return
    arguments = ["--tasks", *options.tasks, "--priors", *options.priors]
    arguments += ["--iterations", str(options.iterations), "--chains", str(options.chains)]
    of = {tolerance: under(tolerance, arguments) for tolerance in options.tolerances}
    first = of[options.tolerances[0]]
    for name, counts in first.items():
        means = [share(each[name]) @ np.arange(400) for each in of.values()]
        variations = [variation(counts, each[name]) for each in list(of.values())[1:]]
        by_chance = variation(counts[::2], counts[1::2])
        print(
            f"{name:28} mean k " + " ".join(f"{mean:6.2f}" for mean in means),
            "  variation " + " ".join(f"{value:.3f}" for value in variations),
            f"  by chance {by_chance:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
