"""Families whose terms choose inputs, and designs of them, to test with."""

import numpy as np
from scipy.stats import chisquare, kstest

from saltus import Product, Radial, Ridge
from tests.engine.designs import make_with
from tests.families.user.families import OwnRidge, Turns
from tests.problems import make_problem

ALL_PROFILES = ("identity", "hinge", "step", "bump", "hat", "wave", "polynomial")

FAMILIES = {
    "hinges": Product("hinge"),
    "steps": Product("step"),
    "bumps": Product("bump"),
    "hats": Product("hat", max_inputs=2),
    "waves": Product("wave"),
    "polynomials": Product(("polynomial", "bump"), max_inputs=4),
    "all products": Product(ALL_PROFILES),
    "one input": Product(("hinge", "step"), max_inputs=1),
    "products that go on": Product(("hinge", "identity"), extrapolate="free"),
    "hinge ridges": Ridge("hinge"),
    "ridges": Ridge(("hinge", "sigmoid", "bump"), max_inputs=3),
    "ridges that go on": Ridge("sigmoid", extrapolate="free"),
    "a user's ridges": OwnRidge(),
    "a user's turns, mixed": [Turns(), "hinges", OwnRidge()],
    "two columns": Ridge("wave", max_inputs=2),
    "a mixture with two columns": [Product(("hinge", "bump")), Ridge("wave"), Radial("gaussian"), Ridge("sigmoid")],
    "a mixture": [Radial("gaussian"), Product(("hinge", "bump")), "steps", Ridge(("sigmoid", "hinge"))],
}


def make_choosing(name, *, problem="three inputs, two outputs", k_max=8, **options):
    """Make a design of these families on a problem."""
    data = make_problem(problem, **options)
    basis = FAMILIES[name] if isinstance(name, str) else name
    return data, make_with(data.X, data.Y, basis, np.zeros(k_max + 1), weight=data.weight, n_levels=data.n_levels)


def in_full(families):
    """Let terms count for all of their parameters, not for a given number."""
    return families._replace(counts_levels_only=False)


# The chance of a false alarm of one check.
LEAST_P = 1e-6


def check_counts(found, expected):
    """Check counts of cells against their probabilities."""
    found = np.asarray(found)
    assert chisquare(found, np.asarray(expected) * found.sum() / np.sum(expected)).pvalue > LEAST_P


def check_uniform(values):
    """Check that values are uniform on [0, 1]."""
    assert kstest(values, "uniform").pvalue > LEAST_P
