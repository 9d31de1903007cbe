"""Families that a user wrote, in files: a name and options. A file holds no code, so that whoever reads it gives that.

A family is matched by the name of its class and by all of its options.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from saltus.families import FittedMixture, UserFamily
from saltus.families.user.fitted import FittedUser


class MissingFamilyError(ValueError):
    """A file has a family of a user's that was not given."""


def options_of(family: UserFamily) -> dict[str, Any]:
    """Take the options of a family, by name."""
    return {field.name: getattr(family, field.name) for field in fields(family)}


def families_in(mixture: FittedMixture) -> list[UserFamily]:
    """List the families of a mixture that a user wrote."""
    return [member.options for member in mixture.members if isinstance(member, FittedUser)]


def find_family(families: Sequence[UserFamily], name: Any, options: Mapping[str, Any]) -> UserFamily:
    """Find the family of this name and these options among those given; raise MissingFamilyError if it is not there."""
    if not isinstance(name, str) or not name.isidentifier() or not all(map(str.isidentifier, options)):
        raise ValueError("a family has a name that is none")
    for family in families:
        if type(family).__name__ == name and options_of(family) == dict(options):
            return family
    written = f"{name}({', '.join(f'{option}={value!r}' for option, value in options.items())})"
    got = f"Got families={list(families)!r}" if families else "Got none"
    raise MissingFamilyError(
        f"has terms of {written}, a family of a user's own: a file holds its name and its options, and no code. {got}. "
        f"Give it when you read the file, as in saltus.load(path, families=[{written}])."
    )
