// The flash cache: hits, misses and their cost.

import assert from 'node:assert';
import test from 'node:test';
import { Machine } from '../src/machine.js';
import { NorFlash } from '../src/nor.js';
import { repeatable } from '../src/rosc.js';
import { Xip } from '../src/xip.js';
import { HALT, NOP, base, bne, image, ldr, movs, subImmediate } from './thumb.js';

const FLASH = 0x10000000;
const WAY_BYTES = 8192;
const XIP_CTRL = 0x14000000;
const [FLUSH, STAT, CTR_HIT, CTR_ACC] = [0x04, 0x08, 0x0c, 0x10].map((offset) => XIP_CTRL + offset);

/** Returns a cache and its view of reads: `+` for a hit, `-` for a miss. */
function cache() {
  const time = { cycles: 0 };
  const xip = new Xip(new NorFlash(), 50, () => time.cycles);
  const see = (...offsets) =>
    offsets.map((offset) => (xip.read(FLASH + offset, false, 0) === 0 ? '+' : '-')).join('');
  return { xip, see, time };
}

test('a miss fetches half a line', () => {
  const { see } = cache();
  assert.equal(see(0, 0, 2, 3, 4, 4, 7, 8), '-+++-++-');
});

test('a set holds two lines and gives up the one used less recently', () => {
  const { see } = cache();
  const [a, b, c] = [0, WAY_BYTES, 2 * WAY_BYTES];
  assert.equal(see(a, b, a, b), '--++');
  assert.equal(see(a, c, a, b), '+-+-', 'b made room for c');
  assert.equal(see(a + 4, a), '-+', 'the other half comes into the same line');
});

test('16 KB stay and one line more does not fit', () => {
  const { xip, see } = cache();
  for (const round of [0, 1]) {
    for (let offset = 0; offset < 2 * WAY_BYTES; offset += 4) see(offset);
    assert.equal(xip.counts.misses, 4096, `round ${round}`);
  }
  const three = [0, WAY_BYTES, 2 * WAY_BYTES];
  assert.equal(see(...three, ...three, ...three), '++-------', 'they drive each other out');
});

test('aliases of the flash pass the cache as the manual says', () => {
  const { see } = cache();
  const [noAlloc, noCache, neither] = [1, 2, 3].map((alias) => alias << 24);
  assert.equal(see(noAlloc, noAlloc, 0, noAlloc), '---+');
  assert.equal(see(noCache + 64, noCache + 64, 64), '--+');
  assert.equal(see(neither + 128, neither + 128, 128), '---');
});

test('a flush, a write and a switched-off cache make misses', () => {
  const { xip, see } = cache();
  assert.equal(see(0, 0, 64), '-+-');
  xip.invalidate(FLASH + 4);
  assert.equal(see(0, 64), '-+');
  xip.flush();
  assert.equal(see(0, 64), '--');
  xip.enabled = false;
  assert.equal(see(0, 0), '--');
});

test('misses of both cores wait for each other', () => {
  const { xip, time } = cache();
  assert.deepEqual([xip.read(FLASH, true, 0), xip.read(FLASH + 64, true, 0)], [50, 100]);
  time.cycles += 100;
  assert.equal(xip.read(FLASH + 128, true, 0), 50);
  assert.equal(xip.counts.waitCycles, 200);
});

const RAM = 0x20000000;
const DMA = 0x50000000;
const [STREAM_ADDR, STREAM_CTR] = [XIP_CTRL + 0x14, XIP_CTRL + 0x18];
const XIP_AUX = 0x50400000;

/** Returns a chip that spins while a DMA channel moves 64 words of flash into RAM. */
function moved(from, control, micros) {
  const shard = { address: FLASH + 0x60000, bytes: Uint8Array.from({ length: 256 }, (_, at) => at) };
  const segments = [...image([[HALT]]).flash, shard];
  const machine = new Machine(segments, 'uart', repeatable(), () => {});
  machine.runUntil(1000, () => false);
  const before = machine.xipCounts.misses;
  const [core] = machine.cores.all;
  core.writeUint32(STREAM_ADDR, shard.address);
  if (from === XIP_AUX) core.writeUint32(STREAM_CTR, 64);
  [from, RAM, 64, control].forEach((value, at) => core.writeUint32(DMA + 4 * at, value));
  machine.runUntil(machine.nanos + 1000 * micros, () => false);
  const complete = machine.read(RAM, 256).every((byte, at) => byte === at);
  return { complete, misses: machine.xipCounts.misses - before };
}

const [ENABLED, WORDS, READ_ON, WRITE_ON] = [1, 2 << 2, 1 << 4, 1 << 5];
const AT_ONCE = ENABLED | WORDS | READ_ON | WRITE_ON | (0x3f << 15);
const AS_STREAMED = ENABLED | WORDS | WRITE_ON | (37 << 15);

test('the DMA waits for the flash as a core does', () => {
  // 64 words at 51 cycles of 8 ns are 26 us.
  assert.deepEqual([20, 28].map((micros) => moved(FLASH + 0x60000, AT_ONCE, micros).complete), [false, true]);
  assert.equal(moved(FLASH + 0x60000, AT_ONCE, 28).misses, 64);
});

test('a stream passes the cache by', () => {
  assert.deepEqual([20, 28].map((micros) => moved(XIP_AUX, AS_STREAMED, micros).complete), [false, true]);
  assert.equal(moved(XIP_AUX, AS_STREAMED, 28).misses, 0);
});

/** Reads a word of flash 30 times in a loop of four instructions, the last of them far away. */
const LOOP = [...base(5, 0x10), movs(6, 30), ldr(0, 5, 0), NOP, subImmediate(6, 1), bne(6, 3), HALT];

function looped(missCycles) {
  const machine = new Machine(image([LOOP]).flash, 'uart', repeatable(), () => {}, missCycles);
  const [core] = machine.cores.all;
  const halt = FLASH + 0x1000 + 2 * (LOOP.length - 1);
  while (core.cpu.PC !== halt) machine.runUntil(machine.nanos + 1, () => false);
  return machine;
}

test('a loop in flash misses once a word, and costs what its misses cost', () => {
  const [without, with50, with80] = [0, 50, 80].map(looped);
  const { reads, misses, codeMisses, waitCycles } = with50.xipCounts;
  // Eight halfwords in four words, of which the last holds the end that is not reached yet; one
  // word of data.
  assert.deepEqual([misses, codeMisses, waitCycles], [5, 4, 250]);
  assert.ok(reads > 60, `${reads}`);
  assert.equal(with50.cycles[0] - without.cycles[0], 250);
  assert.equal(with80.cycles[0] - without.cycles[0], 400);
  assert.equal(without.xipCounts.misses, 0);
  assert.equal(with50.nanos - without.nanos, 250 * 8);
});

test('a program can count its own misses', () => {
  const machine = looped(50);
  const [core] = machine.cores.all;
  const hits = () => core.readUint32(CTR_HIT);
  const reads = () => core.readUint32(CTR_ACC);
  assert.equal(reads() - hits(), 5);
  core.writeUint32(CTR_ACC, 1);
  core.writeUint32(CTR_HIT, 1);
  core.writeUint32(FLUSH, 1);
  assert.equal(core.readUint32(STAT) & 1, 1);
  core.readUint32(FLASH);
  core.readUint32(FLASH);
  assert.deepEqual([hits(), reads()], [1, 2]);
});
