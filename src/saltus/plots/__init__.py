"""Pictures of fitted models. matplotlib is an extra: ``pip install 'saltus[plot]'``.

Each function draws into the Axes that it is given, or a new one, and returns it.
"""

from saltus.plots.chains import plot_acceptance, plot_trace
from saltus.plots.convergence import plot_convergence, summed_mse
from saltus.plots.dependence import plot_dependence
from saltus.plots.fit import plot_fit
from saltus.plots.importance import plot_importance, plot_interaction
from saltus.plots.overview import plot_overview
from saltus.plots.residuals import plot_calibration, plot_residuals
from saltus.plots.size import plot_path, plot_size
from saltus.plots.style import require_matplotlib
from saltus.plots.terms import plot_terms

__all__ = [
    "plot_acceptance",
    "plot_calibration",
    "plot_convergence",
    "plot_dependence",
    "plot_fit",
    "plot_importance",
    "plot_interaction",
    "plot_overview",
    "plot_path",
    "plot_residuals",
    "plot_size",
    "plot_terms",
    "plot_trace",
    "require_matplotlib",
    "summed_mse",
]
