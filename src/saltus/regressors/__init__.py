"""The scikit-learn estimators: they validate, delegate and store."""

from saltus.regressors.annealed import AnnealedRegressor
from saltus.regressors.base import DependentFeaturesWarning

__all__ = ["AnnealedRegressor", "DependentFeaturesWarning"]
