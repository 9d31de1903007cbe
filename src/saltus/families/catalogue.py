"""The families there are, for those who choose, store and describe them; kernels have their registry."""

from typing import Any

from saltus.families.family import Family
from saltus.families.options import RADIAL_NAMES
from saltus.families.radial.family import FittedRadial, Radial
from saltus.families.radial.inspection import ATTRIBUTES, POSTERIOR_ATTRIBUTES

# The families that a user may choose, and what becomes of each on given data.
FAMILIES: tuple[type, ...] = (Radial,)
FITTED_FAMILIES: tuple[type, ...] = (FittedRadial,)

# The fitted attributes that families give an estimator, by the letters of their axes: of the best network, of draws.
FAMILY_ATTRIBUTES: dict[str, str] = ATTRIBUTES
FAMILY_POSTERIOR_ATTRIBUTES: dict[str, str] = POSTERIOR_ATTRIBUTES


# The family that each name stands for.
BY_NAME: dict[str, type] = dict.fromkeys(RADIAL_NAMES, Radial)


def make_family(name: str, **options: Any) -> Family:
    """Make the family that a name stands for, with options."""
    if name not in BY_NAME:
        raise ValueError(f"The name of a family must be one of {', '.join(BY_NAME)}. Got {name!r}.")
    made: Family = BY_NAME[name](name, **options)
    return made


def resolve_family(basis: str | Family) -> Family:
    """Turn a name into a family with its defaults; leave a family as it is."""
    return make_family(basis) if isinstance(basis, str) else basis
