// The streaming engine that reads flash into a FIFO of two words, bypassing the cache whenever the
// flash is free (datasheet, 2.6.3.3). A DMA channel reads them from a separate port.

import { BasePeripheral } from 'rp2040js';

const WORDS = 2;
const EMPTY = 2;
const FULL = 4;
const DREQ_XIP_STREAM = 37;

export class Stream {
  /**
   * @param {import('rp2040js').RP2040} chip the chip
   * @param {import('./xip.js').Xip} xip the access to the flash, shared with the cores
   */
  constructor(chip, xip) {
    this.chip = chip;
    this.xip = xip;
    this.address = 0;
    this.left = 0;
    this.fifo = [];
    this.fetching = false;
    this.alarm = chip.clock.createAlarm(() => this.arrived());
  }

  get flags() {
    return (this.fifo.length === 0 ? EMPTY : 0) | (this.fifo.length === WORDS ? FULL : 0);
  }

  /** Starts to read `words`, or stops with zero. */
  start(words) {
    this.left = words & 0x3fffff;
    if (this.left === 0) {
      this.alarm.cancel();
      this.fetching = false;
    }
    this.fetch();
  }

  fetch() {
    if (this.fetching || this.left === 0 || this.fifo.length === WORDS) return;
    this.fetching = true;
    this.alarm.schedule((Math.max(this.xip.fetch(0), 1) * 1e9) / this.chip.clkSys);
  }

  arrived() {
    this.fetching = false;
    this.fifo.push(this.chip.readUint32(this.address));
    this.address += 4;
    this.left -= 1;
    this.chip.dma.setDREQ(DREQ_XIP_STREAM);
    this.fetch();
  }

  pop() {
    const word = this.fifo.shift() ?? 0;
    if (this.fifo.length === 0) this.chip.dma.clearDREQ(DREQ_XIP_STREAM);
    this.fetch();
    return word;
  }
}

/** The port that returns words without waiting for other reads of the flash. */
export class StreamPort extends BasePeripheral {
  constructor(chip, stream) {
    super(chip, 'XIP_AUX');
    this.stream = stream;
  }

  readUint32() {
    return this.stream.pop();
  }
}
