"""Geweke's joint-distribution test of the full-Bayes sampler.

A chain that alternates its own steps on the parameters with fresh data from the model must leave the joint prior as it
is. Chains start from exact draws of it, so their averages are unbiased; Student's t is taken over independent chains.
Run as a script it prints the worst |t|; a test runs it on copies with planted bugs.
"""

import sys
from math import factorial

import numpy as np

from saltus import Product, Radial, Ridge
from saltus.engine.kernels.factor import VANISHED, refactor
from saltus.engine.kernels.gibbs import Prior, run_sample_block, start_hierarchy
from saltus.engine.kernels.ridge import SMALLEST_SHARE
from saltus.engine.kernels.state import Tuning, make_workspace, start_record, start_state
from saltus.engine.problem.criteria import free_criterion
from saltus.engine.search.starts import are_seen, set_terms
from saltus.families.terms import TermSet, put_terms, terms_as_value
from tests.engine.designs import make_with, radial_of, terms_at
from tests.problems import make_problem

K_MAX, N_ROWS = 4, 20
PRIOR = Prior(v0=8.0, g0=6.0, a=4.0, b=6.0, e1=1.5, e2=1.0)
STEPS = 10  # moves between fresh data, with Gibbs after every fifth


def count_rows(many):
    """Of many rows, enough see each term."""
    return 3 * N_ROWS if many else N_ROWS


# Families that a network may mix.
MIXED = [
    Radial("gaussian", 0.5, metric="standardized", widths="shared"),
    Product(("hinge", "wave"), max_inputs=2),
    Ridge("sigmoid", max_inputs=2),
    Ridge("wave", max_inputs=2),
]


def make_model(name, c, learned=False, own_widths=False, mixed=False, wide=False):
    """Make a design on the inputs of a problem, for c outputs; its Y is to be filled.

    Wide terms are nearly linear, and depend on each other.
    """
    problem = make_problem(name, n_rows=count_rows(learned or own_widths or mixed))
    rank = np.linalg.matrix_rank(problem.X - problem.X.mean(axis=0))
    # r has no scale of its own, so that no relevance makes a column nearly linear.
    radial = Radial("linear", metric="learned")
    if learned and own_widths:
        radial = Radial("gaussian", 0.8 * rank, metric="learned", widths="own")
    elif not learned:
        width = (1.2 if wide else 0.5 if own_widths else 0.35) * rank
        radial = Radial("gaussian", width, metric="standardized", widths="own" if own_widths else "shared")
    basis = MIXED if mixed else radial
    criterion = free_criterion(K_MAX, 2 * c + 10, 10)
    Y = np.zeros((len(problem.X), c))
    return make_with(problem.X, Y, basis, criterion, margin=0.0 if learned else 0.1, ridge=True)


def as_terms(design, centers, shared=None):
    """Make terms of the parameters of radial ones; those of several families are terms already."""
    return centers if isinstance(centers, TermSet) else terms_at(design, centers, shared)


def design_matrix(design, centers, shared=None, *, relative=False):
    """D, with what terms have beside their linear part, at their length, where the ridge is relative."""
    columns, Q = design.columns(as_terms(design, centers, shared)), design.linear.Q
    if relative:
        rest = columns - Q @ (Q.T @ columns)
        columns = rest * np.sqrt((columns**2).sum(axis=0) / (rest**2).sum(axis=0))
    return np.hstack([Q @ design.linear.R, columns])


def draw_relevance(rng, d):
    return np.where(rng.random(d) < 0.5, np.exp(rng.uniform(-1, 1, d) * np.log(100.0)), 0.0)


def are_there(design, centers, relevance):
    """Whether a chain could be there: |x - mu| is linear where mu is beyond the data, and constant with no input on."""
    terms, Q = as_terms(design, centers, relevance), design.linear.Q
    columns = design.columns(terms)
    if not are_seen(design.problem, terms, columns).all():
        return False
    rest = columns - Q @ (Q.T @ columns)
    return ((rest**2).sum(axis=0) > SMALLEST_SHARE * (columns**2).sum(axis=0) + VANISHED).all()


def draw_from_prior(rng, design, *, learned=False, mixed=False):
    """Draw from the joint prior, or the part of it where no column is linear."""
    family, m_fixed, c = radial_of(design), design.problem.m_fixed, design.Y.shape[1]
    relevance = family.starting_shared
    while True:
        rate, k = draw_size(rng)
        centers = design.mixture.draw(rng, k) if mixed else rng.random((k, family.n_parameters))
        if learned:
            relevance = draw_relevance(rng, relevance.size)
        if not (family.own_widths or learned or mixed) or are_there(design, centers, relevance):
            break
    delta_squared = PRIOR.b / rng.gamma(PRIOR.a, size=c)
    sigma_squared = 0.5 * PRIOR.g0 / rng.gamma(0.5 * PRIOR.v0, size=c)
    scale = np.sqrt(sigma_squared * delta_squared)
    n_columns = design.mixture.owners_of_columns(centers).size if mixed else k
    alpha = scale[:, None] * rng.standard_normal((c, m_fixed + n_columns))
    return rate, centers, delta_squared, sigma_squared, alpha, relevance


