"""What pictures have in common: colours, axes, names."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from sklearn.utils.validation import check_is_fitted

from saltus.estimators import NetworkRegressor
from saltus.inspection.document import one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

P = ParamSpec("P")
R = TypeVar("R")

# Okabe and Ito's colours, which the colour-blind can tell apart.
BLUE, ORANGE, GREEN, PINK, SKY = "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"
CYCLE = (BLUE, ORANGE, GREEN, PINK, SKY)

# In letters; longer ones would not fit into a small picture.
LONGEST_NAME, LONGEST_TITLE = 30, 44
MOST_TICKS = 6


def require_matplotlib(module: str = "figure") -> Any:
    """Import a module of matplotlib, or say how to get it."""
    try:
        import_module("matplotlib")
        return import_module(f"matplotlib.{module}")
    except ImportError as error:
        raise ImportError("Pictures need matplotlib, which is not installed: pip install 'saltus[plot]'") from error


def of_a_fitted_model(draw: Callable[P, R]) -> Callable[P, R]:
    """Let a function that draws refuse what is no fitted model of this library."""

    @wraps(draw)
    def check_and_draw(*arguments: P.args, **options: P.kwargs) -> R:
        model = arguments[0] if arguments else options.get("model")
        if model is not None and not isinstance(model, NetworkRegressor):
            raise TypeError(f"model must be an AnnealedRegressor or a BayesianRegressor. Got {model!r}.")
        if model is not None:
            check_is_fitted(model)
        return draw(*arguments, **options)

    return check_and_draw


def make_axes(ax: "Axes | None") -> "Axes":
    """Take the given Axes, or make one that a notebook shows by itself and `pyplot.show` shows elsewhere."""
    if ax is not None:
        return ax
    return require_matplotlib("pyplot").subplots(figsize=(6.0, 4.0), layout="constrained")[1]


def finish(ax: "Axes", *, title: str, xlabel: str, ylabel: str) -> "Axes":
    """Write the labels, none of which is taken for a formula, and take away what says nothing."""
    ax.set_title(literal(title, longest=LONGEST_TITLE), loc="left", fontsize="medium")
    ax.set_xlabel(literal(xlabel))
    ax.set_ylabel(literal(ylabel))
    locator = ax.xaxis.get_major_locator()
    if isinstance(locator, require_matplotlib("ticker").MaxNLocator):
        locator.set_params(nbins=MOST_TICKS)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def legend_below(ax: "Axes") -> None:
    """Put the legend where it hides nothing."""
    ax.legend(frameon=False, fontsize="x-small", loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)


def count_along(axis: "Axis") -> None:
    """Put ticks at whole numbers only."""
    axis.set_major_locator(require_matplotlib("ticker").MaxNLocator(integer=True))


def literal(text: str, longest: int = LONGEST_NAME) -> str:
    """Make a name fit for a picture: short, on one line, and not a formula to matplotlib."""
    line = one_line(text)
    line = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return line.replace("$", r"\$")


def ink() -> str:
    """Name the colour of text, for what should stand out against any background."""
    return str(require_matplotlib("pyplot").rcParams["text.color"])
