// The flash chip behind our boot ROM: its functions as a program calls them, and power cuts.

import assert from 'node:assert';
import test from 'node:test';
import { HAD_POWER_ON, HAD_RUN_PIN } from '../src/chip_reset.js';
import { INTERRUPTED, Machine } from '../src/machine.js';
import { repeatable } from '../src/rosc.js';
import { HALT, VECTORS, image } from './thumb.js';

const RAM = 0x20000000;
const STACK = 0x20004000;
const RETURN = RAM + 0x8000;
const FUNCTION_TABLE = 0x14;
const LOOKUP = 0x18;
const SECTOR = 0x1fe000;
const AT_SECTOR = 0x10000000 + SECTOR;
const CHIP_RESET = 0x40064008;
const SSI = 0x18000000;

function chip() {
  const machine = new Machine(image([[HALT]]).flash, 'uart', repeatable(), () => {});
  machine.write(RETURN, [HALT & 0xff, HALT >> 8]);
  return machine;
}

/** Makes core 0 call a function of the ROM, from RAM; returns r0, or the cause of a reset. */
function call(machine, address, ...args) {
  const [core] = machine.cores.all;
  core.start(VECTORS, STACK, address);
  core.cpu.LR = RETURN | 1;
  core.cpu.registers.set(args);
  const deadline = machine.nanos + 1e9;
  while (machine.nanos < deadline && core.cpu.PC !== RETURN) {
    const reset = machine.runUntil(machine.nanos + 1, () => false);
    if (reset !== null) return reset;
  }
  assert.equal(core.cpu.PC, RETURN, 'the function came back');
  return core.cpu.registers[0];
}

/** Looks a function up and calls it. */
function rom(machine, letters, ...args) {
  const code = letters.charCodeAt(0) | (letters.charCodeAt(1) << 8);
  const { rp2040 } = machine;
  const table = rp2040.readUint16(FUNCTION_TABLE);
  const address = call(machine, rp2040.readUint16(LOOKUP), table, code);
  return address === 0 ? null : call(machine, address, ...args);
}

const page = (fill) => new Uint8Array(256).fill(fill);

function program(machine, fill) {
  machine.write(RAM, page(fill));
  return rom(machine, 'RP', SECTOR, RAM, 256);
}

test('an erase makes ones, a program only clears bits, and both take their time', () => {
  const machine = chip();
  assert.deepEqual(machine.read(0x10, 2), Uint8Array.from(Buffer.from('Mu')));
  assert.equal(rom(machine, 'ZZ'), null, 'no such function');
  const timed = (work) => {
    const start = machine.nanos;
    work();
    return (machine.nanos - start) / 1e6;
  };
  const millis = [0x0f, 0x3c].map((fill) => timed(() => program(machine, fill)));
  for (const took of millis) assert.ok(took > 0.4 && took < 0.6, `${took} ms`);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0x0c));
  const took = timed(() => rom(machine, 'RE', SECTOR, 4096, 1 << 31, 0));
  assert.ok(took > 45 && took < 46, `${took} ms`);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0xff));
  assert.deepEqual([machine.flash.erases, machine.flash.programs], [1, 2]);
});

test('the flash keeps what was written over a reset and over a power cut; RAM only over a reset', () => {
  const machine = chip();
  program(machine, 0xa5);
  assert.equal(machine.rp2040.readUint32(CHIP_RESET), HAD_POWER_ON);
  machine.reset();
  assert.equal(machine.rp2040.readUint32(CHIP_RESET), HAD_RUN_PIN);
  assert.deepEqual(machine.read(RAM, 256), page(0xa5));
  machine.cutPower();
  assert.equal(machine.rp2040.readUint32(CHIP_RESET), HAD_POWER_ON);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0xa5));
  const ram = machine.read(RAM, 4096);
  assert.ok(new Set(ram).size > 200, 'noise');
  machine.cutPower();
  assert.notDeepEqual(machine.read(RAM, 4096), ram, 'other noise');
  assert.deepEqual([machine.resets, machine.powerCuts], [3, 2]);
});

