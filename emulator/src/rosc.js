// The random bit of the ring oscillator, which rp2040js does not model.

import { randomFillSync } from 'node:crypto';
import { BasePeripheral } from 'rp2040js';

const RANDOMBIT = 0x1c;

export class Rosc extends BasePeripheral {
  /**
   * @param {import('rp2040js').RP2040} rp2040 the chip
   * @param {() => number} bit what the oscillator says next: 0 or 1
   */
  constructor(rp2040, bit) {
    super(rp2040, 'ROSC');
    this.bit = bit;
  }

  readUint32(offset) {
    return offset === RANDOMBIT ? this.bit() : super.readUint32(offset);
  }
}

/** Returns unpredictable bits of the system. */
export function noise() {
  const bytes = new Uint8Array(256);
  let at = 8 * bytes.length;
  return () => {
    if (at === 8 * bytes.length) {
      randomFillSync(bytes);
      at = 0;
    }
    const bit = (bytes[at >> 3] >> (at & 7)) & 1;
    at += 1;
    return bit;
  };
}

/** Returns pseudo-random bits, the same in every run, for measurements (Marsaglia's xorshift). */
export function repeatable() {
  let state = 0x2545f491;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 16) & 1;
  };
}
