"""The loadable parts of a 32-bit little-endian ELF file."""

import struct

LOAD = 1


def segments(file, name):
    """Returns the loadable segments of the file as (address, bytes)."""
    if file[:6] != b"\x7fELF\x01\x01":
        raise ValueError(
            f"{name}: not a 32-bit little-endian ELF file; build it with cargo fw-stm32"
        )
    (table,) = struct.unpack_from("<I", file, 28)
    entry_bytes, count = struct.unpack_from("<HH", file, 42)
    found = []
    for index in range(count):
        kind, offset, _, address, length = struct.unpack_from(
            "<5I", file, table + index * entry_bytes
        )
        if kind == LOAD and length > 0:
            found.append((address, file[offset : offset + length]))
    return found
