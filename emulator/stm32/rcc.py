"""Reset and clock control, the voltage range in PWR, and the rules of RM0432 that both with the
flash's wait states must keep. Whoever breaks one is named in `violations`."""

CR, ICSCR, CFGR, PLLCFGR = 0x00, 0x04, 0x08, 0x0C
AHB1RSTR, AHB2RSTR, APB1RSTR1, APB1RSTR2 = 0x28, 0x2C, 0x38, 0x3C
AHB1ENR, AHB2ENR, APB1ENR1, APB1ENR2 = 0x48, 0x4C, 0x58, 0x5C
AHB1SMENR, AHB2SMENR, AHB3SMENR = 0x68, 0x6C, 0x70
APB1SMENR1, APB1SMENR2, APB2SMENR = 0x78, 0x7C, 0x80
CCIPR, BDCR, CSR, CRRCR = 0x88, 0x90, 0x94, 0x98

PWR_CR1, PWR_CR5 = 0x00, 0x80
RANGE_1_NORMAL = 1 << 8
BACKUP_WRITABLE = 1 << 8

POWER_ON, PIN, SOFTWARE, WATCHDOG = 1 << 27 | 1 << 26, 1 << 26, 1 << 28 | 1 << 26, 1 << 29 | 1 << 26
FORGET_CAUSE = 1 << 23
CAUSES = 0xFF << 24

# A clock's bit in sleep lies where its enable bit does, one row of registers further on.
SLEEP = AHB1SMENR - AHB1ENR
ALL_IN_SLEEP = {
    AHB1SMENR: 0x00071307,
    AHB2SMENR: 0x005777FF,
    AHB3SMENR: 0x00000301,
    APB1SMENR1: 0xF3FECC3F,
    APB1SMENR2: 0x00000023,
    APB2SMENR: 0x0D677801,
}

# Enable bits and the flags that follow them.
READY = {CR: ((0, 1), (8, 10), (16, 17), (24, 25), (26, 27), (28, 29)), CRRCR: ((0, 1),)}
MSI_RANGES = (1e5, 2e5, 4e5, 8e5, 1e6, 2e6, 4e6, 8e6, 16e6, 24e6, 32e6, 48e6)
HSI16, LSE = 16e6, 32_768.0
MSI, HSI, HSE, PLL = range(4)
MSI_LOCKED = 1 << 2

# Most MHz of the AHB clock per wait state, in range 1 with and without boost (RM0432, 3.3.3);
# above 80 MHz the range must be boosted (5.1.8).
MEGAHERTZ_PER_WAIT_STATE = 20
MOST_MEGAHERTZ, MOST_WITHOUT_BOOST = 120, 80
# How long the AHB runs at half speed on the way up (5.1.8).
STEP_NANOS = 1_000.0


