"""The system of the paper."""

from saltus import AnnealedRegressor, Radial
from saltus.demo import PAPER_OPTIONS
from saltus.families.options import NAMES


def paper(basis="cubic", *, metric="standardized", **options):
    """Make an AnnealedRegressor that does what the paper does, but for the options given.

    The name of a family is taken with the given metric; a family is left as it is.
    """
    family = Radial(basis, metric=metric) if isinstance(basis, str) and basis in NAMES else basis
    return AnnealedRegressor(**{**PAPER_OPTIONS, "basis": family, **options})
