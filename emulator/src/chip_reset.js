// The register with the cause of the last chip reset: power-on or reset pin (datasheet, 2.12.7).
// A watchdog reset is not a chip reset and leaves it unchanged.

import { BasePeripheral } from 'rp2040js';

const VREG = 0x0;
const BOD = 0x4;
const CHIP_RESET = 0x8;
const AT_RESET = { [VREG]: 0xb1, [BOD]: 0x91 };

export const HAD_POWER_ON = 1 << 8;
export const HAD_RUN_PIN = 1 << 16;

export class ChipReset extends BasePeripheral {
  /**
   * @param {import('rp2040js').RP2040} chip the chip
   * @param {number} cause one of the flags above
   */
  constructor(chip, cause) {
    super(chip, 'VREG_AND_CHIP_RESET');
    this.cause = cause;
    this.registers = { ...AT_RESET };
  }

  readUint32(offset) {
    return offset === CHIP_RESET ? this.cause : (this.registers[offset] ?? 0);
  }

  writeUint32(offset, value) {
    if (offset in this.registers) this.registers[offset] = value;
  }
}
