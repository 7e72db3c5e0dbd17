"""Small peripherals: random numbers, the cycle counter, the converter."""

RNG_CR, RNG_SR, RNG_DR = 0x00, 0x04, 0x08
RNG_ENABLED = 1 << 2
READY, CLOCK_ERROR = 1 << 0, 1 << 1 | 1 << 5

DWT_CTRL, CYCCNT = 0x00, 0x04
COUNTING = 1 << 0


class Rng:
    """The random number generator of 0x50060800; it needs a clock of 48 MHz."""

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
    """The DWT of 0xE0001000, of which only the cycle counter is used."""

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


ADC_ISR, ADC_CR, ADC_SQR1, ADC_DR, ADC_CCR = 0x00, 0x08, 0x30, 0x40, 0x308
ADC_READY, ADC_CONVERTED = 1 << 0, 1 << 2
ADC_ENABLED, ADC_STARTED, ADC_REGULATED = 1 << 0, 1 << 2, 1 << 28
ADC_DEEP_POWER_DOWN, ADC_CALIBRATING = 1 << 29, 1 << 31
ADC_REFERENCE = 1 << 22
# Reading of the reference at 3.0 V, as stored in the system memory.
REFERENCE_AT_3V = 1_655


class Adc:
    """ADC1 of 0x50040000 and the common registers: the reference at input 0, against VDDA. It is
    done at once; without regulator, calibration or reference it reads nothing."""

    def __init__(self, rcc, millivolts=3_300):
        self.rcc = rcc
        self.millivolts = millivolts
        self.reset()

    def reset(self):
        self.words = {ADC_CR: ADC_DEEP_POWER_DOWN}
        self.flags = 0
        self.calibrated = False
        self.result = 0

    def read(self, offset):
        if offset == ADC_ISR:
            return self.flags
        if offset == ADC_DR:
            self.flags &= ~ADC_CONVERTED
            return self.result
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        if not self.rcc.is_clocked(self):
            return
        value = self.words.get(offset, 0) & ~mask | value
        if offset == ADC_ISR:
            self.flags &= ~value
        elif offset == ADC_CR:
            self.control(value)
        elif offset != ADC_DR:
            self.words[offset] = value

    def control(self, value):
        if value & ADC_REGULATED and not value & ADC_DEEP_POWER_DOWN:
            if value & ADC_CALIBRATING and not value & ADC_ENABLED:
                self.calibrated = True
            if value & ADC_ENABLED:
                self.flags |= ADC_READY
            if value & ADC_STARTED and self.flags & ADC_READY:
                self.convert()
        self.words[ADC_CR] = value & ~(ADC_CALIBRATING | ADC_STARTED)

    def convert(self):
        reference = self.words.get(ADC_CCR, 0) & ADC_REFERENCE and not self.words.get(ADC_SQR1, 0)
        reads = REFERENCE_AT_3V * 3_000 // self.millivolts
        self.result = reads if reference and self.calibrated else 0
        self.flags |= ADC_CONVERTED
