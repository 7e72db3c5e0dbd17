// An RP2040 with a firmware image: RAM survives a reset, flash survives a power cut, and a run ends
// at a given emulated time.

import { RP2040 } from 'rp2040js';
import { ChipReset, HAD_POWER_ON, HAD_RUN_PIN } from './chip_reset.js';
import { Cores } from './cores.js';
import { CycleClock } from './cycle_clock.js';
import { paceDma } from './dma.js';
import { scramble } from './noise.js';
import { FLASH_START, NorFlash } from './nor.js';
import { Pl011 } from './pl011.js';
import { BootRom } from './rom.js';
import { Rosc } from './rosc.js';
import { watchSetUp } from './ssi.js';
import { Stream, StreamPort } from './stream.js';
import { fireInTime } from './timer.js';
import { UsbHost } from './usb.js';
import { MISS_CYCLES, Xip } from './xip.js';
import { XipControl } from './xip_control.js';

const VECTOR_TABLE = FLASH_START + 0x100;
const UART0_IRQ = 20;
const SLOT = {
  XIP_CTRL: 0x14000,
  SSI: 0x18000,
  UART0: 0x40034,
  TIMER: 0x40054,
  WATCHDOG: 0x40058,
  ROSC: 0x40060,
  CHIP_RESET: 0x40064,
  XIP_AUX: 0x50400,
};
const WATCHDOG_TIMER = 1;
/** A third of 5 V, in steps of the converter at 3.3 V. */
const VSYS = { input: 3, reads: Math.round((4096 * 5) / 3 / 3.3) };
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** The events that interrupt a run. */
export const INTERRUPTED = { WATCHDOG: 'watchdog', POWER: 'power_lost' };

export class Machine {
  /**
   * @param {{address: number, bytes: Uint8Array}[]} segments initial content of the flash
   * @param {string} link the port of the base station: `uart` or `usb`
   * @param {() => number} randomBit the next bit of the ring oscillator: 0 or 1
   * @param {(byte: number) => void} onByte called with each byte sent on the link
   * @param {number} missCycles cycles of a flash cache miss; 0 for no cache
   */
  constructor(segments, link, randomBit, onByte, missCycles = MISS_CYCLES) {
    this.link = link;
    this.randomBit = randomBit;
    this.onByte = onByte;
    this.missCycles = missCycles;
    this.flash = new NorFlash();
    for (const { address, bytes } of segments) this.flash.load(address, bytes);
    this.flash.onCut = () => {
      this.interrupted = INTERRUPTED.POWER;
    };
    this.resets = 0;
    this.powerCuts = 0;
    this.before = { nanos: 0, wallCycles: 0, cycles: [0, 0], lostBytes: 0, xip: {} };
    /** Called when the chip restarts as a boot drive. */
    this.onBootsel = () => {};
    this.boot(null, HAD_POWER_ON, 0);
  }

  boot(retainedRam, cause, watchdogReason) {
    const rp2040 = new RP2040();
    rp2040.logger = SILENT;
    rp2040.flash = this.flash.bytes;
    rp2040.flashView = this.flash.view;
    this.flash.start();
    if (retainedRam) rp2040.sram.set(retainedRam);
    this.interrupted = null;
    this.bootsel = false;

    const cycleClock = new CycleClock(rp2040);
    this.cycleClock = cycleClock;
    const xip = new Xip(this.flash, this.missCycles, () => Math.round(cycleClock.cycles));
    const rom = new BootRom(rp2040, this.flash, xip, () => this.becomeDrive());
    this.cores = new Cores(rp2040, xip, rom);
    const stream = new Stream(rp2040, xip);
    rp2040.peripherals[SLOT.XIP_CTRL] = new XipControl(rp2040, xip, stream);
    rp2040.peripherals[SLOT.XIP_AUX] = new StreamPort(rp2040, stream);
    paceDma(rp2040, xip);
    watchSetUp(rp2040.peripherals[SLOT.SSI], this.flash);
    fireInTime(rp2040.peripherals[SLOT.TIMER]);

    const usb = this.link === 'usb';
    const uart = new Pl011(rp2040, 'UART0', UART0_IRQ, usb ? () => {} : this.onByte);
    rp2040.uart[0] = uart;
    this.uart = uart;
    rp2040.peripherals[SLOT.UART0] = uart;
    rp2040.peripherals[SLOT.ROSC] = new Rosc(rp2040, this.randomBit);
    rp2040.peripherals[SLOT.CHIP_RESET] = new ChipReset(rp2040, cause);
    rp2040.adc.channelValues[VSYS.input] = VSYS.reads;
    this.port = usb ? new UsbHost(rp2040, this.onByte) : uart;
    const watchdog = rp2040.peripherals[SLOT.WATCHDOG];
    watchdog.reason = watchdogReason;
    watchdog.onWatchdogTrigger = () => {
      if (!this.bootsel) this.interrupted ??= INTERRUPTED.WATCHDOG;
      // rp2040js would fire it again at the same moment, forever.
      watchdog.alarm.enable = false;
    };

    // Does what the second-stage boot loader does before it jumps to the image.
    const [stack, entry] = [0, 4].map((offset) => rp2040.readUint32(VECTOR_TABLE + offset));
    this.cores.all[0].start(VECTOR_TABLE, stack, entry);
    this.rp2040 = rp2040;
  }

