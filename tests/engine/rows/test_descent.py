"""Steps with all rows: gradient and curvature are those of log pi, and descents go up it."""

import numpy as np

from saltus.engine.rows.descent import descend, find_bend
from saltus.engine.rows.memory import MemoryRows
from saltus.engine.rows.rows import Block
from tests.engine.rows.examples import answer, dense_design, draw_terms, make_target


def explained(target, rows, free, x, alpha):
    D, _ = dense_design(target, rows, free.unpack(x))
    return D @ alpha


def test_gradient_and_curvature_against_finite_differences(rows, target):
    terms = draw_terms(target)
    fit = answer(rows, target.fit(terms))
    free = target.frame.free(target.problem.families, terms)
    assert free.n_shared == 3
    bend = answer(rows, find_bend(fit, MemoryRows(rows), free))
    D, Y = dense_design(target, rows, terms)
    slopes = np.empty((free.x.size, *Y.shape))
    for i in range(free.x.size):
        step = 1e-5 * np.eye(free.x.size)[i]
        slopes[i] = explained(target, rows, free, free.x + step, fit.alpha)
        slopes[i] -= explained(target, rows, free, free.x - step, fit.alpha)
        slopes[i] /= 2e-5
    E, weight = Y - D @ fit.alpha, rows.weight.sum() / fit.rss
    gradient = np.einsum("inc,nc,c->i", slopes, E, weight)
    np.testing.assert_allclose(bend.gradient, gradient, atol=1e-5 * np.abs(gradient).max())
    Q = np.linalg.qr(D)[0]
    left = slopes - np.einsum("nm,km,ikc->inc", Q, Q, slopes)
    hessian = np.einsum("inc,jnc,c->ij", left, left, weight)
    np.testing.assert_allclose(bend.hessian, hessian, atol=1e-5 * np.abs(hessian).max())


def test_a_part_of_the_rows_tells_the_curvature_as_if_it_were_all(rows, target):
    terms = draw_terms(target)
    fit = answer(rows, target.fit(terms))
    free = target.frame.free(target.problem.families, terms)
    whole = answer(rows, find_bend(fit, MemoryRows(rows), free))
    twice = Block(*(np.concatenate([array, array]) for array in rows))
    again = answer(rows, find_bend(fit, MemoryRows(twice), free))
    np.testing.assert_allclose(again.hessian, whole.hessian, rtol=1e-6, atol=1e-9 * np.abs(whole.hessian).max())
    np.testing.assert_allclose(again.gradient, whole.gradient, rtol=1e-9)


def test_a_descent_raises_log_pi_and_ends_where_it_is_flat(rows, target):
    fit = answer(rows, target.fit(draw_terms(target)))
    few = MemoryRows(Block(*(array[:700] for array in rows)))
    values = [fit.log_posterior]
    for n_steps in (10, 60, 60, 60):
        fit = answer(rows, descend(fit, few, n_steps, 1e-3))
        values.append(fit.log_posterior)
    assert values[1] > values[0] + 10
    assert values == sorted(values)
    assert values[-1] - values[-2] < 1.0


def test_a_network_without_continuous_parameters_stays(rows):
    target, _ = make_target(rows, basis=["steps"])
    fit = answer(rows, target.fit(draw_terms(target)))
    assert answer(rows, descend(fit, MemoryRows(rows), 5, 0.0)) is fit
