// Lockstep mode on a chip without a firmware image.

import assert from 'node:assert';
import test from 'node:test';
import { serveLockstep } from '../src/lockstep.js';
import { Machine } from '../src/machine.js';
import { repeatable } from '../src/rosc.js';
import { HALT, WFI, image } from './thumb.js';

/** Returns the chip's answers to each command, and the chip; a run that does not end throws. */
function served(program) {
  const told = [];
  let machine;
  const build = (onByte) => {
    machine = new Machine(image([program]).flash, 'uart', repeatable(), onByte);
    const { runUntil } = machine;
    let turns = 0;
    machine.runUntil = (...how) => {
      turns += 1;
      assert.ok(turns < 100, 'the run does not end');
      return runUntil.apply(machine, how);
    };
    return machine;
  };
  const handler = serveLockstep(build, (event) => told.push(event), () => ({}));
  return { machine, handler, told };
}

test('a run ends though the times before and after a reset add up to less than asked for', () => {
  const { machine, handler, told } = served([WFI, HALT]);
  machine.runUntil(1e6, () => false);
  // About the state in which a test hung: the clock at the target, the sum a rounding error below.
  machine.before.nanos = 1068453152 + 2 ** -21;
  const { before, rp2040 } = machine;
  const micros = 2 + 2 ** -20 / 1000;
  const falls = () => {
    const target = machine.nanos + micros * 1000;
    return before.nanos + (target - before.nanos) < target;
  };
  for (let tick = 0; !falls(); tick += 1) {
    assert.ok(tick < 8, 'no such rounding');
    rp2040.clock.nanosCounter = 2 ** 32 + tick * 2 ** -20;
  }
  handler({ cmd: 'run', micros });
  assert.equal(told.at(-1).event, 'ran');
});
