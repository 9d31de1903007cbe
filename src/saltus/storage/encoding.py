"""Values as JSON: what a model is made of, written down and put together again.

Plain values are themselves. Anything else is an object with one key that says what it is: `{"array": 3}` and
`{"part": 0}` refer to lists of arrays and of parts, a part being a dataclass of `saltus.storage.schema`; then there are
`{"tuple": [...]}`, `{"dict": [[key, value], ...]}`, `{"scalar": ["float64", 0.5]}`, `{"float": "nan"}`,
`{"names": [...]}`, `{"RandomState": [...]}` and, for a family that a user wrote, `{"family": [name, options]}`.
"""

import hashlib
import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saltus.families import UserFamily
from saltus.storage.schema import CLASSES, PARTS, check_sizes, check_types
from saltus.storage.user_families import find_family, options_of

# The types of numbers that a model may hold.
NUMBERS = (
    *("bool", "int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"),
)
NOT_FINITE = ("nan", "inf", "-inf")
DEEPEST_VALUE = 8  # lists in lists

# The state of the Mersenne twister: so many words, and a position among them or after the last.
TWISTER = "MT19937"
TWISTER_WORDS = 624


class Encoder:
    """Turns values into JSON, and collects the arrays and parts that the JSON refers to.

    What is shared, stays so; what is equal comes once, so that equal models make equal files whatever they share.
    """

    def __init__(self) -> None:
        self.arrays: list[NDArray[Any]] = []
        self.parts: list[tuple[str, dict[str, Any]]] = []  # each after those that it refers to
        self.families: list[UserFamily] = []  # that a user wrote
        self._references: dict[int, tuple[Any, Any]] = {}  # by id; the value is kept, so that the id stays its own
        self._numbers: dict[Any, int] = {}  # of arrays and of parts, by their content

    def encode(self, value: Any) -> Any:
        """Encode a value. Raises TypeError, which names the type, for one that a file cannot hold."""
        value_type = type(value)
        if value is None or value_type in (bool, int, str):
            return value
        if value_type is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if value_type is list:
            return [self.encode(item) for item in value]
        if value_type is tuple:
            return {"tuple": [self.encode(item) for item in value]}
        if value_type is dict:
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        if isinstance(value, np.generic) and value.dtype.name in NUMBERS:
            return {"scalar": [value.dtype.name, self.encode(value.item())]}
        if value_type is np.random.RandomState:
            return self._encode_random_state(value)
        if isinstance(value, UserFamily):
            self.families.append(value)
            return {"family": [value_type.__name__, self.encode(options_of(value))]}
        if id(value) not in self._references:
            self._references[id(value)] = value, self._refer(value)
        return self._references[id(value)][1]

    def _refer(self, value: Any) -> dict[str, Any]:
        """Put an array or a part where it belongs, and refer to it."""
        value_type = type(value)
        if value_type in CLASSES:
            encoded = {field.name: self.encode(getattr(value, field.name)) for field in fields(value)}
            return {"part": self._number(self.parts, (value_type.__name__, encoded), json.dumps(encoded))}
        if value_type not in (np.ndarray, np.memmap):
            raise TypeError(f"an object of class {value_type.__module__}.{value_type.__qualname__}")
        if value.dtype.name in NUMBERS:
            content = hashlib.blake2b(value.tobytes(order_of(value))).digest()
            return {"array": self._number(self.arrays, value, (value.shape, order_of(value), content))}
        if value.ndim == 1 and all(type(item) is str for item in value):
            return {"names": list(value)}
        raise TypeError(f"an array of type {value.dtype}")

    def _number(self, among: list[Any], item: Any, content: Hashable) -> int:
        """Find the number of an array or a part with a content, which is appended if it is new."""
        key = item[0] if isinstance(item, tuple) else item.dtype.name, content
        if key not in self._numbers:
            self._numbers[key] = len(among)
            among.append(item)
        return self._numbers[key]

    def _encode_random_state(self, value: np.random.RandomState) -> dict[str, Any]:
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != TWISTER:
            raise TypeError(f"a RandomState of {state['bit_generator']}")
        words, position = state["state"]["key"], state["state"]["pos"]
        return {"RandomState": [self.encode(words), position, state["has_gauss"], state["gauss"]]}


