"""The interrupt controller and the system control block: selects the exception to run."""

NMI, HARD_FAULT, SVCALL, PENDSV, SYSTICK = 2, 3, 11, 14, 15
FIRST_LINE = 16
LINES = 96
THREAD_PRIORITY = 256
# The chip keeps the four upper bits of a priority (RM0432, 14.1).
PRIORITY_BITS = 0xF0

ENABLE, DISABLE, PEND, UNPEND, ACTIVE, PRIORITY = 0x100, 0x180, 0x200, 0x280, 0x300, 0x400
ICSR, VTOR, AIRCR, SYSTEM_PRIORITY, STIR = 0xD04, 0xD08, 0xD0C, 0xD18, 0xF00
CPUID, CORTEX_M4_R0P1 = 0xD00, 0x410FC241
RESET_REQUEST, RESET_KEY = 1 << 2, 0x05FA


class Nvic:
    """Registers of 0xE000E000; lines are levels of peripherals, or made pending by software."""

    def __init__(self, core, on_reset_request):
        self.core = core
        self.on_reset_request = on_reset_request
        self.levels = {}
        self.reset()

    def reset(self):
        self.enabled = 0
        self.pending = 0
        self.system_pending = 0
        self.priorities = bytearray(LINES)
        self.system_priorities = bytearray(12)
        self.registers = {CPUID: CORTEX_M4_R0P1}
        self.vectors = 0x08000000
        for line in self.levels:
            self.levels[line] = False

    def set_level(self, line, high):
        """Sets the level of a peripheral's interrupt line."""
        if self.levels.get(line) != high:
            self.levels[line] = high
            if high:
                self.core.meter.attend()

    def raise_nmi(self):
        """Requests the non-maskable interrupt."""
        self.system_pending |= 1 << NMI
        self.core.meter.attend()

    def priority(self, exception):
        if exception >= FIRST_LINE:
            return self.priorities[exception - FIRST_LINE]
        if exception in (NMI, HARD_FAULT):
            return exception - 4
        return self.system_priorities[exception - 4]

    def running_priority(self):
        running = min(map(self.priority, self.core.active), default=THREAD_PRIORITY)
        primask, base, faultmask = self.core.masks.read()
        if base & PRIORITY_BITS:
            running = min(running, base & PRIORITY_BITS)
        if primask & 1:
            running = min(running, 0)
        if faultmask & 1:
            running = min(running, -1)
        return running

    def waiting(self):
        """Returns the most urgent exception that is pending and enabled, masked or not."""
        lines = self.pending
        for line, high in self.levels.items():
            if high:
                lines |= 1 << line
        lines &= self.enabled
        best = None
        while lines:
            line = (lines & -lines).bit_length() - 1
            lines &= lines - 1
            if best is None or self.priorities[line] < self.priority(best):
                best = FIRST_LINE + line
        for exception in (NMI, PENDSV, SYSTICK):
            if self.system_pending >> exception & 1 and (
                best is None or self.priority(exception) <= self.priority(best)
            ):
                best = exception
        return best

    def deliverable(self):
        """Returns the exception to take now, if there is one."""
        best = self.waiting()
        if best is None or self.priority(best) >= self.running_priority():
            return None
        return best

    def taken(self, exception):
        if exception >= FIRST_LINE:
            self.pending &= ~(1 << (exception - FIRST_LINE))
        else:
            self.system_pending &= ~(1 << exception)

    def word(self, bits, offset):
        return bits >> 8 * (offset & 0x1F) & 0xFFFFFFFF

    def read(self, offset):
        block = offset & ~0x1F
        if block in (ENABLE, DISABLE):
            return self.word(self.enabled, offset)
        if block in (PEND, UNPEND):
            return self.word(self.pending, offset)
        if block == ACTIVE:
            lines = sum(1 << (it - FIRST_LINE) for it in self.core.active if it >= FIRST_LINE)
            return self.word(lines, offset)
        if PRIORITY <= offset < PRIORITY + LINES:
            return int.from_bytes(self.priorities[offset - PRIORITY :][:4], "little")
        if SYSTEM_PRIORITY <= offset < SYSTEM_PRIORITY + 12:
            return int.from_bytes(self.system_priorities[offset - SYSTEM_PRIORITY :][:4], "little")
        if offset == ICSR:
            return (self.core.active or [0])[-1] | (self.waiting() or 0) << 12
        if offset == VTOR:
            return self.vectors
        if offset == AIRCR:
            return 0xFA05 << 16
        return self.registers.get(offset, 0)

    def write(self, offset, value, mask):
        block = offset & ~0x1F
        lines = (value & mask) << 8 * (offset & 0x1F)
        if block == ENABLE:
            self.enabled |= lines
        elif block == DISABLE:
            self.enabled &= ~lines
        elif block == PEND:
            self.pending |= lines
        elif block == UNPEND:
            self.pending &= ~lines
        elif PRIORITY <= offset < PRIORITY + LINES:
            store(self.priorities, offset - PRIORITY, value, mask)
        elif SYSTEM_PRIORITY <= offset < SYSTEM_PRIORITY + 12:
            store(self.system_priorities, offset - SYSTEM_PRIORITY, value, mask)
        elif offset == STIR:
            self.pending |= 1 << (value & 0x1FF)
        elif offset == ICSR:
            if value >> 28 & 1:
                self.system_pending |= 1 << PENDSV
            if value >> 27 & 1:
                self.system_pending &= ~(1 << PENDSV)
            if value >> 31 & 1:
                self.raise_nmi()
        elif offset == VTOR:
            self.vectors = value
        elif offset == AIRCR:
            if value >> 16 == RESET_KEY and value & RESET_REQUEST:
                self.on_reset_request()
        elif offset != CPUID:
            self.registers[offset] = value
        self.core.meter.attend()


def store(priorities, at, value, mask):
    for byte in range(4):
        if mask >> 8 * byte & 0xFF:
            priorities[at + byte] = value >> 8 * byte & PRIORITY_BITS
