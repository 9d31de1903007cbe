"""What a class says of itself: equality, names, counts and words."""

import pickle
from collections.abc import Iterator
from copy import copy
from numbers import Integral
from typing import Any

from saltus.storage.user_families import options_of
from saltus.testing.subject import Subject


def check_value(subject: Subject) -> Iterator[str]:
    """Check that equal options make equal families, and can be sent to another process."""
    family, name = subject.family, subject.name
    try:
        hash(family)
    except TypeError as error:
        yield (
            f"{name} has no hash: {error}. Make it a frozen dataclass whose options have one: numbers, text, tuples."
        )
        return
    options = options_of(family)
    try:
        sent = pickle.loads(pickle.dumps(options))
    except Exception as error:
        yield (
            f"The options of {name} cannot be sent to another process: {type(error).__name__}: {error}. Use numbers, "
            f"text and tuples."
        )
        return
    again = copy(family)
    if sent != options or again != family or hash(again) != hash(family):
        yield (
            f"A copy of {family!r} is another family. Got {again!r}. Keep all that it knows in its options, and leave "
            f"equality and hash to the frozen dataclass."
        )


def check_counts(subject: Subject) -> Iterator[str]:
    """Check that what terms count for is a number, which does not fall as inputs are added."""
    counts: list[Any] = [subject.family.count_parameters(g) for g in subject.sizes]
    strange = [n for n in counts if type(n) is bool or not isinstance(n, Integral) or int(n) < 0]
    if strange:
        yield f"{subject.name}.count_parameters must return a whole number, 0 or more. Got {strange[0]!r}."
    elif counts != sorted(counts):
        yield (
            f"{subject.name}.count_parameters must not fall as a term has more inputs. Got {counts} for "
            f"{subject.sizes} inputs. Count every parameter in use."
        )


def check_words(subject: Subject) -> Iterator[str]:
    """Check that terms can be described."""
    said = subject.family.describe()
    if not isinstance(said, str) or not said.strip():
        yield f"{subject.name}.describe must return a sentence. Got {said!r}."
    for term in subject.terms:
        names = [f"input_{i}" for i in term.inputs]
        _, parameters, ranges = subject.arguments(term)
        written = subject.family.formula(names, parameters, ranges, ".4g")
        if not isinstance(written, str) or not all(name in written for name in names):
            yield (
                f"{subject.name}.formula must return text with the names of the inputs. Got {written!r} for the inputs "
                f"{names}."
            )
            return
