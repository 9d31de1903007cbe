"""How much rows say of their own fit, and what this sums to: the effective number of parameters."""

import numpy as np

from saltus._thinning import spread_out
from saltus._typing import Floats
from saltus.engine.results.predictive import Predictive

# Rows and draws that are looked at, at most: with 300 columns these are 20 GFlop.
MOST_ROWS, MOST_DRAWS = 2_000, 100


def leverages(D: Floats, K: Floats) -> Floats:
    """Find by how much the fit of each row of features D (N, m) follows its y: its variance without noise is K K'."""
    return np.square(D @ K).sum(axis=1)


def effective_parameters(predictive: Predictive, X: Floats, weight: Floats) -> Floats:
    """Sum the leverages of all rows, (c,), in the mean over draws; where there are many of either, over some of them.

    This is the trace of the matrix that takes y to its fit: the number of coefficients where these are free, and less
    where a prior holds them.
    """
    rows, chosen = spread_out(len(X), MOST_ROWS), spread_out(len(predictive.draws), MOST_DRAWS)
    draws, share = [predictive.draws[j] for j in chosen], weight[rows] * (weight.sum() / weight[rows].sum())
    columns = predictive.features.columns(X[rows], draws)
    return np.mean([[share @ leverages(D, K) for K in draw.K] for draw, D in zip(draws, columns, strict=True)], axis=0)
