"""Does the posterior mean what it says? ``python -m benchmarks.calibration``.

Eight truths of `benchmarks.compare` with noise that is known, 500 rows. For each, means over seeds: the error to the
truth; the share of 500 new rows at which the function, and a new y, are inside central intervals of 50, 80 and 95 %;
the posterior probability that the noise is smaller than it is, which should be 1/2 in the mean; the median and the
largest R-hat of the function at 20 points; the number of terms; CPU seconds on one thread. ``--times 10`` has chains
ten times as long. ``--many-inputs``: a line in five inputs of nearly as many as there are rows, or more.
"""

import argparse
import warnings
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.compare.tasks import N_ROWS, noise_of, noisy
from saltus import BayesianRegressor

TRUTHS = ("sinc", "Friedman 1", "additive", "Friedman 2", "Friedman 3", "HeaviSine", "Blocks", "ridge surface")
LEVELS = (0.5, 0.8, 0.95)
N_NEW, N_POINTS = 500, 20


def measure(name: str, seed: int, times: int, options: dict) -> dict[str, float]:
    """Fit, and find all that a line of the table has."""
    from arviz_stats.base import array_stats

    split = noisy(name, N_ROWS, N_NEW, seed)
    model = BayesianRegressor(random_state=seed, **options)
    if times > 1:
        model.set_params(n_iter=times * model.fit(split.X, split.Y[:, 0]).n_iter_)
    began = process_time()
    model.fit(split.X, split.Y[:, 0])
    found = {"CPU s": process_time() - began}
    truth, y = split.truth[:, 0], split.Y_test[:, 0]
    found["error"] = float(np.sqrt(np.mean((model.predict(split.X_test) - truth) ** 2)) / noise_of(name))
    for short, of, values in (("f", "function", truth), ("y", "y", y)):
        for level in LEVELS:
            low, high = model.predict_interval(split.X_test, level, of=of)
            found[f"{short} {level:.0%}"] = float(np.mean((low <= values) & (values <= high)))
    draws = [draw for chain in model.chains_ for draw in chain.draws]
    spread = float(model._predictive.outputs.scale[0])
    found["P(noise <)"] = float(np.mean([draw.sigma_squared[0] * spread**2 < noise_of(name) ** 2 for draw in draws]))
    functions = [f[:, 0] for f, _ in model._predictive.functions(np.random.default_rng(0), split.X_test[:N_POINTS])]
    values = np.array(functions).reshape(len(model.chains_), -1, N_POINTS)
    rhat = [float(array_stats.rhat(values[:, :, i], chain_axis=0, draw_axis=1)) for i in range(N_POINTS)]
    found |= {"R-hat": float(np.median(rhat)), "worst": max(rhat)}
    found["terms"] = sum(k * share for k, share in model.posterior_k_.items())
    return found


def measure_many_inputs(n_rows: int, n_inputs: int, seed: int, options: dict) -> dict[str, float]:
    """Fit a line in five of nearly as many inputs as rows, or more, and find whether intervals hold what they say."""
    rng = np.random.default_rng(seed)
    X, X_new = rng.standard_normal((n_rows, n_inputs)), rng.standard_normal((N_NEW, n_inputs))
    slopes = np.zeros(n_inputs)
    slopes[:5] = (1.0, -1.0, 0.5, 0.5, -2.0)
    y, y_new = X @ slopes + rng.standard_normal(n_rows), X_new @ slopes + rng.standard_normal(N_NEW)
    model = BayesianRegressor(random_state=seed, **options).fit(X, y)
    found = {"error": float(np.sqrt(np.mean((model.predict(X_new) - X_new @ slopes) ** 2)))}
    for level in LEVELS:
        low, high = model.predict_interval(X_new, level)
        found[f"y {level:.0%}"] = float(np.mean((low <= y_new) & (y_new <= high)))
    spread = float(model._predictive.outputs.scale[0])
    draws = [draw for chain in model.chains_ for draw in chain.draws]
    found["P(noise <)"] = float(np.mean([draw.sigma_squared[0] * spread**2 < 1.0 for draw in draws]))
    return {**found, "degrees": float(model.effective_parameters_)}


def print_lines(lines: dict[str, list[dict[str, float]]]) -> None:
    """Print the means of each line under their titles."""
    for number, (name, each) in enumerate(lines.items()):
        if number == 0:
            print(f"{'':>14}" + "".join(f"{title:>11}" for title in each[0]))
        print(
            f"{name:>14}" + "".join(f"{np.mean([one[title] for one in each]):11.3f}" for title in each[0]), flush=True
        )


def parse_option(text: str) -> tuple[str, str | float]:
    """Read NAME=VALUE, the value a number if it can be one."""
    name, _, value = text.partition("=")
    try:
        return name, float(value)
    except ValueError:
        return name, value


def main() -> None:
    """Print a line for each truth, and one for the mean of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--truths", nargs="+", default=list(TRUTHS), choices=TRUTHS)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--times", type=int, default=1, help="how many times as long as usual chains are")
    parser.add_argument("--basis", default="auto")
    parser.add_argument("--prior", default="auto")
    parser.add_argument("--options", nargs="*", default=[], metavar="NAME=VALUE", help="more options of the model")
    parser.add_argument("--many-inputs", action="store_true", help="nearly as many inputs as rows, or more, instead")
    options = parser.parse_args()
    lines = {}
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    chosen = {"basis": options.basis, "prior": options.prior, **dict(map(parse_option, options.options))}
    if options.many_inputs:
        shapes = ((110, 100), (60, 20), (50, 100))
        print_lines({f"{n} x {d}": [measure_many_inputs(n, d, seed, chosen) for seed in seeds] for n, d in shapes})
        return
    for name in options.truths:
        each = [measure(name, seed, options.times, chosen) for seed in seeds]
        lines[name] = {title: float(np.mean([one[title] for one in each])) for title in each[0]}
        if len(lines) == 1:
            print(f"{'':>14}" + "".join(f"{title:>11}" for title in lines[name]))
        print(f"{name:>14}" + "".join(f"{value:11.3f}" for value in lines[name].values()), flush=True)
    means = [np.mean([line[title] for line in lines.values()]) for title in lines[name]]
    print(f"{'mean':>14}" + "".join(f"{value:11.3f}" for value in means))


if __name__ == "__main__":
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
