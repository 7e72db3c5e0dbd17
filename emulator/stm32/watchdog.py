"""The independent watchdog: counts the 32 kHz of the LSI down and resets the chip at zero."""

KR, PR, RLR, SR, WINR = 0x00, 0x04, 0x08, 0x0C, 0x10
UNLOCK, RELOAD, BEGIN = 0x5555, 0xAAAA, 0xCCCC
LSI_HERTZ = 32_000.0
MOST = 0xFFF
NEVER = float("inf")


class Watchdog:
    """Registers of 0x40003000. Only a reset stops it."""

    def __init__(self, machine):
        self.machine = machine
        self.reset()

    def reset(self):
        self.words = {PR: 0, RLR: MOST, WINR: MOST}
        self.unlocked = False
        self.due = NEVER

    def count_from(self, reload):
        nanos = (reload + 1) * (4 << min(self.words[PR], 6)) / LSI_HERTZ * 1e9
        self.due = self.machine.now() + nanos
        self.machine.reschedule()

    def advance(self, now):
        if self.due <= now:
            self.machine.bite()

    def read(self, offset):
        return 0 if offset in (KR, SR) else self.words.get(offset, 0)

    def write(self, offset, value, _mask):
        if offset == KR:
            self.unlocked = value == UNLOCK
            if value == BEGIN and self.due == NEVER:
                # It begins at its maximum, whatever its reload value (RM0432, 38.3.1).
                self.count_from(MOST)
            elif value == RELOAD and self.due != NEVER:
                self.count_from(self.words[RLR])
        elif self.unlocked:
            self.words[offset] = value & MOST
