"""The paper's experiment: the robot arm, fitted under MDL and AIC."""

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from saltus._typing import Floats
from saltus.datasets import make_robot_arm, robot_arm_position
from saltus.demo.picture import save_picture
from saltus.estimators import AnnealedRegressor
from saltus.families import Radial
from saltus.plots import plot_convergence, summed_mse

N_TRAIN = 200
N_TEST = 200
COLUMNS = ("x1", "x2", "y1", "y2")

# Criterion -> (terms, test error), as the paper prints them.
PAPER = {"mdl": (12, 0.00512), "aic": (27, 0.00520)}

# What the paper does, as options of AnnealedRegressor.
PAPER_OPTIONS: dict[str, Any] = {
    "basis": Radial("cubic", metric="standardized"),
    "criterion": "bic",
    "term_cost": "paper",
    "n_iter": 50_000,
    "combine": "best",
    "schedule": "geometric",
    "acceptance": "two-stage",
    "polish": False,
    "init": "random",
}

# What the companion papers do, as options of BayesianRegressor.
PAPER_PRIORS: dict[str, Any] = {
    "prior": "ridge",
    "basis": Radial("cubic", metric="standardized"),
    "ridge": "plain",
    "ridge_shape": 2.0,
    "ridge_scale": 10.0,
    "rate_shape": 1e-4,
    "rate_rate": 1e-4,
}


class DataError(ValueError):
    """The file is not what the experiment needs."""


@dataclass(frozen=True)
class RobotArm:
    """The data of the experiment."""

    X: Floats
    Y: Floats
    source: str

    @property
    def train(self) -> tuple[Floats, Floats]:
        """The first 200 rows."""
        return self.X[:N_TRAIN], self.Y[:N_TRAIN]

    @property
    def test(self) -> tuple[Floats, Floats]:
        """The last 200 rows."""
        return self.X[-N_TEST:], self.Y[-N_TEST:]

    @property
    def noise_floor(self) -> float:
        """Test error of the truth itself."""
        X, Y = self.test
        return summed_mse(Y, robot_arm_position(X))


def generate(seed: int) -> RobotArm:
    """Make the data."""
    X, Y = make_robot_arm(random_state=seed)
    return RobotArm(X, Y, f"generated, seed {seed}")


def read_csv(path: Path) -> RobotArm:
    """Read columns x1, x2, y1, y2 of a CSV file with a header."""
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        try:
            header = reader.fieldnames or ()
        except (UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path} is not a CSV file: {error}.") from error
        missing = [name for name in COLUMNS if name not in header]
        if missing:
            raise DataError(
                f"{path} has no column {', '.join(missing)}: its header is {', '.join(header) or 'empty'}. "
                f"It needs the columns {', '.join(COLUMNS)}."
            )
        try:
            rows = [[float(row[name] or "nothing") for name in COLUMNS] for row in reader]
        except ValueError as error:
            raise DataError(f"{path}, line {reader.line_num}: {error}. Every value must be a number.") from error
    if len(rows) < N_TRAIN + N_TEST:
        raise DataError(f"{path} has {len(rows)} rows; the experiment needs at least {N_TRAIN + N_TEST}.")
    table = np.array(rows)
    return RobotArm(table[:, :2], table[:, 2:], str(path))


def run(data: RobotArm, picture: Path, *, n_iter: int, n_chains: int, seed: int, out: TextIO) -> None:
    """Fit under both criteria, print the table beside the paper's, draw figure 2."""
    print(f"Robot arm ({data.source}): {N_TRAIN} rows to train, the last {N_TEST} to test.", file=out)
    print(f"Cubic terms, {n_chains} chains of {n_iter} iterations under each criterion.", file=out, flush=True)
    models = {}
    for criterion in PAPER:
        model = AnnealedRegressor(
            **{**PAPER_OPTIONS, "basis": Radial("cubic", metric="euclidean"), "criterion": criterion, "n_iter": n_iter},
            n_chains=n_chains,
            n_jobs=-1,
            random_state=seed,
            verbose=1,
        )
        models[criterion.upper()] = model.fit(*data.train)
    _print_table(models, data, out)
    figure = plot_convergence(models, data.train, data.test, noise_floor=data.noise_floor)
    save_picture(figure, picture)
    print(f"\nFigure 2 of the paper, from these chains: {picture.resolve()}", file=out)


def _print_table(models: dict[str, AnnealedRegressor], data: RobotArm, out: TextIO) -> None:
    print(f"\n{'':14}{'k':>4}{'log posterior':>15}{'train error':>13}{'test error':>12}", file=out)
    for label, model in models.items():
        train_error = summed_mse(data.train[1], model.predict(data.train[0]))
        test_error = summed_mse(data.test[1], model.predict(data.test[0]))
        print(
            f"{label:14}{model.n_terms_:4d}{model.log_posterior_:15.2f}{train_error:13.5f}{test_error:12.5f}",
            file=out,
        )
        paper_k, paper_error = PAPER[label.lower()]
        print(f"{'  the paper':14}{paper_k:4d}{'':28}{paper_error:12.5f}", file=out)
    print(f"{'the noise':14}{'':32}{data.noise_floor:12.5f}", file=out)
