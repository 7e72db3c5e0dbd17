"""Tests of our models of the chip, without a firmware image."""

import random
import struct
import unittest

try:
    from unicorn import arm_const as arm
except ImportError as error:
    raise unittest.SkipTest("Unicorn is not installed: cargo xtask setup") from error

import ecc
import fetch
import flash
import rcc
from art import WAIT_STATES, Art
from machine import FLASH_START, RAM_START, Machine
from record import Record

STACK = RAM_START + 0x1000
FLAG = RAM_START + 0x100
FIRST, SECOND = 40, 41
KEYS_PAGE = 0x081FE000
FLASH_REGISTERS, RCC_REGISTERS, PWR_REGISTERS = 0x40022000, 0x40021000, 0x40007000
LPUART, WATCHDOG = 0x40008000, 0x40003000
NMI = 2
# `b .`, and the addresses of these tests' programs.
THREAD, WAITING, SETTING, FLOATING, READING, CHOOSING = 0x200, 0x240, 0x260, 0x280, 0x2A0, 0x2C0

PROGRAM = {
    # vmov.f32 s0, #1.0; b .
    THREAD: (0xEEB7, 0x0A00, 0xE7FE),
    # Waits for the flag: ldr r0, =FLAG; ldr r1, [r0]; cmp r1, #0; beq; bx lr
    WAITING: (0x4802, 0x6801, 0x2900, 0xD0FC, 0x4770, 0xBF00, FLAG & 0xFFFF, FLAG >> 16),
    # Sets it: ldr r0, =FLAG; movs r1, #1; str r1, [r0]; bx lr
    SETTING: (0x4801, 0x2101, 0x6001, 0x4770, FLAG & 0xFFFF, FLAG >> 16),
    # vmov.f32 s0, #2.0; bx lr
    FLOATING: (0xEEB0, 0x0A00, 0x4770),
    # Reads the third word of a page: ldr r0, =KEYS_PAGE; ldr r1, [r0, #20]; b .
    READING: (0x4801, 0x6941, 0xE7FE, 0xBF00, KEYS_PAGE & 0xFFFF, KEYS_PAGE >> 16),
    # Loads in an IT block and branches behind it, with the opposite flags: ldr r0, =KEYS_PAGE;
    # movs r3, #0; cmp r3, #1; ittt lo; ldrlo r1, [r0]; movlo r3, #2; cmplo r3, #1; bhs; nop;
    # adds r3, #1; b .
    CHOOSING: (
        0x4805, 0x2300, 0x2B01, 0xBF3E, 0x6801, 0x2302, 0x2B01, 0xD200, 0xBF00, 0x3301, 0xE7FE,
        0xBF00, KEYS_PAGE & 0xFFFF, KEYS_PAGE >> 16,
    ),
}


def chip(first=SETTING, second=SETTING, **options):
    """A chip that runs `b .` and has two handlers."""
    image = bytearray(0x400)
    struct.pack_into("<II", image, 0, STACK, FLASH_START + THREAD + 1)
    for line, handler in ((FIRST, first), (SECOND, second)):
        struct.pack_into("<I", image, 4 * (16 + line), FLASH_START + handler + 1)
    for at, code in PROGRAM.items():
        struct.pack_into(f"<{len(code)}H", image, at, *code)
    noise = random.Random(1).randbytes
    machine = Machine([(FLASH_START, image)], noise, lambda byte: None, **options)
    machine.write(FLAG, bytes(4))
    return machine


def poke(machine, address, value):
    base, peripheral = machine.bus.find(address)
    peripheral.write(address - base, value, 0xFFFFFFFF)


def run(machine, micros):
    return machine.run_until(machine.now() + 1000 * micros, lambda: False)


def pend(machine, line, priority):
    machine.nvic.priorities[line] = priority
    machine.nvic.enabled |= 1 << line
    machine.nvic.pending |= 1 << line


def flag(machine):
    return machine.read(FLAG, 4) != bytes(4)


