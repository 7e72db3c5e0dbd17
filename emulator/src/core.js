// One Cortex-M0+ of the chip: rp2040js's processor with its own view of the bus.
//
// SIO and the private peripherals (NVIC, SysTick, vector table) belong to one core; memory and
// other peripherals belong to the chip. This object replaces the chip for the processor.

import { FLASH_BYTES } from './nor.js';
import { BootRom } from './rom.js';
import { Sio } from './sio.js';

const FLASH = 0x1;
const FLASH_END = 0x14000000;
const SRAM = 0x2;
const SIO = 0xd;
const PRIVATE = 0xe;
const SRAM_BYTES = 264 * 1024;
const OFFSET = 0x0fffffff;
/** Registers of the memory protection unit, which is stored but not enforced. */
const MPU = { type: 0xd90, first: 0xd94, last: 0xda0 };
const WFE = 0xbf20;
/** The exception of interrupt 0. */
const FIRST_INTERRUPT = 16;

/**
 * Clears the pending state when a handler starts, as the NVIC does; while a device holds its line high,
 * it becomes pending again. rp2040js leaves that to the devices, so that the handler of an interrupt
 * set pending by software would run forever, until its device lowers its line.
 */
function takePending(cpu) {
  const { setInterrupt, exceptionEntry } = cpu;
  let lines = 0;
  cpu.setInterrupt = (irq, high) => {
    lines = high ? lines | (1 << irq) : lines & ~(1 << irq);
    setInterrupt.call(cpu, irq, high);
  };
  cpu.exceptionEntry = (number) => {
    if (number >= FIRST_INTERRUPT) cpu.pendingInterrupts &= lines | ~(1 << (number - FIRST_INTERRUPT));
    exceptionEntry.call(cpu, number);
  };
}

export class Core {
  /**
   * @param {number} id 0 or 1
   * @param {import('rp2040js').RP2040} chip the parts shared by both cores
   * @param {import('./xip.js').Xip} xip the flash cache
   * @param {import('./rom.js').BootRom} rom the boot ROM, whose functions are breakpoints
   * @param {import('./fifo.js').Mailbox} mailbox this core's end of the mailboxes
   * @param {() => void} sendEvent called when the core executes SEV
   */
  constructor(id, chip, xip, rom, mailbox, sendEvent) {
    this.id = id;
    this.chip = chip;
    this.clock = chip.clock;
    this.sram = chip.sram;
    this.sramView = chip.sramView;
    this.flash = chip.flash;
    this.flashView = chip.flashView;
    this.xip = xip;
    this.rom = rom;
    // rp2040js reports a SEV only by a line in its log.
    const info = (_name, message) => message === 'SEV' && sendEvent();
    this.logger = { debug() {}, info, warn() {}, error() {} };
    this.cpu = new chip.core.constructor(this);
    takePending(this.cpu);
    this.ppb = new chip.ppb.constructor(this, `PPB${id}`);
    this.mpu = new Uint32Array(4);
    this.sio = new Sio(this, mailbox, chip.sio);
    /** Cycles until the last executed instruction ends. */
    this.debt = 0;
    /** Cycles that the current instruction has waited. */
    this.stall = 0;
    /** The last word fetched from flash, which the core holds. */
    this.fetched = -1;
  }

  /** rp2040js's private peripherals look up their processor and its clock by these names. */
  get core() {
    return this.cpu;
  }

  get clkSys() {
    return this.chip.clkSys;
  }

  get gpioValues() {
    return this.chip.gpioValues;
  }

  get qspi() {
    return this.chip.qspi;
  }

  onBreak(code) {
    if (BootRom.holds(this.cpu.PC)) this.rom.call(code, this);
    else this.chip.onBreak(code);
  }

  /** Starts at a vector table, as the boot code does. */
  start(vectorTable, stack, entry) {
    this.cpu.VTOR = vectorTable;
    this.cpu.SP = stack;
    this.cpu.PC = entry & ~1;
    this.cpu.waiting = false;
    this.cpu.eventRegistered = false;
  }

  /** Executes an instruction, or enters a pending exception. */
  execute() {
    this.stall = 0;
    this.debt = this.cpu.executeInstruction();
    if (this.stall > 0) {
      this.cpu.cycles += this.stall;
      this.debt += this.stall;
    }
  }

