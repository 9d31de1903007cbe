"""Searches that spend their effort in another way."""

from saltus.engine.search.policy import SearchPolicy


def with_policy(model, policy=None, **changes):
    """Give a model that is not fitted yet a search policy, or the usual one with some changes."""
    model._policy = SearchPolicy(**changes) if policy is None else policy
    return model
