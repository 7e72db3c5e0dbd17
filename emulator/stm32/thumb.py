"""Thumb-2 instructions as the pipeline of a Cortex-M4 sees them: how long, which class of timing,
which registers an address is made of and which registers are written.

Only what timing depends on is decoded (ARMv7-M Architecture Reference Manual, A5.2 and A5.3).
"""

from typing import NamedTuple

# Classes of timing.
ALU, MULTIPLY, DIVIDE = "alu", "multiply", "divide"
LOAD, STORE, SEVERAL = "load", "store", "several"
BRANCH, CALL, INDIRECT, TABLE = "branch", "call", "indirect", "table"
SPECIAL, BARRIER, FLOAT = "special", "barrier", "float"

PC, SP = 15, 13
NOTHING = frozenset()


class Instruction(NamedTuple):
    """One instruction."""

    size: int
    kind: str
    # Registers an address is computed from.
    address: frozenset = NOTHING
    # Registers that are written; of a load, those that come from memory.
    writes: frozenset = NOTHING
    # Registers that go to or come from memory; of a float instruction, cycles beyond the first.
    count: int = 1
    # A load or store that updates its base register.
    writeback: bool = False
    # A store to a base register plus another one.
    indexed: bool = False
    # A load from beside the program.
    literal: bool = False
    # A branch that may not be taken.
    conditional: bool = False
    # Where a direct branch leads, relative to the instruction.
    offset: int = None


def decode(code, at):
    """Returns the instruction at `at` in `code`."""
    first = code[at] | code[at + 1] << 8
    if first >> 11 < 0b11101:
        return narrow(first)
    if at + 4 > len(code):
        raise ValueError(f"half an instruction at byte {at} of {bytes(code).hex()}")
    return wide(first, code[at + 2] | code[at + 3] << 8)


def signed(value, bits):
    return value - (1 << bits) if value >> (bits - 1) else value


def one(register):
    return frozenset((register,))


def listed(mask):
    return frozenset(register for register in range(16) if mask >> register & 1)


def compute(size, register, kind=ALU):
    """A computation into a register: into the PC it is a jump."""
    if register == PC:
        return Instruction(size, INDIRECT)
    return Instruction(size, kind, writes=one(register))


def load(size, register, **more):
    """A load of one register: of the PC it is a jump."""
    if register == PC:
        return Instruction(size, SEVERAL, writes=one(PC), **more)
    return Instruction(size, LOAD, writes=one(register), **more)


def multiple(size, base, mask, is_load, writeback):
    registers = listed(mask)
    writes = registers if is_load else NOTHING
    return Instruction(size, SEVERAL, one(base), writes, len(registers), writeback)


def narrow(word):
    """An instruction of 16 bits."""
    low, middle = word & 7, word >> 3 & 7
    opcode = word >> 10
    if opcode < 0b010000:
        if word >> 11 == 0b00101:
            return Instruction(2, ALU)  # compare with an immediate
        return compute(2, word >> 8 & 7 if word >> 13 == 1 else low)
    if opcode == 0b010000:
        operation = word >> 6 & 15
        if operation in (8, 10, 11):
            return Instruction(2, ALU)  # tests and comparisons
        return compute(2, low, MULTIPLY if operation == 13 else ALU)
    if opcode == 0b010001:
        operation = word >> 8 & 3
        if operation == 3:
            return Instruction(2, INDIRECT)
        return Instruction(2, ALU) if operation == 1 else compute(2, low | word >> 4 & 8)
    if word >> 11 == 0b01001:
        return load(2, word >> 8 & 7, address=one(PC), literal=True)
    if word >> 12 == 0b0101:
        address = frozenset((middle, word >> 6 & 7))
        if word >> 9 & 7 < 3:
            return Instruction(2, STORE, address, indexed=True)
        return load(2, low, address=address)
    if word >> 13 == 0b011 or word >> 12 == 0b1000:
        is_load, address = word >> 11 & 1, one(middle)
        return load(2, low, address=address) if is_load else Instruction(2, STORE, address)
    if word >> 12 == 0b1001:
        is_load, address = word >> 11 & 1, one(SP)
        register = word >> 8 & 7
        return load(2, register, address=address) if is_load else Instruction(2, STORE, address)
    if word >> 12 == 0b1010:
        return compute(2, word >> 8 & 7)
    if word >> 12 == 0b1011:
        return miscellaneous(word)
    if word >> 12 == 0b1100:
        base, is_load, mask = word >> 8 & 7, word >> 11 & 1, word & 0xFF
        return multiple(2, base, mask, is_load, not (is_load and mask >> base & 1))
    if word >> 12 == 0b1101 and word >> 8 & 15 < 14:
        return Instruction(2, BRANCH, conditional=True, offset=4 + 2 * signed(word & 0xFF, 8))
    if word >> 11 == 0b11100:
        return Instruction(2, BRANCH, offset=4 + 2 * signed(word & 0x7FF, 11))
    return Instruction(2, SPECIAL)  # supervisor calls and the undefined


