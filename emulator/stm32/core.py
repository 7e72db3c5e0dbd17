"""The Cortex-M4 in the Unicorn engine: runs to a number of cycles, sleeps, and enters and leaves
exceptions, which Unicorn itself does not."""

import ctypes
import struct

from unicorn import UC_ARCH_ARM, UC_MODE_MCLASS, UC_MODE_THUMB, Uc, unicorn_const
from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

from meter import Meter
from registers import Registers, Words

# Unicorn's number of a return from an exception.
EXCEPTION_RETURN = 8
HARD_FAULT = 3
THUMB_BIT, REALIGNED = 1 << 24, 1 << 9
# EXC_RETURN (ARM DDI 0403, B1.5.8): to thread or handler, always on the main stack.
TO_THREAD, TO_HANDLER, BASIC_FRAME = 0xFFFFFFE9, 0xFFFFFFE1, 1 << 4
BASIC_WORDS, EXTENDED_WORDS = 8, 26
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
FLOATING_POINT = (*range(arm.UC_ARM_REG_S0, arm.UC_ARM_REG_S0 + 16), arm.UC_ARM_REG_FPSCR)


class Core:
    """The processor; memory and interrupts are handled elsewhere."""

    def __init__(self, wait_states):
        self.engine = Uc(UC_ARCH_ARM, UC_MODE_THUMB | UC_MODE_MCLASS)
        self.engine.ctl_set_cpu_model(arm.UC_CPU_ARM_CORTEX_M4)
        self.handle = self.engine._uch
        # Called before every block while a stop may be requested.
        self.wants_stop = lambda: True
        self.failure = None
        self.intr = None
        self.active = []
        self.event = False
        self.pc = 0
        self.words = Words(self.handle)
        self.program_counter = self.registers(arm.UC_ARM_REG_PC)
        self.masks = self.registers(
            arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_BASEPRI, arm.UC_ARM_REG_FAULTMASK
        )
        self.context = self.registers(
            *STACKED, arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_SP, arm.UC_ARM_REG_XPSR
        )
        self.floating_point = self.registers(*FLOATING_POINT)
        self.meter = Meter(self.engine, wait_states, self.asks_to_stop)
        self.engine.hook_add(unicorn_const.UC_HOOK_INTR, self.on_intr)

    def registers(self, *names):
        return Registers(self.handle, *names)

    def asks_to_stop(self):
        try:
            return self.wants_stop()
        except Exception as error:
            self.fail(error)
            return True

    def fail(self, error):
        """Stores an exception raised inside a callback, where it cannot propagate."""
        self.failure = error
        self.meter.attend()

    def on_intr(self, _engine, number, _data):
        self.intr = number
        uclib.uc_emu_stop(self.handle)

    def reset(self, stack, entry):
        """Sets the core to its reset state (ARM DDI 0403, B1.5.5)."""
        self.masks.write(0, 0, 0)
        self.context.write(0, 0, 0, 0, 0, 0xFFFFFFFF, 0, stack, THUMB_BIT)
        self.floating_point.write(*[0] * len(FLOATING_POINT))
        self.pc = entry & ~1
        self.active = []
        self.event = False

    def run(self, until_cycles):
        """Runs until `until_cycles` are counted or the core is stopped.

        Returns why it stopped: "", a hint ("wfe", "wfi", "sev"), "return" from an exception, or
        "fault".
        """
        self.intr = None
        self.meter.run_to(until_cycles)
        error = uclib.uc_emu_start(
            self.handle, ctypes.c_uint64(self.pc | 1), ctypes.c_uint64(0xFFFFFFFE), 0, 0
        )
        self.pc = self.program_counter.read()[0] & 0xFFFFFFFE
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
        """Enters an exception: saves the context as the core does and jumps to the handler."""
        *saved, control, stack, status = self.context.read()
        floating = control & FLOATING_POINT_ACTIVE
        frame = (stack - 4 * (EXTENDED_WORDS if floating else BASIC_WORDS)) & ~7
        realigned = REALIGNED if stack & 4 else 0
        words = [*saved, self.pc, status & ~REALIGNED | realigned | THUMB_BIT]
        link = TO_HANDLER if self.active else TO_THREAD
        if floating:
            # S0 to S15 and FPSCR; the handler begins with a fresh context.
            words += [*self.floating_point.read(), 0]
        else:
            link |= BASIC_FRAME
        stacked = self.words.write(frame, [word & 0xFFFFFFFF for word in words])
        self.active.append(number)
        self.begin(number, vectors, [*saved[:-1], link], control & ~FLOATING_POINT_ACTIVE, frame)
        self.meter.add(ENTRY_CYCLES)
        return stacked

    def begin(self, number, vectors, saved, control, frame):
        # xPSR without ITSTATE: a handler never begins inside an IT block.
        status = self.context.read()[-1] & FLAGS | THUMB_BIT | number
        self.context.write(*saved, control, frame, status)
        (handler,) = self.words.read(vectors + 4 * number, 1)
        self.pc = handler & ~1
        self.event = True

    def tail_chain(self, number, vectors):
        """Tail-chains from the handler that ended to another, without touching the frame."""
        *saved, control, frame, _ = self.context.read()
        self.active[-1] = number
        # LR is the value the first handler was entered with: what its return put into PC.
        link = self.pc | 1
        self.begin(number, vectors, [*saved[:-1], link], control & ~FLOATING_POINT_ACTIVE, frame)
        self.meter.add(TAIL_CHAIN_CYCLES)

    def leave(self):
        """Returns from an exception to the interrupted code; returns whether there was a frame."""
        *_, control, frame, _ = self.context.read()
        floating = not self.pc & BASIC_FRAME
        count = EXTENDED_WORDS if floating else BASIC_WORDS
        words = self.words.read(frame, count)
        if words is None:
            return False
        control &= ~FLOATING_POINT_ACTIVE
        if floating:
            self.floating_point.write(*words[BASIC_WORDS : BASIC_WORDS + len(FLOATING_POINT)])
            control |= FLOATING_POINT_ACTIVE
        status = words[7]
        stack = frame + 4 * count + (4 if status & REALIGNED else 0)
        self.active.pop()
        self.context.write(*words[:6], control, stack, status & ~REALIGNED)
        self.pc = words[6] & ~1
        self.event = True
        self.meter.add(RETURN_CYCLES)
        return True
