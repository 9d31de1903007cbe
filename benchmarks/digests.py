"""Digests of fits, to show that a change of the code changes no result: ``python -m benchmarks.digests``.

Each case is a fit, told by the bits of what it found: predictions at fixed rows, the sizes and log posteriors of its
chains, and what files, ONNX and resumed fits predict. Write the digests of one version, compare them with another's:

    python -m benchmarks.digests -o before.json       (in a checkout of the one)
    python -m benchmarks.digests --against before.json (in a checkout of the other)

Both on one machine: the last bits depend on the kind of CPU.
"""

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np

import saltus
from saltus import AnnealedRegressor, BayesianRegressor, Geometric, Radial

QUICK: dict[str, Any] = {"n_iter": 3000, "n_chains": 2, "random_state": 0}
QUICK_DRAWS: dict[str, Any] = {"n_iter": 2000, "n_draws": 20, "n_chains": 2, "random_state": 0}
BASES = ("linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric")
MATRIX = [[2.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]


def make_rows(n: int = 120, d: int = 3, c: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make rows of a smooth function with noise, of d inputs and c outputs."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 3, (n, d))
    first = X[:, 0] if d else np.zeros(n)
    last = X[:, -1] if d else np.zeros(n)
    outputs = [np.sin(2 * first) + last, np.abs(first - last), np.exp(-(first**2))][:c]
    Y = np.stack(outputs, axis=1) + 0.1 * rng.standard_normal((n, c))
    return X, Y[:, 0] if c == 1 else Y


def annealed(basis: str = "gaussian", width: float = 1.0, *, radial: dict[str, Any] | None = None, **options: Any):
    return AnnealedRegressor(Radial(basis, width, **(radial or {})), **{**QUICK, **options})


def bayesian(basis: str = "gaussian", width: float = 1.0, *, radial: dict[str, Any] | None = None, **options: Any):
    return BayesianRegressor(Radial(basis, width, **(radial or {})), **{**QUICK_DRAWS, **options})


def facts(model: Any, X: np.ndarray) -> list[Any]:
    """List what a fitted model says, as arrays."""
    found = [model.predict(X[:40]), model.noise_variance_]
    if isinstance(model, BayesianRegressor):
        found += [*model.predict_interval(X[:10], 0.9), model.sample_y(X[:5], 3)]
        found += [chain.draws.log_posterior for chain in model.chains_]
        found += [list(model.posterior_k_), list(model.posterior_k_.values())]
        return found
    found += [model.log_posterior_, model.intercept_, model.linear_coef_, model.weights_]
    for chain in model.result_.chains:
        found += [chain.trace.log_posterior, chain.best.log_posterior, [m.accepted for m in chain.moves.values()]]
    return found


def digest(values: list[Any]) -> str:
    """Hash arrays, bit by bit."""
    found = blake2b(digest_size=8)
    for value in values:
        found.update(np.ascontiguousarray(np.asarray(value, dtype=np.float64)).tobytes())
    return found.hexdigest()


def fitted(model: Any, X: np.ndarray, y: np.ndarray, **options: Any) -> str:
    return digest(facts(model.fit(X, y, **options), X))


def through_file(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    """Fit, save, load, and tell what the loaded model says."""
    with tempfile.TemporaryDirectory() as folder:
        model.fit(X, y).save(f"{folder}/model.saltus")
        return digest(facts(saltus.load(f"{folder}/model.saltus"), X))


def through_onnx(model: Any, X: np.ndarray, y: np.ndarray) -> str:
    """Fit, export, and tell what onnxruntime predicts."""
    import onnxruntime

    session = onnxruntime.InferenceSession(model.fit(X, y).to_onnx().SerializeToString())
    return digest(session.run(None, {"X": X}))


def interrupted(model: Any, X: np.ndarray, y: np.ndarray, after: int) -> str:
    """Fit until a chain has done so many iterations, stop, resume from the checkpoint, and tell the result."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        model.fit(X, y, checkpoint=path, checkpoint_every=0.0, callback=lambda progress: progress.iteration >= after)
        return fitted(model, X, y, resume=path)


def make_cases() -> dict[str, Callable[[], str]]:
    """List the cases by name."""
    X, y = make_rows()
    X2, Y2 = make_rows(c=2)
    X3, Y3 = make_rows(c=3, seed=2)
    one, two = make_rows(d=1, seed=1)
    weight = np.random.default_rng(5).integers(0, 4, len(X)).astype(float)
    cases: dict[str, Callable[[], str]] = {}
    given = {"metric": "standardized"}
    for basis in BASES:
        cases[f"annealed {basis} learned"] = lambda b=basis: fitted(annealed(b), X, y)
        cases[f"annealed {basis} standardized"] = lambda b=basis: fitted(annealed(b, 1.5, radial=given), X2, Y2)
        cases[f"bayesian {basis} learned"] = lambda b=basis: fitted(bayesian(b), X, y)
        cases[f"bayesian {basis} standardized"] = lambda b=basis: fitted(bayesian(b, 1.5, radial=given), X2, Y2)
    for name, metric in (("euclidean", "euclidean"), ("mahalanobis", "mahalanobis"), ("matrix", MATRIX)):
        cases[f"annealed {name}"] = lambda m=metric: fitted(annealed(radial={"metric": m}), X, y)
        cases[f"bayesian {name}"] = lambda m=metric: fitted(bayesian("cubic", radial={"metric": m}), X, y)
    for widths in ("own", "shared"):
        cases[f"annealed {widths} widths"] = lambda w=widths: fitted(annealed(radial={"widths": w}), X2, Y2)
        cases[f"bayesian {widths} widths"] = lambda w=widths: fitted(bayesian(radial={"widths": w}), X2, Y2)
        options = {"metric": "standardized", "widths": widths}
        cases[f"annealed {widths} widths given metric"] = lambda o=options: fitted(annealed(radial=o), X, y)
        cases[f"bayesian {widths} widths given metric"] = lambda o=options: fitted(bayesian(radial=o), X, y)
    for criterion in ("aic", "bic", "mdl", "hqc", "ebic", 3.5):
        cases[f"annealed {criterion}"] = lambda c=criterion: fitted(annealed(criterion=c), X, y)
    cases |= {
        "annealed defaults": lambda: fitted(annealed(n_iter="auto", n_chains="auto"), X, y),
        "annealed defaults one input": lambda: fitted(annealed(n_iter="auto", n_chains="auto"), one, two),
        "annealed patience 3": lambda: fitted(annealed(n_iter="auto", patience=3), X2, Y2),
        "annealed three outputs": lambda: fitted(annealed(), X3, Y3),
        "bayesian three outputs": lambda: fitted(bayesian(), X3, Y3),
        "annealed paper cost": lambda: fitted(annealed("cubic", term_cost="paper", criterion="mdl"), X, y),
        "annealed two-stage": lambda: fitted(annealed(acceptance="two-stage", schedule=Geometric(2, 0.1)), X, y),
        "annealed best, random, rough": lambda: fitted(annealed(combine="best", init="random", polish=False), X, y),
        "annealed given start": lambda: fitted(annealed(init=X[:4]), X, y),
        "annealed weights": lambda: fitted(annealed(), X, y, sample_weight=weight),
        "bayesian weights": lambda: fitted(bayesian(), X, y, sample_weight=weight),
        "annealed k_max 0": lambda: fitted(annealed(k_max=0), X, y),
        "bayesian k_max 0": lambda: fitted(bayesian(k_max=0), X, y),
        "annealed many inputs, few rows": lambda: fitted(annealed(n_iter="auto"), *make_rows(50, 12)),
        "bayesian many inputs, few rows": lambda: fitted(bayesian(), *make_rows(50, 12)),
        "annealed dependent inputs": lambda: fitted(annealed(), X[:, [0, 0, 1]], y),
        "bayesian plain ridge": lambda: fitted(bayesian("cubic", ridge="plain", ridge_scale=10.0), X, y),
        "annealed 20 000 rows": lambda: fitted(annealed(n_iter="auto"), *make_rows(20_000, 4)),
        "bayesian 20 000 rows": lambda: fitted(bayesian(n_iter=400), *make_rows(20_000, 4)),
        "annealed two jobs": lambda: fitted(annealed(n_jobs=2), X, y),
        "annealed file": lambda: through_file(annealed(), X2, Y2),
        "bayesian file": lambda: through_file(bayesian(), X2, Y2),
        "annealed onnx": lambda: through_onnx(annealed(), X2, Y2),
        "bayesian onnx": lambda: through_onnx(bayesian("cubic"), X2, Y2),
        "annealed resumed": lambda: interrupted(annealed(n_iter=25_000), X, y, 12_000),
        "bayesian resumed": lambda: interrupted(bayesian(n_iter=25_000, n_warmup=0), X, y, 12_000),
    }
    return cases


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, help="write the digests here")
    parser.add_argument("--against", type=Path, help="compare with the digests in this file")
    parser.add_argument("--only", default="", help="the cases whose name has this in it")
    options = parser.parse_args()
    before = json.loads(options.against.read_text()) if options.against else {}
    found, n_changed = {}, 0
    for name, case in make_cases().items():
        if options.only not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found[name] = case()
        changed = name in before and before[name] != found[name]
        n_changed += changed
        print(f"{found[name]}  {name}{'  CHANGED' if changed else ''}", flush=True)
    if options.output:
        options.output.write_text(json.dumps(found, indent=1) + "\n")
    if before:
        print(f"{len(found)} cases, {n_changed} changed, {len(set(found) - set(before))} new")
    return 1 if n_changed else 0


if __name__ == "__main__":
    raise SystemExit(main())
