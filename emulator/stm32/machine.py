"""An STM32L4R5 with our image in its flash: keeps its RAM over a reset and its flash over a loss
of power, and runs to a given moment of emulated time."""

import struct

from unicorn import UC_HOOK_MEM_WRITE_PROT, UC_PROT_EXEC, UC_PROT_READ

import rcc as clocks
from bus import Bus
from core import HARD_FAULT, Core
from flash import Flash
from hooks import hook_memory
from lpuart import Lpuart
from nvic import Nvic
from rcc import Rcc
from small import REFERENCE_AT_3V, Adc, CycleCounter, Rng
from timer import NEVER, Timer
from watchdog import Watchdog

FLASH_START, FLASH_BYTES = 0x08000000, 2 << 20
RAM_START, RAM_BYTES = 0x20000000, 640 << 10
SYSTEM_START, SYSTEM_BYTES = 0x1FFF7000, 0x1000
UNIQUE_ID, REFERENCE_CALIBRATION = 0x1FFF7590, 0x1FFF75AA
REGISTERS = (
    (0x40000000, 0x30000),
    (0x48000000, 0x3000),
    (0x50040000, 0x1000),
    (0x50060000, 0x1000),
    (0xE0000000, 0x100000),
)


class FlashMemory:
    """The flash's content by offset, without the rules of flash."""

    bytes = FLASH_BYTES

    def __init__(self, engine):
        self.engine = engine

    def read(self, offset, length):
        return bytes(self.engine.mem_read(FLASH_START + offset, length))

    def write(self, offset, data):
        self.engine.mem_write(FLASH_START + offset, bytes(data))


