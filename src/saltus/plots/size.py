"""A picture of how many terms there are, and how sure that is."""

from typing import TYPE_CHECKING

from saltus.estimators import AnnealedRegressor, BayesianRegressor, NetworkRegressor
from saltus.inspection.findings import FEW_TERMS, SIZES_BESIDE_BEST, criterion_by_size, criterion_label, nearly_as_good
from saltus.plots.style import BLUE, GREEN, ORANGE, count_along, finish, make_axes, of_a_fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Sizes that are farther behind than this are off the picture, which would be flat otherwise.
HEIGHT, MARGIN = 40.0, 2.0


@of_a_fitted_model
def plot_size(model: NetworkRegressor, *, ax: "Axes | None" = None) -> "Axes":
    """Draw the best criterion value for each number of terms; for a Bayesian model, the posterior of that number.

    The picture leaves out sizes whose criterion value is more than 40 units above the best.

    Parameters
    ----------
    model : fitted AnnealedRegressor or BayesianRegressor
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
    """
    ax = make_axes(ax)
    count_along(ax.xaxis)
    return model._draw_size(ax)


@of_a_fitted_model
def plot_path(model: AnnealedRegressor, *, ax: "Axes | None" = None) -> "Axes":
    """Draw what fewer terms cost: the error of rows left out one by one, for every number of terms of `path_`.

    Parameters
    ----------
    model : fitted AnnealedRegressor
        A model with a `path_`, which very large fits do not have.
    ax : matplotlib Axes or None

    Returns
    -------
    ax : matplotlib Axes
        With several outputs the error is the root mean square over these.
    """
    if not model.path_:
        raise ValueError("This model has no path_: its design was too large to keep one. Fit it to fewer rows.")
    ax = make_axes(ax)
    count_along(ax.xaxis)
    error = {size.n_terms: size.leave_one_out for size in model.path_}
    ax.plot(list(error), list(error.values()), "-", color=BLUE, lw=1.5)
    marked = {"all": max(error), f"{FEW_TERMS} terms": FEW_TERMS}
    for (label, k), colour in zip(marked.items(), (ORANGE, GREEN), strict=True):
        if k in error:
            ax.plot(k, error[k], "D", color=colour, ms=7, label=f"{label}: {error[k]:.3g}")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize="small")
    return finish(ax, title="What fewer terms cost", xlabel="terms", ylabel="error of rows left out")


def draw_posterior(ax: "Axes", model: BayesianRegressor) -> "Axes":
    """Draw the posterior of the number of terms."""
    ax.bar(list(model.posterior_k_), list(model.posterior_k_.values()), color=BLUE, width=0.8)
    return finish(ax, title="Posterior of the size", xlabel="terms", ylabel="probability")


def draw_criterion(ax: "Axes", model: AnnealedRegressor) -> "Axes":
    """Draw the best criterion seen with each number of terms."""
    by_size = {
        k: value for k, value in criterion_by_size(model).items() if abs(k - model.n_terms_) <= SIZES_BESIDE_BEST
    }
    best = by_size[model.n_terms_]
    behind = nearly_as_good(model)
    ax.axhspan(best, best + behind, color=GREEN, alpha=0.25, lw=0, label=f"within {behind:.3g} of the best")
    ax.plot(list(by_size), list(by_size.values()), "o-", color=BLUE, lw=1.2, ms=4)
    ax.plot(model.n_terms_, best, "D", color=ORANGE, ms=7, label="chosen")
    ax.set_ylim(best - MARGIN, best + min(max(by_size.values()) - best + MARGIN, HEIGHT))
    if len(by_size) == 1:
        ax.set_xlim(model.n_terms_ - 1, model.n_terms_ + 1)
    ax.legend(frameon=False, fontsize="small")
    label = f"criterion ({criterion_label(model)})"
    return finish(ax, title="Best criterion seen for each size", xlabel="terms", ylabel=label)
