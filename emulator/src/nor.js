// The Pico's flash chip under the rules of NOR flash: an erase makes ones of a whole sector, a
// program only clears bits of a page, both take their time, and a power cut leaves them half done.
//
// Times are the typical ones of the W25Q16JV (datasheet, 9.6): 45 ms a sector, 0.4 ms a page.

import { words } from './noise.js';

export const FLASH_START = 0x10000000;
export const FLASH_BYTES = 2 * 1024 * 1024;
export const SECTOR_BYTES = 4096;
export const PAGE_BYTES = 256;
const ERASE_NANOS = 45e6;
const PROGRAM_NANOS = 0.4e6;

export class NorFlash {
  constructor() {
    this.bytes = new Uint8Array(FLASH_BYTES).fill(0xff);
    this.view = new DataView(this.bytes.buffer);
    this.erases = 0;
    this.programs = 0;
    /** Reads while the chip was busy or spoken to in commands, which give ones. */
    this.lostReads = 0;
    /** Operations until one is torn; 0 for none. */
    this.cutIn = 0;
    /** What was done since somebody wanted to know, and what was there before. */
    this.record = null;
    /** Called when an operation was torn: the power is gone. */
    this.onCut = () => {};
    this.start();
  }

  /** The power is there, and the second-stage boot loader has set the chip up to be read. */
  start() {
    this.powered = true;
    this.readable = true;
  }

  /** Puts what was flashed at an address of the chip's. */
  load(address, bytes) {
    const offset = address - FLASH_START;
    if (offset < 0 || offset + bytes.length > FLASH_BYTES) {
      const end = (address + bytes.length).toString(16);
      throw new Error(`0x${address.toString(16)} to 0x${end} is not within the flash of 2 MB`);
    }
    this.bytes.set(bytes, offset);
  }

  /** Erases the sector that starts at `offset`; returns how long it takes. */
  erase(offset) {
    if (!this.powered) return 0;
    this.erases += 1;
    const sector = this.bytes.subarray(offset, offset + SECTOR_BYTES);
    return this.operate(ERASE_NANOS, (noise) => {
      for (let at = 0; at < sector.length; at++) sector[at] |= noise();
    });
  }

  /** Programs one page or less; returns how long it takes. */
  program(offset, bytes) {
    if (!this.powered) return 0;
    this.programs += 1;
    bytes = bytes.slice();
    const page = this.bytes.subarray(offset, offset + bytes.length);
    return this.operate(PROGRAM_NANOS, (noise) => {
      for (let at = 0; at < page.length; at++) page[at] &= bytes[at] | ~noise();
    });
  }

  /** Does the bits that `noise` has set: all of them, or those a cut leaves time for. */
  operate(nanos, change) {
    const torn = this.cutIn > 0 && --this.cutIn === 0;
    if (!torn) {
      if (this.record?.isOpen) this.record.operations.push(change);
      change(() => 0xff);
      return nanos;
    }
    change(words(this.erases + (this.programs << 8)));
    this.powered = false;
    this.onCut();
    return nanos / 2;
  }
  /** Writes down every operation from here to the first `cutAgain`. */
  startRecord() {
    this.record = { first: this.bytes.slice(), operations: [], isOpen: true };
  }

  /**
   * Puts the flash where the power failed inside the `count`-th operation written down, without doing
   * again what the program did between them; whoever calls cuts the power. Tells whether there was one.
   */
  cutAgain(count) {
    const { first, operations } = this.record ?? { operations: [] };
    if (!(count >= 1 && count <= operations.length)) return false;
    this.record.isOpen = false;
    this.bytes.set(first);
    for (const change of operations.slice(0, count - 1)) change(() => 0xff);
    operations[count - 1](words(count));
    return true;
  }
}
