// The PL011 UART as the RP2040 has it: 32-byte FIFOs, interrupt levels, receive time-out, and
// bytes that take their ten bit times of emulated time in both directions.
//
// It replaces rp2040js's model, whose transmitter is always ready and whose DMACR and IFLS registers
// read as all ones, which blocks embassy-rp's buffered driver.

import { BasePeripheral } from 'rp2040js';

const REGISTER = {
  DR: 0x00,
  RSR: 0x04,
  FR: 0x18,
  IBRD: 0x24,
  FBRD: 0x28,
  LCR_H: 0x2c,
  CR: 0x30,
  IFLS: 0x34,
  IMSC: 0x38,
  RIS: 0x3c,
  MIS: 0x40,
  ICR: 0x44,
  DMACR: 0x48,
};

const FLAG = { BUSY: 1 << 3, RXFE: 1 << 4, TXFF: 1 << 5, RXFF: 1 << 6, TXFE: 1 << 7 };
const INTERRUPT = { RX: 1 << 4, TX: 1 << 5, TIMEOUT: 1 << 6, OVERRUN: 1 << 10 };
const OVERRUN_IN_DATA = 1 << 11;
const ENABLED_WITH_RECEIVER = (1 << 0) | (1 << 9);

const FIFO_BYTES = 32;
const BITS_PER_BYTE = 10;
const TIMEOUT_BITS = 32;
/** FIFO level of each IFLS selection, in bytes. */
const LEVELS = [4, 8, 16, 24, 28];

export class Pl011 extends BasePeripheral {
  /**
   * @param {import('rp2040js').RP2040} rp2040 the chip
   * @param {string} name the peripheral's name
   * @param {number} irq its interrupt line
   * @param {(byte: number) => void} onByte called when a byte's last bit left the chip
   */
  constructor(rp2040, name, irq, onByte) {
    super(rp2040, name);
    this.irq = irq;
    this.onByte = onByte;
    this.received = [];
    this.toSend = [];
    this.onWire = [];
    this.overrun = false;
    this.lostBytes = 0;
    this.registers = { IBRD: 0, FBRD: 0, LCR_H: 0, CR: 0x300, IFLS: 0x12, IMSC: 0, DMACR: 0 };
    this.raised = 0;
    this.high = false;
    this.sending = null;
    this.arriving = false;
    this.sender = rp2040.clock.createAlarm(() => this.byteSent());
    this.receiver = rp2040.clock.createAlarm(() => this.byteArrived());
    this.silence = rp2040.clock.createAlarm(() => this.lineSilent());
  }

  /** Sends bytes to the chip at the baud rate. */
  feed(bytes) {
    for (const byte of bytes) this.onWire.push(byte);
    this.listen();
  }

  /** Returns whether a byte is being transferred in either direction. */
  get moving() {
    return this.arriving || this.sending !== null;
  }

  get bitNanos() {
    const divider = this.registers.IBRD + this.registers.FBRD / 64;
    return divider > 0 ? (divider * 16 * 1e9) / this.rp2040.clkPeri : 1e9 / 115200;
  }

  /** rp2040js notifies its UARTs of a new clock; this model reads it whenever a byte starts. */
  clkPeriChanged() {}

  listen() {
    if (!this.arriving && this.onWire.length > 0) {
      this.arriving = true;
      this.receiver.schedule(this.bitNanos * BITS_PER_BYTE);
    }
  }

  byteArrived() {
    this.arriving = false;
    const byte = this.onWire.shift();
    if ((this.registers.CR & ENABLED_WITH_RECEIVER) !== ENABLED_WITH_RECEIVER) {
      this.lostBytes += 1;
    } else if (this.received.length >= FIFO_BYTES) {
      this.lostBytes += 1;
      this.overrun = true;
      this.raised |= INTERRUPT.OVERRUN;
    } else {
      this.received.push(byte | (this.overrun ? OVERRUN_IN_DATA : 0));
      this.overrun = false;
      if (this.received.length >= LEVELS[(this.registers.IFLS >> 3) & 7]) {
        this.raised |= INTERRUPT.RX;
      }
      this.silence.schedule(this.bitNanos * TIMEOUT_BITS);
    }
    this.updateLine();
    this.listen();
  }

  lineSilent() {
    if (this.received.length > 0) {
      this.raised |= INTERRUPT.TIMEOUT;
      this.updateLine();
    }
  }

  send() {
    if (this.sending === null && this.toSend.length > 0) {
      this.sending = this.toSend.shift();
      this.sender.schedule(this.bitNanos * BITS_PER_BYTE);
      // The transmit interrupt marks the crossing of the level, not the level itself.
      if (this.toSend.length === LEVELS[this.registers.IFLS & 7]) this.raised |= INTERRUPT.TX;
    }
  }

  byteSent() {
    const byte = this.sending;
    this.sending = null;
    if (this.toSend.length === 0) this.raised |= INTERRUPT.TX;
    this.send();
    this.updateLine();
    this.onByte(byte);
  }

  /** Only a falling line clears the interrupt: software may have set it pending itself. */
  updateLine() {
    const high = (this.raised & this.registers.IMSC) !== 0;
    if (high || this.high) this.rp2040.setInterrupt(this.irq, high);
    this.high = high;
  }

  get flags() {
    return (
      (this.sending !== null ? FLAG.BUSY : 0) |
      (this.received.length === 0 ? FLAG.RXFE : 0) |
      (this.toSend.length >= FIFO_BYTES ? FLAG.TXFF : 0) |
      (this.received.length >= FIFO_BYTES ? FLAG.RXFF : 0) |
      (this.toSend.length === 0 ? FLAG.TXFE : 0)
    );
  }

  readData() {
    const value = this.received.shift() ?? 0;
    if (this.received.length < LEVELS[(this.registers.IFLS >> 3) & 7]) this.raised &= ~INTERRUPT.RX;
    if (this.received.length === 0) this.raised &= ~INTERRUPT.TIMEOUT;
    this.updateLine();
    return value;
  }

  readUint32(offset) {
    switch (offset) {
      case REGISTER.DR:
        return this.readData();
      case REGISTER.FR:
        return this.flags;
      case REGISTER.RIS:
        return this.raised;
      case REGISTER.MIS:
        return this.raised & this.registers.IMSC;
      case REGISTER.RSR:
        return 0;
      default:
        return this.registers[nameOf(offset)] ?? 0;
    }
  }

  writeUint32(offset, value) {
    switch (offset) {
      case REGISTER.DR:
        if (this.toSend.length < FIFO_BYTES) this.toSend.push(value & 0xff);
        this.send();
        break;
      case REGISTER.ICR:
        this.raised &= ~this.rawWriteValue;
        break;
      default: {
        const name = nameOf(offset);
        if (name in this.registers) this.registers[name] = value;
      }
    }
    this.updateLine();
  }
}

function nameOf(offset) {
  return Object.keys(REGISTER).find((name) => REGISTER[name] === offset) ?? '';
}
