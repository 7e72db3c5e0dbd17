"""Peripherals of a register or two: random numbers, the cycle counter, the debug unit."""

RNG_CR, RNG_SR, RNG_DR = 0x00, 0x04, 0x08
RNG_ENABLED = 1 << 2
READY, CLOCK_ERROR = 1 << 0, 1 << 1 | 1 << 5

DWT_CTRL, CYCCNT = 0x00, 0x04
COUNTING = 1 << 0


class Rng:
    """The random number generator of 0x50060800; it works on a clock of 48 MHz alone."""

    def __init__(self, rcc, noise):
        self.rcc = rcc
        self.noise = noise
        self.reset()

    def reset(self):
        self.words = {}

    def works(self):
        return self.words.get(RNG_CR, 0) & RNG_ENABLED and self.rcc.is_clocked(self)

    def read(self, offset):
        if offset == RNG_SR:
            if not self.works():
                return 0
            return READY if self.rcc.has_48_megahertz() else CLOCK_ERROR
        if offset == RNG_DR:
            if not self.works() or not self.rcc.has_48_megahertz():
                return 0
            return int.from_bytes(self.noise(4), "little")
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        if offset not in (RNG_SR, RNG_DR):
            self.words[offset] = self.words.get(offset, 0) & ~mask | value


class CycleCounter:
    """The DWT of 0xE0001000, of which the chip's programs use the counter of cycles."""

    def __init__(self, cycles):
        self.cycles = cycles
        self.reset()

    def reset(self):
        self.control = 0
        self.first = 0

    def count(self):
        return self.cycles() - self.first & 0xFFFFFFFF

    def read(self, offset):
        if offset == DWT_CTRL:
            return 0x40000000 | self.control
        if offset == CYCCNT:
            return self.count() if self.control & COUNTING else self.first & 0xFFFFFFFF
        return 0

    def write(self, offset, value, _mask):
        if offset == CYCCNT:
            self.set(value)
        elif offset == DWT_CTRL:
            count = self.read(CYCCNT)
            self.control = value
            self.set(count)

    def set(self, count):
        self.first = self.cycles() - count if self.control & COUNTING else count
