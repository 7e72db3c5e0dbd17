"""LPUART1 with its FIFOs, and the line to the ST-Link, on which a byte takes ten bit times."""

from collections import deque

CR1, CR2, CR3, BRR, RQR, ISR, ICR, RDR, TDR, PRESC = (
    0x00, 0x04, 0x08, 0x0C, 0x18, 0x1C, 0x20, 0x24, 0x28, 0x2C,
)
UE, RE, TE, FIFO = 1 << 0, 1 << 2, 1 << 3, 1 << 29
FE, ORE, IDLE, RXNE, TC, TXE = 1 << 1, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7
TEACK, REACK, TXFE, RXFF = 1 << 21, 1 << 22, 1 << 23, 1 << 24
ERROR_INTERRUPT = 1 << 0
PRESCALERS = (1, 2, 4, 6, 8, 10, 12, 16, 32, 64, 128, 256)

FIFO_BYTES = 8
BITS_PER_BYTE = 10
# Baud rate of the other end; outside the receiver's tolerance nothing is received.
BAUD, TOLERANCE = 921_600.0, 0.03
BYTE_NANOS = BITS_PER_BYTE * 1e9 / BAUD
LINE = 70
NEVER = float("inf")


class Lpuart:
    """Registers of 0x40008000. `burst` bytes are transferred together, in the time they all take."""

    def __init__(self, machine, on_byte, burst):
        self.machine = machine
        self.on_byte = on_byte
        self.burst = burst
        self.lost_bytes = 0
        self.on_wire = deque()
        self.reset()

    def reset(self):
        self.words = {}
        self.control, self.depth, self.status = 0, 1, TC | TXE
        self.flags = TC
        self.received = deque()
        self.to_send = deque()
        self.sending = self.arriving = 0
        self.sent_at = self.arrives_at = self.idle_at = self.due = NEVER
        self.machine.nvic.set_level(LINE, False)
        self.listen()

    def power_lost(self):
        self.on_wire.clear()

    def feed(self, data):
        """Sends bytes to the chip."""
        self.on_wire.extend(data)
        self.listen()

    def listen(self):
        if self.arrives_at == NEVER and self.on_wire:
            self.arriving = min(self.burst, len(self.on_wire))
            self.arrives_at = self.machine.now() + BYTE_NANOS * self.arriving
            self.plan()

    @property
    def moving(self):
        """Returns whether a byte is being transferred in either direction."""
        return self.arrives_at != NEVER or self.sent_at != NEVER

    def understands(self, wanted):
        """Returns whether a half of the port is enabled, at the baud rate of the line."""
        if not self.control & UE or not self.control & wanted or not self.words.get(BRR, 0):
            return False
        clock = self.machine.rcc.port_clock() / PRESCALERS[self.words.get(PRESC, 0) & 15]
        baud = 256 * clock / self.words[BRR]
        return abs(baud / BAUD - 1) < TOLERANCE

    def plan(self):
        """Computes the time of the next event."""
        self.due = min(self.sent_at, self.arrives_at, self.idle_at)
        self.machine.reschedule()

    def advance(self, now):
        """Handles all events that are due."""
        if self.arrives_at <= now:
            self.bytes_arrived(now)
        if self.idle_at <= now:
            self.idle_at = NEVER
            self.flags |= IDLE
        if self.sent_at <= now:
            self.bytes_sent(now)
        self.plan()
        self.refresh()

    def bytes_arrived(self, now):
        understood = self.understands(RE)
        for _ in range(self.arriving):
            byte = self.on_wire.popleft()
            if not understood:
                self.lost_bytes += 1
                self.flags |= FE
            elif len(self.received) >= self.depth:
                self.lost_bytes += 1
                self.flags |= ORE
            else:
                self.received.append(byte)
        # A frame time of silence marks the line as idle, unless the next byte comes first.
        self.idle_at = NEVER if self.on_wire else now + BYTE_NANOS
        self.arrives_at = NEVER
        self.listen()

    def bytes_sent(self, now):
        understood = self.understands(TE)
        for _ in range(self.sending):
            byte = self.to_send.popleft()
            if understood:
                self.on_byte(byte)
        self.sending, self.sent_at = 0, NEVER
        self.send(now)
        if not self.to_send:
            self.flags |= TC

    def send(self, now):
        if self.to_send and self.sent_at == NEVER:
            self.sending = min(self.burst, len(self.to_send))
            self.sent_at = now + BYTE_NANOS * self.sending
            self.plan()

    def refresh(self):
        """Computes the status and the level of the interrupt line."""
        control = self.control
        # The byte in the shift register has left the FIFO.
        waiting = len(self.to_send) - 1
        status = self.flags
        if self.received:
            status |= RXNE
            if len(self.received) >= self.depth:
                status |= RXFF
        if waiting < self.depth:
            status |= TXE
            if waiting <= 0:
                status |= TXFE
        if control & UE:
            status |= (TEACK if control & TE else 0) | (REACK if control & RE else 0)
        self.status = status
        # Enable bits have the positions of their flags, for IDLE, RXNE, TC and TXE.
        wanted = control & status & (IDLE | RXNE | TC | TXE)
        if status & (ORE | FE):
            wanted |= control & RXNE and status & ORE
            wanted |= self.words.get(CR3, 0) & ERROR_INTERRUPT
        self.machine.nvic.set_level(LINE, bool(control & UE and wanted))

    def read(self, offset):
        if offset == ISR:
            return self.status
        if offset == RDR:
            if not self.received:
                return 0
            value = self.received.popleft()
            self.refresh()
            return value
        return self.words.get(offset, 0)

    def write(self, offset, value, mask):
        if not self.machine.rcc.is_clocked(self):
            return
        if offset == TDR:
            self.flags &= ~TC
            if len(self.to_send) <= self.depth:
                self.to_send.append(value & 0xFF)
            self.send(self.machine.now())
        elif offset == ICR:
            self.flags &= ~value
        else:
            self.words[offset] = self.words.get(offset, 0) & ~mask | value
            self.control = self.words.get(CR1, 0)
            self.depth = FIFO_BYTES if self.control & FIFO else 1
        self.refresh()
