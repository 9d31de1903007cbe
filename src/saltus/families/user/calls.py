"""How kernels call Python: through the address of a function, which is data to them, so that they stay on disk.

ctypes makes a C function of a Python one, and takes the interpreter's lock when that is called. Nothing can be raised
through a kernel: an error is kept until the kernel returns, and meanwhile columns are NaN, which no edit survives.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, types
from numba.extending import intrinsic

from saltus._pending import has_error, keep_error
from saltus._tiles import from_tiles
from saltus._typing import Floats
from saltus.families.user.evaluation import evaluate_column, evaluate_derivatives
from saltus.families.user.family import UserFamily
from saltus.families.user.layout import Layout

# A C function of the number of a tile, and the addresses of a decoded term and of what is to be filled.
PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)

# Where things are in a decoded term.
FAMILY, SIZE, FIRST_INPUT = range(3)

Answer = Callable[[int, int, int], None]


class Evaluator:
    """Evaluates terms at the rows of a fit for kernels, and owns the functions whose addresses these know."""

    def __init__(self, families: Sequence[UserFamily | None], rows: Floats, n_rows: int, ranges: Floats) -> None:
        """Take all families of a fit, None where another geometry has them; rows (n_tiles, v, L), n_rows in use."""
        self.families, self.rows, self.n_rows, self.ranges = tuple(families), rows, n_rows, ranges
        reader = _Reader(families, rows, n_rows, ranges)
        self._functions = tuple(
            PROTOTYPE(make(reader, rows.shape[2])) for make in (_answer_columns, _answer_derivatives)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        # Addresses mean nothing in another process: functions are made anew there.
        return Evaluator, (self.families, self.rows, self.n_rows, self.ranges)

    @property
    def addresses(self) -> tuple[int, int]:
        """The addresses of what evaluates a column, and of what evaluates its derivatives."""
        first, second = (ctypes.cast(function, ctypes.c_void_p).value for function in self._functions)
        assert first is not None
        assert second is not None
        return first, second

    @property
    def X(self) -> Floats:
        """The rows in use, (N, v), in the user's units."""
        return from_tiles(self.rows)[: self.n_rows]


def _view(array_type: Any, address: int) -> Floats:
    """See numbers at an address as an array, without a copy."""
    return np.frombuffer(array_type.from_address(address))


def _read_only(array: Floats) -> Floats:
    """Keep an author from changing the rows of a fit."""
    view = array.view()
    view.flags.writeable = False
    return view


class _Reader:
    """Reads decoded terms, for all families of a fit. Nothing here asks a family: that could fail."""

    def __init__(self, families: Sequence[UserFamily | None], rows: Floats, n_rows: int, ranges: Floats) -> None:
        self.families, self.ranges = tuple(families), _read_only(ranges)
        _, n_inputs, length = rows.shape
        # Rows beyond the data may be where a term is not defined.
        self.tiles = [_read_only(tile[:, : min(n_rows - t * length, length)]) for t, tile in enumerate(rows)]
        # Of one input, as it is most often, without a copy.
        self.inputs = [[tile[i][:, None] for i in range(n_inputs)] for tile in self.tiles]
        self.ranges_of_inputs = [self.ranges[:, i : i + 1] for i in range(n_inputs)]
        sizes = [range(most_inputs(family, n_inputs) + 1) for family in families]
        layouts = [None if family is None else Layout.of(family) for family in families]
        # By family and by number of inputs.
        self.first = [FIRST_INPUT + len(each) - 1 for each in sizes]
        self.n_parameters = [
            [0 if layout is None else layout.n_parameters(g) for g in each]
            for layout, each in zip(layouts, sizes, strict=True)
        ]
        self.is_free = [
            [np.zeros(0, dtype=bool) if layout is None else layout.is_smooth(g) for g in each]
            for layout, each in zip(layouts, sizes, strict=True)
        ]
        longest = max(first + n[-1] for first, n in zip(self.first, self.n_parameters, strict=True))
        self._type = ctypes.c_double * longest

    def family(self, number: int) -> UserFamily:
        """Take a family that is a user's."""
        family = self.families[number]
        assert family is not None
        return family

    def read(self, t: int, decoded_at: int) -> tuple[int, Floats, Floats, Floats]:
        """Find the number of a term's family, its rows of a tile, its parameters, and the ranges of its inputs."""
        decoded = self._type.from_address(decoded_at)[:]
        family, g = int(decoded[FAMILY]), int(decoded[SIZE])
        first = self.first[family]
        parameters = np.array(decoded[first : first + self.n_parameters[family][g]])
        if g == 1:
            i = int(decoded[FIRST_INPUT])
            return family, self.inputs[t][i], parameters, self.ranges_of_inputs[i]
        inputs = [int(i) for i in decoded[FIRST_INPUT : FIRST_INPUT + g]]
        return family, self.tiles[t][inputs].T, parameters, self.ranges[:, inputs]


