"""The scikit-learn estimators: they validate, delegate and store."""

from saltus.estimators.annealed import AnnealedRegressor
from saltus.estimators.base import DependentFeaturesWarning, EarlyEndWarning, ManyInputsWarning, NetworkRegressor
from saltus.estimators.bayesian import BayesianRegressor
from saltus.estimators.checks import MissingTargetWarning, UnreadableValuesWarning, WildValuesWarning
from saltus.estimators.unseen import UnseenValuesWarning

__all__ = [
    "AnnealedRegressor",
    "BayesianRegressor",
    "DependentFeaturesWarning",
    "EarlyEndWarning",
    "ManyInputsWarning",
    "MissingTargetWarning",
    "NetworkRegressor",
    "UnreadableValuesWarning",
    "UnseenValuesWarning",
    "WildValuesWarning",
]
