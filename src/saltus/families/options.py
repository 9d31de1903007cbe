"""The names of families, and their options as a command line offers them. Imports nothing heavy."""

from dataclasses import dataclass

RADIAL_NAMES = ("linear", "cubic", "thin_plate", "gaussian", "multiquadric", "inverse_multiquadric", "mexican_hat")
METRICS = ("learned", "standardized", "euclidean", "mahalanobis")
WIDTHS = ("auto", "shared", "own")

# What factors of products, and ridges, may be.
PRODUCT_PROFILES = ("identity", "hinge", "step", "bump", "hat", "wave", "polynomial")
RIDGE_PROFILES = ("hinge", "sigmoid", "bump", "wave")
EXTRAPOLATE = ("hold", "free")

# Names that stand for products and ridges: their profiles, and the most inputs of a term where that is not the default.
PRODUCT_NAMES: dict[str, tuple[str, int | None]] = {
    "hinges": ("hinge", None),
    "steps": ("step", 5),
    "bumps": ("bump", None),
    "wavelets": ("hat", None),
    "mars": ("hinge", 2),
    "polynomials": ("polynomial", 4),
}
RIDGE_NAMES: dict[str, tuple[str, int | None]] = {
    "ridges": ("sigmoid", None),
    "sigmoids": ("sigmoid", 8),
    "waves": ("wave", 2),
}

# The names that stand for a family with its defaults, and for those that are mixed by "auto".
FAMILY_NAMES: tuple[str, ...] = (*RADIAL_NAMES, *PRODUCT_NAMES, *RIDGE_NAMES)
AUTO, MIXED = "auto", ("hinges", "bumps", "steps", "ridges", "sigmoids", "polynomials")
# With so few inputs "auto" has waves instead of polynomials: a series in time, a surface. Noisy functions, seeds 22 and
# 23, error over a Gaussian process's, annealed: .67 with waves and .70 with both for one and two inputs; .80 without
# polynomials and .75 with them for more.
MIXED_OF_FEW_INPUTS, FEW_INPUTS = ("hinges", "bumps", "steps", "ridges", "waves"), 2

# All names that basis takes; those that are taken where none is given, and where options ask for radial terms.
NAMES: tuple[str, ...] = (AUTO, *FAMILY_NAMES)
DEFAULT_NAME, DEFAULT_RADIAL_NAME = AUTO, "gaussian"


@dataclass(frozen=True)
class Option:
    """An option of a family that has a few choices."""

    name: str
    choices: tuple[str, ...]
    help: str


OPTIONS = (
    Option("metric", METRICS, f"how distance to the centre of a term is measured: {', '.join(METRICS)}"),
    Option("widths", WIDTHS, "shared: one width for all terms; own: one for each; auto: the fit decides"),
)
