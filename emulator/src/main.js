#!/usr/bin/env node
// Runs an RP2040 image: `node src/main.js --image IMAGE.elf [--shard SHARD.bin --shard-at ADDRESS]`.
//
// The base station is on UART0, or with `--link usb` on the USB port.
//
// Without `--lockstep` the link is a TCP socket (`--port`, 0 picks one) and emulated time runs as
// fast as possible while a core or the line is busy, and with the wall clock while both are idle.
// With `--lockstep` time advances only by commands, and the random bits of the ring oscillator are
// the same in every run; otherwise they come from the system.
//
// A flash cache miss costs `--xip-miss-cycles`; 0 disables the cache.
//
// Control is one JSON object per line: commands on stdin, answers and events on stdout.
//   {"cmd":"stat"}                       -> {"event":"stat", ...}
//   {"cmd":"reset"}                      -> {"event":"reset", ...}
//   {"cmd":"power_cut"}                  -> {"event":"power_cut", ...}: RAM is noise, flash is kept
//   {"cmd":"cut_at_flash_op","count":N}  -> {"event":"cut_at_flash_op", ...}: the N-th erase or
//       program from here is torn and the power cut, which is told as {"event":"power_lost", ...}
//   {"cmd":"record_flash"}               -> {"event":"record_flash", ...}: operations are written down
//   {"cmd":"cut_again","count":N}        -> {"event":"cut_again", ...}: the flash is
//       what it was when the N-th of those written down was torn, and the power is cut
//   {"cmd":"noise","bytes":"hex"}        -> {"event":"noise", ...}: bytes for UART0, whatever the link
//   {"cmd":"read","address":A,"length":N} -> {"event":"read","bytes":"hex"}
//   {"cmd":"write","address":A,"bytes":"hex"} -> {"event":"write"}
//   {"cmd":"run","micros":N,"rx":"hex","stop_at":B} (lockstep) -> {"event":"ran","tx":"hex", ...}
// {"event":"watchdog", ...} and {"event":"bootsel", ...} are sent unasked; as a boot drive the chip
// does nothing until it is reset. The end of stdin ends the emulator.

import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { segments } from './elf.js';
import { serveLockstep } from './lockstep.js';
import { Machine } from './machine.js';
import { noise, repeatable } from './rosc.js';
import { serveSocket } from './socket.js';
import { MISS_CYCLES } from './xip.js';

const { values: options } = parseArgs({
  options: {
    image: { type: 'string' },
    shard: { type: 'string' },
    'shard-at': { type: 'string', default: '0x10060000' },
    port: { type: 'string', default: '0' },
    link: { type: 'string', default: 'uart' },
    lockstep: { type: 'boolean', default: false },
    'xip-miss-cycles': { type: 'string', default: String(MISS_CYCLES) },
  },
});

function tell(event) {
  process.stdout.write(`${JSON.stringify(event)}\n`);
}

/** The fields of every answer. */
function status(machine) {
  const [cycles, core1Cycles] = machine.cycles;
  const xip = machine.xipCounts;
  return {
    micros: machine.nanos / 1000,
    cycles,
    core1_cycles: core1Cycles,
    wall_cycles: machine.wallCycles,
    resets: machine.resets,
    power_cuts: machine.powerCuts,
    bootsel: machine.bootsel,
    lost_bytes: machine.lostBytes,
    flash_erases: machine.flash.erases,
    flash_programs: machine.flash.programs,
    flash_lost_reads: machine.flash.lostReads,
    xip_reads: xip.reads,
    xip_misses: xip.misses,
    xip_code_misses: xip.codeMisses,
    xip_wait_cycles: xip.waitCycles,
  };
}

function main() {
  if (!['uart', 'usb'].includes(options.link)) throw new Error('--link is uart or usb');
  if (!options.image) throw new Error('--image names the ELF file to run');
  const flash = segments(readFileSync(options.image), options.image);
  if (options.shard) {
    flash.push({ address: Number(options['shard-at']), bytes: readFileSync(options.shard) });
  }
  const serve = options.lockstep ? serveLockstep : serveSocket;
  const bits = options.lockstep ? repeatable() : noise();
  const missCycles = Number(options['xip-miss-cycles']);
  if (!Number.isInteger(missCycles) || missCycles < 0) {
    throw new Error(`--xip-miss-cycles ${options['xip-miss-cycles']}: a number of cycles, or 0`);
  }
  const build = (onByte) => new Machine(flash, options.link, bits, onByte, missCycles);
  const handler = serve(build, tell, status, options);

  const commands = createInterface({ input: process.stdin });
  commands.on('line', (line) => {
    if (line.trim() !== '') handler(JSON.parse(line));
  });
  commands.on('close', () => process.exit(0));
}

try {
  main();
} catch (error) {
  process.stderr.write(`error: ${error.message}\n`);
  process.exit(1);
}
