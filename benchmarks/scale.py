"""Many rows: ``python -m benchmarks.scale``, Friedman 1 with 10 inputs and noise 1, seed 0.

Sections, chosen with ``--sections``:

- `memory` fits 10 000, 100 000 and 1 000 000 rows in memory, each in a process of its own that has compiled before: CPU
  seconds, error to the truth, and by how much the peak memory of the process grows beyond what it was before there were
  data.
- `folder` writes ``--rows`` rows as Parquet and fits them part by part with dask's threads.
- `cluster` fits rows that workers generate, with one worker process and with two.
- `killed` kills a worker in the middle of a fit, five times, and compares the models.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from time import monotonic, process_time, sleep

import numpy as np

N_INPUTS = 10


def friedman(rng: np.random.Generator, n: int, noise: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows of Friedman 1."""
    X = rng.random((n, N_INPUTS))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return X, y + noise * rng.standard_normal(n)


def error(model) -> float:
    X, y = friedman(np.random.default_rng(10**6), 20_000, noise=0.0)
    return float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))


def compiled():
    """Fit a few rows, so that what is measured is not compilation."""
    from saltus import AnnealedRegressor
    from saltus.engine.search.policy import SearchPolicy

    X, y = friedman(np.random.default_rng(5), 3_000)
    for policy in (SearchPolicy(), SearchPolicy(most_rows_of_a_search=2_000, rows_of_a_search=1_500)):
        model = AnnealedRegressor(random_state=0, n_iter=200)
        model._policy = policy
        model.fit(X, y)


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def fit_in_memory(n: int) -> None:
    from saltus import AnnealedRegressor

    compiled()
    before = peak_mb()
    X, y = friedman(np.random.default_rng(0), n)
    began = process_time()
    model = AnnealedRegressor(random_state=0).fit(X, y)
    seconds = process_time() - began
    print(f"{n:>10} {seconds:>8.1f} {error(model):>8.4f} {model.n_terms_:>6} {peak_mb() - before:>9.0f}", flush=True)
    print(model.result_.status, file=sys.stderr)


