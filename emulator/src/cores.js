// Both cores on one clock. The core that is due executes its next instruction, which takes effect
// when it starts; core 0 goes first when both are due. They wait for each other at the flash only,
// not elsewhere on the bus.

import { Core } from './core.js';
import { Mailbox } from './fifo.js';
import { Pen } from './pen.js';

const SIO_PROC0 = 15;
const SIO_PROC1 = 16;
const PSM_SLOT = 0x40010;
const PROC1 = 1 << 16;

export class Cores {
  /**
   * @param {import('rp2040js').RP2040} chip whose own processor these replace
   * @param {import('./xip.js').Xip} xip the flash cache
   * @param {import('./rom.js').BootRom} rom the boot ROM
   */
  constructor(chip, xip, rom) {
    this.chip = chip;
    this.xip = xip;
    this.rom = rom;
    /** Cycles that core 1 worked before its last reset. */
    this.retiredCycles = 0;
    const line = (core, irq) => new Mailbox((high) => this.all?.[core].cpu.setInterrupt(irq, high));
    this.mailboxes = [line(0, SIO_PROC0), line(1, SIO_PROC1)];
    this.mailboxes[0].peer = this.mailboxes[1];
    this.mailboxes[1].peer = this.mailboxes[0];
    this.all = [this.build(0), this.build(1)];
    this.pen = new Pen(this.mailboxes[1], (...where) => this.all[1].start(...where));
    this.pen.enter();

    chip.core = this.all[0].cpu;
    chip.ppb = this.all[0].ppb;
    chip.addClockListener((hertz) => {
      this.all[1].ppb.systickTimer.frequency = hertz;
    });
    chip.setInterrupt = (irq, high) => {
      this.all[0].cpu.setInterrupt(irq, high);
      this.all[1].cpu.setInterrupt(irq, high);
    };
    this.watchPower(chip.peripherals[PSM_SLOT]);
  }

  build(id) {
    const { chip, xip, rom, mailboxes } = this;
    const core = new Core(id, chip, xip, rom, mailboxes[id], () => this.sendEvent());
    core.cpu.waiting = true;
    return core;
  }

  /** The power-on state machine can hold core 1 in reset. */
  watchPower(psm) {
    const write = psm.writeUint32.bind(psm);
    let held = false;
    psm.writeUint32 = (offset, value) => {
      write(offset, value);
      const holds = (psm.frceOff & ~psm.frceOn & PROC1) !== 0;
      if (holds && !held) this.resetCore1();
      if (!holds && held) this.pen.enter();
      held = holds;
    };
  }

  resetCore1() {
    const [, core] = this.all;
    this.retiredCycles += core.cpu.cycles;
    core.ppb.systickTimer.enable = false;
    this.pen.leave();
    this.mailboxes[1].drain();
    this.mailboxes[1].clearErrors();
    this.all[1] = this.build(1);
  }

  sendEvent() {
    for (const core of this.all) core.takeEvent();
  }

  /** Returns the cycles each core worked since the chip's reset; sleep does not count. */
  get cycles() {
    return [this.all[0].cpu.cycles, this.retiredCycles + this.all[1].cpu.cycles];
  }

  /** Returns whether both cores sleep until the next alarm. */
  get asleep() {
    return this.all[0].asleep && this.all[1].asleep;
  }

  /** Executes the cores that are due, and returns the cycles until the next is due. */
  step() {
    const first = this.all[0];
    if (first.debt === 0 && !first.cpu.waiting) first.execute();
    // The instruction may have reset core 1 or started it.
    const second = this.all[1];
    if (second.debt === 0 && !second.cpu.waiting) second.execute();
    const cycles = first.debt === 0 ? second.debt : soonest(first.debt, second.debt);
    if (first.debt > 0) first.debt -= cycles;
    if (second.debt > 0) second.debt -= cycles;
    return cycles;
  }
}

/** Returns the smaller of two numbers of cycles, the second of which may be missing. */
function soonest(cycles, other) {
  return other === 0 ? cycles : Math.min(cycles, other);
}
