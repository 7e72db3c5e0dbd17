// A boot ROM: the lookup tables of its functions (datasheet, 2.8.3), and functions that consist of
// one breakpoint each, at which the runner does their work.
//
// Arithmetic and debugger functions are left out: they are in no table.

import { FLASH_BYTES, PAGE_BYTES, SECTOR_BYTES } from './nor.js';
import { leaveSerial } from './ssi.js';

const ROM_BYTES = 0x4000;
const SSI_SLOT = 0x18000;
const MAGIC = 0x10;
const LOOKUP = 0x20;
const TABLE = 0x40;
const STUBS = 0x200;
const BKPT = 0xbe00;
const BX_LR = 0x4770;
const LOOKUP_CODE = 0xff;

/** Cycles of a call that does almost nothing. */
const CALL_CYCLES = 40;
/** A page, its command and its address, one bit at a time at a sixth of the core's clock. */
const PAGE_TRANSFER_CYCLES = (PAGE_BYTES + 4) * 8 * 6;

export class BootRom {
  /**
   * @param {import('rp2040js').RP2040} chip whose ROM is written
   * @param {import('./nor.js').NorFlash} flash the flash chip
   * @param {import('./xip.js').Xip} xip the cache in front of it
   * @param {() => void} onBootsel called when a program asks for the boot drive
   */
  constructor(chip, flash, xip, onBootsel) {
    this.chip = chip;
    this.flash = flash;
    this.xip = xip;
    this.onBootsel = onBootsel;
    /** Two letters, and what to do: takes the core's arguments, returns the cycles it takes. */
    this.functions = [
      ['IF', () => CALL_CYCLES],
      ['EX', () => this.exitXip()],
      ['RE', (_core, offset, count) => this.erase(offset, count)],
      ['RP', (core, offset, data, count) => this.program(core, offset, data, count)],
      ['FC', () => this.xip.flush()],
      ['CX', () => this.enterXip()],
      ['UB', () => this.boot()],
      ['MC', copyBytes],
      ['C4', copyWords],
      ['MS', setBytes],
      ['S4', setBytes],
    ];
    this.write(new DataView(chip.bootrom.buffer));
  }

  write(rom) {
    const put = (address, ...halfwords) =>
      halfwords.forEach((value, index) => rom.setUint16(address + 2 * index, value, true));
    const letters = (text) => text.charCodeAt(0) | (text.charCodeAt(1) << 8);
    const dataTable = TABLE + 4 * this.functions.length;
    put(MAGIC, letters('Mu'), 0x0301, TABLE, dataTable, LOOKUP | 1);
    put(LOOKUP, BKPT | LOOKUP_CODE, BX_LR);
    this.functions.forEach(([name], index) => {
      const stub = STUBS + 4 * index;
      put(TABLE + 4 * index, letters(name), stub | 1);
      put(stub, BKPT | index, BX_LR);
    });
    // Both tables end with a zero; that of data is empty.
    put(dataTable, 0);
  }

  /** Whether a breakpoint at `address` is one of ours. */
  static holds(address) {
    return address < ROM_BYTES;
  }

  /** Does the work of the function whose breakpoint `core` met. */
  call(code, core) {
    const { registers } = core.cpu;
    if (code === LOOKUP_CODE) core.stall += this.lookUp(registers);
    else core.stall += this.functions[code][1](core, ...registers.subarray(0, 3));
  }

  lookUp(registers) {
    let [entry, wanted] = registers;
    const halfword = (address) => this.chip.readUint16(address);
    while (halfword(entry) !== 0 && halfword(entry) !== wanted) entry += 4;
    registers[0] = halfword(entry) === 0 ? 0 : halfword(entry + 2);
    return CALL_CYCLES;
  }

  cycles(nanos) {
    return Math.round((nanos * this.chip.clkSys) / 1e9);
  }

  exitXip() {
    this.flash.readable = false;
    leaveSerial(this.chip.peripherals[SSI_SLOT]);
    return CALL_CYCLES;
  }

  enterXip() {
    this.flash.readable = true;
    return CALL_CYCLES;
  }

  /** Sector by sector, also where a caller allows larger blocks. */
  erase(offset, count) {
    let cycles = CALL_CYCLES;
    for (let at = 0; at < count && offset + at < FLASH_BYTES; at += SECTOR_BYTES) {
      cycles += this.cycles(this.flash.erase(offset + at));
    }
    return cycles;
  }

  program(core, offset, data, count) {
    let cycles = CALL_CYCLES;
    for (let at = 0; at < count && offset + at < FLASH_BYTES; at += PAGE_BYTES) {
      const length = Math.min(PAGE_BYTES, count - at);
      const page = Uint8Array.from({ length }, (_, byte) => core.readUint8(data + at + byte));
      cycles += PAGE_TRANSFER_CYCLES + this.cycles(this.flash.program(offset + at, page));
    }
    return cycles;
  }

  boot() {
    this.onBootsel();
    return CALL_CYCLES;
  }
}

/** Each returns the destination, which r0 still holds. Two cycles a load and two a store. */
function copyBytes(core, to, from, count) {
  for (let at = 0; at < count; at++) core.writeUint8(to + at, core.readUint8(from + at));
  return CALL_CYCLES + 4 * count;
}

function copyWords(core, to, from, count) {
  for (let at = 0; at < count; at += 4) core.writeUint32(to + at, core.readUint32(from + at));
  return CALL_CYCLES + count;
}

function setBytes(core, to, value, count) {
  for (let at = 0; at < count; at++) core.writeUint8(to + at, value & 0xff);
  return CALL_CYCLES + 2 * count;
}
