"""Rows, terms of all sorts, and what a dense design says of them."""

import numpy as np

from saltus.engine.problem.scaling import from_mean
from saltus.engine.rows.fit import Target
from saltus.engine.rows.frame import Frame
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.rows import Block, inquire
from saltus.families.terms import TermSet, join_terms
from tests.engine.designs import make_with

MIXED = ["gaussian", "hinges", "bumps", "waves", "sigmoids"]


def some_rows(n=1300, seed=0):
    """Rows with three inputs and two outputs, of unequal weight."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 1.0]
    Y = np.stack([np.sin(X[:, 0]) + 0.2 * X[:, 1], 3.0 * X[:, 2] * X[:, 0]], axis=1)
    return Block(X, Y + 0.3 * rng.standard_normal(Y.shape), rng.integers(1, 4, n).astype(float))


def make_target(rows, basis=MIXED, n_seen=400, cost=2.0):
    """Make the target of all rows, framed by some of them with the ends of all."""
    part = np.unique(np.concatenate([np.arange(n_seen), rows.X.argmin(axis=0), rows.X.argmax(axis=0)]))
    design = make_with(rows.X[part], rows.Y[part], basis, cost * np.arange(60.0), weight=rows.weight[part])
    total = float(rows.weight.sum())
    problem = design.problem._replace(n_total=total, degrees=total)
    return Target(Frame.of(design), problem), design


def draw_terms(target, n_of_each=2, seed=1):
    """Draw some terms of each family."""
    rng, mixture = np.random.default_rng(seed), target.frame.mixture
    parts = [mixture.empty()]
    for family, member in enumerate(mixture.members):
        own = member.draw(rng, n_of_each)
        parts.append(mixture.padded(own, family, mixture.starting_shared))
    terms: TermSet = join_terms(parts)
    return terms.with_parameters(0.1 + 0.8 * terms.parameters)


def dense_design(target, rows, terms):
    """Evaluate the design and the outputs by the way of predictions, times the roots of the weights."""
    frame, root = target.frame, np.sqrt(rows.weight)[:, None]
    U = frame.box.to_unit(rows.X)
    fixed = np.hstack([np.ones((len(U), 1)), from_mean(U, frame.means)[:, frame.kept] / frame.spreads[frame.kept]])
    D = np.hstack([fixed, frame.mixture.columns(U, terms)])
    return root * D, root * (rows.Y - frame.outputs.mean) / frame.outputs.scale


def dense_rss(D, Y):
    alpha = np.linalg.lstsq(D, Y, rcond=None)[0]
    return ((Y - D @ alpha) ** 2).sum(axis=0)


def answer(rows, inquiry):
    """Run one inquiry."""
    ((_, found),) = inquire(MemoryRows(rows), {0: inquiry})
    return found
