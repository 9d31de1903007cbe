"""Fit for minutes: data of random shape, on threads, in forks, in processes that are killed; nothing may be left.

    nice -n 19 python -m benchmarks.soak --minutes 10

Each round fits a random estimator to random data in this process, and, one after the other: on two threads at once, in
a forked child, in a child that is killed while it writes checkpoints and resumed by another. Said at the end: how many
of each, what was not finite or not the same, and how memory, open files, threads and children grew after the warm-up.
"""

import argparse
import gc
import os
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from saltus import AnnealedRegressor, BayesianRegressor

BASES = ("gaussian", "hinges")
WAYS = ("here", "here", "here", "threads", "fork", "kill")
# Compiled code and buffers are there after so many rounds.
WARM_UP = 60
LONGEST_FIT = 300.0


class Soak:
    """What was done, and what went wrong."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.folder = Path(tempfile.mkdtemp(prefix="saltus-soak-"))

    def data(self) -> tuple[np.ndarray, np.ndarray]:
        """Make data of random shape."""
        n, d, c = int(self.rng.integers(5, 400)), int(self.rng.integers(1, 8)), int(self.rng.integers(1, 3))
        X = self.rng.standard_normal((n, d)) * 10.0 ** self.rng.integers(-6, 7)
        X[self.rng.random(X.shape) < self.rng.choice([0.0, 0.0, 0.1])] = np.nan
        Y = np.sin(np.nan_to_num(X[:, :1]) / np.nanstd(X)) + 0.1 * self.rng.standard_normal((n, c))
        return X, Y[:, 0] if c == 1 else Y

    def model(self) -> AnnealedRegressor | BayesianRegressor:
        """Choose an estimator."""
        basis, seed = str(self.rng.choice(BASES)), int(self.rng.integers(2**31))
        linear = {"linear": "selected"} if basis == "gaussian" else {}
        if self.rng.random() < 0.5:
            return BayesianRegressor(basis, n_iter=300, n_draws=10, n_chains=2, random_state=seed, **linear)
        return AnnealedRegressor(basis, term_cost=1, n_iter=300, n_chains=2, random_state=seed, **linear)

    def round(self) -> None:
        """Fit once in one of the ways."""
        way = str(self.rng.choice(WAYS))
        X, y = self.data()
        model = self.model()
        {"here": self.here, "threads": self.threads, "fork": self.fork, "kill": self.kill}[way](model, X, y)
        self.done[way] += 1

    def here(self, model: AnnealedRegressor, X: np.ndarray, y: np.ndarray) -> None:
        """Fit in this process."""
        if not np.isfinite(model.fit(X, y).predict(X)).all():
            self.wrong.append(f"not finite: {model} on {X.shape}")

    def threads(self, model: AnnealedRegressor, X: np.ndarray, y: np.ndarray) -> None:
        """Fit the same on two threads at once; both must say the same."""
        said: dict[int, np.ndarray] = {}

        def fit(number: int) -> None:
            said[number] = model.__class__(**model.get_params()).fit(X, y).predict(X)

        threads = [threading.Thread(target=fit, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if len(said) != 2 or not np.array_equal(said[0], said[1]):
            self.wrong.append(f"threads differ: {model} on {X.shape}")

    def fork(self, model: AnnealedRegressor, X: np.ndarray, y: np.ndarray) -> None:
        """Fit in a forked child; it must say what this process says."""
        outcome = self.folder / "fork.saltus"
        child = start(lambda: model.fit(X, y).save(outcome))
        status = wait(child)
        here = model.__class__(**model.get_params()).fit(X, y).predict(X)
        self._compare("fork", status, outcome, here, X)

    def kill(self, model: AnnealedRegressor, X: np.ndarray, y: np.ndarray) -> None:
        """Kill children that write checkpoints, and let another go on; it must say what this process says."""
        model.set_params(n_iter=5_000)
        checkpoint, outcome = self.folder / "fit.checkpoint", self.folder / "kill.saltus"
        checkpoint.unlink(missing_ok=True)

        def fit() -> None:
            resume = checkpoint if checkpoint.exists() else None
            model.fit(X, y, checkpoint=checkpoint, checkpoint_every=0.05, resume=resume).save(outcome)

        for _ in range(3):
            child = start(fit)
            time.sleep(float(self.rng.uniform(0.02, 0.4)))
            os.kill(child, signal.SIGKILL)
            if os.waitpid(child, 0)[1] == 0:
                break
            self.done["killed"] += 1
        status = wait(start(fit))
        here = model.__class__(**model.get_params()).fit(X, y).predict(X)
        self._compare("kill", status, outcome, here, X)

    def _compare(self, way: str, status: int, outcome: Path, here: np.ndarray, X: np.ndarray) -> None:
        import saltus

        if status != 0 or not outcome.exists() or not np.array_equal(saltus.load(outcome).predict(X), here):
            self.wrong.append(f"{way}: status {status}, {X.shape}")
        outcome.unlink(missing_ok=True)


def start(work: Callable[[], object]) -> int:
    """Do something in a forked child; return its number."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as error:
            print(f"child: {type(error).__name__}: {error}", file=sys.stderr)
        finally:
            os._exit(code)
    return child


def wait(child: int) -> int:
    """Wait until a child ends; kill one that does not."""
    until = time.monotonic() + LONGEST_FIT
    while time.monotonic() < until:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return status
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def resources() -> dict[str, float]:
    """Measure memory in MB, open files and threads, of Linux."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text("utf-8").split()[1])
    files = len(os.listdir("/proc/self/fd"))
    return {"MB": pages * os.sysconf("SC_PAGESIZE") / 1e6, "files": files, "threads": threading.active_count()}


def main() -> int:
    """Soak, and say what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    warnings.simplefilter("error", RuntimeWarning)
    soak, samples = Soak(options.seed), []
    until, number = time.monotonic() + 60 * options.minutes, 0
    while time.monotonic() < until:
        soak.round()
        number += 1
        if number >= WARM_UP and number % 10 == 0:
            samples.append(resources())
    print(f"{number} rounds: {dict(soak.done)}")
    for what in ("MB", "files", "threads"):
        values = [sample[what] for sample in samples]
        if values:
            tenth = max(len(values) // 10, 1)
            first, last = np.mean(values[:tenth]), np.mean(values[-tenth:])
            print(f"{what}: {first:.1f} after {WARM_UP} rounds, {last:.1f} at the end")
    left = [path.name for path in soak.folder.iterdir() if path.suffix == ".tmp"]
    print(f"temporary files left: {len(left)}; of {soak.done['killed']} children that were killed")
    print("\n".join(soak.wrong) or "nothing went wrong")
    return int(bool(soak.wrong))


if __name__ == "__main__":
    sys.exit(main())
