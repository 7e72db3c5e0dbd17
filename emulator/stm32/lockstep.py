"""Lockstep mode: emulated time advances only as far as each command says."""

import json
import sys

from control import control, status


class Lockstep:
    """A chip and the bytes it sent since the last command."""

    def __init__(self, build):
        self.sent = bytearray()
        self.stop_at = -1
        self.stop = False
        self.machine = build(self.on_byte)

    def on_byte(self, byte):
        self.sent.append(byte)
        if byte == self.stop_at:
            self.stop = True

    def run(self, command):
        """Runs for a time or until the chip sends a byte; returns what happened."""
        self.sent.clear()
        self.stop = False
        self.stop_at = command.get("stop_at", -1)
        machine = self.machine
        machine.port.feed(bytes.fromhex(command.get("rx", "")))
        target = machine.now() + command["micros"] * 1000
        watchdog = False
        while machine.now() < target and not self.stop:
            watchdog = machine.run_until(target, lambda: self.stop) or watchdog
        return {"event": "ran", "tx": self.sent.hex(), "watchdog": watchdog, **status(machine)}


def serve_lockstep(build, tell):
    """Carries out commands until the end of the input."""
    board = Lockstep(build)
    tell({"event": "ready"})
    for line in sys.stdin:
        if line.strip():
            command = json.loads(line)
            if command.get("cmd") == "run":
                tell(board.run(command))
            else:
                control(board.machine, tell, command)
