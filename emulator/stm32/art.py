"""The flash of an STM32L4R5 behind its ART accelerator: how long the core waits for it.

Source: ST, RM0432 (STM32L4+ reference manual), 3.3.3 "Read access latency" and 3.3.4 "Adaptive
real-time memory accelerator": with two banks flash is read 64 bits at a time; caches of 32 lines
(instructions) and 8 lines (data) of four such reads, the least recently used line is replaced, and
the next read in order is begun ahead (prefetch). What the manual leaves open is taken from the dear
side: a read ahead gains what two instructions take.
"""

# RM0432, 3.3.3: above 100 MHz in range 1 boost; at 80 MHz it is 3.
WAIT_STATES = 5
# Bytes of a read in dual-bank mode, reads of a line, lines of the two caches.
READ_BYTES = 8
LINE_BYTES = 4 * READ_BYTES
INSTRUCTION_LINES = 32
DATA_LINES = 8
# The fewest cycles in which the instructions of one read run, while the next is under way.
AHEAD = 2

FLASH = range(0x0800_0000, 0x0820_0000)


class Cache:
    """Cache lines with least-recently-used replacement."""

    def __init__(self, lines):
        self.lines = lines
        self.held = {}

    def hit(self, line):
        """Returns whether a line is held, and loads it."""
        hit = self.held.pop(line, False)
        self.held[line] = True
        if len(self.held) > self.lines:
            del self.held[next(iter(self.held))]
        return hit


class Art:
    """Counts the cycles that the core waits for flash."""

    def __init__(self, wait_states=WAIT_STATES, enabled=True):
        self.wait_states = wait_states
        self.enabled = enabled
        self.forget()

    def forget(self):
        """Empties the caches, as a reset does."""
        self.instructions = Cache(INSTRUCTION_LINES)
        self.data = Cache(DATA_LINES)
        self.last = None

    def fetch(self, address, size):
        """Returns the wait for a block of instructions that runs from its beginning."""
        if address not in FLASH:
            return 0
        waits = 0
        end = address + size
        first = address - address % LINE_BYTES
        for line in range(first, end, LINE_BYTES):
            if self.enabled and self.instructions.hit(line):
                self.last = line + LINE_BYTES - READ_BYTES
                continue
            start = max(line, address - address % READ_BYTES)
            for read in range(start, min(end, line + LINE_BYTES), READ_BYTES):
                if read == self.last:
                    continue
                ahead = AHEAD if self.enabled and read - READ_BYTES == self.last else 0
                waits += max(0, self.wait_states - ahead)
                self.last = read
        return waits

    def load(self, address):
        """Returns the wait for a load of data."""
        if address not in FLASH:
            return 0
        hit = self.enabled and self.data.hit(address // LINE_BYTES)
        return 0 if hit else self.wait_states
