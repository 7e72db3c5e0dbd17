"""Words of the flash whose programming or erasure lost its power: they have no value of their own,
and do not fit their error correction (RM0432, 3.3.2).

At every start their bits read anew as done or not done. Whoever reads one raises the NMI with ECCD
and the address in FLASH_ECCR, until the word is erased or programmed to its end. On the chip one may
also read without an error, or with one that is corrected; what the program makes of the bits then is
the same.
"""

from unicorn import UC_HOOK_MEM_READ

from hooks import hook_memory

WORD_BYTES = 8
# Bits of FLASH_ECCR: two errors found, one corrected, and in which bank.
ECCD, ECCC, BANK_2_ECC = 1 << 31, 1 << 30, 1 << 21
BANK_BYTES = 1 << 20


class Ecc:
    """The torn words, and the ECC error register; `start` is the start of the flash."""

    def __init__(self, machine, memory, start):
        self.machine = machine
        self.memory = memory
        self.start = start
        self.torn = {}
        self.hook = None
        self.errors = 0
        self.reset()

    def reset(self):
        self.register = 0

    def write(self, value):
        """Clears the flags that are written as ones."""
        self.register &= ~(value & (ECCD | ECCC))

    def tear(self, offset, before, after):
        """Marks words as torn while `before` becomes `after`; `power_up` must follow."""
        for at in range(0, len(before), WORD_BYTES):
            word = slice(at, at + WORD_BYTES)
            self.torn[offset + at] = (before[word], after[word])

    def repair(self, offset, length):
        """Marks words as completely erased or programmed."""
        for word in range(offset, offset + length, WORD_BYTES):
            self.torn.pop(word, None)

    def power_up(self):
        """Chooses the values of torn words for this start."""
        for offset, (before, after) in self.torn.items():
            noise = self.machine.noise(WORD_BYTES)
            mixed = bytes(b & ~n | a & n for b, a, n in zip(before, after, noise))
            self.memory.write(offset, mixed)
        self.watch()

    def watch(self):
        engine = self.machine.core.engine
        if self.hook is not None:
            engine.hook_del(self.hook)
            self.hook = None
        if self.torn:
            first, last = min(self.torn), max(self.torn) + WORD_BYTES - 1
            begin, end = self.start + first, self.start + last
            self.hook = hook_memory(engine, UC_HOOK_MEM_READ, self.on_read, begin, end)
            # Code translated without a hook would not call it.
            engine.ctl_flush_tb()

    def on_read(self, _engine, _access, address, size, _value, _data):
        offset = address - self.start
        first, last = offset & -WORD_BYTES, offset + size - 1 & -WORD_BYTES
        found = next((it for it in (first, last) if it in self.torn), None)
        if found is not None and not self.register & ECCD:
            self.errors += 1
            bank = BANK_2_ECC if found >= BANK_BYTES else 0
            self.register = self.register & ECCC | ECCD | bank | found % BANK_BYTES
            self.machine.nvic.raise_nmi()