class Decoder:
    """Turns JSON back into values, and checks each part against the schema."""

    def __init__(
        self,
        arrays: Sequence[NDArray[Any]],
        parts: Iterable[tuple[str, Mapping[str, Any]]],
        families: Sequence[UserFamily] = (),
    ) -> None:
        self.shared_sizes: dict[str, int] = {}
        self._arrays = arrays
        self._parts: list[Any] = []
        self._used: set[tuple[str, int]] = set()
        self._builders: dict[str, Callable[[Any], Any]] = {
            "array": lambda content: self._pick("array", self._arrays, content),
            "part": lambda content: self._pick("part", self._parts, content),
            "tuple": tuple,
            "dict": unique_keys,
            "scalar": _scalar,
            "float": _not_finite,
            "names": _names,
            "RandomState": _random_state,
            "family": lambda content: find_family(families, *content),
        }
        for name, values in parts:
            self._parts.append(self._build(PARTS[name], values))

    def decode_all(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Decode named values."""
        return {name: self.decode(value) for name, value in values.items()}

    def decode(self, value: Any, depth: int = 0) -> Any:
        """Decode a value. Raises some exception for what no encoder wrote."""
        if depth > DEEPEST_VALUE:
            raise ValueError("lists are nested too deeply")
        if isinstance(value, list):
            return [self.decode(item, depth + 1) for item in value]
        if not isinstance(value, dict):
            return value
        ((tag, content),) = value.items()
        return self._builders[tag](self.decode(content, depth + 1))

    def check_that_all_is_used(self) -> None:
        """Raise ValueError unless something refers to every array and every part."""
        n_known, n_used = len(self._arrays) + len(self._parts), len(self._used)
        if n_used < n_known:
            raise ValueError(f"nothing refers to {n_known - n_used} of its {n_known} arrays and parts")

    def _pick(self, kind: str, items: Sequence[Any], index: Any) -> Any:
        if type(index) is not int or not 0 <= index < len(items):
            raise ValueError(f"it refers to number {index!r} of {len(items)}")
        self._used.add((kind, index))
        return items[index]

    def _build(self, part_type: type, values: Mapping[str, Any]) -> Any:
        decoded = self.decode_all(values)
        check_types(part_type, decoded)
        part = part_type(**decoded)
        check_sizes(part, self.shared_sizes)
        return part


def order_of(array: NDArray[Any]) -> Any:
    """Say which way an array lies in memory: the last bits of a product may depend on it."""
    return "C" if array.flags.c_contiguous or array.strides[0] >= array.strides[-1] else "F"


def unique_keys(pairs: Sequence[tuple[Hashable, Any]]) -> dict[Any, Any]:
    """Make a dictionary of pairs whose keys differ."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key comes twice")
    return found


def _scalar(content: Sequence[Any]) -> Any:
    name, value = content
    if name not in NUMBERS or type(value) not in (bool, int, float):
        raise ValueError(f"a number is {value!r} of type {name!r}")
    return np.dtype(name).type(value)


def _not_finite(content: Any) -> float:
    if content not in NOT_FINITE:
        raise ValueError(f"a number is {content!r}")
    return float(content)


def _names(content: Sequence[Any]) -> NDArray[np.object_]:
    if not all(type(name) is str for name in content):
        raise ValueError("a name is not text")
    return np.array(content, dtype=object)


def _random_state(content: Sequence[Any]) -> np.random.RandomState:
    words, position, has_gauss, gauss = content
    # NumPy takes the position as it comes, and would read beyond the words.
    if (words.dtype, words.shape) != (np.uint32, (TWISTER_WORDS,)) or position not in range(TWISTER_WORDS + 1):
        raise ValueError("a RandomState is in no state that exists")
    state = np.random.RandomState()
    state.set_state((TWISTER, words, position, int(has_gauss), float(gauss)))
    return state
