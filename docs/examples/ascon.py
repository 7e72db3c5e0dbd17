"""Ascon-AEAD128 as NIST SP 800-232 has it, in plain Python: a few milliseconds for a kilobyte.

Python's integers do not promise constant time: do not use it where others can measure to the cycle.
"""

import hmac

IV = 0x0000_1000_808C_0001
MASK = 0xFFFF_FFFF_FFFF_FFFF
CONSTANTS = (0xF0, 0xE1, 0xD2, 0xC3, 0xB4, 0xA5, 0x96, 0x87, 0x78, 0x69, 0x5A, 0x4B)
RATE = 16


def permute(state, rounds):
    """The permutation Ascon-p[rounds] on five words of 64 bits."""
    a, b, c, d, e = state
    for constant in CONSTANTS[12 - rounds :]:
        # Constant and substitution layer.
        c ^= constant
        a ^= e
        e ^= d
        c ^= b
        t, u, v, w, x = ~a & b, ~b & c, ~c & d, ~d & e, ~e & a
        a ^= u
        b ^= v
        c ^= w
        d ^= x
        e ^= t
        b ^= a
        a ^= e
        d ^= c
        c ^= MASK
        # Linear layer: each word with two rotations of itself.
        a ^= (a >> 19 | a << 45) & MASK ^ (a >> 28 | a << 36) & MASK
        b ^= (b >> 61 | b << 3) & MASK ^ (b >> 39 | b << 25) & MASK
        c ^= (c >> 1 | c << 63) & MASK ^ (c >> 6 | c << 58) & MASK
        d ^= (d >> 10 | d << 54) & MASK ^ (d >> 17 | d << 47) & MASK
        e ^= (e >> 7 | e << 57) & MASK ^ (e >> 41 | e << 23) & MASK
    state[:] = a, b, c, d, e


def words(block):
    """16 bytes as two words, little endian."""
    return int.from_bytes(block[:8], "little"), int.from_bytes(block[8:16], "little")


def padded(data):
    """The blocks of `data`, the last one (perhaps of nothing else) padded with 01 00 .. 00."""
    data += b"\x01" + bytes(-(len(data) + 1) % RATE)
    return [data[at : at + RATE] for at in range(0, len(data), RATE)]


def start(key, nonce, associated):
    """The state after key, nonce and associated data."""
    k0, k1 = words(key)
    state = [IV, k0, k1, *words(nonce)]
    permute(state, 12)
    state[3] ^= k0
    state[4] ^= k1
    for block in padded(associated) if associated else ():
        low, high = words(block)
        state[0] ^= low
        state[1] ^= high
        permute(state, 8)
    state[4] ^= 1 << 63
    return state


def finish(state, key):
    """The tag."""
    k0, k1 = words(key)
    state[2] ^= k0
    state[3] ^= k1
    permute(state, 12)
    return (state[3] ^ k0).to_bytes(8, "little") + (state[4] ^ k1).to_bytes(8, "little")


def squeeze(state):
    """The 16 bytes of the state that meet the text."""
    return (state[0] | state[1] << 64).to_bytes(RATE, "little")


def encrypt(key, nonce, associated, plain):
    """Ciphertext (as long as `plain`) and tag (16 bytes)."""
    state = start(key, nonce, associated)
    out = bytearray()
    blocks = padded(plain)
    for number, block in enumerate(blocks, 1):
        low, high = words(block)
        state[0] ^= low
        state[1] ^= high
        out += squeeze(state)
        if number < len(blocks):
            permute(state, 8)
    return bytes(out[: len(plain)]), finish(state, key)


def decrypt(key, nonce, associated, cipher, tag):
    """The plaintext, or None if the tag does not fit."""
    state = start(key, nonce, associated)
    out = bytearray()
    whole = len(cipher) - len(cipher) % RATE
    for at in range(0, whole, RATE):
        low, high = words(cipher[at : at + RATE])
        out += ((state[0] ^ low) | (state[1] ^ high) << 64).to_bytes(RATE, "little")
        state[0], state[1] = low, high
        permute(state, 8)
    rest = bytes(c ^ s for c, s in zip(cipher[whole:], squeeze(state)))
    low, high = words(padded(rest)[0])
    state[0] ^= low
    state[1] ^= high
    if not hmac.compare_digest(finish(state, key), tag):
        return None
    return bytes(out + rest)
