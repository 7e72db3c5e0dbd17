// The single-cycle block of one core: number, mailbox, divider and interpolators are its own;
// spinlocks and pins are shared.

import { Divider } from './divider.js';

const CPUID = 0x000;
const FIFO_ST = 0x050;
const FIFO_WR = 0x054;
const FIFO_RD = 0x058;
const DIVIDER = { first: 0x060, last: 0x078 };
const INTERPOLATORS = { first: 0x080, last: 0x0fc };

const within = ({ first, last }, offset) => offset >= first && offset <= last;

export class Sio {
  /**
   * @param {import('./core.js').Core} core the core
   * @param {import('./fifo.js').Mailbox} mailbox the core's end of the mailboxes
   * @param {object} shared rp2040js's own block, for pins and spinlocks
   */
  constructor(core, mailbox, shared) {
    this.id = core.id;
    this.mailbox = mailbox;
    this.shared = shared;
    this.divider = new Divider(() => core.cpu.cycles);
    // rp2040js's class implements the interpolators; nothing else of it is used.
    this.interpolators = new shared.constructor(core);
  }

  readUint32(offset) {
    switch (offset) {
      case CPUID:
        return this.id;
      case FIFO_ST:
        return this.mailbox.status;
      case FIFO_WR:
        return 0;
      case FIFO_RD:
        return this.mailbox.pop();
    }
    if (within(DIVIDER, offset)) return this.divider.read(offset - DIVIDER.first);
    return this.part(offset).readUint32(offset);
  }

  writeUint32(offset, value) {
    if (offset === FIFO_ST) this.mailbox.clearErrors();
    else if (offset === FIFO_WR) this.mailbox.push(value);
    else if (within(DIVIDER, offset)) this.divider.write(offset - DIVIDER.first, value);
    else if (offset !== CPUID && offset !== FIFO_RD) this.part(offset).writeUint32(offset, value);
  }

  part(offset) {
    return within(INTERPOLATORS, offset) ? this.interpolators : this.shared;
  }
}
