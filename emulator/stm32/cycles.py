"""Cycles of a Cortex-M4: what a block of instructions takes in memory without wait states.

Sources:
 TRM   ARM, Cortex-M4 Technical Reference Manual (DDI 0439, 100166 r0p1): table 3-1 "Processor
       instruction set summary", 3.3.3 "Load/store timings", table 7-1 for the FPU.
 Meas. measurements on a Cortex-M4 of others (compendium.i-0.nl, "Alignment rules", "Load
       placement"), where the manual gives a range or nothing.
Where both leave something open, the table takes the dearer case, as it does between blocks: nothing
is carried over from the block before. Accesses to data are taken to be aligned, and an instruction
that an IT skips counts as if it ran.
"""

import thumb
from thumb import decode

# TRM: a refill of the pipeline (P) takes 1 to 3 cycles, by the alignment and width of the target and
# by how early its address is known. One after a direct branch; three after any other (LDR PC).
REFILL_DIRECT = 1
REFILL_INDIRECT = 3
# Meas.: one more if the target is a wide instruction off a word.
WIDE_TARGET = 1
# TRM: 2 to 12, by the operands.
DIVISION = 12
# TRM: a load next to the program "might add a cycle".
LITERAL = 1
# TRM: MRS, MSR and CPS take one or two.
SPECIAL = 2
# TRM: an address from the result of the instruction before waits for the register.
ADDRESS_WAIT = 1
# Meas.: so many wide instructions in a row off a word cost a cycle.
OFF_WORD_RUN = 3


class Block:
    """What a block of instructions costs: `cycles` if it is branched to and the branch at its end is
    taken; `entry` less if the block before goes on into it, `refund` less if it goes on itself."""

    __slots__ = ("cycles", "end", "entry", "instructions", "refund")

    def __init__(self, code, address):
        self.cycles = self.instructions = at = run = 0
        self.entry = WIDE_TARGET if address % 4 and decode(code, 0).size == 4 else 0
        self.cycles += self.entry
        before = last = None
        while at < len(code):
            last = decode(code, at)
            self.cycles += cost(last, before)
            run = run + 1 if last.size == 4 and (address + at) % 4 else 0
            if run == OFF_WORD_RUN:
                self.cycles += 1
                run = 0
            before = last
            at += last.size
            self.instructions += 1
        self.end = address + len(code)
        conditional = last is not None and last.conditional
        self.refund = refill(last) if conditional else 0


def block_cost(code, address):
    """Returns the cycles of a block that is branched to and whose last branch is
    taken."""
    return Block(code, address).cycles


def cost(instruction, before):
    """Returns the cycles of an instruction that follows `before`."""
    kind = instruction.kind
    if kind in (thumb.ALU, thumb.MULTIPLY):
        return 1
    if kind in (thumb.BRANCH, thumb.CALL, thumb.INDIRECT):
        return 1 + refill(instruction)
    if kind == thumb.LOAD:
        cycles = 1 if follows(instruction, before) else 2
    elif kind == thumb.STORE:
        # One cycle while the buffer for one write is empty.
        late = before is not None and before.kind == thumb.STORE
        dear = (late or instruction.indexed) and not follows(instruction, before)
        cycles = 2 if dear else 1
    elif kind == thumb.SEVERAL:
        cycles = 1 + instruction.count
        if thumb.PC in instruction.writes:
            cycles += REFILL_INDIRECT
    elif kind == thumb.TABLE:
        cycles = 3 + REFILL_INDIRECT
    elif kind == thumb.DIVIDE:
        return DIVISION
    elif kind == thumb.FLOAT:
        return 1 + instruction.count
    elif kind == thumb.BARRIER:
        return 1 + REFILL_INDIRECT
    else:
        return SPECIAL
    if instruction.literal:
        cycles += LITERAL
    if waits(instruction, before):
        cycles += ADDRESS_WAIT
    return cycles


def follows(instruction, before):
    """Whether a load or store shares a cycle with the load before it: TRM if its address does not
    depend on that, Meas. unless one of them updates its base register."""
    return (
        before is not None
        and before.kind == thumb.LOAD
        and not before.writeback
        and not instruction.writeback
        and not instruction.literal
        and not before.writes & instruction.address
    )


def waits(instruction, before):
    """Whether an address is what the instruction before has just computed."""
    computed = (thumb.ALU, thumb.MULTIPLY, thumb.DIVIDE, thumb.FLOAT, thumb.SPECIAL)
    return before is not None and before.kind in computed and bool(
        before.writes & instruction.address
    )


def refill(branch):
    """Returns the cycles until the first instruction after a branch is fetched."""
    return REFILL_INDIRECT if branch.offset is None else REFILL_DIRECT
