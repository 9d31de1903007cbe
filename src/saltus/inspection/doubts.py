"""What is not to be trusted about a model: sentences for whoever reads its predictions."""

import numpy as np

from saltus._typing import Floats
from saltus.estimators import AnnealedRegressor, BayesianRegressor, NetworkRegressor
from saltus.inspection.diagnostics import LARGEST_RHAT_OF_PREDICTIONS, PREDICTED, SMALLEST_ESS_OF_PREDICTIONS
from saltus.inspection.document import count, join_names, one_line, percent
from saltus.inspection.formula import Formula
from saltus.inspection.metrics import score_rows

# With more than this share of the rows as parameters, a model follows their noise.
MOST_PARAMETERS = 1 / 3
# More held-out rows than this beyond the training data, in any input that is used, are worth a sentence.
MOST_BEYOND = 0.05
# A held-out error so many times that of the training rows says that these were followed too closely.
FAR_WORSE = 1.5
# The docs' sign of a false term: a width of a tenth of a standard deviation of an input, or less.
NARROW = 0.1


def find_doubts(
    model: NetworkRegressor, fitted: tuple[Floats, Floats] | None, held_out: tuple[Floats, Floats] | None
) -> list[str]:
    """Say what is not to be trusted, given checked rows of the fit and held-out ones, where there are any."""
    doubts = [*_of_chains(model), *_of_size(model), *_of_narrow_terms(model)]
    if held_out is not None:
        doubts += _of_places(model, held_out[0])
        if fitted is not None:
            doubts += _of_scores(model, fitted, held_out)
    return doubts


def is_converged(model: NetworkRegressor) -> bool:
    """Say whether the chains of a posterior agree well enough to predict with; a search has nothing to converge to."""
    if not isinstance(model, BayesianRegressor):
        return True
    return not any(
        each.name.startswith(PREDICTED)
        and not (each.rhat <= LARGEST_RHAT_OF_PREDICTIONS and each.ess >= SMALLEST_ESS_OF_PREDICTIONS)
        for each in model.diagnostics_
    )


def _of_chains(model: NetworkRegressor) -> list[str]:
    said = []
    if not is_converged(model):
        said.append(
            "The chains of the posterior disagree about the predictions: intervals and the number of terms may change "
            "with a longer fit. Ask for more iterations: n_iter in Python, --iterations on the command line."
        )
    if model._ended_early:
        said.append("The fit was ended early: a longer fit may predict better.")
    return said


def _of_size(model: NetworkRegressor) -> list[str]:
    n = model.data_notes_.total_weight
    if isinstance(model, BayesianRegressor):
        n_parameters = float(np.max(model.effective_parameters_))
    elif isinstance(model, AnnealedRegressor):
        network = model._single_network
        n_parameters = 1.0 + float((network.linear_coef != 0).any(axis=0).sum()) + len(network.coefficients)
    else:
        return []
    if n_parameters <= MOST_PARAMETERS * n:
        return []
    smaller = ", or fit a smaller one: " + _with_criterion("bic") if isinstance(model, AnnealedRegressor) else ""
    return [
        f"The model has {n_parameters:.0f} coefficients for {n:.0f} rows: it may follow the noise of these rows. Judge "
        f"the model by held-out rows{smaller}."
    ]


def _with_criterion(name: str) -> str:
    return f"criterion={name!r} in Python, --criterion {name} on the command line"


def _of_narrow_terms(model: NetworkRegressor) -> list[str]:
    """Suspect terms that are narrower than a tenth of a standard deviation of an input, as the docs say."""
    inputs = model.data_notes_.inputs
    narrowest = Formula.of(model._single_network).terms.narrowest()
    if narrowest is None:
        return []
    narrow = [
        name for name, width, std in zip(inputs.names, narrowest, inputs.std, strict=True) if width <= NARROW * std
    ]
    if not narrow:
        return []
    remedy = f" The remedy is {_with_criterion('ebic')}." if isinstance(model, AnnealedRegressor) else ""
    return [
        f"Some terms are narrower than a tenth of a standard deviation along {join_names(narrow)}. If no effect is "
        f"that narrow, these terms fit noise.{remedy}"
    ]


def _of_places(model: NetworkRegressor, X: Floats) -> list[str]:
    inputs = model.data_notes_.inputs
    beyond = (inputs.min > X) | (inputs.max < X)
    share = float(beyond.any(axis=1).mean())
    if share <= MOST_BEYOND:
        return []
    worst = np.argsort(-beyond.sum(axis=0), kind="stable")[:3]
    names = [inputs.names[j] for j in worst if beyond[:, j].any()]
    return [
        f"{percent(share)} of the held-out rows lie beyond the range of the training data, in {join_names(names)} "
        f"above all: there, predictions are guesses."
    ]


def _of_scores(model: NetworkRegressor, fitted: tuple[Floats, Floats], held_out: tuple[Floats, Floats]) -> list[str]:
    said = []
    for inside, outside in zip(score_rows(model, *fitted), score_rows(model, *held_out), strict=True):
        name = one_line(outside.output)
        if outside.r_squared <= 0:
            said.append(f"{name} is predicted no better than by its mean on the held-out rows.")
        elif inside.rmse > 0 and outside.rmse > FAR_WORSE * inside.rmse:
            said.append(
                f"The error of {name} is {outside.rmse / inside.rmse:.1f} times as large on the "
                f"{count(len(held_out[0]), 'held-out row')} as on the rows of the fit: the model follows these too "
                f"closely, or the held-out rows are different."
            )
    return said
