#!/usr/bin/env python3
"""Compares wire.py and ascon.py with every example of docs/reference/wire.md, both ways."""

import pathlib
import re
import sys

from blake3 import blake3

import ascon
import wire


def examples(text):
    """Name and bytes of every block marked `hex`."""
    for name, body in re.findall(r"```hex (\S+)\n(.*?)```", text, re.S):
        lines = [line for line in body.splitlines() if not line.startswith("#")]
        yield name, bytes.fromhex("".join(lines))


def main():
    """Exits with 1 if anything differs."""
    text = (pathlib.Path(__file__).resolve().parents[1] / "reference" / "wire.md").read_text("utf-8")
    blocks = dict(examples(text))
    host_names = dict(examples(text.partition("### Host to device")[2].partition("### Device")[0]))
    device_names = dict(examples(text.partition("### Device to host")[2]))
    checks = {}

    # The first of NIST's vectors: key and nonce 00 .. 0F, nothing to encrypt.
    count = bytes(range(16))
    checks["ascon"] = ascon.encrypt(count, count, b"", b"")[1] == bytes.fromhex(
        "4427D64B8E1E1451FC445960F0839BB0"
    )
    for length in (0, 1, 15, 16, 17, 1000):
        cipher, tag = ascon.encrypt(count, count, b"header", bytes(length))
        back = ascon.decrypt(count, count, b"header", cipher, tag)
        checks[f"ascon {length}"] = back == bytes(length) and len(cipher) == length
        checks[f"ascon forged {length}"] = (
            ascon.decrypt(count, count, b"other", cipher, tag) is None
        )

    key, host, device = bytes(range(32)), b"\x11" * 16, b"\x22" * 16
    secret = blocks["session-secret"]
    checks["session-secret"] = wire.derive(key, b"gleaner session" + host + device) == secret
    number = blocks["session-number"]
    checks["session-number"] = wire.derive(secret, b"gleaner session id")[:4] == number
    frame_key = blocks["session-frames-key"]
    checks["session-frames-key"] = wire.derive(secret, b"gleaner session frames")[:16] == frame_key
    greeting_key = blocks["greeting-key"]
    checks["greeting-key"] = wire.derive(key, b"gleaner greeting") == greeting_key
    greeting = blocks["greeting-signed"]
    checks["greeting-signed"] = wire.signed(key, 0x81, greeting[9:-20]) == wire.stuff(greeting)
    checks["greeting tag"] = blake3(greeting[:-20], key=greeting_key).digest(16) == greeting[-20:-4]

    payload, frame, line = (blocks[f"frame-{name}"] for name in ("payload", "sealed", "line"))
    header = wire.HEADER.pack(wire.RELIABLE, int.from_bytes(number, "little"), 5)
    cipher, tag = ascon.encrypt(frame_key, header + bytes(7), header, payload)
    checks["frame-sealed"] = header + cipher + tag == frame[:-4]
    checks["frame-line"] = wire.finished(frame[:-4]) == line and wire.unstuff(line[:-1]) == frame
    for length in (0, 1, 253, 254, 255, 508, 509, 1000):
        for data in (bytes(length), b"\1" * length, b"\1" * length + b"\0", b"\0" + b"\1" * length):
            stuffed = wire.stuff(data)
            there_and_back = wire.unstuff(stuffed[:-1]) == data and stuffed.count(0) == 1
            checks[f"stuffing {length}"] = there_and_back and checks.get(f"stuffing {length}", True)
    chunk = blocks["chunk"]
    checks["chunk"] = chunk[:4] == (1).to_bytes(2, "little") + (3 | 1 << 15).to_bytes(2, "little")

    for kind, names in ((wire.HOST, host_names), (wire.DEVICE, device_names)):
        for name in names:
            checks[name] = kind.encode(wire.parse(kind, blocks[name])) == blocks[name]

    wrong = [name for name, good in checks.items() if not good]
    print(f"{len(checks) - len(wrong)} of {len(checks)} checks hold", *wrong, sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
