"""The table of cycles, class by class, with bytes of an assembler; the flash's caches.

`python3 -m unittest discover -s emulator/stm32 -p test_cycles.py` runs it and needs nothing but Python.
"""

import unittest

from art import AHEAD, Art, WAIT_STATES
from cycles import Block, block_cost
from thumb import decode

# Assembly, its bytes, the cycles of DDI 0439 with the table's choices where it gives a range.
COSTS = [
    # One cycle whatever it computes.
    ("adds r0, r1, r2", "8818", 1),
    ("movw r3, #1234", "40f2d243", 1),
    ("qadd r0, r1, r2", "82fa81f0", 1),
    ("ssat r0, #8, r1", "01f30700", 1),
    ("nop", "00bf", 1),
    ("it eq; moveq r0, r1", "08bf0846", 2),
    ("smlad r4, r1, r3, r4", "21fb0344", 1),
    ("smlal r4, r5, r1, r3", "c1fb0345", 1),
    ("mla r0, r1, r2, r3", "01fb0230", 1),
    ("umull r0, r1, r2, r3", "a2fb0301", 1),
    ("udiv r0, r1, r2", "b1fbf2f0", 12),
    ("sdiv r0, r1, r2", "91fbf2f0", 12),
    # Loads: two cycles, one right after another load (the manual's own examples).
    ("ldr r0, [r1]", "0868", 2),
    ("ldr r0, [r1]; ldr r1, [r2]", "08681168", 3),
    ("ldr r0, [r1, r5]; ldr r1, [r2]; ldr r2, [r3, #4]", "485911685a68", 4),
    ("ldr r0, [r1, r2]; str r0, [r3, #20]", "88585861", 3),
    ("ldr r0, [r1, r2]; str r1, [r3, r2]", "88589950", 3),
    ("ldrb r0, [r1]; ldrh r2, [r3]", "08781a88", 3),
    ("ldrex r0, [r1]", "51e8000f", 2),
    ("strex r0, r1, [r2]", "42e80010", 2),
    # Not where the address is what was loaded, or a base register is updated.
    ("ldr r0, [r1]; ldr r2, [r0]", "08680268", 4),
    ("ldr r0, [r1], #4; ldr r2, [r3]", "51f8040b1a68", 4),
    ("ldr r2, [r3]; ldr r0, [r1], #4", "1a6851f8040b", 4),
    # An address that was computed just before waits for its register.
    ("adds r1, #4; ldr r0, [r1]", "04310868", 4),
    ("adds r1, #4; nop; ldr r0, [r1]", "043100bf0868", 4),
    ("muls r0, r1, r0; ldr r2, [r0]", "48430268", 4),
    # Stores: one cycle, two with an index or when the one before is still in the buffer.
    ("str r0, [r1]", "0860", 1),
    ("str r0, [r1]; str r2, [r1, #4]", "08604a60", 3),
    ("str r0, [r1, r2]", "8850", 2),
    # Several registers: one cycle and one for each.
    ("ldrd r0, r1, [r2]", "d2e90001", 3),
    ("strd r0, r1, [r2], #8", "e2e80201", 3),
    ("ldm r0!, {r1, r2}", "06c8", 3),
    ("ldm r0, {r1-r8}", "90e8fe01", 9),
    ("stm r0!, {r4-r7}", "f0c0", 5),
    ("push {r4-r7, lr}", "f0b5", 6),
    ("pop {r4-r7}", "f0bc", 5),
    ("push {r4-r11, lr}", "2de9f04f", 10),
    # Beside the program, the fetch of instructions is in the way.
    ("ldr r0, [pc, #8]", "0248", 3),
    # Branches; jumps; loads of the PC; tables.
    ("b .+8", "02e0", 2),
    ("beq .+8", "02d0", 2),
    ("cbz r0, .+8", "10b1", 2),
    ("bl .+8", "00f002f8", 2),
    ("b.w .+2000", "00f0e6bb", 2),
    ("bx lr", "7047", 4),
    ("blx r3", "9847", 4),
    ("add pc, r3", "9f44", 4),
    ("pop {r4-r7, pc}", "f0bd", 9),
    ("ldr pc, [r0, #4]", "d0f804f0", 5),
    ("tbb [pc, r0]", "dfe800f0", 6),
    # The system's instructions.
    ("mrs r0, primask", "eff31080", 2),
    ("cpsid i", "72b6", 2),
    ("dmb", "bff35f8f", 1),
    ("isb", "bff36f8f", 4),
    # The floating-point unit (table 7-1).
    ("vldr s0, [r0]", "90ed000a", 2),
    ("vldr d0, [r0]", "90ed000b", 3),
    ("vldm r0!, {s0-s7}", "b0ec080a", 9),
    ("vmov r0, s0", "10ee100a", 1),
    ("vmov r0, r1, s0, s1", "51ec100a", 2),
    ("vadd.f32 s0, s1, s2", "30ee810a", 1),
    ("vmla.f32 s0, s1, s2", "00ee810a", 3),
    ("vfma.f32 s0, s1, s2", "a0ee810a", 3),
    ("vdiv.f32 s0, s1, s2", "80ee810a", 14),
    ("vsqrt.f32 s0, s1", "b1eee00a", 14),
    # Three wide instructions in a row take one more beside a word than on one.
    ("smlad; smlad; smlad", "21fb034421fb035521fb0366", 3),
    ("nop; smlad; smlad; smlad", "00bf21fb034421fb035521fb0366", 5),
]

