"""The flash's controller: wait states, keys, page erase and double-word programming with the
chip's rules (RM0432, section 3), and power cuts in the middle of an operation."""

from ecc import Ecc

ACR, KEYR, SR, CR, ECCR, OPTR = 0x00, 0x08, 0x10, 0x14, 0x18, 0x20
KEYS = (0x45670123, 0xCDEF89AB)
PG, PER, START, LOCK, BANK_2 = 1 << 0, 1 << 1, 1 << 16, 1 << 31, 1 << 11
EOP, PROGERR, WRPERR, PGAERR, SIZERR, PGSERR, BSY = 1, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 16
ERRORS = 0xC3FA
INTERRUPTS = (1 << 24, 1 << 25)
# Two banks with pages of 4 KB, as the chip is delivered.
OPTIONS = 0xFFEFF8AA
START_ADDRESS, BANK_BYTES, PAGE_BYTES = 0x08000000, 1 << 20, 4096
# Typical times (DS12023, 6.3.12).
PROGRAM_NANOS, ERASE_NANOS = 81_690.0, 22_020_000.0
LINE = 4


class Flash:
    """Registers of 0x40022000 and the content of the flash."""

    def __init__(self, memory, machine):
        self.memory = memory
        self.machine = machine
        self.ecc = Ecc(machine, memory, START_ADDRESS)
        self.erases = 0
        self.programs = 0
        self.operations_to_cut = None
        self.record = None
        self.reset()

    def reset(self):
        self.words = {ACR: 0x600, CR: LOCK | 1 << 30, OPTR: OPTIONS}
        self.flags = 0
        self.keys_given = 0
        self.half = None
        self.busy_until = 0.0
        self.ecc.reset()

    def latency(self):
        return self.words[ACR] & 15

    def is_busy(self):
        return self.machine.now() < self.busy_until

    def read(self, offset):
        if offset == SR:
            if self.is_busy():
                # A program that polls does nothing else: its time advances at once, up to the
                # next event.
                self.machine.pass_time(self.busy_until)
            return self.flags | (BSY if self.is_busy() else 0)
        if offset == ECCR:
            return self.ecc.register
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        value = self.words.get(offset, 0) & ~mask | value
        if offset == KEYR:
            self.take_key(value)
        elif offset == SR:
            self.flags &= ~value
            self.update_line()
        elif offset == CR:
            self.control(value)
        elif offset == ECCR:
            self.ecc.write(value & mask)
        elif offset == ACR:
            self.words[ACR] = value
            self.machine.rcc.check(self.machine.rcc.hclk)
        elif offset != OPTR:
            self.words[offset] = value

    def take_key(self, value):
        if self.keys_given < 2 and value == KEYS[self.keys_given]:
            self.keys_given += 1
            if self.keys_given == 2:
                self.words[CR] &= ~LOCK
        else:
            # A wrong key locks the register until the next reset.
            self.keys_given = 3

    def control(self, value):
        if self.words[CR] & LOCK:
            return
        if value & LOCK:
            self.keys_given = 0
        self.words[CR] = value & ~START
        self.half = None
        if value & START:
            if self.is_busy() or not value & PER or value & PG:
                self.fail(PGSERR)
            else:
                page = (value >> 3 & 0xFF) * PAGE_BYTES
                self.erase(page + (BANK_BYTES if value & BANK_2 else 0))
        self.update_line()

    def erase(self, offset):
        self.erases += 1
        self.flags &= ~EOP
        if self.change(offset, b"\xff" * PAGE_BYTES):
            self.work(offset, ERASE_NANOS)

    def program_word(self, address, size, value):
        """Handles a store of the program to the flash."""
        offset = address - START_ADDRESS
        if self.is_busy():
            self.machine.pass_time(self.busy_until)
        if not self.words[CR] & PG or self.flags & ERRORS:
            self.fail(PGSERR)
        elif size != 4:
            self.fail(SIZERR | PGSERR)
        elif self.half is None:
            if offset % 8:
                self.fail(PGAERR | PGSERR)
            else:
                self.half = (offset, value)
        elif offset != self.half[0] + 4:
            self.half = None
            self.fail(PGAERR | PGSERR)
        else:
            low = self.half[1]
            self.half = None
            self.program(offset - 4, low | value << 32)

    def program(self, offset, value):
        old = int.from_bytes(self.memory.read(offset, 8), "little")
        is_erased = old == (1 << 64) - 1 and offset not in self.ecc.torn
        if not is_erased and value != 0:
            self.fail(PROGERR)
            return
        self.programs += 1
        if self.change(offset, (old & value).to_bytes(8, "little")):
            self.work(offset, PROGRAM_NANOS)

    def change(self, offset, after):
        """Carries out an operation; returns whether the power lasted."""
        before = self.memory.read(offset, len(after))
        if self.is_cut():
            self.ecc.tear(offset, before, after)
            self.machine.cut_power()
            return False
        if self.record is not None:
            self.record.add(offset, after)
        self.memory.write(offset, after)
        self.ecc.repair(offset, len(after))
        return True

    def is_cut(self):
        if self.operations_to_cut is None:
            return False
        self.operations_to_cut -= 1
        if self.operations_to_cut > 0:
            return False
        self.operations_to_cut = None
        return True

    def work(self, offset, nanos):
        self.busy_until = self.machine.now() + nanos
        if self.words[CR] & INTERRUPTS[0]:
            self.flags |= EOP
        if offset < BANK_BYTES:
            # The program runs from this bank: its next fetch waits until the bank is free.
            self.machine.stall(self.busy_until)
        self.update_line()

    def fail(self, flag):
        self.flags |= flag
        self.update_line()

    def update_line(self):
        control = self.words[CR]
        high = control & INTERRUPTS[0] and self.flags & EOP
        high = high or control & INTERRUPTS[1] and self.flags & ERRORS
        self.machine.nvic.set_level(LINE, bool(high))