def most_inputs(family: UserFamily | None, n_inputs: int) -> int:
    """Find the largest number of inputs of a term where there are n_inputs; 0 where there is no family."""
    return 0 if family is None else min(int(family.max_inputs), n_inputs)


def _answer_columns(reader: _Reader, length: int) -> Answer:
    """Make what fills a column; beyond the rows it is 0."""
    column_type = ctypes.c_double * length

    def answer(t: int, decoded_at: int, column_at: int) -> None:
        column = _view(column_type, column_at)
        try:
            if has_error():
                column[:] = np.nan
                return
            number, X, parameters, ranges = reader.read(t, decoded_at)
            values = evaluate_column(reader.family(number), X, parameters, ranges)
            if values.size < length:
                column[values.size :] = 0.0
                column = column[: values.size]
            column[:] = values
        except BaseException as error:  # even Ctrl-C waits until the kernel returns
            keep_error(error)
            column[:] = np.nan

    return answer


def _answer_derivatives(reader: _Reader, length: int) -> Answer:
    """Make what fills one column for each parameter that a descent may change; beyond the rows they are left alone."""

    def answer(t: int, decoded_at: int, columns_at: int) -> None:
        try:
            number, X, parameters, ranges = reader.read(t, decoded_at)
            is_free = reader.is_free[number][X.shape[1]]
            columns_type = ctypes.c_double * (length * int(is_free.sum()))
            columns = _view(columns_type, columns_at).reshape(-1, length)[:, : len(X)]
            columns[:] = np.nan
            if not has_error():
                columns[:] = evaluate_derivatives(reader.family(number), X, parameters, ranges)[:, is_free].T
        except BaseException as error:  # even Ctrl-C waits until the kernel returns
            keep_error(error)

    return answer


@intrinsic  # type: ignore[untyped-decorator]
def _call_compiled(typing_context: Any, address: Any, t: Any, decoded: Any, to: Any) -> Any:
    """Call the function at an address."""
    signature = types.void(types.int64, types.int64, decoded, to)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)

        def address_of(position: int) -> Any:
            array = context.make_array(signature.args[position])(context, builder, arguments[position])
            return builder.ptrtoint(array.data, word)

        function_type = ir.FunctionType(ir.VoidType(), [word, word, word])
        function = builder.inttoptr(arguments[0], function_type.as_pointer())
        builder.call(function, [arguments[1], address_of(2), address_of(3)])
        return context.get_dummy_value()

    return signature, generate


def _call_interpreted(address: int, t: int, decoded: Floats, to: Floats) -> None:
    """Do the same with the JIT off."""
    PROTOTYPE(address)(t, decoded.ctypes.data, to.ctypes.data)


# Fills `to`, a column or several, from a decoded term and the rows of tile t.
call = _call_interpreted if config.DISABLE_JIT else _call_compiled
