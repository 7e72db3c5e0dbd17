// Lockstep mode: emulated time advances only as far as each command says.

import { control } from './control.js';
import { INTERRUPTED } from './machine.js';

/**
 * @param {(onByte: (byte: number) => void) => import('./machine.js').Machine} build makes the chip
 * @param {(event: object) => void} tell reports an event
 * @param {(machine: import('./machine.js').Machine) => object} status describes the chip
 * @returns {(command: object) => void} the command handler
 */
export function serveLockstep(build, tell, status) {
  let sent = [];
  let stopAt = -1;
  let stop = false;
  const machine = build((byte) => {
    sent.push(byte);
    if (byte === stopAt) stop = true;
  });
  tell({ event: 'ready' });

  function run({ micros, rx = '', stop_at = -1 }) {
    sent = [];
    stop = false;
    stopAt = stop_at;
    machine.port.feed(Buffer.from(rx, 'hex'));
    const target = machine.nanos + micros * 1000;
    let watchdog = false;
    let interrupted;
    // The machine decides whether the target is reached: after a reset its times are sums, which may be
    // rounded to just below the target.
    do {
      interrupted = machine.runUntil(target, () => stop);
      watchdog ||= interrupted === INTERRUPTED.WATCHDOG;
    } while (interrupted !== null && !stop);
    tell({ event: 'ran', tx: Buffer.from(sent).toString('hex'), watchdog, ...status(machine) });
  }

  const other = control(machine, tell, status);
  return (command) => (command.cmd === 'run' ? run(command) : other(command));
}
