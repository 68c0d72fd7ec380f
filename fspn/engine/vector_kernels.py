r"""What numba cannot express: eight sums at once in vector registers, and the lowest bit.

:math:`s_j = \sum_y b_y A_{yj}` for eight neighbouring columns j takes most of the time of a dense
block. Written as eight scalar sums, numba compiles it to eight scalar instructions per row (its
vectoriser of straight-line code is off by default, for the whole process), written as a loop over j
it goes through memory. So the loop over y is assembled here from vector instructions, two rows at a
time to keep four sums in flight. The Python functions define what is computed; compiled code calls
the LLVM form.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic, overload

LANES = 8
FLAGS = ("contract",)
VECTOR = ir.VectorType(ir.DoubleType(), LANES)


def lowest_bit(bits):
    """The position of the lowest set bit of a positive number."""
    return int(bits & -bits).bit_length() - 1


def eight_sums(buffer, b, step, extent, p, down, target):
    """``buffer[target + j] = sum_y buffer[b + y step] * buffer[p + y * down + j]`` for eight j."""
    sums = [0.0] * LANES
    for y in range(extent):
        factor = buffer[b + y * step]
        for j in range(LANES):
            sums[j] += factor * buffer[p + y * down + j]
    for j in range(LANES):
        buffer[target + j] = sums[j]


def eight_sums_of_two(buffer, b, step, extent, p, down, q, fall, target):
    """As :func:`eight_sums`, times a second matrix at q that has ``fall`` numbers a row."""
    sums = [0.0] * LANES
    for y in range(extent):
        factor = buffer[b + y * step]
        for j in range(LANES):
            sums[j] += factor * buffer[p + y * down + j] * buffer[q + y * fall + j]
    for j in range(LANES):
        buffer[target + j] = sums[j]


def eight_products(buffer, p, q, target):
    """``buffer[target + j] = buffer[p + j] * buffer[q + j]`` for eight j."""
    for j in range(LANES):
        buffer[target + j] = buffer[p + j] * buffer[q + j]


def no_unroll():
    """Marks a loop of few iterations: LLVM must neither unroll nor vectorise it.

    LLVM takes a loop of unknown length for a long one, and the set-up that it adds before and after
    costs more than a dozen iterations.
    """


class _Sums:
    """Writes the instructions for one array of doubles."""

    def __init__(self, context: Any, builder: Any, array_type: Any, array: Any) -> None:
        self.builder = builder
        self.data = cgutils.create_struct_proxy(array_type)(context, builder, array).data

    def place(self, at: Any) -> Any:
        """Where eight neighbouring numbers begin."""
        return self.builder.bitcast(self.builder.gep(self.data, [at]), VECTOR.as_pointer())

    def eight(self, at: Any) -> Any:
        """Eight neighbouring numbers."""
        return self.builder.load(self.place(at), align=8)

    def spread(self, at: Any) -> Any:
        """One number, eight times."""
        number = self.builder.load(self.builder.gep(self.data, [at]))
        first = ir.Constant(ir.IntType(32), 0)
        one = self.builder.insert_element(ir.Constant(VECTOR, ir.Undefined), number, first)
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return self.builder.shuffle_vector(one, one, lanes)

    def sum_rows(
        self, b: Any, step: Any, extent: Any, row: Callable[[Any], Any], target: Any
    ) -> None:
        """Store the sum over y of ``buffer[b + y * step] * row(y)``."""
        builder, one = self.builder, ir.Constant(extent.type, 1)
        zero = ir.Constant(VECTOR, [0.0] * LANES)
        sums = [cgutils.alloca_once_value(builder, zero) for _ in range(2)]

        def add(y: Any, total: Any) -> None:
            factor = self.spread(builder.add(b, builder.mul(y, step)))
            term = builder.fmul(factor, row(y), flags=FLAGS)
            builder.store(builder.fadd(builder.load(total), term, flags=FLAGS), total)

        with cgutils.for_range(builder, builder.ashr(extent, one)) as loop:
            _leave_loop(builder)
            y = builder.shl(loop.index, one)
            add(y, sums[0])
            add(builder.add(y, one), sums[1])
        with builder.if_then(builder.trunc(extent, ir.IntType(1))):
            add(builder.sub(extent, one), sums[0])
        total = builder.fadd(builder.load(sums[0]), builder.load(sums[1]))
        builder.store(total, self.place(target), align=8)


def _leave_loop(builder: Any) -> None:
    """An empty piece of assembler, which keeps LLVM from transforming the loop."""
    builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)


@intrinsic
def _no_unroll(typing):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        _leave_loop(builder)
        return context.get_dummy_value()

    return types.void(), codegen


@overload(no_unroll)
def _compiled_no_unroll():
    return lambda: _no_unroll()


@intrinsic
def _lowest_bit(typing, bits):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), codegen


@intrinsic
def _eight_sums(typing, buffer, b, step, extent, p, down, target):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        array, b, step, extent, p, down, target = arguments
        sums = _Sums(context, builder, signature.args[0], array)

        def row(y):
            return sums.eight(builder.add(p, builder.mul(y, down)))

        sums.sum_rows(b, step, extent, row, target)
        return context.get_dummy_value()

    return types.void(buffer, *[types.int64] * 6), codegen


@intrinsic
def _eight_sums_of_two(
    typing, buffer, b, step, extent, p, down, q, fall, target
):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        array, b, step, extent, p, down, q, fall, target = arguments
        sums = _Sums(context, builder, signature.args[0], array)

        def row(y):
            first = sums.eight(builder.add(p, builder.mul(y, down)))
            return builder.fmul(
                first, sums.eight(builder.add(q, builder.mul(y, fall))), flags=FLAGS
            )

        sums.sum_rows(b, step, extent, row, target)
        return context.get_dummy_value()

    return types.void(buffer, *[types.int64] * 8), codegen


@intrinsic
def _eight_products(typing, buffer, p, q, target):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        array, p, q, target = arguments
        sums = _Sums(context, builder, signature.args[0], array)
        product = builder.fmul(sums.eight(p), sums.eight(q))
        builder.store(product, sums.place(target), align=8)
        return context.get_dummy_value()

    return types.void(buffer, *[types.int64] * 3), codegen


@overload(eight_products)
def _compiled_products(buffer, p, q, target):
    _check(buffer)
    return lambda buffer, p, q, target: _eight_products(buffer, p, q, target)


@overload(lowest_bit)
def _compiled_bit(bits):
    return lambda bits: _lowest_bit(bits)


def _check(buffer: Any) -> None:
    """Refuse arrays that are not contiguous doubles."""
    if (buffer.dtype, buffer.ndim, buffer.layout) != (types.float64, 1, "C"):
        raise TypingError(f"sums of {buffer}: one row of float64 is needed")


@overload(eight_sums)
def _compiled_sums(buffer, b, step, extent, p, down, target):
    _check(buffer)
    return lambda buffer, b, step, extent, p, down, target: _eight_sums(
        buffer, b, step, extent, p, down, target
    )


@overload(eight_sums_of_two)
def _compiled_sums_of_two(buffer, b, step, extent, p, down, q, fall, target):
    _check(buffer)
    return lambda buffer, b, step, extent, p, down, q, fall, target: _eight_sums_of_two(
        buffer, b, step, extent, p, down, q, fall, target
    )
