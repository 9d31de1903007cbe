"""Families of basis functions."""

from saltus.families.family import Basis
from saltus.families.radial import RADIAL_NAMES, Radial

__all__ = ["RADIAL_NAMES", "Basis", "Radial", "resolve_basis"]


def resolve_basis(basis: "str | Basis") -> Basis:
    """Turn a name into a basis of unit width; leave a basis as it is."""
    if isinstance(basis, str):
        return Radial(basis)  # type: ignore[arg-type]  # Radial checks the name
    return basis
