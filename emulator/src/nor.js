// The Pico's flash chip with the rules of NOR flash: an erase sets a whole sector to ones, a program
// only clears bits of a page, both take time, and a power cut leaves them incomplete.
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
    /** Reads while the chip was busy or in command mode, which return ones. */
    this.lostReads = 0;
    /** Operations until one is interrupted; 0 for none. */
    this.cutIn = 0;
    /** Recorded operations and the content before them. */
    this.record = null;
    /** Called when an operation was interrupted by a power cut. */
    this.onCut = () => {};
    this.start();
  }

  /** Powers up with the state that the second-stage boot loader leaves. */
  start() {
    this.powered = true;
    this.readable = true;
  }

  /** Writes initial content at an offset of the chip. */
  load(address, bytes) {
    const offset = address - FLASH_START;
    if (offset < 0 || offset + bytes.length > FLASH_BYTES) {
      const end = (address + bytes.length).toString(16);
      throw new Error(`0x${address.toString(16)} to 0x${end} is not within the flash of 2 MB`);
    }
    this.bytes.set(bytes, offset);
  }

  /** Erases the sector that starts at `offset`; returns the time it takes. */
  erase(offset) {
    if (!this.powered) return 0;
    this.erases += 1;
    const sector = this.bytes.subarray(offset, offset + SECTOR_BYTES);
    return this.operate(ERASE_NANOS, (noise) => {
      for (let at = 0; at < sector.length; at++) sector[at] |= noise();
    });
  }

  /** Programs at most one page; returns the time it takes. */
  program(offset, bytes) {
    if (!this.powered) return 0;
    this.programs += 1;
    bytes = bytes.slice();
    const page = this.bytes.subarray(offset, offset + bytes.length);
    return this.operate(PROGRAM_NANOS, (noise) => {
      for (let at = 0; at < page.length; at++) page[at] &= bytes[at] | ~noise();
    });
  }

  /** Changes the bits that `noise` has set: all of them, or some when a power cut interrupts. */
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
  /** Records every operation until the first `cutAgain`. */
  startRecord() {
    this.record = { first: this.bytes.slice(), operations: [], isOpen: true };
  }

  /**
   * Sets the flash to the state in which the power failed inside the `count`-th recorded operation,
   * without running the program again; the caller cuts the power. Returns whether there was one.
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