class Rcc:
    """The clocks. Peripherals read `hclk`, `pclk1` and `timclk1` in hertz."""

    # Oscillators with a quartz take their time: 2 s is typical (DS12023, 6.3.8).
    def __init__(self, now, on_change, lse_nanos=2e9):
        self.now = now
        self.on_change = on_change
        self.lse_nanos = lse_nanos
        self.flash = None
        self.power = Power(self)
        self.gated = {}
        self.backup = 0
        self.lse_ready_at = None
        self.cause = POWER_ON
        self.violations = []
        self.journal = []
        self.reset()

    def reset(self):
        self.words = {
            CR: 0x63,
            CFGR: 0,
            PLLCFGR: 0x1000,
            AHB1ENR: 0x100,
            CSR: self.cause | 0x600,
            ICSCR: 0x40000000,
            **ALL_IN_SLEEP,
        }
        self.hclk = self.pclk1 = self.timclk1 = 0.0
        self.power.reset()
        self.update()

    def power_lost(self):
        self.backup = 0
        self.lse_ready_at = None
        self.cause = POWER_ON

    def gate(self, peripheral, enable, reset, bit):
        """Ties a peripheral to its clock's enable bit and to its reset bit."""
        self.gated[id(peripheral)] = (peripheral, enable, reset, bit)

    def is_clocked(self, peripheral):
        _, enable, _, bit = self.gated[id(peripheral)]
        return bool(self.words.get(enable, 0) >> bit & 1)

    def fall_asleep(self, needed):
        """Checks that the clocks needed to end a wait keep running, by name."""
        for name, peripheral in needed.items():
            _, enable, _, bit = self.gated[id(peripheral)]
            if not self.words.get(enable + SLEEP, 0) >> bit & 1:
                self.violation(f"{name} without a clock in sleep (6.4.22 to 6.4.28)")

    def read(self, offset):
        value = self.words.get(offset, 0)
        for on, ready in READY.get(offset, ()):
            value = value & ~(1 << ready) | (value >> on & 1) << ready
        if offset == CFGR:
            value = value & ~0xC | (value & 3) << 2
        elif offset == CSR:
            value |= (value & 1) << 1
        elif offset == BDCR:
            value = self.backup
            if self.lse_ready_at is not None and self.now() >= self.lse_ready_at:
                value |= 2
        return value

    def write(self, offset, value, mask):
        before = self.words.get(offset, 0)
        value = before & ~mask | value
        if offset == BDCR:
            self.write_backup(value)
            return
        if offset == CSR:
            causes = 0 if value & FORGET_CAUSE else before & CAUSES
            value = value & ~CAUSES & ~FORGET_CAUSE | causes
        self.words[offset] = value
        for peripheral, _, reset, bit in self.gated.values():
            if reset == offset and value >> bit & 1 and not before >> bit & 1:
                peripheral.reset()
        if offset == CR and value & MSI_LOCKED and not self.read(BDCR) & 2:
            self.violation("MSIPLLEN without a running LSE (6.4.1)")
        if offset in (CR, CFGR, PLLCFGR):
            self.update()

    def write_backup(self, value):
        if not self.power.words.get(PWR_CR1, 0) & BACKUP_WRITABLE:
            return
        if value >> 16 & 1:
            self.backup, self.lse_ready_at = 1 << 16, None
            return
        if not value & 1:
            self.lse_ready_at = None
        elif self.lse_ready_at is None and self.lse_nanos is not None:
            self.lse_ready_at = self.now() + self.lse_nanos
        self.backup = value & ~2

    def system_clock(self):
        control, source = self.words[CR], self.words[CFGR] & 3
        msi = MSI_RANGES[min(control >> 4 & 15, 11)]
        if source == MSI:
            return msi
        if source == HSI:
            return HSI16
        setting = self.words[PLLCFGR]
        feed = {1: msi, 2: HSI16}.get(setting & 3, 0.0)
        vco = feed / ((setting >> 4 & 15) + 1) * (setting >> 8 & 0x7F)
        return vco / (2 * (setting >> 25 & 3) + 2) if source == PLL else 0.0

    def update(self):
        """Applies a change of the clocks and checks that the chip allows it."""
        setting = self.words[CFGR]
        hclk = self.system_clock() / ahb_divider(setting >> 4 & 15)
        apb1 = apb_divider(setting >> 8 & 7)
        pclk1 = hclk / apb1
        before = self.hclk

        def apply():
            self.hclk, self.pclk1 = hclk, pclk1
            self.timclk1 = pclk1 if apb1 == 1 else 2 * pclk1

        self.on_change(hclk, apply)
        if hclk != before:
            self.check(before)
            self.journal.append((self.now(), hclk))

    def check(self, before):
        """Checks wait states and voltage range against the current clock."""
        if self.flash is None:
            return
        megahertz = self.hclk / 1e6
        boosted = not self.power.words.get(PWR_CR5, 0) & RANGE_1_NORMAL
        if megahertz > MOST_MEGAHERTZ:
            self.violation(f"{megahertz:g} MHz is more than {MOST_MEGAHERTZ}")
        if megahertz > MOST_WITHOUT_BOOST and not boosted:
            self.violation(f"{megahertz:g} MHz without range 1 boost (5.1.8)")
        if megahertz > MEGAHERTZ_PER_WAIT_STATE * (self.flash.latency() + 1):
            self.violation(f"{megahertz:g} MHz with {self.flash.latency()} wait states (3.3.3)")
        if megahertz > MOST_WITHOUT_BOOST and self.journal:
            since, step = self.journal[-1]
            if step * 2 != self.hclk or self.now() - since < STEP_NANOS:
                self.violation(f"{before / 1e6:g} to {megahertz:g} MHz without 1 us at half (5.1.8)")

    def violation(self, what):
        if what not in self.violations:
            self.violations.append(what)

    def port_clock(self):
        """Returns the clock that LPUART1 divides."""
        source = self.words.get(CCIPR, 0) >> 10 & 3
        return (self.pclk1, self.system_clock(), HSI16, LSE)[source]

    def has_48_megahertz(self):
        return self.words.get(CCIPR, 0) >> 26 & 3 == 0 and bool(self.words.get(CRRCR, 0) & 1)


class Power:
    """PWR: registers that keep their value; a change of the range is checked like a clock."""

    def __init__(self, rcc):
        self.rcc = rcc

    def reset(self):
        self.words = {PWR_CR1: 0x200, PWR_CR5: RANGE_1_NORMAL}

    def read(self, offset):
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        if self.rcc.is_clocked(self):
            self.words[offset] = self.words.get(offset, 0) & ~mask | value
            if offset == PWR_CR5:
                self.rcc.check(self.rcc.hclk)


def ahb_divider(setting):
    return 1 if setting < 8 else (2, 4, 8, 16, 64, 128, 256, 512)[setting - 8]


def apb_divider(setting):
    return 1 if setting < 4 else 2 << (setting - 4)
