"""The system of the paper."""

from saltus import AnnealedRegressor
from saltus.demo import PAPER_OPTIONS


def paper(basis="cubic", **options):
    """Make an AnnealedRegressor that does what the paper does, but for the options given."""
    return AnnealedRegressor(**{**PAPER_OPTIONS, "basis": basis, **options})
