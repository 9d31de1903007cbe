"""The scikit-learn estimators: they validate, delegate and store."""

from saltus.regressors.annealed import AnnealedRegressor
from saltus.regressors.base import DependentFeaturesWarning, EarlyEndWarning
from saltus.regressors.bayesian import BayesianRegressor

Regressor = AnnealedRegressor | BayesianRegressor

__all__ = ["AnnealedRegressor", "BayesianRegressor", "DependentFeaturesWarning", "EarlyEndWarning", "Regressor"]
