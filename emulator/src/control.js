// Commands of both modes, with free-running time and in lockstep.

/**
 * @param {import('./machine.js').Machine} machine the chip
 * @param {(event: object) => void} tell reports an event
 * @param {(machine: import('./machine.js').Machine) => object} status describes the chip
 * @returns {(command: object) => void} the command handler
 */
export function control(machine, tell, status) {
  const bytes = (text) => Buffer.from(text, 'hex');
  machine.onBootsel = () => tell({ event: 'bootsel', ...status(machine) });
  return (command) => {
    switch (command.cmd) {
      case 'reset':
        machine.reset();
        tell({ event: 'reset', ...status(machine) });
        break;
      case 'power_cut':
        machine.cutPower();
        tell({ event: 'power_cut', ...status(machine) });
        break;
      case 'cut_at_flash_op':
        machine.flash.cutIn = command.count;
        tell({ event: 'cut_at_flash_op', ...status(machine) });
        break;
      case 'record_flash':
        machine.flash.startRecord();
        tell({ event: 'record_flash', ...status(machine) });
        break;
      case 'cut_again':
        if (machine.flash.cutAgain(command.count)) {
          machine.cutPower();
          tell({ event: 'cut_again', ...status(machine) });
        } else {
          tell({ event: 'error', message: `no operation ${command.count} was recorded` });
        }
        break;
      case 'noise':
        machine.uart.feed(bytes(command.bytes));
        tell({ event: 'noise', ...status(machine) });
        break;
      case 'stat':
        tell({ event: 'stat', ...status(machine) });
        break;
      case 'read': {
        const found = machine.read(command.address, command.length);
        tell({ event: 'read', bytes: Buffer.from(found).toString('hex') });
        break;
      }
      case 'write':
        machine.write(command.address, bytes(command.bytes));
        tell({ event: 'write' });
        break;
      default:
        tell({ event: 'error', message: `unknown command ${command.cmd}` });
    }
  };
}
