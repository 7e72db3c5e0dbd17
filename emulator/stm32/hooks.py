"""Hooks of memory accesses that leave the program as they found it.

Unicorn 2.1.4 stores the IT state of a hooked instruction in the core and lets the program go on
(`cpu_restore_state` in its cputlb.c; unicorn issue 2309). What is translated next is then made
conditional on an IT block that has ended, and stays so for good.
"""

import ctypes

from unicorn import arm_const as arm
from unicorn.unicorn_py3.unicorn import uclib

# EPSR outside IT blocks: its instructions are Thumb's, as all of this core are.
OUTSIDE_IT = 1 << 24


def hook_memory(engine, kind, callback, begin=1, end=0):
    """Adds a hook for the accesses of `kind`, by default everywhere; returns its number."""
    handle = engine._uch
    status = ctypes.c_uint32(OUTSIDE_IT)
    write, where = uclib.uc_reg_write, ctypes.byref(status)

    def on_access(*access):
        answer = callback(*access)
        # The code that is running keeps its conditions in itself.
        write(handle, arm.UC_ARM_REG_EPSR, where)
        return answer

    return engine.hook_add(kind, on_access, begin=begin, end=end)
