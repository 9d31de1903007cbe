"""The tasks: each makes, from a seed, the split that every model is given."""

import gzip
import hashlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

import numpy as np
from scipy.stats import qmc
from sklearn.datasets import load_diabetes, load_linnerud
from sklearn.model_selection import KFold

from benchmarks.compare.functions import TRUTHS, Truth
from saltus._typing import Floats
from saltus.datasets import make_robot_arm, robot_arm_position

SUITES = ("noisy", "emulation", "real", "tables", "scale")
N_ROWS = 500
N_TEST = 2000
N_FOLDS = 5
SIZES = (1_000, 10_000, 20_000, 100_000, 1_000_000)
DESIGNS = (100, 1_000)

# Standard deviation of the noise, or of the signal over that of the noise.
NOISE = {"sinc": 0.1, "Friedman 1": 1.0, "additive": 1.0}
SIGNAL_TO_NOISE = {
    "Friedman 2": 3.0,
    "Friedman 3": 3.0,
    "Doppler": 7.0,
    "HeaviSine": 7.0,
    "Bumps": 7.0,
    "Blocks": 7.0,
    "ridge surface": 3.0,
}


@dataclass(frozen=True)
class Files:
    """Data that are not ours to carry: where they are, if they are there."""

    robot_arm: Path | None = None  # MacKay's: a CSV file with columns x1, x2, y1, y2
    tables: Path | None = None  # a folder of files NAME.csv.gz: numbers without a header, the output last


@dataclass(frozen=True)
class Split:
    """Rows to fit, (N, d) and (N, c), and rows to predict; `truth` is the test Y without its noise, where known."""

    X: Floats
    Y: Floats
    X_test: Floats
    Y_test: Floats
    truth: Floats | None

    def digest(self) -> str:
        """Find a short hash: models that were given the same split have the same."""
        parts = (self.X, self.Y, self.X_test, self.Y_test)
        return hashlib.sha1(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:12]


@dataclass(frozen=True)
class Task:
    """A named source of splits.

    `n_rows` is None where a file says. `sized` names the family whose members differ by their number of rows alone.
    """

    name: str
    suite: str
    make: Callable[[int], Split]
    n_rows: int | None = None
    sized: str | None = None

    @property
    def exact(self) -> bool:
        """Whether its data have no noise."""
        return self.suite == "emulation"


def family(name: str) -> str:
    """Name the family of a task: what is before the comma."""
    return name.partition(",")[0]


def rng_of(name: str, seed: int) -> np.random.Generator:
    """Seed a generator by name and seed, so that tasks do not share their noise."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed])


@cache
def noise_of(name: str) -> float:
    """Find the standard deviation of the noise, from the variance of the signal over its box where a ratio is given."""
    if name in NOISE:
        return NOISE[name]
    truth = TRUTHS[name]
    signal = truth.function(truth.scale(rng_of(name, 0).random((100_000, truth.n_inputs))))
    return float(signal.std() / SIGNAL_TO_NOISE[name])


def noisy(name: str, n_rows: int, n_test: int, seed: int) -> Split:
    """Draw uniform inputs, and the truth with normal noise."""
    truth, rng = TRUTHS[name], rng_of(name, seed)
    X, X_test = (truth.scale(rng.random((n, truth.n_inputs))) for n in (n_rows, n_test))
    noise = noise_of(name)
    Y, clean = truth.function(X)[:, None], truth.function(X_test)[:, None]
    return Split(
        X, Y + noise * rng.standard_normal(Y.shape), X_test, clean + noise * rng.standard_normal(clean.shape), clean
    )


def emulation(name: str, n_rows: int, seed: int) -> Split:
    """Draw Latin hypercubes to fit and to predict, without noise."""
    truth, rng = TRUTHS[name], rng_of(name, seed)
    X, X_test = (truth.scale(latin_hypercube(rng, n, truth)) for n in (n_rows, N_TEST))
    clean = truth.function(X_test)[:, None]
    return Split(X, truth.function(X)[:, None], X_test, clean, clean)


def latin_hypercube(rng: np.random.Generator, n_rows: int, truth: Truth) -> Floats:
    """Draw a random Latin hypercube in the unit cube."""
    return qmc.LatinHypercube(truth.n_inputs, rng=rng).random(n_rows)


def robot_arm(seed: int) -> Split:
    """Draw data like MacKay's, 200 rows to fit as in the paper."""
    X, Y = make_robot_arm(200 + N_TEST, random_state=seed)
    return Split(X[:200], Y[:200], X[200:], Y[200:], robot_arm_position(X[200:]))


