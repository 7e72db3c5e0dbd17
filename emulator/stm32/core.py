"""The Cortex-M4 in the Unicorn engine: runs to a number of cycles, counts every basic block by the
table of `cycles`, sleeps, and enters and leaves exceptions, which Unicorn itself does not.

Unicorn's Python layer is passed by where it would run for every block or register: the same
functions of its library are called directly.
"""

import ctypes
import struct

from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, unicorn_const
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from cycles import block_cost

# What Unicorn's ARM calls a return from an exception.
EXCEPTION_RETURN = 8
HARD_FAULT = 3
THUMB_BIT = 1 << 24
# EXC_RETURN (ARM DDI 0403, B1.5.8): to thread or handler, always on the main stack.
TO_THREAD, TO_HANDLER, BASIC_FRAME = 0xFFFFFFE9, 0xFFFFFFE1, 1 << 4
FLOATING_POINT_ACTIVE = 1 << 2
FLAGS = 0xF80F0000
# Cycles of the core for stacking, unstacking, and going from one handler to the next
# (ARM DDI 0439, 3.9: 12, 10 and 6).
ENTRY_CYCLES, RETURN_CYCLES, TAIL_CHAIN_CYCLES = 12, 10, 6
HINTS = {0xBF20: "wfe", 0xBF30: "wfi", 0xBF40: "sev"}

STACKED = (
    arm.UC_ARM_REG_R0,
    arm.UC_ARM_REG_R1,
    arm.UC_ARM_REG_R2,
    arm.UC_ARM_REG_R3,
    arm.UC_ARM_REG_R12,
    arm.UC_ARM_REG_LR,
)
FLOATING_POINT = tuple(range(arm.UC_ARM_REG_S0, arm.UC_ARM_REG_S0 + 16))

BLOCK_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
)


