"""Runs an STM32L4R5 image: `python main.py --image IMAGE.elf [--shard SHARD.bin --shard-at ADDRESS]`.

The base station is on LPUART1. Without `--lockstep` that link is a TCP socket (`--port`, 0 picks
one) and emulated time runs as fast as it can while the core or the wire works, and with the wall
clock while both are idle. With `--lockstep` time stands still except when told to run, and noise
is the same in every run; otherwise it is the system's.

`--burst 1` wakes the core for every byte on the wire, as the chip is; by default as many as the
port's FIFO holds come and go together, in the time they all take, which saves the host seven of
eight wake-ups and moves no byte by more than 87 us. `--waits` counts what flash makes the core wait
behind its caches, at some three times the host's time.

Control is one JSON object a line: commands on stdin, answers and events on stdout.
  {"cmd":"stat"}                       -> {"event":"stat", ...}
  {"cmd":"reset"}                      -> {"event":"reset", ...}
  {"cmd":"power_cut"}                  -> {"event":"power_cut", ...}
  {"cmd":"cut_at_flash_op","count":N}  -> {"event":"cut_at_flash_op", ...}
  {"cmd":"record_flash"}               -> {"event":"record_flash", ...}: operations are written down
  {"cmd":"cut_again","count":N}        -> {"event":"cut_again", ...}: the flash is what
      it was when the N-th of those written down was torn, and the power is cut
  {"cmd":"read","address":A,"length":N} -> {"event":"read","bytes":"hex"}
  {"cmd":"write","address":A,"bytes":"hex"} -> {"event":"write"}
  {"cmd":"clock"}                      -> {"event":"clock","hertz":H,"violations":[...]}
  {"cmd":"run","micros":N,"rx":"hex","stop_at":B} (lockstep) -> {"event":"ran","tx":"hex", ...}
The end of stdin ends the emulator.
"""

import argparse
import json
import os
import random
import sys

from art import WAIT_STATES
from elf import segments
from lockstep import serve_lockstep
from machine import Machine
from served import serve_socket


def arguments():
    parser = argparse.ArgumentParser(description="Runs an STM32L4R5 image in Unicorn.")
    parser.add_argument("--image", required=True, help="the ELF file to run")
    parser.add_argument("--shard", help="the shard in its flash")
    parser.add_argument("--shard-at", default="0x08060000", help="where the shard lies")
    parser.add_argument("--port", type=int, default=0, help="the TCP port of the link")
    parser.add_argument("--lockstep", action="store_true", help="time runs when told to")
    parser.add_argument("--burst", type=int, default=8, help="bytes that pass the wire at a time")
    parser.add_argument("--waits", action="store_true", help="count the waits for flash as well")
    parser.add_argument("--lse-ms", type=float, default=2_000, help="start of the 32 kHz crystal; negative: none is fitted")
    return parser.parse_args()


def tell(event):
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def contents(path):
    with open(path, "rb") as file:
        return file.read()


def main():
    options = arguments()
    flash = segments(contents(options.image), options.image)
    if options.shard:
        flash.append((int(options.shard_at, 0), contents(options.shard)))
    noise = random.Random(0x2545F491).randbytes if options.lockstep else os.urandom
    lse_nanos = options.lse_ms * 1e6 if options.lse_ms >= 0 else None

    def build(on_byte):
        return Machine(
            flash,
            noise,
            on_byte,
            burst=options.burst,
            wait_states=WAIT_STATES if options.waits else 0,
            unique_id=noise(12),
            lse_nanos=lse_nanos,
        )

    if options.lockstep:
        serve_lockstep(build, tell)
    else:
        serve_socket(build, tell, options.port)


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        pass
