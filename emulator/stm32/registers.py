"""Registers and memory of the engine, several at a time and past Unicorn's Python layer, which
takes longer for a register than the core for a handler."""

import ctypes
import struct

from unicorn.unicorn_py3.unicorn import uclib

# More than any frame of an exception has.
MOST_WORDS = 32


class Registers:
    """A list of registers that is read and written in one call."""

    def __init__(self, handle, *names):
        self.handle = handle
        self.count = len(names)
        self.names = (ctypes.c_int * self.count)(*names)
        self.values = (ctypes.c_uint64 * self.count)()
        size = ctypes.sizeof(ctypes.c_uint64)
        start = ctypes.addressof(self.values)
        pointers = [start + size * index for index in range(self.count)]
        self.pointers = (ctypes.c_void_p * self.count)(*pointers)

    def read(self):
        uclib.uc_reg_read_batch(self.handle, self.names, self.pointers, self.count)
        return self.values[:]

    def write(self, *values):
        self.values[:] = values
        uclib.uc_reg_write_batch(self.handle, self.names, self.pointers, self.count)


class Words:
    """Memory in words."""

    def __init__(self, handle):
        self.handle = handle
        self.bytes = ctypes.create_string_buffer(4 * MOST_WORDS)

    def read(self, address, count):
        """Returns `count` words, or nothing where there is no memory."""
        failed = uclib.uc_mem_read(self.handle, address, self.bytes, 4 * count)
        return None if failed else struct.unpack_from(f"<{count}I", self.bytes)

    def write(self, address, values):
        """Writes words; returns whether there is memory."""
        words = struct.pack(f"<{len(values)}I", *values)
        return not uclib.uc_mem_write(self.handle, address, words, len(words))
