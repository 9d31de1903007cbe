"""What kernels see of a user's families, together with who owns the functions that they call."""

from collections.abc import Sequence
from typing import Any

from saltus._typing import Floats
from saltus.families.user.calls import Evaluator
from saltus.families.user.kernels import UserData


class OwnedUserData(UserData):
    """What kernels see, and the evaluator, without which the addresses in it lead nowhere."""

    evaluator: Evaluator

    @property
    def rows(self) -> Floats:
        """The rows, (n_tiles, v, L), in the user's units."""
        return self.evaluator.rows

    def _replace(self, **changes: Any) -> "OwnedUserData":
        """Exchange some of the fields; the owner stays."""
        return _owned(self.evaluator, super()._replace(**changes))

    def __reduce__(self) -> tuple[Any, ...]:
        return make_owned, (self.evaluator, *self[2:])


def _owned(evaluator: Evaluator, fields: Sequence[Any]) -> OwnedUserData:
    made = OwnedUserData._make(fields)
    made.evaluator = evaluator
    return made


def make_owned(evaluator: Evaluator, *others: Any) -> OwnedUserData:
    """Put the addresses of an evaluator before the other fields."""
    return _owned(evaluator, (*evaluator.addresses, *others))