def miscellaneous(word):
    """1011 xxxx xxxx xxxx: the stack, compare and branch, extensions, hints."""
    if word >> 8 & 0b0101 == 0b0001:
        offset = 4 + 2 * (word >> 3 & 31 | word >> 4 & 32)
        return Instruction(2, BRANCH, conditional=True, offset=offset)
    if word >> 9 & 3 == 0b10:
        is_load = word >> 11 & 1
        mask = word & 0xFF | (word >> 8 & 1) << (PC if is_load else 14)
        return multiple(2, SP, mask, is_load, True)
    operation = word >> 8 & 15
    if operation == 0:
        return compute(2, SP)
    if operation in (2, 10):
        return compute(2, word & 7)
    if operation == 6:
        return Instruction(2, SPECIAL)  # CPS
    return Instruction(2, ALU)  # IT, NOP and hints, BKPT


def wide(first, second):
    """An instruction of 32 bits."""
    base, target, other = first & 15, second >> 12, second >> 8 & 15
    plain = Instruction(4, ALU) if other == PC else compute(4, other)
    group = first >> 9 & 3
    if group >= 2 and first >> 11 != 0b11110:
        return coprocessor(first, second, base)
    if first >> 11 == 0b11101:
        return plain if group else block_transfer(first, second, base)
    if first >> 11 == 0b11110:
        return control(first, second) if second >> 15 else plain
    if group == 0:
        return single(first, second, base, target)
    if first >> 8 & 1 == 0:
        return plain
    if first >> 7 & 1 == 0:
        return compute(4, other, MULTIPLY)
    if second >> 4 & 15 == 15 and first >> 4 & 0b101 == 0b001:
        return compute(4, other, DIVIDE)
    return Instruction(4, MULTIPLY, writes=frozenset((target, other)))


def block_transfer(first, second, base):
    """11101 00x: several registers, two registers, exclusive accesses, table branches."""
    is_load, writeback = first >> 4 & 1, bool(first >> 5 & 1)
    if first >> 6 & 1 == 0:
        return multiple(4, base, second, is_load, writeback)
    exclusive = first >> 8 & 1 == 0 and not writeback
    if not exclusive:
        writes = frozenset((second >> 12, second >> 8 & 15)) if is_load else NOTHING
        return Instruction(4, SEVERAL, one(base), writes, 2, writeback, literal=base == PC)
    if first >> 7 & 1 and second >> 5 & 7 == 0:
        return Instruction(4, TABLE, frozenset((base, second & 15)))
    if not is_load:
        # It says whether it succeeded and is timed as a load.
        return Instruction(4, LOAD, one(base))
    return load(4, second >> 12, address=one(base))


def single(first, second, base, target):
    """11111 00x: one register to or from memory."""
    is_load = first >> 4 & 1
    if first >> 7 & 1 or base == PC:
        address, writeback, indexed = one(base), False, False
    elif second >> 11 & 1:
        address, writeback, indexed = one(base), bool(second >> 8 & 1), False
    else:
        address, writeback, indexed = frozenset((base, second & 15)), False, True
    if not is_load:
        return Instruction(4, STORE, address, writeback=writeback, indexed=indexed)
    if target == PC and first >> 5 & 3 != 2:
        return Instruction(4, ALU)  # a hint to load ahead
    return load(4, target, address=address, writeback=writeback, literal=base == PC)


def control(first, second):
    """11110 with a second half 1xxx: branches, calls, barriers, special registers."""
    top = signed(first >> 10 & 1, 1)
    if second >> 12 & 1:
        # The upper bits of the distance are said as equal to the sign or not.
        ones = [1 ^ (second >> bit & 1 ^ -top) for bit in (13, 11)]
        high = top << 2 | ones[0] << 1 | ones[1]
        offset = 4 + 2 * (high << 21 | (first & 0x3FF) << 11 | second & 0x7FF)
        return Instruction(4, CALL if second >> 14 & 1 else BRANCH, offset=offset)
    if first >> 7 & 7 != 7:
        high = top << 2 | (second >> 11 & 1) << 1 | second >> 13 & 1
        offset = 4 + 2 * (high << 17 | (first & 0x3F) << 11 | second & 0x7FF)
        return Instruction(4, BRANCH, conditional=True, offset=offset)
    if first & 0xFFF0 == 0xF3B0:
        return Instruction(4, BARRIER if second >> 4 & 15 == 6 else ALU)
    if first & 0xFFF0 == 0xF3A0:
        return Instruction(4, ALU)  # hints
    writes = one(second >> 8 & 15) if first >> 5 & 3 == 3 else NOTHING
    return Instruction(4, SPECIAL, writes=writes)


def coprocessor(first, second, base):
    """The floating-point unit: transfers to memory by their size, arithmetic by its kind."""
    if first >> 9 & 7 == 0b110:
        if first >> 5 & 0b1111 == 0b0010:
            return Instruction(4, FLOAT, count=1)  # two core registers
        words = second & 0xFF
        if first >> 8 & 1 and first >> 5 & 1 == 0:
            words = 2 if second >> 8 & 1 else 1
        return Instruction(4, SEVERAL, one(base), NOTHING, words, bool(first >> 5 & 1))
    if second >> 4 & 1:
        writes = one(second >> 12) if first >> 4 & 1 and second >> 12 != PC else NOTHING
        return Instruction(4, FLOAT, writes=writes, count=0)
    operation, further = first >> 4 & 0b1011, second >> 6 & 1
    if operation in (0b0000, 0b0001, 0b1001, 0b1010):
        return Instruction(4, FLOAT, count=2)  # multiply and accumulate
    if operation == 0b1000 or operation == 0b1011 and first & 15 == 1 and further and second >> 7 & 1:
        return Instruction(4, FLOAT, count=13)  # divide, square root
    return Instruction(4, FLOAT, count=0)
