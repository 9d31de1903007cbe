"""Two bumps on a slope, the one-dimensional example of the companion papers, with the band of the full posterior.

``python examples/one_dimension.py one_dimension.png``
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import MaxNLocator

from saltus import BayesianRegressor

NOISE = 0.2


def truth(x):
    """Evaluate the function that the data are noisy values of."""
    return x + 2 * np.exp(-16 * x**2) + 2 * np.exp(-16 * (x - 0.7) ** 2)


def main(path: Path, n_iter: int = 100_000) -> None:
    """Fit, and draw the fit with its 90 % band beside the posterior of k."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, 100)
    y = truth(x) + NOISE * rng.standard_normal(100)
    model = BayesianRegressor("bumps", n_iter=n_iter, n_draws=250, n_jobs=-1, random_state=0).fit(x[:, None], y)

    grid = np.linspace(-2, 2, 400)
    mean = model.predict(grid[:, None])
    low, high = model.predict_interval(grid[:, None], 0.9)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), width_ratios=(3, 1), layout="constrained")
    left.fill_between(grid, low, high, color="C0", alpha=0.2, lw=0, label="90 % of new y")
    left.plot(grid, mean, "C0", label="posterior mean")
    left.plot(grid, truth(grid), "k--", lw=1, label="truth")
    left.plot(x, y, "k.", ms=4)
    left.set(xlabel="x", ylabel="y", title="y = x + 2 exp(-16 x²) + 2 exp(-16 (x - 0.7)²) + noise")
    left.legend(frameon=False)
    right.xaxis.set_major_locator(MaxNLocator(integer=True))
    right.bar(list(model.posterior_k_), list(model.posterior_k_.values()), color="C0")
    right.set(xlabel="number of terms", ylabel="posterior probability", title="size of the network")
    figure.savefig(path, dpi=150)
    inside = ((low <= truth(grid)) & (truth(grid) <= high)).mean()
    print(f"{model.status_} The truth is inside the band on {inside:.0%} of the interval.")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "one_dimension.png"))
