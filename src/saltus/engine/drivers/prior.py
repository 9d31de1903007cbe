"""Draws from the prior of the sampler: what its chains would return if there were no data.

k terms, what they share and what is above them are drawn as the kernel's target has them, and all of it is drawn again
until the kernel would allow the terms: their parameters are affordable, enough rows see each, and no column depends on
the others, or under a ridge on the linear term. Sets of many terms are refused more often, so that p(k) is what
`log_prior_of_size` or the Poisson law says times the probability that k fresh terms are allowed. That is the target of
the kernel, which refuses the same sets.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from saltus._typing import Floats
from saltus.engine.drivers.outputs import SamplerSettings
from saltus.engine.kernels.factor import COLLINEAR, VANISHED
from saltus.engine.kernels.gibbs import Prior
from saltus.engine.kernels.ridge import SMALLEST_SHARE
from saltus.engine.kernels.target import UNAFFORDABLE, penalty_of
from saltus.engine.problem.design import Design
from saltus.engine.problem.span import GRID, LOG_PRIOR_OF_GRID
from saltus.engine.results.network import Network, make_network
from saltus.engine.search.starts import are_seen
from saltus.families.terms import TermSet

# A draw is given up after so many sets of terms that are not allowed: seconds, with a thousand rows.
MOST_TRIES = 20_000

# The first terms of a set are looked at first, then so many times as many, and so on: most sets are refused by few.
MORE_TERMS = 4


def draw_from_prior(
    rng: np.random.Generator, design: Design, settings: SamplerSettings, noise_variance: Floats | None
) -> tuple[Network, Floats, Floats, float]:
    """Draw a network, the variances (c,) of its noise, how wide the prior of its coefficients is, and the rate of k.

    Variances are drawn from their prior unless they are given. The width (c,) is g or delta^2. Under a g-prior the rate
    is 0.
    """
    prior, n_outputs = settings.prior, design.Y.shape[1]
    terms, rate = draw_allowed_terms(rng, design, settings)
    variance = draw_variance(rng, prior, n_outputs) if noise_variance is None else noise_variance
    if settings.has_g_prior:
        width = draw_g(rng, design, settings.fixed_g)
        unit = unit_coefficients_of_g_prior(rng, design, terms)
    else:
        width = np.divide(prior.b, rng.standard_gamma(prior.a, n_outputs))
        unit = unit_coefficients_of_ridge(rng, design, terms, relative=settings.relative_ridge)
    return make_network(design, terms, np.sqrt(width * variance) * unit), variance, width, rate


def draw_variance(rng: np.random.Generator, prior: Prior, n_outputs: int) -> Floats:
    """Draw variances (c,) of the noise from their prior, which must be proper."""
    return np.divide(0.5 * prior.g0, rng.standard_gamma(0.5 * prior.v0, n_outputs))


def draw_allowed_terms(rng: np.random.Generator, design: Design, settings: SamplerSettings) -> tuple[TermSet, float]:
    """Draw the rate of k, k, what terms share, and k terms, all of it again until the terms are allowed."""
    mixture = design.mixture
    for _ in range(MOST_TRIES):
        rate = 0.0 if settings.has_g_prior else draw_rate(rng, settings.prior)
        terms = mixture.draw(rng, draw_size(rng, design, rate), mixture.draw_shared(rng))
        if are_allowed(design, terms, has_g_prior=settings.has_g_prior):
            return terms, rate
    raise ValueError(
        f"The sampler allows none of {MOST_TRIES} sets of terms that were drawn from the prior: among up to "
        f"k_max={design.k_max} terms there is nearly always one that hardly any row sees, or one that depends linearly "
        "on the others. Set a smaller k_max, or give more rows."
    )


def draw_size(rng: np.random.Generator, design: Design, rate: float) -> int:
    """Draw k as if every set of terms were allowed: by its rate, or if that is 0 by the criterion."""
    k = np.arange(design.k_max + 1.0)
    log_density = k * np.log(rate) if rate > 0 else -design.problem.criterion.by_size
    # In the measure of the moves a set of k terms stands for its k! orders.
    log_mass = log_density - gammaln(k + 1.0)
    mass = np.exp(log_mass - log_mass.max())
    return int(rng.choice(k.size, p=mass / mass.sum()))


def draw_rate(rng: np.random.Generator, prior: Prior) -> float:
    """Draw L, the rate of k."""
    return float(rng.standard_gamma(0.5 + prior.e1) / prior.e2)


def are_allowed(design: Design, terms: TermSet, *, has_g_prior: bool) -> bool:
    """Say whether a chain could be at these terms. O(N m^2)."""
    if penalty_of(design.problem, terms) >= UNAFFORDABLE:
        return False
    n = 1
    while n < len(terms):
        if not have_allowed_columns(design, terms.take(slice(n)), has_g_prior=has_g_prior):
            return False
        n *= MORE_TERMS
    return have_allowed_columns(design, terms, has_g_prior=has_g_prior)


def have_allowed_columns(design: Design, terms: TermSet, *, has_g_prior: bool) -> bool:
    """Say whether enough rows see each column of terms, and none depends on what it must not depend on. O(N m^2).

    Under a g-prior that is the span of those before it, under a ridge the linear term.
    """
    columns = design.columns(terms)
    if not are_seen(design.problem, terms, columns).all():
        return False
    squared = (columns**2).sum(axis=0)
    if has_g_prior:
        return bool((np.diag(triangle_of_new(design, columns)) ** 2 > COLLINEAR * squared + VANISHED).all())
    return bool(((new_part(design, columns) ** 2).sum(axis=0) > SMALLEST_SHARE * squared + VANISHED).all())


def triangle_of_new(design: Design, columns: Floats) -> Floats:
    """Find R (q, q) of the columns (N, q) of terms, made orthogonal to the linear term."""
    return np.asarray(np.linalg.qr(new_part(design, columns), mode="r"))


def new_part(design: Design, columns: Floats) -> Floats:
    """Take from columns (N, q) what the linear term explains of them, twice for the sake of rounding."""
    Q = design.linear.Q
    for _ in range(2):
        columns = columns - Q @ (Q.T @ columns)
    return columns


def with_linear_part_removed(design: Design, columns: Floats, alpha: Floats) -> Floats:
    """Let coefficients alpha (q, c) be those of columns (N, q) less their projections on the linear term: (m, c)."""
    linear = design.linear
    return np.vstack([-solve_triangular(linear.R, linear.Q.T @ (columns @ alpha)), alpha])


def draw_g(rng: np.random.Generator, design: Design, fixed: float | None) -> Floats:
    """Draw g (c,) from its prior on the grid, where it is not given."""
    n_outputs = design.Y.shape[1]
    if fixed is not None:
        return np.full(n_outputs, fixed)
    mass = np.exp(LOG_PRIOR_OF_GRID - LOG_PRIOR_OF_GRID.max())
    return design.problem.n_total * rng.choice(GRID, n_outputs, p=mass / mass.sum())


def unit_coefficients_of_g_prior(rng: np.random.Generator, design: Design, terms: TermSet) -> Floats:
    """Draw coefficients (m, c) for g = 1 and noise of variance 1: N(0, (D'D)^-1), D the new part of the columns.

    Those of the linear term have a flat prior: they are such that the function has no linear part over the rows.
    """
    columns = design.columns(terms)
    normal = rng.standard_normal((columns.shape[1], design.Y.shape[1]))
    return with_linear_part_removed(design, columns, solve_triangular(triangle_of_new(design, columns), normal))


def unit_coefficients_of_ridge(rng: np.random.Generator, design: Design, terms: TermSet, *, relative: bool) -> Floats:
    """Draw coefficients (m, c) for delta^2 = 1 and noise of variance 1.

    They are N(0, 1) for columns as they are; under the relative ridge, for the new parts of those of terms, each
    divided by the root of the share that it has of the column's sum of squares.
    """
    columns = design.columns(terms)
    m_fixed, n_outputs = design.problem.m_fixed, design.Y.shape[1]
    alpha = rng.standard_normal((m_fixed + columns.shape[1], n_outputs))
    if not relative:
        return alpha
    share = (new_part(design, columns) ** 2).sum(axis=0) / (columns**2).sum(axis=0)
    of_terms = with_linear_part_removed(design, columns, alpha[m_fixed:] / np.sqrt(share)[:, None])
    of_terms[:m_fixed] += alpha[:m_fixed]
    return of_terms