test('the operation at which the power is cut is half done, and no other', () => {
  const machine = chip();
  machine.flash.cutIn = 2;
  program(machine, 0x0f);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0x0f));
  assert.equal(program(machine, 0x00), INTERRUPTED.POWER);
  const torn = machine.read(AT_SECTOR, 256);
  assert.ok(torn.every((byte) => (byte & 0xf0) === 0), 'no bit is set by a program');
  assert.ok(torn.some((byte) => byte !== 0) && torn.some((byte) => byte !== 0x0f), 'a mixture');

  machine.write(RETURN, [HALT & 0xff, HALT >> 8]);
  machine.flash.cutIn = 1;
  assert.equal(rom(machine, 'RE', SECTOR, 4096, 1 << 31, 0), INTERRUPTED.POWER);
  const erased = machine.read(AT_SECTOR, 256);
  assert.ok(erased.every((byte, at) => (byte & torn[at]) === torn[at]), 'no bit is cleared by an erase');
  assert.ok(erased.some((byte) => byte !== 0xff) && erased.some((byte, at) => byte !== torn[at]));
  assert.deepEqual([machine.powerCuts, machine.flash.cutIn], [2, 0]);

  machine.write(RETURN, [HALT & 0xff, HALT >> 8]);
  rom(machine, 'RE', SECTOR, 4096, 1 << 31, 0);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0xff));
});

test('recorded operations are torn one after another', () => {
  const machine = chip();
  assert.equal(machine.flash.cutAgain(1), false);
  machine.flash.startRecord();
  program(machine, 0x3c);
  rom(machine, 'RE', SECTOR, 4096, 1 << 31, 0);
  program(machine, 0x0f);
  const found = [3, 1, 2].map((count) => {
    assert.equal(machine.flash.cutAgain(count), true);
    machine.cutPower();
    return machine.read(AT_SECTOR, 256);
  });
  // Bits that an operation does not change keep their previous values.
  for (const [torn, mask, value] of [[found[0], 0x0f, 0x0f], [found[1], 0x3c, 0x3c], [found[2], 0x3c, 0x3c]]) {
    assert.ok(torn.every((byte) => (byte & mask) === value));
    assert.ok(new Set(torn).size > 4, 'a mixture');
  }
  assert.equal(machine.flash.cutAgain(4), false);
});

test('a call that the power cut broke off does nothing more', () => {
  const machine = chip();
  machine.write(RAM, new Uint8Array(768));
  machine.flash.cutIn = 2;
  assert.equal(rom(machine, 'RP', SECTOR, RAM, 768), INTERRUPTED.POWER);
  assert.deepEqual(machine.read(AT_SECTOR, 256), page(0));
  assert.notDeepEqual(machine.read(AT_SECTOR + 256, 256), page(0));
  assert.deepEqual(machine.read(AT_SECTOR + 512, 256), page(0xff));
  assert.equal(machine.flash.programs, 2);
});

test('whoever runs from flash while it is spoken to in commands is lost', () => {
  const machine = chip();
  rom(machine, 'EX');
  assert.equal(machine.flash.lostReads, 0, 'the ROM and RAM are no flash');
  const [core] = machine.cores.all;
  assert.equal(core.readUint32(0x10000200), 0xffffffff);
  assert.equal(machine.flash.lostReads, 1);
  // What boot2-w25q080 leaves: quad frames, and a command of continuous reads.
  for (const [offset, value] of [[0x08, 0], [0x00, 0x5f0300], [0xf4, 0xa0002022], [0x08, 1]]) {
    core.writeUint32(SSI + offset, value);
  }
  assert.equal(core.readUint32(VECTORS), 0x20001000);
  assert.equal(machine.flash.lostReads, 1);
});

test('a program that asks for the boot drive is no more until it is reset', () => {
  const machine = chip();
  let told = 0;
  machine.onBootsel = () => {
    told += 1;
  };
  const [core] = machine.cores.all;
  assert.throws(() => rom(machine, 'UB', 0, 0), /came back/);
  const { cycles } = machine;
  machine.runUntil(machine.nanos + 1e6, () => false);
  assert.deepEqual([told, machine.bootsel, machine.idle], [1, true, true]);
  assert.deepEqual(machine.cycles, cycles);
  assert.notEqual(core.cpu.PC, RETURN);
  machine.reset();
  machine.runUntil(machine.nanos + 1e6, () => false);
  assert.equal(machine.bootsel, false);
  assert.ok(machine.cycles[0] > cycles[0]);
});

test('memory functions copy and fill', () => {
  const machine = chip();
  rom(machine, 'MS', RAM + 0x100, 0x5a, 7);
  assert.deepEqual([...machine.read(RAM + 0x100, 8)], [...Array(7).fill(0x5a), 0]);
  assert.equal(rom(machine, 'C4', RAM + 0x200, VECTORS, 8), RAM + 0x200);
  assert.deepEqual(machine.read(RAM + 0x200, 8), machine.read(VECTORS, 8));
});

test('a program that does not fit the flash is refused by its address', () => {
  const segments = [{ address: 0x101ffffe, bytes: new Uint8Array(4) }];
  assert.throws(() => new Machine(segments, 'uart', repeatable(), () => {}), /0x101ffffe/);
});
