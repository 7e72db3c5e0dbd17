"""`Art.fetch` for blocks that come again and again: the same waits, worked out once per block as far
as they do not depend on the cache."""

from art import AHEAD, FLASH, INSTRUCTION_LINES, LINE_BYTES, READ_BYTES


def parts(address, size):
    """Returns the lines of a block: each with its reads, and the last read of the line."""
    if address not in FLASH:
        return ()
    found = []
    end = address + size
    for line in range(address - address % LINE_BYTES, end, LINE_BYTES):
        start = max(line, address - address % READ_BYTES)
        reads = tuple(range(start, min(end, line + LINE_BYTES), READ_BYTES))
        found.append((line, reads, line + LINE_BYTES - READ_BYTES))
    return tuple(found)


def fetcher(wait_states):
    """Returns what counts the waits for the lines of a block that is about to run."""
    held = {}
    last = None
    behind = max(0, wait_states - AHEAD)

    def fetch(lines):
        nonlocal last
        waits = 0
        for line, reads, tail in lines:
            if line in held:
                # The order of the keys is that of their use.
                del held[line]
                held[line] = True
                last = tail
                continue
            held[line] = True
            if len(held) > INSTRUCTION_LINES:
                del held[next(iter(held))]
            for read in reads:
                if read != last:
                    waits += behind if read - READ_BYTES == last else wait_states
                    last = read
        return waits

    return fetch