class Interrupts(unittest.TestCase):
    def test_an_urgent_interrupt_breaks_into_a_handler_and_an_equal_one_waits(self):
        for priority, breaks_in in ((0x40, True), (0x80, False)):
            machine = chip(first=WAITING)
            pend(machine, FIRST, 0x80)
            run(machine, 20)
            self.assertEqual(machine.core.active, [16 + FIRST])
            pend(machine, SECOND, priority)
            run(machine, 20)
            self.assertEqual(flag(machine), breaks_in)
            self.assertEqual(machine.core.active, [] if breaks_in else [16 + FIRST])
            self.assertEqual(machine.faults, 0)

    def test_masks_hold_back_what_they_should(self):
        for mask, value, passes in (
            (arm.UC_ARM_REG_PRIMASK, 1, False),
            (arm.UC_ARM_REG_BASEPRI, 0x50, False),
            (arm.UC_ARM_REG_BASEPRI, 0x90, True),
        ):
            machine = chip()
            machine.core.engine.reg_write(mask, value)
            pend(machine, FIRST, 0x80)
            run(machine, 20)
            self.assertEqual(flag(machine), passes)
            machine.core.engine.reg_write(mask, 0)
            run(machine, 20)
            self.assertTrue(flag(machine))

    def test_handlers_follow_each_other_on_one_frame(self):
        machine = chip()
        pend(machine, FIRST, 0x80)
        pend(machine, SECOND, 0x80)
        lowest = STACK
        stacks = machine.core.registers(arm.UC_ARM_REG_SP)
        while machine.nvic.pending or machine.core.active:
            run(machine, 1)
            lowest = min(lowest, stacks.read()[0])
        self.assertEqual(stacks.read()[0], STACK)
        self.assertGreaterEqual(lowest, STACK - 0x68)

    def test_a_handler_that_computes_in_floating_point_leaves_the_thread_its_registers(self):
        machine = chip(first=FLOATING)
        run(machine, 20)
        s0 = machine.core.registers(arm.UC_ARM_REG_S0)
        self.assertEqual(s0.read(), [0x3F800000])
        pend(machine, FIRST, 0x80)
        run(machine, 20)
        self.assertEqual((machine.core.active, s0.read()), ([], [0x3F800000]))
        self.assertEqual(machine.core.registers(arm.UC_ARM_REG_SP).read(), [STACK])

    def test_a_handler_never_begins_inside_an_it_block(self):
        machine = chip()
        run(machine, 20)
        inside = 1 << 24 | 1 << 10 | 1 << 25
        machine.core.engine.reg_write(arm.UC_ARM_REG_XPSR, inside)
        machine.core.enter(16 + FIRST, FLASH_START)
        status = machine.core.engine.reg_read(arm.UC_ARM_REG_XPSR)
        self.assertEqual(status, 1 << 24 | 16 + FIRST)


class Resets(unittest.TestCase):
    def test_a_watchdog_that_nobody_feeds_resets_the_chip_once_and_is_named(self):
        machine = chip()
        for offset, value in ((0, 0x5555), (4, 0), (8, 79), (0, 0xCCCC), (0, 0xAAAA)):
            poke(machine, WATCHDOG + offset, value)
        self.assertFalse(run(machine, 9_900))
        poke(machine, WATCHDOG, 0xAAAA)
        self.assertFalse(run(machine, 9_900))
        self.assertTrue(run(machine, 200))
        self.assertEqual(machine.resets, 1)
        self.assertEqual(machine.bus.read(RCC_REGISTERS + rcc.CSR) & rcc.CAUSES, rcc.WATCHDOG)
        self.assertFalse(run(machine, 50_000))

    def test_ram_outlives_a_reset_and_not_the_power(self):
        machine = chip()
        machine.write(FLAG, b"kept")
        machine.reset()
        self.assertEqual(machine.read(FLAG, 4), b"kept")
        machine.power_cut()
        self.assertNotEqual(machine.read(FLAG, 4), b"kept")
        self.assertEqual(machine.bus.read(RCC_REGISTERS + rcc.CSR) & rcc.CAUSES, rcc.POWER_ON)