def robot_arm_file(path: Path, seed: int) -> Split:
    """Read MacKay's own data: rows 1-200 to fit, 201-600 to predict, whatever the seed."""
    from saltus.demo import read_csv

    data = read_csv(path)
    X_test, Y_test = data.X[200:], data.Y[200:]
    return Split(data.X[:200], data.Y[:200], X_test, Y_test, robot_arm_position(X_test))


def diabetes() -> tuple[Floats, Floats]:
    """Load Efron's diabetes data: 442 rows, 10 inputs."""
    X, y = load_diabetes(return_X_y=True)
    return X, y[:, None]


def linnerud() -> tuple[Floats, Floats]:
    """Load Linnerud's data: 20 rows, 3 exercises; 3 outputs, each in units of its standard deviation."""
    X, Y = load_linnerud(return_X_y=True)
    return X, Y / Y.std(axis=0)


def motorcycle() -> tuple[Floats, Floats]:
    """Load Silverman's motorcycle data, which statsmodels carries: 133 rows; milliseconds, acceleration."""
    import pandas as pd
    import statsmodels

    path = Path(statsmodels.__file__).parent / "gam" / "tests" / "results" / "motorcycle.csv"
    table = pd.read_csv(path)
    return table[["times"]].to_numpy(float), table[["accel"]].to_numpy(float)


def co2() -> tuple[Floats, Floats]:
    """Load carbon dioxide at Mauna Loa, monthly means of statsmodels' weekly data; years, parts per million."""
    from statsmodels.datasets import co2 as source

    monthly = source.load_pandas().data["co2"].resample("MS").mean().dropna()
    return (monthly.index.year + (monthly.index.month - 0.5) / 12).to_numpy(float)[:, None], monthly.to_numpy(float)[
        :, None
    ]


def sunspots() -> tuple[Floats, Floats]:
    """Load yearly sunspots from statsmodels: 309 rows; year, mean number."""
    from statsmodels.datasets import sunspots as source

    table = source.load_pandas().data.to_numpy(float)
    return table[:, :1], table[:, 1:]


def folds(name: str, load: Callable[[], tuple[Floats, Floats]], seed: int) -> Split:
    """Take one fold of a repeated cross-validation: seeds 0-4 are the first repeat, 5-9 the second, and so on."""
    X, Y = load()
    repeat, fold = divmod(seed, N_FOLDS)
    state = int(rng_of(name, repeat).integers(2**31))
    train, test = list(KFold(N_FOLDS, shuffle=True, random_state=state).split(X))[fold]
    return Split(X[train], Y[train], X[test], Y[test], None)


def table(path: Path, seed: int) -> Split:
    """Read a table; the first tenth of ``np.random.default_rng(seed).permutation(n)`` is to predict."""
    with gzip.open(path, "rt") as file:
        rows = np.loadtxt(file, delimiter=",")
    order = np.random.default_rng(seed).permutation(len(rows))
    test, train = np.split(order, [len(rows) // 10])
    return Split(rows[train, :-1], rows[train, -1:], rows[test, :-1], rows[test, -1:], None)


REAL = {"diabetes": diabetes, "linnerud": linnerud, "motorcycle": motorcycle, "co2": co2, "sunspots": sunspots}


def all_tasks(files: Files = Files()) -> list[Task]:
    """List the tasks of every suite; those of files only where these are given."""
    tasks = [Task("robot arm", "noisy", robot_arm, 200)]
    if files.robot_arm is not None:
        tasks.append(Task("robot arm, MacKay's data", "noisy", partial(robot_arm_file, files.robot_arm), 200))
    tasks += [Task(name, "noisy", partial(noisy, name, N_ROWS, N_TEST), N_ROWS) for name in (*NOISE, *SIGNAL_TO_NOISE)]
    tasks += [
        Task(f"{name}, n = {n}", "emulation", partial(emulation, name, n), n, name)
        for name in ("borehole", "OTL circuit", "piston")
        for n in DESIGNS
    ]
    tasks += [Task(name, "real", partial(folds, name, load)) for name, load in REAL.items()]
    paths = [] if files.tables is None else sorted(files.tables.glob("*.csv.gz"))
    tasks += [Task(path.name.removesuffix(".csv.gz"), "tables", partial(table, path)) for path in paths]
    tasks += [
        Task(f"Friedman 1, N = {n}", "scale", partial(noisy, "Friedman 1", n, 10_000), n, "Friedman 1") for n in SIZES
    ]
    return tasks


def task_of(suite: str, name: str, files: Files) -> Task:
    """Find a task by its suite and name."""
    for task in all_tasks(files):
        if (task.suite, task.name) == (suite, name):
            return task
    raise KeyError(f"The suite {suite!r} has no task {name!r}.")
