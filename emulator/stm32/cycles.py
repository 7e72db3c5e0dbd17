"""What a basic block costs a Cortex-M4: a cycle an instruction."""


def block_cost(code, address):
    """Returns the cycles of the instructions in `code`, which lies at `address`."""
    at = count = 0
    while at < len(code):
        at += 4 if code[at + 1] >= 0xE8 else 2
        count += 1
    return count