class FlashRules(unittest.TestCase):
    def setUp(self):
        self.machine = chip()
        self.flash = self.machine.flash

    def unlock(self):
        for key in flash.KEYS:
            poke(self.machine, FLASH_REGISTERS + flash.KEYR, key)

    def program(self, value, offset=0):
        poke(self.machine, FLASH_REGISTERS + flash.CR, flash.PG)
        self.flash.program_word(KEYS_PAGE + offset, 4, value & 0xFFFFFFFF)
        self.flash.program_word(KEYS_PAGE + offset + 4, 4, value >> 32)
        found = self.machine.bus.read(FLASH_REGISTERS + flash.SR)
        poke(self.machine, FLASH_REGISTERS + flash.SR, 0xFFFF)
        return found

    def erase(self):
        setting = flash.PER | 254 << 3 | flash.BANK_2
        poke(self.machine, FLASH_REGISTERS + flash.CR, setting | flash.START)
        self.machine.bus.read(FLASH_REGISTERS + flash.SR)
        poke(self.machine, FLASH_REGISTERS + flash.CR, 0)

    def content(self):
        return struct.unpack("<Q", self.machine.read(KEYS_PAGE, 8))[0]

    def test_a_locked_flash_takes_nothing(self):
        self.assertTrue(self.program(1) & flash.PGSERR)
        self.assertEqual(self.content(), (1 << 64) - 1)

    def test_a_double_word_is_programmed_once_and_erased_with_its_page(self):
        self.unlock()
        begin = self.machine.now()
        self.assertEqual(self.program(0x0123456789ABCDEF), 0)
        self.assertGreaterEqual(self.machine.now() - begin, flash.PROGRAM_NANOS)
        self.assertTrue(self.program(0x0123456789ABCDEE) & flash.PROGERR)
        self.assertEqual(self.content(), 0x0123456789ABCDEF)
        self.assertEqual(self.program(0), 0)
        self.assertEqual(self.content(), 0)
        self.erase()
        self.assertEqual(self.content(), (1 << 64) - 1)
        self.assertEqual((self.flash.erases, self.flash.programs), (1, 2))

    def test_a_wrong_key_locks_until_the_next_reset(self):
        poke(self.machine, FLASH_REGISTERS + flash.KEYR, 1)
        self.unlock()
        self.assertTrue(self.program(1) & flash.PGSERR)
        self.machine.reset()
        self.unlock()
        self.assertEqual(self.program(1), 0)

    def test_a_cut_leaves_its_operation_half_done_and_the_others_whole(self):
        self.unlock()
        self.program(0x5555555555555555)
        self.flash.operations_to_cut = 2
        self.program(0x3333333333333333, offset=8)
        self.assertFalse(self.machine.power_is_cut)
        self.program(0, offset=16)
        self.assertTrue(self.machine.power_is_cut)
        run(self.machine, 10)
        self.assertEqual((self.machine.power_cuts, self.machine.resets), (1, 1))
        words = struct.unpack("<3Q", self.machine.read(KEYS_PAGE, 24))
        self.assertEqual(words[:2], (0x5555555555555555, 0x3333333333333333))
        self.assertNotIn(words[2], (0, (1 << 64) - 1))

    def tear_the_third_word(self):
        self.unlock()
        self.flash.operations_to_cut = 3
        for offset, value in ((0, 1), (8, 2), (16, 3)):
            self.program(value << 32, offset)
        run(self.machine, 10)
        self.assertEqual(self.machine.power_cuts, 1)

    def read_it(self):
        """Makes the program read the word; returns whether the NMI handler ran."""
        self.machine.write(FLAG, bytes(4))
        vector = FLASH_START + SETTING + 1
        self.machine.core.engine.mem_write(FLASH_START + 4 * NMI, struct.pack("<I", vector))
        self.machine.core.pc = FLASH_START + READING
        run(self.machine, 20)
        return flag(self.machine)

    def test_who_reads_a_torn_word_gets_the_nmi_until_the_word_is_whole(self):
        self.tear_the_third_word()
        eccr = FLASH_REGISTERS + flash.ECCR
        self.assertTrue(self.read_it())
        found = self.machine.bus.read(eccr)
        self.assertEqual(found, ecc.ECCD | ecc.BANK_2_ECC | KEYS_PAGE + 16 - FLASH_START - (1 << 20))
        self.assertFalse(self.read_it(), "one at a time")
        poke(self.machine, eccr, found)
        self.assertEqual(self.machine.bus.read(eccr) & ecc.ECCD, 0)
        self.assertTrue(self.read_it())
        poke(self.machine, eccr, found)
        self.unlock()
        self.assertTrue(self.program(3, offset=16) & flash.PROGERR, "it is not erased")
        self.assertEqual(self.program(0, offset=16), 0)
        self.assertFalse(self.read_it())

    def test_a_torn_word_reads_as_another_at_every_start(self):
        self.tear_the_third_word()
        found = set()
        for _ in range(8):
            found.add(self.machine.read(KEYS_PAGE + 16, 8))
            self.machine.power_cut()
        self.assertGreater(len(found), 1)
        self.unlock()
        self.erase()
        self.machine.power_cut()
        self.assertEqual(self.machine.read(KEYS_PAGE, 24), b"\xff" * 24)
        self.assertFalse(self.read_it())

    def test_recorded_operations_are_cut_one_after_another(self):
        self.unlock()
        self.machine.flash.record = Record(self.flash)
        for offset in (0, 8, 16):
            self.program(offset + 1, offset)
        for count, whole in ((3, 2), (1, 0), (2, 1)):
            self.assertTrue(self.flash.record.cut(count))
            self.machine.power_cut()
            words = struct.unpack("<3Q", self.machine.read(KEYS_PAGE, 24))
            self.assertEqual(words[:whole], (1, 9)[:whole])
            self.assertEqual(set(words[whole + 1 :]) - {(1 << 64) - 1}, set())
            self.assertEqual(list(self.flash.ecc.torn), [KEYS_PAGE - FLASH_START + 8 * whole])
        self.assertFalse(self.flash.record.cut(4))


