"""How a posterior predicts rows that it was fitted to, each as if it had been left out, and what follows for intervals.

Given the terms of a draw, the predictive distribution of a row without itself is known: with h its leverage and e its
residual, it is Student's t with one degree of freedom less about y - e/(1 - h), of squared scale
(S - e^2/(1 - h)) / (degrees - 1) / (1 - h).

The terms saw the row as well, so a draw weighs 1 over the density that it gives to the row (Gelfand, Dey and Chang
1992), cut off at the root of the number of draws times the mean weight (Ionides 2008). Where chains agree that is all
there is to it. Where they do not, each stands for networks of its own: weights over all draws then all but pick the
chain that is worst at the row and make intervals too wide, and weights within chains make them too narrow, as a chain
would not have ended there without the row. How much it would not depends on how much a row says of its own fit, which
is the number of columns over that of rows: the first count for six times this, the others for the rest. Share of new y
inside 50, 80 and 95 % intervals, means of splits 11 and 12 (11 of bike), by the posterior as it is, by weights over all
draws, within chains, and so:

    airfoil     .70 .90 .973    .60 .85 .970    .44 .71 .877    .54 .81 .950
    parkinsons  .88 .98 .998    .66 .94 .990    .44 .74 .929    .54 .84 .946
    bike        .94 .99 .999    .71 .94 .998    .51 .82 .946    .53 .83 .951
"""

import numpy as np
from scipy.special import gammaln

from saltus._thinning import spread_out
from saltus._typing import Floats, Ints
from saltus.engine.results.leverages import MOST_DRAWS, MOST_ROWS, leverages
from saltus.engine.results.predictive import Predictive, student_distribution

LARGEST_LEVERAGE = 1.0 - 1e-6

# Weights over all draws count for so many times the columns for each row, and no more than all.
ACROSS_A_COLUMN = 6.0

# Intervals are corrected where Kolmogorov's statistic of the rows' probabilities, times the root of their number, is
# beyond this, which it is once in a thousand times where the posterior is right.
LARGEST_DEVIATION = 1.95
# Probabilities that are the same to so many digits are equal.
ROUNDED = 9
# Corrections are kept as a table of probabilities at this many even distances.
N_STEPS = 200


def probabilities_left_out(predictive: Predictive, chain: Ints, X: Floats, Y: Floats) -> Floats:
    """Find the probability (N, c) of a y below that of each row, for rows of the data, each left out.

    Draws are of the chains of these numbers (n_draws,).
    """
    outputs, degrees = predictive.outputs, predictive.degrees - 1.0
    scaled = (Y - outputs.mean) / outputs.scale
    chosen = spread_out(len(predictive.draws), MOST_DRAWS)
    draws = [predictive.draws[j] for j in chosen]
    below, log_density = np.empty((2, len(draws), *Y.shape))
    log_unit = gammaln(0.5 * (degrees + 1.0)) - gammaln(0.5 * degrees) - 0.5 * np.log(degrees * np.pi)
    for j, (draw, D) in enumerate(zip(draws, predictive.features.columns(X, draws), strict=True)):
        for i, K in enumerate(draw.K):
            left = 1.0 - np.minimum(leverages(D, K), LARGEST_LEVERAGE)
            residual = scaled[:, i] - D @ draw.mean[:, i]
            S = np.maximum(draw.S[i] - residual**2 / left, np.finfo(np.float64).eps * draw.S[i])
            scale = np.sqrt(S / degrees / left)
            t = residual / left / scale
            below[j, :, i] = student_distribution(degrees, t)
            log_density[j, :, i] = log_unit - np.log(scale) - 0.5 * (degrees + 1.0) * np.log1p(t**2 / degrees)
    of_chains = chain[chosen]
    each = [of_chains == number for number in np.unique(of_chains)]
    within = np.mean([average_left_out(below[of_one], log_density[of_one]) for of_one in each], axis=0)
    n_columns = float(np.mean([len(draw.mean) for draw in draws]))
    across = min(ACROSS_A_COLUMN * n_columns / predictive.degrees, 1.0)
    return across * average_left_out(below, log_density) + (1.0 - across) * within


def average_left_out(values: Floats, log_density: Floats) -> Floats:
    """Average over draws (n, ...), each weighted by 1 over the density of what is left out."""
    weight = np.exp(log_density.min(axis=0) - log_density)
    weight = np.minimum(weight, np.sqrt(len(weight)) * weight.mean(axis=0))
    return (weight * values).sum(axis=0) / weight.sum(axis=0)


def correct_intervals(predictive: Predictive, chain: Ints, X: Floats, Y: Floats, weight: Floats) -> Floats | None:
    """Find what probabilities to ask of the posterior so that rows left out are below as often as they should be.

    Draws are of the chains of these numbers (n_draws,). Return (c, N_STEPS + 1) at even distances from 0 to 1; None
    where the posterior is right as it is, as far as the rows can tell.
    """
    if predictive.degrees <= 2.0:
        return None
    rows = spread_out(len(X), MOST_ROWS)
    below = probabilities_left_out(predictive, chain, X[rows], Y[rows])
    wanted = np.linspace(0.0, 1.0, N_STEPS + 1)
    found = np.tile(wanted, (Y.shape[1], 1))
    is_needed = False
    for i, of_output in enumerate(below.T):
        # Rows that are equal are one of their weight.
        seen, number = np.unique(of_output.round(ROUNDED), return_inverse=True)
        counts = np.bincount(number, weight[rows])
        share = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
        effective = counts.sum() ** 2 / np.square(counts).sum()
        if np.sqrt(effective) * np.abs(seen - share).max() > LARGEST_DEVIATION:
            found[i] = np.interp(wanted, [0.0, *share, 1.0], [0.0, *seen, 1.0])
            is_needed = True
    return found if is_needed else None