class Machine:
    """The chip.

    `flash` is what it holds, as (address, bytes); `noise(n)` gives random bytes; `on_byte` is told
    every byte that left by the link; `burst` is how many bytes pass the wire at a time; with
    `wait_states` what flash makes the core wait is counted, too; `lse_nanos` is how long the crystal takes to swing,
    `None` for ever.
    """

    def __init__(self, flash, noise, on_byte, burst=1, wait_states=0, unique_id=bytes(12), lse_nanos=2e9):
        self.noise = noise
        self.resets = self.power_cuts = self.faults = 0
        self.last_fault = None
        self.restart_cause = None
        self.power_is_cut = False
        self.asleep = None
        self.start_nanos = 0.0
        self.start_cycles = 0
        self.cycle_nanos = 1.0

        self.core = Core(wait_states)
        self.core.wants_stop = self.core_must_stop
        self.nvic = Nvic(self.core, self.request_reset)
        self.devices = []
        self.rcc = Rcc(self.now, self.clock_changed, lse_nanos)
        self.map_memory(flash, unique_id)
        self.port = Lpuart(self, on_byte, burst)
        self.timer = Timer(self)
        self.watchdog = Watchdog(self)
        self.devices = [self.port, self.timer, self.watchdog]
        self.map_registers()
        self.boot()

    def map_memory(self, flash, unique_id):
        engine = self.core.engine
        engine.mem_map(FLASH_START, FLASH_BYTES, UC_PROT_READ | UC_PROT_EXEC)
        engine.mem_map(SYSTEM_START, SYSTEM_BYTES, UC_PROT_READ)
        engine.mem_map(RAM_START, RAM_BYTES)
        memory = FlashMemory(engine)
        memory.write(0, b"\xff" * FLASH_BYTES)
        for address, data in flash:
            engine.mem_write(address, bytes(data))
        engine.mem_write(UNIQUE_ID, unique_id)
        engine.mem_write(REFERENCE_CALIBRATION, struct.pack("<H", REFERENCE_AT_3V))
        engine.mem_write(RAM_START, self.noise(RAM_BYTES))
        self.flash = Flash(memory, self)
        self.rcc.flash = self.flash
        hook_memory(engine, UC_HOOK_MEM_WRITE_PROT, self.on_flash_write)

    def on_flash_write(self, _engine, _access, address, size, value, _data):
        try:
            if not FLASH_START <= address < FLASH_START + FLASH_BYTES:
                return False
            self.flash.program_word(address, size, value & (1 << 8 * size) - 1)
        except Exception as error:
            self.core.fail(error)
        # Whatever the store was to do has happened.
        return True

    def map_registers(self):
        bus = self.bus = Bus(self.core)
        rng = Rng(self.rcc, self.noise)
        self.adc = Adc(self.rcc)
        bus.add(0x40000C00, self.timer)
        bus.add(0x40003000, self.watchdog)
        bus.add(0x40007000, self.rcc.power)
        bus.add(0x40008000, self.port)
        bus.add(0x40021000, self.rcc)
        bus.add(0x40022000, self.flash)
        bus.add(0x50040000, self.adc)
        bus.add(0x50060800, rng)
        bus.add(0xE0001000, CycleCounter(self.core.meter.cycles), 4)
        bus.add(0xE000E000, self.nvic, 4)
        self.rcc.gate(self.timer, clocks.APB1ENR1, clocks.APB1RSTR1, 3)
        self.rcc.gate(self.rcc.power, clocks.APB1ENR1, clocks.APB1RSTR1, 28)
        self.rcc.gate(self.port, clocks.APB1ENR2, clocks.APB1RSTR2, 0)
        self.rcc.gate(rng, clocks.AHB2ENR, clocks.AHB2RSTR, 18)
        self.rcc.gate(self.adc, clocks.AHB2ENR, clocks.AHB2RSTR, 13)
        self.rcc.gate(self.flash, clocks.AHB1ENR, clocks.AHB1RSTR, 8)
        for start, size in REGISTERS:
            bus.map(start, size)

    def boot(self):
        stack, entry = struct.unpack("<II", self.core.engine.mem_read(FLASH_START, 8))
        self.core.reset(stack, entry)
        self.asleep = None

    # Time.

    def now(self):
        """Returns the emulated nanoseconds since the start."""
        return self.start_nanos + (self.core.meter.cycles() - self.start_cycles) * self.cycle_nanos

    def clock_changed(self, hclk, apply):
        """Changes the clock: cycles and timer ticks have another duration from now on."""
        now = self.now()
        if self.devices:
            self.timer.catch_up()
        apply()
        self.set_now(now)
        self.cycle_nanos = 1e9 / hclk if hclk else 1.0
        if self.devices:
            self.timer.restart(self.timer.seen)
            # Events planned in cycles of the old clock are planned again.
            self.core.meter.shorten(0)

    def set_now(self, nanos):
        self.start_nanos, self.start_cycles = nanos, self.core.meter.cycles()

    def cycles_at(self, nanos):
        return self.start_cycles + int((nanos - self.start_nanos) / self.cycle_nanos) + 1

    def next_event(self):
        return min(self.port.due, self.timer.due, self.watchdog.due)

    def reschedule(self):
        """Updates the time of a device's next event."""
        if self.devices:
            event = self.next_event()
            if event < NEVER:
                self.core.meter.shorten(self.cycles_at(event))

    def pass_time(self, until):
        """Skips the time of a polling program to `until`, or to the next event."""
        self.stall(min(until, self.next_event()))

    def stall(self, until):
        """The core waits for its memory."""
        self.core.meter.add(max(0, int((until - self.now()) / self.cycle_nanos) + 1))

    # Resets and power.

    def request_reset(self):
        self.restart_cause = clocks.SOFTWARE
        self.core.meter.attend()

    def bite(self):
        self.restart_cause = clocks.WATCHDOG

    def cut_power(self):
        """Cuts the power at once."""
        self.power_is_cut = True
        self.core.meter.attend()

    def reset(self):
        """Presses the reset button; RAM keeps its content, as on the chip."""
        self.restart(clocks.PIN)

    def power_cut(self):
        """Cuts the power and restores it: RAM becomes noise, flash keeps its content."""
        self.power_is_cut = False
        self.power_cuts += 1
        self.core.engine.mem_write(RAM_START, self.noise(RAM_BYTES))
        self.flash.ecc.power_up()
        self.rcc.power_lost()
        self.port.power_lost()
        self.restart(clocks.POWER_ON)

    def restart(self, cause):
        self.restart_cause = None
        self.resets += 1
        self.nvic.reset()
        self.rcc.cause = cause
        for peripheral in self.bus.peripherals():
            if peripheral is not self.nvic:
                peripheral.reset()
        self.boot()

    def read(self, address, length):
        """Returns bytes of RAM, flash or registers, as a debug probe sees them."""
        if address >= REGISTERS[0][0]:
            words = range(address & ~3, address + length, 4)
            data = b"".join(struct.pack("<I", self.bus.read(it)) for it in words)
            return data[address & 3 :][:length]
        return bytes(self.core.engine.mem_read(address, length))

    def write(self, address, data):
        """Changes bytes of RAM or flash, or whole registers."""
        if address >= REGISTERS[0][0]:
            for at in range(0, len(data), 4):
                base, peripheral = self.bus.find(address + at)
                value = int.from_bytes(data[at : at + 4], "little")
                peripheral.write(address + at - base, value, 0xFFFFFFFF)
            return
        self.core.engine.mem_write(address, bytes(data))
        self.core.meter.forget()
        self.core.engine.ctl_flush_tb()

    # Running.

    def core_must_stop(self):
        if self.restart_cause is not None or self.power_is_cut or self.core.failure:
            return True
        if self.nvic.waiting() is None:
            self.core.meter.calm()
            return False
        return self.nvic.deliverable() is not None

    @property
    def idle(self):
        """Returns whether nothing happens before the next alarm: the core sleeps, the line is silent."""
        return self.asleep is not None and not self.port.moving

    def run_until(self, target, wants_stop):
        """Runs until `target` nanoseconds; asks `wants_stop` after every event.

        Returns whether the watchdog reset the chip.
        """
        self.deliver()
        while self.now() < target:
            until = min(target, self.next_event())
            if self.asleep is not None:
                self.set_now(max(until, self.now()))
            else:
                self.handle(self.core.run(self.cycles_at(until)))
            now = self.now()
            for device in self.devices:
                if device.due <= now:
                    device.advance(now)
            if self.power_is_cut:
                self.power_cut()
            elif self.restart_cause is not None:
                cause = self.restart_cause
                self.restart(cause)
                if cause == clocks.WATCHDOG:
                    return True
            else:
                self.deliver()
            if wants_stop():
                return False
        return False

    def handle(self, reason):
        """Handles the reason why the core stopped."""
        if not reason:
            return
        if reason == "return":
            self.come_back()
        elif reason == "sev":
            self.core.event = True
        elif reason == "wfe":
            if self.core.event:
                self.core.event = False
            else:
                self.fall_asleep(reason)
        elif reason == "wfi":
            self.fall_asleep(reason)
        else:
            self.fault()

    def fall_asleep(self, reason):
        self.asleep = reason
        self.rcc.fall_asleep({"LPUART1": self.port, "TIM5": self.timer})

    def come_back(self):
        """Handles the end of a handler: tail-chains or returns to the interrupted code."""
        *below, ended = self.core.active
        self.core.active = below
        following = self.nvic.deliverable()
        self.core.active = [*below, ended]
        if following is None:
            if not self.core.leave():
                self.lock_up()
        else:
            self.nvic.taken(following)
            self.core.tail_chain(following, self.nvic.vectors)

    def deliver(self):
        if self.asleep == "wfi" and self.nvic.waiting() is not None:
            self.asleep = None
        exception = self.nvic.deliverable()
        if exception is not None:
            self.asleep = None
            self.nvic.taken(exception)
            if not self.core.enter(exception, self.nvic.vectors):
                self.lock_up()

    def fault(self):
        """Sends every fault to the HardFault handler, the only one of our programs."""
        self.faults += 1
        self.last_fault = self.core.pc
        if HARD_FAULT in self.core.active or not self.core.enter(HARD_FAULT, self.nvic.vectors):
            self.lock_up()

    def lock_up(self):
        """Locks the core up: only the watchdog can end this."""
        self.asleep = "lockup"
