"""Memory-mapped registers: dispatches accesses to peripherals, always as words."""

import ctypes

from unicorn.unicorn_py3.unicorn import uclib

READ_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
)
WRITE_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_void_p
)
BLOCK = 0x400


class Storage:
    """A peripheral that only stores its registers: GPIO, DMA, EXTI, SYSCFG."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.words = {}

    def read(self, offset):
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        self.words[offset] = self.words.get(offset, 0) & ~mask | value


class Bus:
    """The address space of the registers."""

    def __init__(self, core):
        self.core = core
        self.blocks = {}
        self.callbacks = []

    def add(self, address, peripheral, blocks=1):
        """Maps a peripheral at an address, over one or more kilobytes."""
        for block in range(blocks):
            self.blocks[address // BLOCK + block] = (address, peripheral)

    def find(self, address):
        block = address // BLOCK
        found = self.blocks.get(block)
        if found is None:
            found = self.blocks[block] = (block * BLOCK, Storage())
        return found

    def read(self, address):
        """Returns the word at an address, as the program would read it."""
        base, peripheral = self.find(address)
        return peripheral.read((address & ~3) - base) & 0xFFFFFFFF

    def peripherals(self):
        return {id(it): it for _, it in self.blocks.values()}.values()

    def map(self, start, size):
        """Makes Unicorn call this class for a part of the address space."""

        def read(_engine, offset, width, _data):
            try:
                address = start + offset
                base, peripheral = self.blocks.get(address >> 10) or self.find(address)
                value = peripheral.read((address & ~3) - base)
                if width == 4:
                    return value & 0xFFFFFFFF
                return value >> 8 * (address & 3) & (1 << 8 * width) - 1
            except Exception as error:
                self.core.fail(error)
                return 0

        def write(_engine, offset, width, value, _data):
            try:
                address = start + offset
                base, peripheral = self.blocks.get(address >> 10) or self.find(address)
                shift = 8 * (address & 3)
                mask = (1 << 8 * width) - 1 << shift
                peripheral.write((address & ~3) - base, value << shift & mask, mask)
            except Exception as error:
                self.core.fail(error)

        callbacks = READ_CALLBACK(read), WRITE_CALLBACK(write)
        self.callbacks.append(callbacks)
        failed = uclib.uc_mmio_map(
            self.core.handle,
            ctypes.c_uint64(start),
            ctypes.c_size_t(size),
            callbacks[0],
            None,
            callbacks[1],
            None,
        )
        if failed:
            raise RuntimeError(f"Unicorn cannot map registers at {start:#x}: error {failed}")
