// The USB host of a Pico: enumerates its serial port, opens it, and transfers bytes in packets.
//
// It corrects three differences of rp2040js. A buffer that waits for a packet stays marked as
// available until one arrives, which embassy-rp relies on; no packet is sent without data; and the
// port is opened by a request to the interface, as CDC requires, not to the device.

import { USBCDC } from 'rp2040js';

const OUT_BUFFER_CONTROL = 0x84;
const AVAILABLE = 1 << 10;
/** SET_CONTROL_LINE_STATE of interface 0: DTR and RTS. */
const OPEN_PORT = Uint8Array.of(0x21, 0x22, 0x03, 0x00, 0x00, 0x00, 0x00, 0x00);

export class UsbHost {
  /**
   * @param {import('rp2040js').RP2040} rp2040 the chip
   * @param {(byte: number) => void} onByte called with each byte the chip sent
   */
  constructor(rp2040, onByte) {
    this.controller = rp2040.usbCtrl;
    this.memory = rp2040.usbDPRAMView;
    this.toSend = [];
    this.room = 0;
    this.serial = new USBCDC(this.controller);
    this.serial.onSerialData = (packet) => packet.forEach(onByte);
    this.serial.cdcSetControlLineState = () => {
      this.serial.initialized = true;
      this.controller.sendSetupPacket(OPEN_PORT);
    };
    this.controller.onEndpointRead = (endpoint, bytes) => this.bufferWaits(endpoint, bytes);
    const finishRead = this.controller.finishRead.bind(this.controller);
    this.controller.finishRead = (endpoint, packet) => {
      this.markAvailable(endpoint, false);
      finishRead(endpoint, packet);
    };
  }

  /** USB repeats damaged packets and waits for room: it loses no bytes. */
  get lostBytes() {
    return 0;
  }

  /** Returns whether a packet to the chip is pending. */
  get moving() {
    return this.room > 0 && this.toSend.length > 0;
  }

  /** Queues bytes for the chip. */
  feed(bytes) {
    for (const byte of bytes) this.toSend.push(byte);
    this.send();
  }

  bufferWaits(endpoint, bytes) {
    this.markAvailable(endpoint, true);
    if (endpoint !== this.serial.outEndpoint) return;
    this.room = bytes;
    this.send();
  }

  send() {
    if (!this.moving) return;
    const packet = Uint8Array.from(this.toSend.splice(0, this.room));
    this.room = 0;
    this.controller.endpointReadDone(this.serial.outEndpoint, packet);
  }

  markAvailable(endpoint, available) {
    const register = OUT_BUFFER_CONTROL + 8 * endpoint;
    const value = this.memory.getUint32(register, true);
    const marked = available ? value | AVAILABLE : value & ~AVAILABLE;
    this.memory.setUint32(register, marked, true);
  }
}
