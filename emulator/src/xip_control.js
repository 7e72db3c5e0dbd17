// The registers of the cache: enable, flush, streams, and the counters of reads and hits
// (datasheet, 2.6.3.6).

import { BasePeripheral } from 'rp2040js';

const CTRL = 0x00;
const FLUSH = 0x04;
const STAT = 0x08;
const CTR_HIT = 0x0c;
const CTR_ACC = 0x10;
const STREAM_ADDR = 0x14;
const STREAM_CTR = 0x18;
const STREAM_FIFO = 0x1c;
const ENABLE = 1;
const FLUSH_READY = 1;

export class XipControl extends BasePeripheral {
  /**
   * @param {import('rp2040js').RP2040} chip the chip
   * @param {import('./xip.js').Xip} xip the cache
   * @param {import('./stream.js').Stream} stream the streaming engine
   */
  constructor(chip, xip, stream) {
    super(chip, 'XIP_CTRL');
    this.xip = xip;
    this.stream = stream;
    this.control = 3;
    this.cleared = { [CTR_HIT]: 0, [CTR_ACC]: 0 };
  }

  count(offset) {
    const { reads, misses } = this.xip.counts;
    return offset === CTR_ACC ? reads : reads - misses;
  }

  readUint32(offset) {
    switch (offset) {
      case CTRL:
        return this.control;
      case STAT:
        return FLUSH_READY | this.stream.flags;
      case CTR_HIT:
      case CTR_ACC:
        return Math.min(this.count(offset) - this.cleared[offset], 0xffffffff);
      case STREAM_ADDR:
        return this.stream.address;
      case STREAM_CTR:
        return this.stream.left;
      case STREAM_FIFO:
        return this.stream.pop();
      default:
        return 0;
    }
  }

  writeUint32(offset, value) {
    if (offset === CTRL) {
      this.control = value & 0xb;
      this.xip.enabled = (value & ENABLE) !== 0;
    } else if (offset === FLUSH) this.xip.flush();
    else if (offset === STREAM_ADDR) this.stream.address = value >>> 0;
    else if (offset === STREAM_CTR) this.stream.start(value);
    else if (offset in this.cleared) this.cleared[offset] = this.count(offset);
  }
}