  /** Resets the chip; RAM keeps its content, as on the chip. */
  reset() {
    this.restart(HAD_RUN_PIN, 0);
  }

  /** Cuts the power and restores it: RAM becomes noise, the flash keeps its content. */
  cutPower() {
    this.powerCuts += 1;
    this.flash.cutIn = 0;
    scramble(this.rp2040.sram, this.powerCuts);
    this.restart(HAD_POWER_ON, 0);
  }

  restart(cause, watchdogReason) {
    const { nanos, cycles, lostBytes, xipCounts, wallCycles } = this;
    this.before = { nanos, wallCycles, cycles, lostBytes, xip: xipCounts };
    this.resets += 1;
    this.boot(this.rp2040.sram, cause, watchdogReason);
  }

  becomeDrive() {
    this.bootsel = true;
    this.onBootsel();
  }

  /** Returns bytes of RAM or flash, as a debug probe sees them. */
  read(address, length) {
    return Uint8Array.from({ length }, (_, index) => this.rp2040.readUint8(address + index));
  }

  /** Changes bytes of RAM. */
  write(address, bytes) {
    bytes.forEach((byte, index) => this.rp2040.writeUint8(address + index, byte));
  }

  /** Emulated time since power-on. */
  get nanos() {
    return this.before.nanos + this.rp2040.clock.nanos;
  }

  /** Cycles each core worked since power-on, without sleep, with waits for the flash. */
  get cycles() {
    return this.cores.cycles.map((cycles, core) => this.before.cycles[core] + cycles);
  }

  /** Cycles that passed since power-on, with sleep. */
  get wallCycles() {
    return Math.round(this.before.wallCycles + this.cycleClock.cycles);
  }

  /** Counters of the flash cache since power-on. */
  get xipCounts() {
    const now = Object.entries(this.cores.xip.counts);
    return Object.fromEntries(now.map(([name, count]) => [name, count + (this.before.xip[name] ?? 0)]));
  }

  /** Bytes that arrived while the chip could not receive them. */
  get lostBytes() {
    return this.before.lostBytes + this.port.lostBytes;
  }

  /** Returns whether nothing happens before the next alarm: the cores sleep and the line is silent. */
  get idle() {
    const silent = !this.port.moving && !this.uart.moving;
    return (this.bootsel || this.cores.asleep) && silent;
  }

  /**
   * Runs until `targetNanos` of emulated time.
   *
   * @param {number} targetNanos when to stop
   * @param {() => boolean} wantsStop asked after every alarm and every 256 instructions
   * @returns {string | null} the cause of a reset, one of `INTERRUPTED`
   */
  runUntil(targetNanos, wantsStop) {
    const target = targetNanos - this.before.nanos;
    const { cores } = this;
    const { clock } = this.rp2040;
    const { cycleClock } = this;
    let turn = 0;
    while (clock.nanos < target) {
      if (cores.asleep || this.bootsel) {
        const next = clock.nextAlarm ? Math.min(clock.nextAlarm.nanos, target) : target;
        clock.tick(Math.max(next - clock.nanos, 0));
        turn = 0;
      } else {
        clock.tick(cores.step() * cycleClock.cycleNanos);
        turn = (turn + 1) & 255;
      }
      if (this.interrupted !== null) return this.recover();
      if (turn === 0 && wantsStop()) return null;
    }
    return null;
  }

  /** Restarts after an interrupted run. */
  recover() {
    const { interrupted } = this;
    if (interrupted === INTERRUPTED.POWER) this.cutPower();
    else this.restart(this.rp2040.peripherals[SLOT.CHIP_RESET].cause, WATCHDOG_TIMER);
    return interrupted;
  }
}
