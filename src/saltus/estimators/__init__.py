"""The scikit-learn estimators: they validate, delegate and store."""

from saltus.estimators.annealed import AnnealedRegressor
from saltus.estimators.base import DependentFeaturesWarning, EarlyEndWarning, NetworkRegressor
from saltus.estimators.bayesian import BayesianRegressor

__all__ = ["AnnealedRegressor", "BayesianRegressor", "DependentFeaturesWarning", "EarlyEndWarning", "NetworkRegressor"]
