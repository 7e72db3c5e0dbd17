// The integer divider in each core's SIO: its result is ready eight cycles after an operand was
// written (datasheet, 2.3.1.5).

const CYCLES = 8;
const READY = 1;
const DIRTY = 2;

export class Divider {
  /** @param {() => number} cycles the core's count of cycles */
  constructor(cycles) {
    this.cycles = cycles;
    this.dividend = 0;
    this.divisor = 0;
    this.quotient = 0;
    this.remainder = 0;
    this.dirty = false;
    this.readyAt = 0;
  }

  /** Register at `offset` from the first of the divider's. */
  read(offset) {
    switch (offset) {
      case 0x00:
      case 0x08:
        return this.dividend;
      case 0x04:
      case 0x0c:
        return this.divisor;
      case 0x10:
        this.dirty = false;
        return this.quotient;
      case 0x14:
        return this.remainder;
      default:
        return (this.cycles() >= this.readyAt ? READY : 0) | (this.dirty ? DIRTY : 0);
    }
  }

  write(offset, value) {
    this.dirty = true;
    if (offset === 0x10) this.quotient = value >>> 0;
    else if (offset === 0x14) this.remainder = value >>> 0;
    else if (offset < 0x10) {
      if (offset & 4) this.divisor = value >>> 0;
      else this.dividend = value >>> 0;
      this.divide(offset >= 0x08);
      this.readyAt = this.cycles() + CYCLES;
    }
  }

  divide(signed) {
    const dividend = signed ? this.dividend | 0 : this.dividend;
    const divisor = signed ? this.divisor | 0 : this.divisor;
    if (divisor === 0) {
      this.quotient = (dividend < 0 ? 1 : -1) >>> 0;
      this.remainder = dividend >>> 0;
    } else {
      this.quotient = Math.trunc(dividend / divisor) >>> 0;
      this.remainder = (dividend % divisor) >>> 0;
    }
  }
}
