"""The link as a TCP socket. One peer at a time: a new connection replaces the old."""

import json
import queue
import select
import socket
import sys
import threading
import time

from control import control, status

# Emulated time between two polls of the socket.
SLICE_NANOS = 1e6
CHUNK_BYTES = 64


class Served:
    """A chip, its peer, and the command input."""

    def __init__(self, build, tell, port):
        self.tell = tell
        self.sent = bytearray()
        self.commands = queue.SimpleQueue()
        self.peer = None
        self.machine = build(self.sent.append)
        self.server = socket.create_server(("127.0.0.1", port))
        tell({"event": "ready", "port": self.server.getsockname()[1]})
        threading.Thread(target=self.hear_commands, daemon=True).start()
        # Emulated time minus wall time at the last synchronisation.
        self.lead = self.machine.now() - time.monotonic_ns()

    def turn(self):
        """Runs for a while; returns the time until the next event, in seconds."""
        machine = self.machine
        idle_until = time.monotonic_ns() + self.lead
        until = machine.now() + SLICE_NANOS
        if machine.idle:
            # A sleeping chip on a silent line waits for the peer, so its time follows the wall clock.
            until = min(until, idle_until)

        def stop():
            return len(self.sent) >= CHUNK_BYTES or machine.idle and machine.now() >= idle_until

        if machine.run_until(until, stop):
            self.tell({"event": "watchdog", **status(machine)})
        self.flush()
        ahead = machine.now() - (time.monotonic_ns() + self.lead)
        if not machine.idle:
            # Busy time differs from wall time: synchronises again from here.
            self.lead = machine.now() - time.monotonic_ns()
            return 0.0
        return max(ahead, 0.0) * 1e-9 if ahead < 1e6 else 1e-3

    def flush(self):
        if self.sent and self.peer is not None:
            try:
                self.peer.sendall(self.sent)
            except OSError:
                self.hang_up()
        self.sent.clear()

    def hang_up(self):
        if self.peer is not None:
            self.peer.close()
            self.peer = None

    def listen(self, seconds):
        """Takes input within a time; returns whether the command input is still open."""
        sources = [self.server]
        if self.peer is not None:
            sources.append(self.peer)
        ready, _, _ = select.select(sources, [], [], seconds)
        if self.server in ready:
            self.hang_up()
            self.peer, _ = self.server.accept()
            self.peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        elif self.peer in ready:
            self.receive()
        return self.obey()

    def receive(self):
        try:
            data = self.peer.recv(65536)
        except OSError:
            data = b""
        if data:
            self.machine.port.feed(data)
        else:
            self.hang_up()

    def hear_commands(self):
        # Not every system can wait for its standard input beside a socket.
        for line in sys.stdin:
            self.commands.put(line)
        self.commands.put(None)

    def obey(self):
        while not self.commands.empty():
            line = self.commands.get()
            if line is None:
                return False
            if line.strip():
                command = json.loads(line)
                if command.get("cmd") in ("reset", "power_cut"):
                    # Bytes that were not delivered before are lost with it.
                    self.sent.clear()
                control(self.machine, self.tell, command)
        return True


def serve_socket(build, tell, port):
    """Runs until the command input ends."""
    board = Served(build, tell, port)
    while board.listen(board.turn()):
        pass
