// Both cores, without a firmware image: launch, mailboxes, events, spinlocks, dividers.

import assert from 'node:assert';
import test from 'node:test';
import { Machine } from '../src/machine.js';
import { repeatable } from '../src/rosc.js';
import {
  BX_LR, HALT, NOP, SEV, VECTORS, WFE, WFI,
  addImmediate, adds, b, base, beq, bne, cmp, image, ldr, lsls, movs, str, subImmediate,
} from './thumb.js';

const RAM = 0x20000000;
const STACK = 0x20002000;
const CPUID = 0xd0000000;
const FIFO_ST = 0xd0000050;
const FIFO_WR = 0xd0000054;
const FIFO_RD = 0xd0000058;
const FRCE_OFF = 0x40010004;
const PROC1 = 1 << 16;
const NVIC_ISER = 0xe000e100;
const NVIC_ISPR = 0xe000e200;
const SYST_RVR = 0xe000e014;
const MPU_CTRL = 0xe000ed94;
const [VALID, READY, WRITTEN_WHEN_FULL, READ_WHEN_EMPTY] = [1, 2, 4, 8];

/** Returns a chip with these programs; core 0 runs the first. */
function chip(programs, vectors) {
  const { flash, entries } = image(programs, vectors);
  const machine = new Machine(flash, 'uart', repeatable(), () => {});
  const [first] = machine.cores.all;
  const word = (address) => machine.rp2040.readUint32(address);
  const run = (micros) => machine.runUntil(machine.nanos + 1000 * micros, () => false);
  return { machine, first, entries, word, run };
}

/** Starts core 1 as core 0's software does; returns the answers. */
function launch(first, words) {
  return words.map((word) => {
    while (word === 0 && first.readUint32(FIFO_ST) & VALID) first.readUint32(FIFO_RD);
    first.writeUint32(FIFO_WR, word);
    return first.readUint32(FIFO_RD);
  });
}

/** Waits for words and answers each with its successor. */
const SUCCESSOR = [
  ...base(4, 0xd0),
  WFE,
  ldr(0, 4, 0x50),
  lsls(0, 0, 31),
  beq(5, 2),
  ldr(0, 4, 0x58),
  addImmediate(0, 1),
  str(0, 4, 0x54),
  SEV,
  b(10, 2),
];

test('core 1 starts by the protocol of the boot ROM and answers through the mailboxes', () => {
  const { machine, first, entries, run } = chip([[HALT], SUCCESSOR]);
  const sequence = [0, 0, 1, VECTORS, STACK, entries[1]];
  assert.deepEqual(launch(first, sequence), sequence);
  run(10);
  const [, second] = machine.cores.all;
  assert.equal(second.asleep, true);
  assert.equal(second.cpu.SP, STACK);
  assert.equal(second.readUint32(CPUID), 1);
  assert.equal(first.readUint32(CPUID), 0);
  first.writeUint32(FIFO_WR, 41);
  run(10);
  assert.equal(first.readUint32(FIFO_ST) & VALID, 0);
  machine.cores.sendEvent();
  run(10);
  assert.equal(first.readUint32(FIFO_RD), 42);
  assert.ok(machine.cycles[1] > 0 && machine.cycles[1] < machine.wallCycles);
});

test('a word out of order sends core 1 back to the start of the protocol', () => {
  const { machine, first, entries } = chip([[HALT], SUCCESSOR]);
  assert.deepEqual(launch(first, [0, 1, VECTORS]), [0, 1, VECTORS]);
  assert.deepEqual(launch(first, [0]), [0]);
  first.writeUint32(FIFO_WR, 7);
  assert.equal(first.readUint32(FIFO_RD), 0);
  const sequence = [1, VECTORS, STACK, entries[1]];
  assert.deepEqual(launch(first, sequence), sequence);
  assert.equal(machine.cores.all[1].asleep, false);
});

test('the power-on state machine takes core 1 back, and it starts again', () => {
  const spin = [addImmediate(0, 1), b(1, 0)];
  const { machine, first, entries, run } = chip([[HALT], spin]);
  const sequence = [0, 0, 1, VECTORS, STACK, entries[1]];
  launch(first, sequence);
  run(10);
  const worked = machine.cycles[1];
  assert.ok(worked > 1000, `${worked}`);
  first.writeUint32(FRCE_OFF, PROC1);
  run(10);
  assert.equal(machine.cycles[1], worked);
  assert.equal(first.readUint32(FIFO_ST) & VALID, 0);
  first.writeUint32(FRCE_OFF, 0);
  assert.equal(first.readUint32(FIFO_ST) & VALID, VALID);
  assert.equal(first.readUint32(FIFO_RD), 0);
  assert.deepEqual(launch(first, sequence), sequence);
  run(10);
  assert.ok(machine.cycles[1] > worked);
});

test('a mailbox holds eight words and keeps what was done wrong', () => {
  const { first, machine, entries } = chip([[HALT], [HALT]]);
  launch(first, [0, 0, 1, VECTORS, STACK, entries[1]]);
  const [, second] = machine.cores.all;
  for (let word = 0; word < 8; word++) {
    assert.equal(first.readUint32(FIFO_ST), READY);
    first.writeUint32(FIFO_WR, 100 + word);
  }
  assert.equal(first.readUint32(FIFO_ST), 0);
  first.writeUint32(FIFO_WR, 999);
  assert.equal(first.readUint32(FIFO_ST), WRITTEN_WHEN_FULL);
  assert.equal(first.cpu.pendingInterrupts & (1 << 15), 1 << 15);
  first.writeUint32(FIFO_ST, 0);
  assert.equal(first.cpu.pendingInterrupts & (1 << 15), 0);
  assert.equal(second.cpu.pendingInterrupts & (1 << 16), 1 << 16);
  for (let word = 0; word < 8; word++) assert.equal(second.readUint32(FIFO_RD), 100 + word);
  assert.equal(second.cpu.pendingInterrupts & (1 << 16), 0);
  second.readUint32(FIFO_RD);
  assert.equal(second.readUint32(FIFO_ST), READY | READ_WHEN_EMPTY);
});

