"""The robot arm with the defaults: where its hand goes, where the terms are, and how many are needed.

``python examples/robot_arm_defaults.py robot_arm_defaults.png``
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np

from saltus import AnnealedRegressor, plots
from saltus.datasets import make_robot_arm, robot_arm_position

N_TRAIN = 200


def draw_workspace(ax, model, X) -> None:
    """Draw where the hand is and where the model says it is, and one of the arms."""
    true, predicted = robot_arm_position(X), model.predict(X)
    ax.plot(*true.T, "o", color="0.6", mfc="none", ms=6, label="truth")
    ax.plot(*predicted.T, ".", color="C0", ms=5, label="prediction")
    row = np.argmax(true[:, 0])
    shoulder, elbow = np.zeros(2), 2.0 * np.array([np.cos(X[row, 0]), np.sin(X[row, 0])])
    ax.plot(*np.array([shoulder, elbow, true[row]]).T, "-o", color="C1", lw=3, ms=7, label="one arm")
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_title("Where the hand goes, 200 new rows", loc="left", fontsize="medium")
    ax.set(xlabel="y0", ylabel="y1")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3)
    ax.legend(frameon=False, fontsize="small", loc="lower left")


def main(path: Path, n_iter: int | str = "auto") -> None:
    """Fit 200 rows, and draw what the model makes of 200 others."""
    plt.style.use("tableau-colorblind10")
    X, Y = make_robot_arm(2 * N_TRAIN, random_state=0)
    model = AnnealedRegressor("gaussian", n_iter=n_iter, n_jobs=-1, random_state=0).fit(X[:N_TRAIN], Y[:N_TRAIN])

    figure, axes = plt.subplots(1, 3, figsize=(11, 4.2), width_ratios=(1, 1.1, 1), layout="constrained")
    draw_workspace(axes[0], model, X[N_TRAIN:])
    plots.plot_terms(model, X[:N_TRAIN], ax=axes[1])
    plots.plot_size(model, ax=axes[2])
    figure.savefig(path, dpi=150)

    error = np.sqrt(((model.predict(X[N_TRAIN:]) - robot_arm_position(X[N_TRAIN:])) ** 2).mean())
    print(f"{model.n_terms_} terms. Error to the truth {error:.4f}, where the noise is 0.05. {model.result_.status}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "robot_arm_defaults.png"))
