"""Counts every basic block before it runs, by the table of `cycles`, and stops the core between two
blocks when its time is up or something wants its attention."""

import ctypes

from unicorn import UC_HOOK_BLOCK, UC_HOOK_MEM_READ
from unicorn.unicorn_py3.unicorn import uclib

from art import FLASH, Art
from cycles import Block
from fetch import fetcher, parts
from hooks import hook_memory

CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_void_p
)


class Meter:
    """The counters of the core. With `wait_states` of the flash, what its caches leave of them is
    counted as well; `asks_to_stop` is asked before every block after `attend`."""

    def __init__(self, engine, wait_states, asks_to_stop):
        # Variables of a closure: this runs for every block, and an attribute takes longer.
        cycles = instructions = waits = limit = deadline = 0
        end = refund = before = 0
        blocks = {}
        fetch = fetcher(wait_states) if wait_states else None
        handle, stop = engine._uch, uclib.uc_emu_stop

        def on_block(_engine, address, size, _data):
            nonlocal cycles, instructions, waits, end, refund, before
            if cycles >= limit and (cycles >= deadline or asks_to_stop()):
                stop(handle)
                return
            block = blocks.get(address)
            if block is None or block[2] != size:
                found = Block(bytes(engine.mem_read(address, size)), address)
                lines = parts(address, size)
                block = (
                    found.cycles, found.instructions, size, found.end, found.refund, found.entry, lines
                )
                blocks[address] = block
            on = address == end
            if on:
                # The block before goes on here: the branch at its end, if any, was not taken.
                cycles -= refund
            taken, count, _, end, refund, entry, lines = block
            if on:
                cycles -= entry
            cycles += taken
            instructions += count
            # A block that runs again at once is in the cache, and in no other place of it.
            if fetch is not None and address != before:
                before = address
                wait = fetch(lines)
                waits += wait
                cycles += wait

        def run_to(at):
            nonlocal limit, deadline
            limit = deadline = at

        def shorten(at):
            nonlocal limit, deadline
            deadline = min(deadline, at)
            limit = min(limit, at)

        def attend():
            nonlocal limit
            limit = 0

        def calm():
            nonlocal limit
            limit = deadline

        def add(more):
            nonlocal cycles, end
            cycles += more
            # Whatever follows does not follow from the block before.
            end = 0

        def forget():
            nonlocal end
            end = 0
            blocks.clear()

        def on_read(_engine, _access, address, _size, _value, _data):
            nonlocal cycles, waits
            wait = data.load(address)
            waits += wait
            cycles += wait

        if wait_states:
            data = Art(wait_states)
            hook_memory(engine, UC_HOOK_MEM_READ, on_read, begin=FLASH.start, end=FLASH.stop - 1)

        self.cycles = lambda: cycles
        self.instructions = lambda: instructions
        self.waits = lambda: waits
        self.run_to, self.shorten, self.add, self.forget = run_to, shorten, add, forget
        self.attend, self.calm = attend, calm
        self.callback = CALLBACK(on_block)
        hook = ctypes.c_size_t()
        everywhere = ctypes.c_uint64(1), ctypes.c_uint64(0)
        failed = uclib.uc_hook_add(
            handle, ctypes.byref(hook), UC_HOOK_BLOCK, self.callback, None, *everywhere
        )
        if failed:
            raise RuntimeError(f"Unicorn takes no hook for blocks: error {failed}")
