"""The families there are, for those who choose, store and describe them; kernels have their registry."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from saltus.families.family import Family
from saltus.families.inputs import InputScale
from saltus.families.mixture.mixture import FittedMixture, Mixture, check_families
from saltus.families.options import (
    AUTO,
    FAMILY_NAMES,
    FEW_INPUTS,
    MIXED,
    MIXED_OF_FEW_INPUTS,
    PRODUCT_NAMES,
    RADIAL_NAMES,
    RIDGE_NAMES,
)
from saltus.families.product.family import FittedProduct, Product
from saltus.families.radial.family import FittedRadial, Radial
from saltus.families.radial.inspection import ATTRIBUTES, POSTERIOR_ATTRIBUTES
from saltus.families.ridge.family import FittedRidge, Ridge
from saltus.families.terms import TermSet
from saltus.families.user.fitted import FittedUser
from saltus.families.user.ranges import InputRanges
from saltus.families.wave.family import FittedWave

# The families of this library that a user may choose, and what becomes of each on given data.
FAMILIES: tuple[type, ...] = (Radial, Product, Ridge)
FITTED_FAMILIES: tuple[type, ...] = (FittedRadial, FittedProduct, FittedRidge, FittedWave, FittedUser)

# What else files of models hold of them.
PARTS_OF_FAMILIES: tuple[type, ...] = (FittedMixture, InputRanges, InputScale, TermSet)

# The fitted attributes that families give an estimator, by the letters of their axes: of the best network, of draws.
FAMILY_ATTRIBUTES: dict[str, str] = ATTRIBUTES
FAMILY_POSTERIOR_ATTRIBUTES: dict[str, str] = POSTERIOR_ATTRIBUTES


def make_family(name: str, **options: Any) -> Family:
    """Make the family that a name stands for, with options."""
    if name in RADIAL_NAMES:
        _check_options(name, Radial, options)
        return Radial(name, **options)  # type: ignore[arg-type]
    for make, names in ((Product, PRODUCT_NAMES), (Ridge, RIDGE_NAMES)):
        if name in names:
            _check_options(name, make, options)
            profile, max_inputs = names[name]
            given = {} if max_inputs is None else {"max_inputs": max_inputs}
            made: Family = make(profile, **(given | options))
            return made
    raise ValueError(f"The name of a family must be one of {', '.join(FAMILY_NAMES)}. Got {name!r}.")


def _check_options(name: str, make: type, options: dict[str, Any]) -> None:
    known = [field.name for field in fields(make)][1:]
    unknown = [option for option in options if option not in known]
    if unknown:
        raise ValueError(f"{name!r} has no option {unknown[0]!r}. Its options are {', '.join(known)}.")


def resolve_basis(basis: "str | Family | Sequence[str | Family]", n_inputs: int) -> Mixture:
    """Turn a name, a family or a list of these into the families of a fit; "auto" is a mixture for so many inputs."""
    if isinstance(basis, str) and basis == AUTO:
        basis = MIXED_OF_FEW_INPUTS if n_inputs <= FEW_INPUTS else MIXED
    given: Sequence[Any] = basis if isinstance(basis, list | tuple) else [basis]
    return Mixture(check_families([make_family(each) if isinstance(each, str) else each for each in given]))
