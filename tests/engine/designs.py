"""Designs to test the engine with."""

from dataclasses import replace

import numpy as np

from saltus import AnnealedRegressor, Radial
from saltus.engine.problem.design import make_design
from saltus.engine.problem.problem import Criterion
from saltus.engine.problem.scaling import Box, LinearTerm
from saltus.estimators.checks import check_data
from saltus.families import resolve_basis
from saltus.families.inputs import FamilyRows


def make(X, Y, basis="gaussian", sample_weight=None, *, width=1.0, metric="learned", widths="auto", **options):
    """Make the design of a fit."""
    model = AnnealedRegressor(Radial(basis, width, metric=metric, widths=widths), **options)
    return model._make_design(check_data(model, X, Y, sample_weight))


def free_of_counts(by_size):
    """Make a criterion that charges for the number of terms alone, by an arbitrary table."""
    return Criterion(np.zeros(10_000), np.asarray(by_size, dtype=float), 1)


def make_with(X, Y, basis, criterion, *, weight=None, margin=0.1, ridge=False, n_levels=None):
    """Make a design with a criterion, or a table P(k) of what terms cost."""
    weight = np.ones(len(X)) if weight is None else weight
    n_levels = np.zeros(X.shape[1], dtype=int) if n_levels is None else n_levels
    box = Box.around(X, margin, n_levels)
    U, ranges, is_number = box.to_unit(X), np.stack([np.nanmin(X, axis=0), np.nanmax(X, axis=0)]), n_levels == 0
    return make_design(
        X,
        Y,
        weight,
        box=box,
        linear=LinearTerm.of(U, weight, only_constant=not is_number.all()),
        mixture=resolve_basis(basis, X.shape[1]).fit(
            FamilyRows(
                U,
                weight,
                box.width[box.varies],
                box.varies,
                not ridge,
                ranges[:, box.varies],
                n_levels[box.varies],
            )
        ),
        criterion=criterion if isinstance(criterion, Criterion) else free_of_counts(criterion),
        ridge=ridge,
    )


def without_likelihood(design):
    """Leave the prior alone: no row counts."""
    object.__setattr__(design, "problem", design.problem._replace(degrees=0.0))
    return design


def blind_to_faintness(landscape):
    """Let a landscape take terms that hardly any row sees."""
    families = landscape.problem.families
    blind = families._replace(smallest_squared_norm=np.zeros_like(families.smallest_squared_norm))
    return replace(landscape, problem=landscape.problem._replace(families=blind))


def radial_of(holder):
    """Take the radial family of what has a mixture: a design, a landscape, a network."""
    return holder.mixture.members[holder.mixture.radial_family]


def terms_at(holder, parameters, shared=None):
    """Make radial terms with parameters (k, p), which share what descents start from unless it is given."""
    mixture = holder.mixture
    own = radial_of(holder).as_terms(np.asarray(parameters, dtype=float))
    return mixture.padded(own, mixture.radial_family, mixture.starting_shared if shared is None else shared)