test('a word interrupts the core it is for, which sleeps in WFI and ignores events', () => {
  const sleeper = [...base(4, 0xd0), ...base(5, 0x20), WFI, str(5, 5, 0x40), b(6, 4)];
  const handler = [ldr(0, 4, 0x58), str(0, 5, 0), BX_LR];
  const { machine, first, entries, word, run } = chip([[HALT], sleeper, handler], { 32: 2 });
  launch(first, [0, 0, 1, VECTORS, STACK, entries[1]]);
  machine.cores.all[1].writeUint32(NVIC_ISER, 1 << 16);
  run(5);
  machine.cores.sendEvent();
  run(5);
  assert.equal(word(RAM + 0x40), 0);
  first.writeUint32(FIFO_WR, 7);
  run(5);
  assert.equal(word(RAM), 7);
  assert.equal(word(RAM + 0x40), RAM);
});

/** Adds one to a word of RAM 200 times, under spinlock 3 if `locked`. */
function counting(locked) {
  return [
    ...base(4, 0xd0), ...base(5, 0x20),
    movs(3, 1), lsls(3, 3, 8), adds(3, 3, 4), addImmediate(3, 12),
    movs(6, 200),
    ldr(0, 3, 0), cmp(0, 0), locked ? beq(11, 9) : NOP,
    ldr(1, 5, 0), addImmediate(1, 1), str(1, 5, 0),
    str(0, 3, 0),
    subImmediate(6, 1), bne(17, 9),
    HALT,
  ];
}

/** Returns the count that two concurrent cores reach. */
function countTogether(locked) {
  const { first, entries, word, run } = chip([[HALT], counting(locked)]);
  launch(first, [0, 0, 1, VECTORS, STACK, entries[1]]);
  first.start(VECTORS, STACK - 0x400, entries[1]);
  run(200);
  return word(RAM);
}

test('a spinlock lets one core in at a time', () => {
  assert.equal(countTogether(true), 400);
  const lost = countTogether(false);
  assert.ok(lost < 400, `${lost}: without the lock the cores overwrite each other`);
  assert.equal(countTogether(false), lost, 'the same in every run');
});

/** Divides 1000 by 7 + its core's number and stores the quotient at its own word of RAM. */
const DIVIDING = [
  ...base(4, 0xd0), ...base(5, 0x20),
  ldr(0, 4, 0), movs(1, 250), lsls(1, 1, 2), str(1, 4, 0x60),
  addImmediate(0, 7), str(0, 4, 0x64),
  NOP, NOP, NOP, NOP, NOP, NOP, NOP, NOP,
  ldr(2, 4, 0x74), ldr(1, 4, 0x70), lsls(0, 0, 3), adds(5, 5, 0), str(1, 5, 0), str(2, 5, 4),
  HALT,
];

test('each core has its own divider', () => {
  const { first, entries, word, run } = chip([[HALT], DIVIDING]);
  launch(first, [0, 0, 1, VECTORS, STACK, entries[1]]);
  first.start(VECTORS, STACK - 0x400, entries[1]);
  run(10);
  assert.deepEqual([word(RAM + 56), word(RAM + 60)], [142, 6]);
  assert.deepEqual([word(RAM + 64), word(RAM + 68)], [125, 0]);
});

test('a division is signed or not, and by zero gives what the manual says', () => {
  const { first } = chip([[HALT]]);
  const divide = (signed, dividend, divisor) => {
    first.writeUint32(signed ? 0xd0000068 : 0xd0000060, dividend);
    first.writeUint32(signed ? 0xd000006c : 0xd0000064, divisor);
    return [first.readUint32(0xd0000070) | 0, first.readUint32(0xd0000074) | 0];
  };
  assert.deepEqual(divide(true, -7, 2), [-3, -1]);
  assert.deepEqual(divide(false, -7, 2), [0x7ffffffc, 1]);
  assert.deepEqual(divide(true, -7, 0), [1, -7]);
  assert.deepEqual(divide(true, 7, 0), [-1, 7]);
  assert.deepEqual(divide(false, -7, 0), [-1, -7]);
});

test('private peripherals are private', () => {
  const { machine } = chip([[HALT]]);
  const [first, second] = machine.cores.all;
  second.writeUint32(SYST_RVR, 77);
  second.writeUint32(NVIC_ISER, 1 << 5);
  second.writeUint32(MPU_CTRL, 5);
  const seen = (core) => [SYST_RVR, NVIC_ISER, MPU_CTRL].map((address) => core.readUint32(address));
  assert.deepEqual(seen(second), [77, 1 << 5, 5]);
  assert.deepEqual(seen(first), [0xffffff, 0, 0]);
});

test('an interrupt that software made pending is taken once, a line that stays high again and again', () => {
  const { machine, first, run } = chip([[HALT], [addImmediate(5, 1), BX_LR]], { 36: 1 });
  const taken = () => {
    const before = first.cpu.registers[5];
    run(2);
    return first.cpu.registers[5] - before;
  };
  first.writeUint32(NVIC_ISER, 1 << 20);
  first.writeUint32(NVIC_ISPR, 1 << 20);
  assert.equal(taken(), 1);
  machine.rp2040.setInterrupt(20, true);
  assert.ok(taken() > 2);
  machine.rp2040.setInterrupt(20, false);
  run(1);
  assert.equal(taken(), 0);
});