def draw_size(rng):
    rate = rng.gamma(0.5 + PRIOR.e1) / PRIOR.e2
    weights = np.array([rate**k / factorial(k) for k in range(K_MAX + 1)])
    return rate, rng.choice(K_MAX + 1, p=weights / weights.sum())


def statistics(rate, centers, delta_squared, sigma_squared, alpha, relevance):
    k, of_each = len(centers), []
    if isinstance(centers, TermSet):  # also how many are of each family, and have two inputs
        of_each = [(centers.family == number).sum() for number in (0, 1, 3)] + [(centers.choices[:, 0] == 2).sum()]
        centers = centers.parameters[:, :1]
    spread = (alpha**2).mean(axis=1) / (sigma_squared * delta_squared)
    logs = np.log(relevance[relevance > 0])
    return np.concatenate(
        [
            [len(logs), len(logs) * k, logs.sum(), (logs**2).sum()],
            [k, k**2, k == 0, k == K_MAX, np.log(rate), k * np.log(rate), (centers[:, -1] < 0.3).sum()],
            of_each,
            np.log(delta_squared),
            np.log(sigma_squared),
            np.log(delta_squared) * k,
            np.log(sigma_squared) * k,
            spread,
            np.sign(alpha[:, 0]),
            alpha[:, -1] / np.sqrt(sigma_squared),
        ]
    )


def run_chain(rng, name, c, n_rounds, learned, relative, own_widths, mixed):
    """Average the statistics over a chain on parameters and data."""
    design = make_model(name, c, learned, own_widths, mixed, wide=relative)
    n_rows = count_rows(learned or own_widths or mixed)
    m_fixed = design.problem.m_fixed
    rate, centers, delta_squared, sigma_squared, alpha, relevance = draw_from_prior(
        rng, design, learned=learned, mixed=mixed
    )
    tuning = Tuning(0.15, 0.2, True, *([5] if learned else []))
    state = start_state(design.problem, design.linear.Q, design.Y, relevance)
    work, terms = make_workspace(design.problem, state), state.terms
    hierarchy = start_hierarchy(state, design.linear.R, delta_squared, rate, relative=relative)
    record = start_record(state, 1)
    hierarchy.sigma_squared[:] = sigma_squared
    hierarchy.alpha[:, : alpha.shape[1]] = alpha
    put_terms(as_terms(design, centers, relevance), terms)
    seen = []
    for r in range(n_rounds):
        present = terms_as_value(terms)
        D = design_matrix(design, present, relative=relative)[:n_rows]
        mean = D @ hierarchy.alpha[:, : D.shape[1]].T
        design.Y[:n_rows] = mean + np.sqrt(hierarchy.sigma_squared) * rng.standard_normal((n_rows, c))
        set_terms(design, state, present)
        if learned:  # which keeps a factor of the linear term, residuals included
            refactor(design.problem.linear, design.linear.Q, design.Y, np.empty((len(design.Y), 0), order="F"))
        run_sample_block(
            rng, design.problem, PRIOR, tuning, state, work, hierarchy, record, STEPS, STEPS * r, STEPS // 2, True
        )
        alpha = hierarchy.alpha[:, : m_fixed + state.n_columns[0]]
        present = terms_as_value(terms)
        seen.append(
            statistics(
                hierarchy.rate[0],
                present if mixed else present.parameters,
                hierarchy.ridge.delta_squared,
                hierarchy.sigma_squared,
                alpha,
                terms.shared,
            )
        )
    return np.mean(seen, axis=0), record.counts[:, 2]


def t_values(
    name,
    c,
    *,
    n_chains,
    n_rounds,
    n_prior=200_000,
    seed=0,
    learned=False,
    relative=False,
    own_widths=False,
    mixed=False,
):
    """Student's t of each statistic: chains against independent draws of the prior."""
    rng = np.random.default_rng([seed, c, *name.encode()])
    design = make_model(name, c, learned, own_widths, mixed, wide=relative)
    exact = np.array([statistics(*draw_from_prior(rng, design, learned=learned, mixed=mixed)) for _ in range(n_prior)])
    children = np.random.SeedSequence([seed, c, *name.encode()]).spawn(n_chains)
    runs = [
        run_chain(np.random.default_rng(child), name, c, n_rounds, learned, relative, own_widths, mixed)
        for child in children
    ]
    chains = np.array([means for means, _ in runs])
    n_accepted = sum(accepted for _, accepted in runs)
    assert (n_accepted[: 7 if learned else 5] > 20).all(), "every move must have been accepted"
    error = np.sqrt(chains.var(axis=0, ddof=1) / n_chains + exact.var(axis=0) / n_prior)
    # A statistic that never changes, such as the number of inputs of a given metric, must be right.
    difference = chains.mean(axis=0) - exact.mean(axis=0)
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), np.where(difference == 0, 0.0, np.inf))


if __name__ == "__main__":
    name, c, relative = sys.argv[1], int(sys.argv[2]), "relative" in sys.argv
    n_rounds = 300 if relative else 150
    print(np.abs(t_values(name, c, n_chains=100, n_rounds=n_rounds, n_prior=40_000, relative=relative)).max())