def draw(lines: np.ndarray, path: Path) -> None:
    """Draw CPU seconds and errors against the number of rows."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    rows, seconds, errors = lines[:, 0], lines[:, 1], lines[:, 2]
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    left.loglog(rows, seconds, "o-", label="AnnealedRegressor")
    left.loglog(rows, seconds[0] * rows / rows[0], ":", color="gray", label="in proportion to the rows")
    left.set(xlabel="rows", ylabel="CPU seconds", title="A default fit")
    left.legend()
    right.loglog(rows, errors, "o-")
    right.loglog(rows, errors[0] * (rows / rows[0]) ** -0.5, ":", color="gray", label="one over the root of the rows")
    right.set(xlabel="rows", ylabel="error to the truth", title="Noise of standard deviation 1")
    right.legend()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def generated(n: int, chunk: int):
    """Let dask generate rows, chunk by chunk."""
    from dask import array, delayed

    def part(i: int, which: int):
        return friedman(np.random.default_rng([7, i]), min(chunk, n - i * chunk))[which]

    sizes = [min(chunk, n - first) for first in range(0, n, chunk)]
    X = [array.from_delayed(delayed(part)(i, 0), (size, N_INPUTS), float) for i, size in enumerate(sizes)]
    y = [array.from_delayed(delayed(part)(i, 1), (size,), float) for i, size in enumerate(sizes)]
    return array.concatenate(X), array.concatenate(y)


def write_folder(folder: Path, n: int, chunk: int = 500_000) -> None:
    import pandas

    for i, first in enumerate(range(0, n, chunk)):
        X, y = friedman(np.random.default_rng([7, i]), min(chunk, n - first))
        table = pandas.DataFrame(X, columns=[f"x{j}" for j in range(N_INPUTS)]).assign(y=y)
        table.to_parquet(folder / f"{i:04d}.parquet")


def fit_folder(folder: Path) -> None:
    import dask
    from dask import dataframe

    from saltus import AnnealedRegressor

    compiled()
    before = peak_mb()
    frame = dataframe.read_parquet(str(folder / "*.parquet"), split_row_groups="adaptive")
    began, cpu = monotonic(), process_time()
    with dask.config.set(scheduler="threads", num_workers=2):
        model = AnnealedRegressor(random_state=0).fit(frame[[f"x{j}" for j in range(N_INPUTS)]], frame["y"])
    grown = peak_mb() - before
    X, y = friedman(np.random.default_rng(10**6), 20_000, noise=0.0)
    import pandas

    found = model.predict(pandas.DataFrame(X, columns=[f"x{j}" for j in range(N_INPUTS)]))
    of_folder = float(np.sqrt(np.mean((found - y) ** 2)))
    print(f"folder: {monotonic() - began:.0f} s, {process_time() - cpu:.0f} CPU s, error {of_folder:.4f}")
    print(f"peak memory {peak_mb():.0f} MB in all, {grown:.0f} MB more than before. {model.result_.status}", flush=True)


def on_cluster(n_workers: int, n: int, *, kill_after: int = 0):
    """Fit on a local cluster; return seconds and the model."""
    from distributed import Client, LocalCluster

    from saltus import AnnealedRegressor

    with (
        LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        client.run(compiled)
        X, y = generated(n, max(n // 40, 1))
        killed = []

        def kill(progress) -> None:
            if 0 < kill_after <= progress.n_passes and not killed:
                killed.append(True)
                threading.Thread(target=lambda: (sleep(0.2), cluster.workers[0].process.process.kill())).start()

        began = monotonic()
        model = AnnealedRegressor(random_state=0).fit(X, y, callback=kill)
        return monotonic() - began, model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sections", nargs="+", default=["memory", "folder", "cluster", "killed"])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--rows", type=int, default=20_000_000, help="of a folder and on a cluster")
    parser.add_argument("--picture", type=Path, help="where a picture of the section `memory` goes")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.one is not None:
        fit_in_memory(options.one)
        return
    if options.folder is not None:
        fit_folder(options.folder)
        return
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    this = [sys.executable, "-m", "benchmarks.scale"]
    if "memory" in options.sections:
        print(f"{'rows':>10} {'CPU s':>8} {'error':>8} {'terms':>6} {'peak + MB':>9}", flush=True)
        lines = []
        for n in options.sizes:
            done = subprocess.run(
                [*this, "--one", str(n)], env=environment, check=True, stdout=subprocess.PIPE, text=True
            )
            print(done.stdout, end="", flush=True)
            lines.append([float(word) for word in done.stdout.split()])
        if options.picture is not None:
            draw(np.array(lines), options.picture)
    if "folder" in options.sections:
        with tempfile.TemporaryDirectory() as folder:
            write_folder(Path(folder), options.rows)
            subprocess.run([*this, "--folder", folder], env=environment, check=True)
    if "cluster" in options.sections:
        compiled()
        one, _ = on_cluster(1, options.rows)
        two, model = on_cluster(2, options.rows)
        print(f"cluster: {one:.0f} s with one worker, {two:.0f} s with two: {one / two:.2f} times as fast")
        print(f"error {error(model):.4f}. {model.result_.status}", flush=True)
    if "killed" in options.sections:
        compiled()
        X, _ = friedman(np.random.default_rng(9), 1_000)
        _, untouched = on_cluster(2, 400_000)
        for times in range(5):
            _, model = on_cluster(2, 400_000, kill_after=1 + 4 * times)
            away = np.abs(model.predict(X) - untouched.predict(X)).max()
            print(f"a worker killed after {1 + 4 * times} passes: predictions differ by {away:.1e} at most", flush=True)


if __name__ == "__main__":
    main()
