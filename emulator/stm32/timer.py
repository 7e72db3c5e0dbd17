"""TIM5, the clock of embassy-time: counts up, wraps, and compares with two registers."""

CR1, DIER, SR, EGR, CNT, PSC, ARR, CCR1, CCR2 = 0x00, 0x0C, 0x10, 0x14, 0x24, 0x28, 0x2C, 0x34, 0x38
ENABLED, COUNTER_ONLY = 1 << 0, 1 << 2
UPDATE, COMPARE_1, COMPARE_2 = 1 << 0, 1 << 1, 1 << 2
LINE = 50
NEVER = float("inf")


class Timer:
    """Registers of 0x40000C00."""

    def __init__(self, machine):
        self.machine = machine
        self.reset()

    def reset(self):
        self.words = {ARR: 0xFFFFFFFF}
        self.flags = 0
        self.prescaler = 0
        # Ticks since the counter was last set, up to when flags are true.
        self.start = self.machine.now()
        self.first = 0
        self.seen = 0
        self.due = NEVER
        self.machine.nvic.set_level(LINE, False)

    def restart(self, ticks):
        self.start = self.machine.now()
        self.first = self.seen = ticks
        self.plan()

    def tick_nanos(self):
        return (self.prescaler + 1) * 1e9 / (self.machine.rcc.timclk1 or 1e-9)

    def ticks(self):
        if not self.words.get(CR1, 0) & ENABLED:
            return self.first
        return self.first + int((self.machine.now() - self.start) / self.tick_nanos())

    def period(self):
        return self.words[ARR] + 1

    def marks(self):
        """Returns the flags and the counts at which they rise."""
        return (
            (UPDATE, 0),
            (COMPARE_1, self.words.get(CCR1, 0)),
            (COMPARE_2, self.words.get(CCR2, 0)),
        )

    def catch_up(self):
        ticks, period = self.ticks(), self.period()
        if ticks != self.seen:
            for flag, mark in self.marks():
                if mark < period and (ticks - mark) // period != (self.seen - mark) // period:
                    self.flags |= flag
            self.seen = ticks

    def plan(self):
        """Computes the time of the next enabled flag."""
        self.due = self.next_flag()
        self.machine.reschedule()

    def next_flag(self):
        wanted = self.words.get(DIER, 0) & ~self.flags
        if not self.words.get(CR1, 0) & ENABLED or not wanted:
            return NEVER
        period = self.period()
        waits = [
            period - (self.seen - mark) % period
            for flag, mark in self.marks()
            if wanted & flag and mark < period
        ]
        if not waits:
            return NEVER
        # A little later than the tick, so that rounding cannot make it early.
        ticks = self.seen - self.first + min(waits)
        return self.start + ticks * self.tick_nanos() + 0.01

    def advance(self, _now):
        self.catch_up()
        self.plan()
        self.update_line()

    def update_line(self):
        self.machine.nvic.set_level(LINE, bool(self.flags & self.words.get(DIER, 0)))

    def read(self, offset):
        if offset == CNT:
            return self.ticks() % self.period()
        if offset == SR:
            self.catch_up()
            return self.flags
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        if not self.machine.rcc.is_clocked(self):
            return
        value = self.words.get(offset, 0) & ~mask | value
        self.catch_up()
        if offset == SR:
            self.flags &= value
        elif offset == CNT:
            self.restart(value)
        elif offset == EGR:
            if value & 1:
                # The prescaler is applied now; an update by software raises the flag unless disabled.
                self.prescaler = self.words.get(PSC, 0)
                self.restart(0)
                if not self.words.get(CR1, 0) & COUNTER_ONLY:
                    self.flags |= UPDATE
        else:
            if offset == CR1:
                self.restart(self.ticks())
            self.words[offset] = value
        self.plan()
        self.update_line()
