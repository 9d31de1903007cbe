"""Named tuples that kernels take by reference.

numba passes a named tuple as its fields, one by one: a tuple of thirty arrays is three hundred arguments, written out
at every call and copied at every assignment, which takes longer to compile than the arithmetic. A class decorated
with `by_reference` is passed as one pointer to a table of its fields instead. Nothing else about the class changes:
Python makes it, and reads it, as before.

The table is filled when Python calls an entry point, and no kernel ever writes to it. Its loads are marked so, which
lets the optimiser keep fields in registers across stores to arrays. Kernels can read fields, and hand them on; they
cannot build such a tuple, index it or return it.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import blake2b
from typing import Any, TypeVar

from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)

C = TypeVar("C", bound=type)

_SLOT = ir.IntType(64)


class Reference(types.Type):
    """The type of a named tuple that is passed by reference."""

    def __init__(self, of: Any, fields: tuple[types.Type, ...]) -> None:
        self.of, self.fields = of, fields
        inside = ", ".join(f"{name}: {field}" for name, field in zip(of._fields, fields, strict=True))
        super().__init__(f"Reference({of.__module__}.{of.__qualname__}({inside}))")

    @property
    def key(self) -> object:
        """What makes two types one."""
        return self.of, self.fields

    @property
    def mangling_args(self) -> tuple[str, tuple[str, ...]]:
        """A short name for the linker: that of the fields would be thousands of characters long."""
        return f"{self.of.__qualname__}_{blake2b(self.name.encode(), digest_size=6).hexdigest()}", ()

    def position(self, name: str) -> int:
        """Find the number of a field."""
        return int(self.of._fields.index(name))


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer."""

    def __init__(self, manager: object, reference: Reference) -> None:
        super().__init__(manager, reference, ir.PointerType(_SLOT))


def by_reference(named_tuple: C) -> C:
    """Let kernels take a class of named tuples by reference."""

    @typeof_impl.register(named_tuple)  # type: ignore[untyped-decorator]
    def typeof_reference(value: Any, context: Any) -> Reference:
        return Reference(named_tuple, tuple(typeof_impl(field, context) for field in value))

    return named_tuple


@infer_getattr
class ReferenceAttributes(AttributeTemplate):  # type: ignore[misc]
    """The types of the fields."""

    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> types.Type | None:
        """Find the type of a field."""
        return reference.fields[reference.position(name)] if name in reference.of._fields else None


def _is_packed(field_type: Any) -> bool:
    """Say whether a field is an array whose strides follow from its shape."""
    return isinstance(field_type, types.Array) and field_type.layout == "C"


def _leaves(field_type: ir.Type, path: tuple[int, ...] = ()) -> Iterator[tuple[ir.Type, tuple[int, ...]]]:
    """List the scalars that a value consists of, and where they are in it."""
    if isinstance(field_type, ir.LiteralStructType):
        for number, element in enumerate(field_type.elements):
            yield from _leaves(element, (*path, number))
    elif isinstance(field_type, ir.ArrayType):
        for number in range(field_type.count):
            yield from _leaves(field_type.element, (*path, number))
    else:
        yield field_type, path


def _size(context: Any, field_type: Any) -> int:
    """Count the slots of a field."""
    if isinstance(field_type, Reference):
        return sum(_size(context, field) for field in field_type.fields)
    if _is_packed(field_type):
        return 1 + int(field_type.ndim)
    return sum(1 for _ in _leaves(context.get_value_type(field_type)))


def _offset(context: Any, reference: Reference, position: int) -> int:
    return sum(_size(context, field) for field in reference.fields[:position])


def _slot(builder: Any, table: Any, number: int) -> Any:
    return builder.gep(table, [ir.Constant(ir.IntType(32), number)], inbounds=True) if number else table


def _store_scalar(builder: Any, value: Any, table: Any, number: int) -> None:
    if isinstance(value.type, ir.IntType) and value.type.width < _SLOT.width:
        value = builder.zext(value, _SLOT)
    builder.store(value, builder.bitcast(_slot(builder, table, number), ir.PointerType(value.type)))


def _load_scalar(builder: Any, field_type: ir.Type, table: Any, number: int) -> Any:
    is_narrow = isinstance(field_type, ir.IntType) and field_type.width < _SLOT.width
    slot = builder.bitcast(_slot(builder, table, number), ir.PointerType(_SLOT if is_narrow else field_type))
    value = builder.load(slot)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return builder.trunc(value, field_type) if is_narrow else value


