// Tests of our models of the chip, without a firmware image.

import assert from 'node:assert';
import test from 'node:test';
import { INTERRUPTED, Machine } from '../src/machine.js';
import { noise, repeatable } from '../src/rosc.js';

const UART0_IRQ = 1 << 20;
const UART0_CR = 0x40034030;
const UART_ENABLED = 0x301;
const WATCHDOG_CTRL = 0x40058000;
const WATCHDOG_LOAD = 0x40058004;
const ENABLE = 1 << 30;
const TIMER_ALARM0 = 0x40054010;
const TIMER_RAWL = 0x40054028;
const TIMER_INTR = 0x40054034;
const ROSC_STATUS = 0x40060018;
const ROSC_RANDOMBIT = 0x4006001c;

/** Returns a chip that runs `b .` forever. */
function spinning(bits = repeatable()) {
  const words = new Uint32Array([0x20001000, 0x10000109, 0xe7fee7fe]);
  const bytes = new Uint8Array(words.buffer);
  const machine = new Machine([{ address: 0x10000100, bytes }], 'uart', bits, () => {});
  machine.rp2040.writeUint32(UART0_CR, UART_ENABLED);
  return machine;
}

test('a watchdog that nobody feeds resets the chip once', () => {
  const machine = spinning();
  machine.rp2040.writeUint32(WATCHDOG_LOAD, 2000);
  machine.rp2040.writeUint32(WATCHDOG_CTRL, ENABLE);
  assert.equal(machine.runUntil(5e6, () => false), INTERRUPTED.WATCHDOG);
  assert.equal(machine.resets, 1);
  assert.ok(machine.nanos >= 1e6 && machine.nanos < 2e6, `${machine.nanos}`);
  assert.equal(machine.runUntil(machine.nanos + 5e6, () => false), null);
});

test('an interrupt that software made pending outlives a byte on the wire', () => {
  const machine = spinning();
  machine.rp2040.core.pendingInterrupts |= UART0_IRQ;
  machine.port.feed([0x55]);
  machine.runUntil(1e6, () => false);
  assert.equal(machine.port.received.length, 1);
  assert.equal(machine.rp2040.core.pendingInterrupts & UART0_IRQ, UART0_IRQ);
});

test('an interrupt of the wire goes with its cause', () => {
  const machine = spinning();
  machine.port.registers.IMSC = 1 << 6;
  machine.port.feed([0x55]);
  machine.runUntil(1e6, () => false);
  assert.equal(machine.rp2040.core.pendingInterrupts & UART0_IRQ, UART0_IRQ);
  assert.equal(machine.port.readData(), 0x55);
  assert.equal(machine.rp2040.core.pendingInterrupts & UART0_IRQ, 0);
});

/** Returns a thousand random bits of a chip that starts now. */
function randomBits(bits) {
  const { rp2040 } = spinning(bits);
  return Array.from({ length: 1000 }, () => rp2040.readUint32(ROSC_RANDOMBIT)).join('');
}

test('the ring oscillator is stable and its bits are of both kinds', () => {
  assert.notEqual(spinning().rp2040.readUint32(ROSC_STATUS) >>> 31, 0);
  for (const source of [noise, repeatable]) {
    const bits = randomBits(source());
    assert.match(bits, /^[01]{1000}$/);
    const ones = bits.replaceAll('0', '').length;
    assert.ok(ones > 400 && ones < 600, `${ones} of 1000`);
  }
});

test('random bits repeat between starts only where measurements need it', () => {
  assert.notEqual(randomBits(noise()), randomBits(noise()));
  assert.equal(randomBits(repeatable()), randomBits(repeatable()));
});

test('cycles are counted on when the clock slows down', () => {
  const machine = spinning();
  machine.runUntil(1e6, () => false);
  const before = machine.wallCycles;
  assert.ok(Math.abs(before - 125_000) < 10, `${before}`);
  Object.defineProperty(machine.rp2040.clocks, 'sysFreq', { value: 62.5e6 });
  machine.rp2040.updateClocks();
  assert.equal(machine.wallCycles, before);
  machine.runUntil(2e6, () => false);
  const passed = machine.wallCycles - before;
  assert.ok(Math.abs(passed - 62_500) < 10, `${passed}`);
});

test('an alarm fires when the count is its own, not before', () => {
  const machine = spinning();
  const { rp2040 } = machine;
  const [count, fired] = [TIMER_RAWL, TIMER_INTR].map((register) => () => rp2040.readUint32(register));
  for (let ahead = 0; ahead < 4; ahead += 1) {
    // Late in a microsecond, where what is left of it is less than one.
    machine.runUntil(Math.ceil(machine.nanos / 1000) * 1000 + 900, () => false);
    const due = count() + ahead;
    rp2040.writeUint32(TIMER_ALARM0, due);
    while (!fired()) {
      assert.ok(count() <= due + 1, `${ahead}: too late`);
      machine.runUntil(machine.nanos + 1, () => false);
    }
    assert.ok(count() >= due, `${ahead}: at ${count()} instead of ${due}`);
    rp2040.writeUint32(TIMER_INTR, 1);
  }
});
