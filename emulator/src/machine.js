// An RP2040 with our image in its flash: boots without the boot ROM, keeps its RAM over a reset,
// and runs to a given moment of emulated time.

import { RP2040 } from 'rp2040js';
import { Cores } from './cores.js';
import { Pl011 } from './pl011.js';
import { Rosc } from './rosc.js';
import { UsbHost } from './usb.js';

const FLASH_START = 0x10000000;
const VECTOR_TABLE = FLASH_START + 0x100;
const UART0_IRQ = 20;
const UART0_SLOT = 0x40034;
const WATCHDOG_SLOT = 0x40058;
const ROSC_SLOT = 0x40060;
const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

export class Machine {
  /**
   * @param {{address: number, bytes: Uint8Array}[]} flash what the flash holds
   * @param {string} link where the base station is: `uart` or `usb`
   * @param {() => number} randomBit what the ring oscillator says next: 0 or 1
   * @param {(byte: number) => void} onByte called with each byte that left by the link
   */
  constructor(flash, link, randomBit, onByte) {
    this.flash = flash;
    this.link = link;
    this.randomBit = randomBit;
    this.onByte = onByte;
    this.resets = 0;
    this.nanosBefore = 0;
    this.cyclesBefore = [0, 0];
    this.lostBytesBefore = 0;
    this.watchdogBit = false;
    this.boot(null, 0);
  }

  boot(retainedRam, resetReason) {
    const rp2040 = new RP2040();
    rp2040.logger = SILENT;
    this.cores = new Cores(rp2040);
    const offsetOf = (address) => address - FLASH_START;
    for (const { address, bytes } of this.flash) rp2040.flash.set(bytes, offsetOf(address));
    if (retainedRam) rp2040.sram.set(retainedRam);

    const usb = this.link === 'usb';
    const uart = new Pl011(rp2040, 'UART0', UART0_IRQ, usb ? () => {} : this.onByte);
    rp2040.uart[0] = uart;
    rp2040.peripherals[UART0_SLOT] = uart;
    rp2040.peripherals[ROSC_SLOT] = new Rosc(rp2040, this.randomBit);
    this.port = usb ? new UsbHost(rp2040, this.onByte) : uart;
    const watchdog = rp2040.peripherals[WATCHDOG_SLOT];
    watchdog.reason = resetReason;
    watchdog.onWatchdogTrigger = () => {
      this.watchdogBit = true;
      // The model would fire it again at the same moment, and for ever.
      watchdog.alarm.enable = false;
    };

    // What the second-stage boot loader does before it jumps to the image.
    const [stack, entry] = [0, 4].map((offset) => rp2040.readUint32(VECTOR_TABLE + offset));
    this.cores.all[0].start(VECTOR_TABLE, stack, entry);
    this.rp2040 = rp2040;
  }

  /** Resets the chip; RAM keeps its content, as on the chip. */
  reset() {
    this.restart(0);
  }

  restart(reason) {
    this.nanosBefore = this.nanos;
    this.cyclesBefore = this.cycles;
    this.lostBytesBefore = this.lostBytes;
    this.resets += 1;
    this.boot(this.rp2040.sram, reason);
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
    return this.nanosBefore + this.rp2040.clock.nanos;
  }

  /** Cycles each core worked since power-on; sleep does not count. */
  get cycles() {
    return this.cores.cycles.map((cycles, core) => this.cyclesBefore[core] + cycles);
  }

  /** Cycles that passed since power-on, whoever worked or slept. */
  get wallCycles() {
    return Math.round((this.nanos * this.rp2040.clkSys) / 1e9);
  }

  /** Bytes that reached the chip when it could not take them. */
  get lostBytes() {
    return this.lostBytesBefore + this.port.lostBytes;
  }

  /** Whether nothing happens before the next alarm: the cores sleep and the wire is silent. */
  get idle() {
    return this.cores.asleep && !this.port.moving;
  }

  /**
   * Runs until `targetNanos` of emulated time.
   *
   * @param {number} targetNanos when to stop
   * @param {() => boolean} wantsStop asked after every alarm and every 256 instructions
   * @returns {boolean} whether the watchdog reset the chip
   */
  runUntil(targetNanos, wantsStop) {
    const target = targetNanos - this.nanosBefore;
    const { cores } = this;
    const { clock } = this.rp2040;
    const cycleNanos = 1e9 / this.rp2040.clkSys;
    let turn = 0;
    while (clock.nanos < target) {
      if (cores.asleep) {
        const next = clock.nextAlarm ? Math.min(clock.nextAlarm.nanos, target) : target;
        clock.tick(Math.max(next - clock.nanos, 0));
        turn = 0;
      } else {
        clock.tick(cores.step() * cycleNanos);
        turn = (turn + 1) & 255;
      }
      if (this.watchdogBit) {
        this.watchdogBit = false;
        this.restart(1);
        return true;
      }
      if (turn === 0 && wantsStop()) return false;
    }
    return false;
  }
}