# subs r0, #1; bne .-2: a loop of two instructions.
LOOP = bytes.fromhex("0138fdd1")


class Table(unittest.TestCase):
    def test_every_class_of_instruction_has_its_cycles(self):
        for assembly, code, cycles in COSTS:
            with self.subTest(assembly):
                self.assertEqual(block_cost(bytes.fromhex(code), 0x0800_0000), cycles)

    def test_branches_lead_where_the_assembler_put_them(self):
        for code, offset in [("fdd1", -2), ("00f0e6bb", 2000), ("00f002f8", 8), ("10b1", 8)]:
            self.assertEqual(decode(bytes.fromhex(code), 0).offset, offset)

    def test_half_an_instruction_is_refused(self):
        with self.assertRaisesRegex(ValueError, "half an instruction at byte 2 of 00bf21fb"):
            block_cost(bytes.fromhex("00bf21fb"), 0)

    def test_no_two_bytes_break_the_decoder(self):
        for first in range(0x10000):
            for second in (0, 0x7FFF, 0x8000, 0xF0F0, 0xFFFF):
                decode(first.to_bytes(2, "little") + second.to_bytes(2, "little"), 0)


class Edges(unittest.TestCase):
    """What a block costs less if the one before goes on into it, or it goes on itself."""

    def test_a_branch_that_is_not_taken_costs_no_refill(self):
        block = Block(LOOP, 0x0800_0000)
        self.assertEqual((block.cycles, block.refund, block.end), (3, 1, 0x0800_0004))
        self.assertEqual(Block(bytes.fromhex("00bf00bf"), 0).refund, 0)
        # bx lr is always taken.
        self.assertEqual(Block(bytes.fromhex("7047"), 0).refund, 0)

    def test_a_branch_to_a_wide_instruction_off_a_word_takes_one_more(self):
        for address, code, entry in [(2, "21fb0344", 1), (0, "21fb0344", 0), (2, "00bf", 0)]:
            block = Block(bytes.fromhex(code), 0x0800_0000 + address)
            self.assertEqual((block.cycles, block.entry), (1 + entry, entry))


class Flash(unittest.TestCase):
    def test_code_that_fits_the_cache_waits_once(self):
        art = Art()
        first = art.fetch(0x0800_0000, 1024)
        self.assertEqual(first, WAIT_STATES + 127 * (WAIT_STATES - AHEAD))
        self.assertEqual(art.fetch(0x0800_0000, 1024), 0)

    def test_one_line_more_than_fits_waits_for_every_line_each_time(self):
        art = Art()
        for _ in range(3):
            again = art.fetch(0x0800_0000, 1056)
        self.assertGreaterEqual(again, 132 * (WAIT_STATES - AHEAD))

    def test_without_the_accelerator_every_read_waits(self):
        art = Art(enabled=False)
        for _ in range(2):
            self.assertEqual(art.fetch(0x0800_0000, 64), 8 * WAIT_STATES)
            art.fetch(0x0801_0000, 8)

    def test_data_waits_once_a_line_and_ram_never(self):
        art = Art()
        waits = [art.load(0x0806_0000 + 4 * word) for word in range(16)]
        self.assertEqual(sum(waits), 2 * WAIT_STATES)
        # Nine lines go through a cache of eight.
        for _ in range(2):
            waits = [art.load(0x0807_0000 + 784 * image) for image in range(9)]
        self.assertEqual(sum(waits), 9 * WAIT_STATES)
        self.assertEqual(art.load(0x2000_0000) + art.fetch(0x1000_0000, 64), 0)


if __name__ == "__main__":
    unittest.main()
