"""Designs to test the engine with."""

from saltus import AnnealedRegressor
from saltus.estimators.base import check_data


def make(X, Y, basis="gaussian", sample_weight=None, **options):
    """Make the design of a fit."""
    model = AnnealedRegressor(basis, **options)
    return model._make_design(check_data(model, X, Y, sample_weight))