class Core:
    """The processor; memory is mapped and interrupts are decided elsewhere."""

    def __init__(self):
        self.engine = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.engine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.handle = self.engine._uch
        # Asked before every block while something may want the core's attention.
        self.wants_stop = lambda: True
        self.failure = None
        self.intr = None
        self.active = []
        self.event = False
        self.pc = 0
        self.count_blocks()
        self.engine.hook_add(unicorn_const.UC_HOOK_INTR, self.on_intr)

    def count_blocks(self):
        """Has every basic block counted before it runs, and the core stopped between two."""
        cycles, instructions, limit, deadline = 0, 0, 0, 0
        costs = {}
        engine, handle, stop = self.engine, self.handle, uclib.uc_emu_stop

        def on_block(_engine, address, size, _data):
            nonlocal cycles, instructions
            if cycles >= limit:
                if cycles >= deadline or self.asks_to_stop():
                    stop(handle)
                    return
            cost = costs.get(address)
            if cost is None or cost[2] != size:
                code = bytes(engine.mem_read(address, size))
                cost = (block_cost(code, address), instruction_count(code), size)
                costs[address] = cost
            cycles += cost[0]
            instructions += cost[1]

        def run_to(at):
            nonlocal limit, deadline
            limit = deadline = at

        def shorten(at):
            nonlocal limit, deadline
            deadline = min(deadline, at)
            limit = min(limit, at)

        def attend():
            nonlocal limit
            limit = 0

        def calm():
            nonlocal limit
            limit = deadline

        def add(more):
            nonlocal cycles
            cycles += more

        self.read_cycles = lambda: cycles
        self.read_instructions = lambda: instructions
        self.forget_code = costs.clear
        self.run_to, self.shorten, self.add_cycles = run_to, shorten, add
        self.attend, self.calm = attend, calm
        self.on_block = BLOCK_CALLBACK(on_block)
        hook = ctypes.c_size_t()
        failed = uclib.uc_hook_add(
            handle,
            ctypes.byref(hook),
            unicorn_const.UC_HOOK_BLOCK,
            self.on_block,
            None,
            ctypes.c_uint64(1),
            ctypes.c_uint64(0),
        )
        if failed:
            raise RuntimeError(f"Unicorn takes no hook for blocks: error {failed}")

    def asks_to_stop(self):
        try:
            return self.wants_stop()
        except Exception as error:
            self.fail(error)
            return True

    def fail(self, error):
        """Keeps what went wrong inside a callback, where nobody could catch it."""
        self.failure = error
        self.attend()

    def on_intr(self, _engine, number, _data):
        self.intr = number
        uclib.uc_emu_stop(self.handle)

    def get(self, register):
        return self.engine.reg_read(register)

    def set(self, register, value):
        self.engine.reg_write(register, value)

    def reset(self, stack, entry):
        """Puts the core where a reset does (ARM DDI 0403, B1.5.5)."""
        for register in STACKED[:-1]:
            self.set(register, 0)
        self.set(arm.UC_ARM_REG_XPSR, THUMB_BIT)
        self.set(arm.UC_ARM_REG_CONTROL, 0)
        for mask in (arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK):
            self.set(mask, 0)
        self.set(arm.UC_ARM_REG_FPSCR, 0)
        self.set(arm.UC_ARM_REG_LR, 0xFFFFFFFF)
        self.set(arm.UC_ARM_REG_SP, stack)
        self.pc = entry & ~1
        self.active = []
        self.event = False

    def run(self, until_cycles):
        """Runs until so many cycles were counted or somebody stopped it.

        Returns why it stopped: "", a hint ("wfe", "wfi", "sev"), "return" from an exception, or
        "fault".
        """
        self.intr = None
        self.run_to(until_cycles)
        error = uclib.uc_emu_start(
            self.handle, ctypes.c_uint64(self.pc | 1), ctypes.c_uint64(0xFFFFFFFE), 0, 0
        )
        self.pc = self.get(arm.UC_ARM_REG_PC) & ~1
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        if self.intr is not None:
            return "return" if self.intr == EXCEPTION_RETURN else "fault"
        if error == unicorn_const.UC_ERR_OK:
            return ""
        if error == unicorn_const.UC_ERR_INSN_INVALID:
            (before,) = struct.unpack("<H", self.engine.mem_read(self.pc - 2, 2))
            return HINTS.get(before, "fault")
        return "fault"

    def enter(self, number, vectors):
        """Takes an exception: saves the context as the core does and jumps to the handler."""
        stack = self.get(arm.UC_ARM_REG_SP)
        control = self.get(arm.UC_ARM_REG_CONTROL)
        floating = bool(control & FLOATING_POINT_ACTIVE)
        flags = self.get(arm.UC_ARM_REG_XPSR)
        frame = (stack - (0x68 if floating else 0x20)) & ~7
        realigned = 1 << 9 if stack & 4 else 0
        words = [self.get(register) for register in STACKED]
        words += [self.pc, (flags & ~(1 << 9)) | realigned | THUMB_BIT]
        if floating:
            words += [self.get(register) for register in FLOATING_POINT]
            words += [self.get(arm.UC_ARM_REG_FPSCR), 0]
            self.set(arm.UC_ARM_REG_CONTROL, control & ~FLOATING_POINT_ACTIVE)
        self.engine.mem_write(frame, struct.pack(f"<{len(words)}I", *words))
        back = TO_HANDLER if self.active else TO_THREAD
        self.set(arm.UC_ARM_REG_SP, frame)
        self.set(arm.UC_ARM_REG_LR, back if floating else back | BASIC_FRAME)
        self.active.append(number)
        self.jump_to_handler(number, vectors)
        self.add_cycles(ENTRY_CYCLES)

    def jump_to_handler(self, number, vectors):
        # Writing xPSR clears ITSTATE: a handler never begins inside somebody's IT block.
        self.set(arm.UC_ARM_REG_XPSR, (self.get(arm.UC_ARM_REG_XPSR) & FLAGS) | THUMB_BIT | number)
        (handler,) = struct.unpack("<I", self.engine.mem_read(vectors + 4 * number, 4))
        self.pc = handler & ~1
        self.event = True

    def tail_chain(self, number, vectors):
        """Goes from the handler that just ended to another without touching the frame."""
        # LR is the value the first handler was entered with: what its return put into PC.
        self.set(arm.UC_ARM_REG_LR, self.pc | 1)
        self.active[-1] = number
        self.jump_to_handler(number, vectors)
        self.add_cycles(TAIL_CHAIN_CYCLES)

    def leave(self):
        """Returns from an exception to what it interrupted."""
        frame = self.get(arm.UC_ARM_REG_SP)
        floating = not self.pc & BASIC_FRAME
        size = 0x68 if floating else 0x20
        words = struct.unpack(f"<{size // 4}I", self.engine.mem_read(frame, size))
        for register, value in zip(STACKED, words):
            self.set(register, value)
        control = self.get(arm.UC_ARM_REG_CONTROL) & ~FLOATING_POINT_ACTIVE
        if floating:
            for register, value in zip(FLOATING_POINT, words[8:]):
                self.set(register, value)
            self.set(arm.UC_ARM_REG_FPSCR, words[24])
            control |= FLOATING_POINT_ACTIVE
        self.set(arm.UC_ARM_REG_CONTROL, control)
        flags = words[7]
        self.set(arm.UC_ARM_REG_SP, frame + size + (4 if flags & (1 << 9) else 0))
        self.active.pop()
        self.set(arm.UC_ARM_REG_XPSR, flags & ~(1 << 9))
        self.pc = words[6] & ~1
        self.event = True
        self.add_cycles(RETURN_CYCLES)


def instruction_count(code):
    """Counts the instructions of a block: 32-bit ones begin with 0b11101, 0b11110 or 0b11111."""
    at = count = 0
    while at < len(code):
        at += 4 if code[at + 1] >= 0xE8 else 2
        count += 1
    return count
