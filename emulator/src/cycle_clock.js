// Cycles of the system clock since the chip started; the count continues when its speed changes.

export class CycleClock {
  /** @param {import('rp2040js').RP2040} chip the chip that just started */
  constructor(chip) {
    this.clock = chip.clock;
    this.since = { nanos: chip.clock.nanos, cycles: 0 };
    this.setSpeed(chip.clkSys);
    chip.addClockListener((hertz) => {
      this.since = { nanos: this.clock.nanos, cycles: this.cycles };
      this.setSpeed(hertz);
    });
  }

  setSpeed(hertz) {
    /** Returns the duration of a cycle. */
    this.cycleNanos = 1e9 / hertz;
  }

  get cycles() {
    const { nanos, cycles } = this.since;
    return cycles + (this.clock.nanos - nanos) / this.cycleNanos;
  }
}