class Clocks(unittest.TestCase):
    def climb(self, wait_states, boosted, step):
        machine = chip()
        poke(machine, RCC_REGISTERS + rcc.APB1ENR1, 1 << 28)
        if boosted:
            poke(machine, PWR_REGISTERS + rcc.PWR_CR5, 0)
        poke(machine, RCC_REGISTERS + rcc.PLLCFGR, 60 << 8 | 1 << 24 | 1)
        poke(machine, RCC_REGISTERS + rcc.CR, 1 << 24 | 0x61)
        poke(machine, FLASH_REGISTERS + flash.ACR, 0x600 | wait_states)
        if step:
            poke(machine, RCC_REGISTERS + rcc.CFGR, 3 | 8 << 4)
            run(machine, step)
        poke(machine, RCC_REGISTERS + rcc.CFGR, 3)
        self.assertEqual(machine.rcc.hclk, 120e6)
        return machine.rcc.violations

    def test_every_rule_of_the_climb_is_seen_when_it_is_broken(self):
        self.assertEqual(self.climb(5, True, 2), [])
        self.assertIn("4 wait states", self.climb(4, True, 2)[0])
        self.assertIn("boost", self.climb(5, False, 2)[0])
        self.assertIn("at half", self.climb(5, True, 0.5)[0])
        self.assertIn("at half", self.climb(5, True, 0)[0])

    def test_who_sleeps_without_the_clocks_that_end_it_is_named_once(self):
        machine = chip()
        machine.handle("wfi")
        self.assertEqual(machine.rcc.violations, [])
        gates = RCC_REGISTERS + rcc.APB1SMENR1
        poke(machine, gates, 1 << 3)
        machine.handle("wfi")
        self.assertEqual(machine.rcc.violations, [])
        poke(machine, gates, ~(1 << 3) & 0xFFFFFFFF)
        poke(machine, RCC_REGISTERS + rcc.APB1SMENR2, 0)
        for _ in range(2):
            machine.handle("wfi")
        named = [it.split()[0] for it in machine.rcc.violations]
        self.assertEqual(named, ["LPUART1", "TIM5"])


class Port(unittest.TestCase):
    def open_port(self, brr):
        machine = chip()
        poke(machine, RCC_REGISTERS + rcc.APB1ENR2, 1)
        poke(machine, LPUART + 0x0C, brr)
        poke(machine, LPUART, 1 << 29 | 0xD)
        return machine

    def test_bytes_take_their_time_and_a_full_fifo_loses_the_rest(self):
        # 256 times 4 MHz over 921,600 baud.
        machine = self.open_port(1111)
        machine.port.feed(bytes(range(1, 11)))
        run(machine, 10)
        self.assertEqual(len(machine.port.received), 0)
        run(machine, 1)
        self.assertEqual(len(machine.port.received), 1)
        run(machine, 200)
        self.assertEqual((len(machine.port.received), machine.port.lost_bytes), (8, 2))
        self.assertEqual(machine.bus.read(LPUART + 0x24), 1)

    def test_a_port_at_another_speed_understands_nothing(self):
        machine = self.open_port(1111 * 21 // 20)
        machine.port.feed(b"abc")
        run(machine, 100)
        self.assertEqual((len(machine.port.received), machine.port.lost_bytes), (0, 3))


class Waits(unittest.TestCase):
    def test_counting_the_wait_of_a_conditional_load_leaves_what_follows_unconditional(self):
        machine = chip(wait_states=WAIT_STATES)
        machine.core.pc = FLASH_START + CHOOSING
        run(machine, 20)
        self.assertEqual(machine.core.registers(arm.UC_ARM_REG_R3).read(), [3])
        self.assertEqual(machine.faults, 0)

    def test_blocks_wait_for_flash_as_the_model_of_the_cache_says(self):
        numbers = random.Random(3)
        art, count = Art(), fetch.fetcher(WAIT_STATES)
        blocks = [
            (FLASH_START + 2 * numbers.randrange(1500), 2 * numbers.randrange(1, 60))
            for _ in range(80)
        ]
        for turn in range(5000):
            block = numbers.choice(blocks[: 20 + turn % 60])
            self.assertEqual(art.fetch(*block), count(fetch.parts(*block)))


if __name__ == "__main__":
    unittest.main()