def _store(context: Any, builder: Any, field_type: Any, value: Any, table: Any, first: int) -> None:
    """Write a field to the table: of an array its address and its shape, of anything else its scalars."""
    if _is_packed(field_type):
        array = context.make_array(field_type)(context, builder, value)
        scalars = [array.data, *cgutils.unpack_tuple(builder, array.shape, field_type.ndim)]
    else:
        scalars = [builder.extract_value(value, path) if path else value for _, path in _leaves(value.type)]
    for number, scalar in enumerate(scalars):
        _store_scalar(builder, scalar, table, first + number)


def _load(context: Any, builder: Any, field_type: Any, table: Any, first: int) -> Any:
    """Read a field from the table. Kernels borrow arrays, so that those have no owner."""
    value_type = context.get_value_type(field_type)
    if not _is_packed(field_type):
        value = ir.Constant(value_type, ir.Undefined)
        for number, (scalar_type, path) in enumerate(_leaves(value_type)):
            scalar = _load_scalar(builder, scalar_type, table, first + number)
            value = builder.insert_value(value, scalar, path) if path else scalar
        return value
    names = context.data_model_manager[field_type]._fields
    at = {name: number for number, name in enumerate(names)}
    value = ir.Constant(value_type, None)
    shape = [_load_scalar(builder, _SLOT, table, first + 1 + axis) for axis in range(field_type.ndim)]
    item_size = ir.Constant(_SLOT, field_type.dtype.bitwidth // 8)
    stride, n_items = item_size, None
    strides: list[Any] = []
    for length in reversed(shape):
        strides.insert(0, stride)
        n_items = length if n_items is None else builder.mul(n_items, length)
        stride = builder.mul(stride, length) if len(strides) < field_type.ndim else stride
    data_type = value_type.elements[at["data"]]
    value = builder.insert_value(value, _load_scalar(builder, data_type, table, first), at["data"])
    value = builder.insert_value(value, n_items, at["nitems"])
    value = builder.insert_value(value, item_size, at["itemsize"])
    for axis in range(field_type.ndim):
        value = builder.insert_value(value, shape[axis], (at["shape"], axis))
        value = builder.insert_value(value, strides[axis], (at["strides"], axis))
    return value


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def read_field(context: Any, builder: Any, reference: Reference, table: Any, name: str) -> Any:
    """Read a field, or point to the part of the table that is a tuple itself."""
    position = reference.position(name)
    field_type, first = reference.fields[position], _offset(context, reference, position)
    if isinstance(field_type, Reference):
        return _slot(builder, table, first)
    return _load(context, builder, field_type, table, first)


@unbox(Reference)  # type: ignore[untyped-decorator]
def fill_table(reference: Reference, tuple_object: Any, c: Any) -> NativeValue:
    """Make the table of a tuple that Python passes, on the stack of the entry point's wrapper."""
    size = _size(c.context, reference)
    table = cgutils.alloca_once(c.builder, _SLOT, size=ir.Constant(ir.IntType(32), max(size, 1)))
    failed = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    cleanups: list[Callable[[], None]] = []
    with ExitStack() as stack:
        _fill(reference, tuple_object, table, 0, failed, cleanups, c, stack)
    # The optimiser must not see that the table is written once before it is never written again.
    hidden = ir.FunctionType(table.type, [table.type])
    pointer = c.builder.asm(hidden, "", "=r,0,~{memory}", [table], side_effect=True)

    def cleanup() -> None:
        for clean in reversed(cleanups):
            clean()

    return NativeValue(pointer, is_error=c.builder.load(failed), cleanup=cleanup if cleanups else None)


def _fill(
    reference: Reference,
    tuple_object: Any,
    table: Any,
    first: int,
    failed: Any,
    cleanups: list[Callable[[], None]],
    c: Any,
    stack: ExitStack,
) -> None:
    for number, field_type in enumerate(reference.fields):
        item = c.pyapi.tuple_getitem(tuple_object, number)  # borrowed
        offset = first + _offset(c.context, reference, number)
        if isinstance(field_type, Reference):
            _fill(field_type, item, table, offset, failed, cleanups, c, stack)
            continue
        native = c.unbox(field_type, item)
        with cgutils.early_exit_if(c.builder, stack, native.is_error):
            c.builder.store(cgutils.true_bit, failed)
        _store(c.context, c.builder, field_type, native.value, table, offset)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)
