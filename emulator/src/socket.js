// The link as a TCP socket. One peer at a time: a new connection replaces the old.

import { createServer } from 'node:net';
import { control } from './control.js';

/** Emulated time between two polls of the socket. */
const SLICE_NANOS = 1e6;
const CHUNK_BYTES = 64;

/**
 * @param {(onByte: (byte: number) => void) => import('./machine.js').Machine} build makes the chip
 * @param {(event: object) => void} tell reports an event
 * @param {(machine: import('./machine.js').Machine) => object} status describes the chip
 * @param {{port: string}} options the command line's
 * @returns {(command: object) => void} the command handler
 */
export function serveSocket(build, tell, status, options) {
  let peer = null;
  let sent = [];
  const machine = build((byte) => sent.push(byte));

  const server = createServer((socket) => {
    peer?.destroy();
    peer = socket;
    socket.setNoDelay(true);
    socket.on('data', (bytes) => machine.port.feed(bytes));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      if (peer === socket) peer = null;
    });
  });
  server.on('error', (error) => {
    process.stderr.write(`error: port ${options.port}: ${error.message}\n`);
    process.exit(1);
  });
  server.listen(Number(options.port), '127.0.0.1', () => {
    tell({ event: 'ready', port: server.address().port });
    turn();
  });

  const wallNanos = () => Number(process.hrtime.bigint());
  // Emulated time minus wall time at the last synchronisation.
  let lead = machine.nanos - wallNanos();

  function flush() {
    if (sent.length > 0) {
      peer?.write(Buffer.from(sent));
      sent = [];
    }
  }

  function turn() {
    // A sleeping chip on a silent line waits for the peer, so its time follows the wall clock.
    const idleUntil = wallNanos() + lead;
    const busyUntil = machine.nanos + SLICE_NANOS;
    const stop = () => sent.length >= CHUNK_BYTES || (machine.idle && machine.nanos >= idleUntil);
    const until = machine.idle ? Math.min(busyUntil, idleUntil) : busyUntil;
    const interrupted = machine.runUntil(until, stop);
    if (interrupted !== null) tell({ event: interrupted, ...status(machine) });
    flush();
    const ahead = machine.nanos - (wallNanos() + lead);
    if (!machine.idle || ahead < 0) {
      // Busy time differs from wall time: synchronises again from here.
      if (!machine.idle) lead = machine.nanos - wallNanos();
      setImmediate(turn);
    } else {
      setTimeout(turn, Math.min(ahead / 1e6, 1));
    }
  }

  const other = control(machine, tell, status);
  return (command) => {
    // Bytes that were not delivered before a reset are lost with it.
    if (command.cmd === 'reset' || command.cmd === 'power_cut') sent = [];
    other(command);
  };
}
