"""Families of terms. A family is a geometry, how x becomes a number, times a profile, what is done with the number.

Everything outside this package asks the family; nothing there knows what a term looks like. The names are loaded on
first use, so that the command line stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from saltus.families.catalogue import (
        FAMILIES,
        FAMILY_ATTRIBUTES,
        FAMILY_POSTERIOR_ATTRIBUTES,
        FITTED_FAMILIES,
        PARTS_OF_FAMILIES,
        make_family,
        resolve_basis,
    )
    from saltus.families.family import Family, FittedFamily
    from saltus.families.mixture.mixture import FittedMixture, Mixture
    from saltus.families.product.family import Product
    from saltus.families.radial.family import Radial
    from saltus.families.ridge.family import Ridge
    from saltus.families.user.family import UserFamily

_HOME = {
    "FAMILIES": "catalogue",
    "FAMILY_ATTRIBUTES": "catalogue",
    "FAMILY_POSTERIOR_ATTRIBUTES": "catalogue",
    "FITTED_FAMILIES": "catalogue",
    "Family": "family",
    "FittedFamily": "family",
    "FittedMixture": "mixture.mixture",
    "Mixture": "mixture.mixture",
    "PARTS_OF_FAMILIES": "catalogue",
    "Product": "product.family",
    "Radial": "radial.family",
    "Ridge": "ridge.family",
    "UserFamily": "user.family",
    "make_family": "catalogue",
    "resolve_basis": "catalogue",
}

__all__ = [
    "FAMILIES",
    "FAMILY_ATTRIBUTES",
    "FAMILY_POSTERIOR_ATTRIBUTES",
    "FITTED_FAMILIES",
    "PARTS_OF_FAMILIES",
    "Family",
    "FittedFamily",
    "FittedMixture",
    "Mixture",
    "Product",
    "Radial",
    "Ridge",
    "UserFamily",
    "make_family",
    "resolve_basis",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'saltus.families' has no attribute {name!r}")
    return getattr(import_module(f"saltus.families.{_HOME[name]}"), name)