  /** Returns whether the core sleeps. */
  get asleep() {
    return this.cpu.waiting && this.debt === 0;
  }

  /** A SEV event: it wakes a core from WFE, not from WFI, or is stored for its next WFE. */
  takeEvent() {
    const { cpu } = this;
    if (cpu.waiting && this.chip.readUint16(cpu.PC - 2) === WFE) cpu.waiting = false;
    else cpu.eventRegistered = true;
  }

  readUint32(address) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === SRAM && offset + 3 < SRAM_BYTES) return this.sramView.getUint32(offset, true);
    if (region === FLASH && address < FLASH_END) {
      if (!this.reach(address, false)) return 0xffffffff;
      return this.flashView.getUint32(address & (FLASH_BYTES - 4), true);
    }
    if (region === SIO) return this.sio.readUint32(offset);
    if (region === PRIVATE) return this.readPrivate(address & 0xfff);
    return this.chip.readUint32(address);
  }

  readUint16(address) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === FLASH && address < FLASH_END) {
      if (!this.reachHalfword(address)) return 0xffff;
      return this.flashView.getUint16(address & (FLASH_BYTES - 2), true);
    }
    if (region === SRAM && offset + 1 < SRAM_BYTES) return this.sramView.getUint16(offset, true);
    return (this.readUint32(address & ~3) >>> (8 * (address & 2))) & 0xffff;
  }

  readUint8(address) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === SRAM && offset < SRAM_BYTES) return this.sram[offset];
    if (region === FLASH && address < FLASH_END) {
      return this.reach(address, false) ? this.flash[address & (FLASH_BYTES - 1)] : 0xff;
    }
    return (this.readUint32(address & ~3) >>> (8 * (address & 3))) & 0xff;
  }

  /** Waits for the flash; returns false if it does not answer. */
  reach(address, isCode) {
    const wait = this.xip.read(address, isCode, this.stall);
    if (wait > 0) this.stall += wait;
    return wait >= 0;
  }

  /** Fetches instructions by words; rp2040js reads both halves at its program counter. */
  reachHalfword(address) {
    const ahead = address - this.cpu.registers[15];
    if (ahead !== 0 && ahead !== 2) return this.reach(address, false);
    const word = address & ~3;
    if (word === this.fetched) return true;
    const reached = this.reach(address, true);
    this.fetched = reached ? word : -1;
    return reached;
  }

  writeUint32(address, value) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === SRAM && offset + 3 < SRAM_BYTES) this.sramView.setUint32(offset, value, true);
    else if (region === SIO) this.sio.writeUint32(offset, value);
    else if (region === PRIVATE) this.writePrivate(address & 0xfff, value);
    else if (region === FLASH && address < FLASH_END) this.xip.invalidate(address);
    else this.chip.writeUint32(address, value);
  }

  writeUint16(address, value) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === SRAM && offset + 1 < SRAM_BYTES) this.sramView.setUint16(offset, value, true);
    else if (region >= SIO) this.writePart(address, value, 0xffff, 8 * (address & 2));
    else if (region === FLASH && address < FLASH_END) this.xip.invalidate(address);
    else this.chip.writeUint16(address, value);
  }

  writeUint8(address, value) {
    const region = address >>> 28;
    const offset = address & OFFSET;
    if (region === SRAM && offset < SRAM_BYTES) this.sram[offset] = value;
    else if (region >= SIO) this.writePart(address, value, 0xff, 8 * (address & 3));
    else if (region === FLASH && address < FLASH_END) this.xip.invalidate(address);
    else this.chip.writeUint8(address, value);
  }

  /** Returns part of a word of a core-private register. */
  writePart(address, value, mask, shift) {
    const whole = address >>> 28 === PRIVATE ? this.readUint32(address & ~3) : 0;
    this.writeUint32(address & ~3, (whole & ~(mask << shift)) | ((value & mask) << shift));
  }

  readPrivate(offset) {
    if (offset === MPU.type) return 8 << 8;
    if (offset >= MPU.first && offset <= MPU.last) return this.mpu[(offset - MPU.first) >> 2];
    return this.ppb.readUint32(offset);
  }

  writePrivate(offset, value) {
    if (offset >= MPU.first && offset <= MPU.last) this.mpu[(offset - MPU.first) >> 2] = value;
    else this.ppb.writeUint32(offset, value);
  }
}
