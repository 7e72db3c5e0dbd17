"""The wire of docs/reference/wire.md, as a device speaks it: messages, frames, keys, sessions, links.

Nothing here knows what a client does. A link asks its `client` for

    key, id, counters, incoming        the device's key and id, its counts, the transfer it holds
    opened(link), closed_session(session), hint(text)
    receive(name, content, payload)    a message of the host, exactly once and in order
    objection(offer), transferred(offer, data), rejected()

From top to bottom: the encoding of messages, the messages, frames and keys, a session, a link.
Sections are those of the document.
"""

import hmac
import secrets
import socket
import struct
import time
import zlib
from collections import deque

from blake3 import blake3

import ascon

PROTOCOL, SCHEMA = 6, 0xFE9E6E81EEDE7BB8
PUBLIC_KEY = bytes(32)

# Waits in seconds (section 6).
FIRST_WAIT = 0.25
LONGEST_WAIT = 8 * FIRST_WAIT
SILENCE = 32 * FIRST_WAIT
STALL = 64 * FIRST_WAIT

# Limits (section 11).
FRAME_MIN, FRAME_MAX = 29, 1053
LINE_MAX = 1058  # a frame with stuffing, without its delimiter
CHUNK, CHUNKS, WINDOW = 960, 256, 12
LARGEST_TRANSFER = CHUNK * CHUNKS
HASH_TRIES = 4
OUTBOX = 1 << 16  # bytes a peer that does not read may leave in memory


def log(text):
    """One line for whoever watches."""
    print(f"{time.strftime('%H:%M:%S')} {text}", flush=True)


# ---------------------------------------------------------------------------------------------
# Encoding (section 3): each type has `encode(value)` and `decode(data, at) -> (value, at)`.
# ---------------------------------------------------------------------------------------------


class Malformed(ValueError):
    """Bytes that are no message."""


def take(data, at, count):
    """`count` bytes of `data` from `at`, and the place behind them."""
    if at + count > len(data):
        raise Malformed("too short")
    return data[at : at + count], at + count


class Uint:
    """An unsigned number: one byte if it has 8 bits, else a varint."""

    def __init__(self, bits):
        self.bits = bits

    def encode(self, value):
        out = bytearray()
        while value > 0x7F and self.bits > 8:
            out.append(value & 0x7F | 0x80)
            value >>= 7
        return bytes(out) + bytes([value])

    def decode(self, data, at):
        value, shift = 0, 0
        while True:
            (byte,), at = take(data, at, 1)
            if self.bits == 8:
                return byte, at
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift >= self.bits:
                raise Malformed("number too long")
        if value >> self.bits:
            raise Malformed("number too large")
        return value, at


class Bool:
    """One byte, 00 or 01."""

    def encode(self, value):
        return bytes([bool(value)])

    def decode(self, data, at):
        (byte,), at = take(data, at, 1)
        if byte > 1:
            raise Malformed("neither true nor false")
        return byte == 1, at


class Bytes:
    """So many bytes, no length."""

    def __init__(self, count):
        self.count = count

    def encode(self, value):
        assert len(value) == self.count
        return bytes(value)

    def decode(self, data, at):
        return take(data, at, self.count)


class List:
    """At most so many bytes behind their number; texts are UTF-8 in it."""

    def __init__(self, most):
        self.most = most

    def encode(self, value):
        assert len(value) <= self.most
        return Uint(32).encode(len(value)) + value

    def decode(self, data, at):
        count, at = Uint(32).decode(data, at)
        if count > self.most:
            raise Malformed("list too long")
        return take(data, at, count)


class Option:
    """Nothing (None), or one value."""

    def __init__(self, inner):
        self.inner = inner

    def encode(self, value):
        return b"\0" if value is None else b"\1" + self.inner.encode(value)

    def decode(self, data, at):
        present, at = Bool().decode(data, at)
        return self.inner.decode(data, at) if present else (None, at)


class Struct:
    """Fields in order; the value is a dictionary."""

    def __init__(self, **fields):
        self.fields = fields

    def encode(self, value):
        assert value.keys() == self.fields.keys(), value.keys() ^ self.fields.keys()
        return b"".join(kind.encode(value[name]) for name, kind in self.fields.items())

    def decode(self, data, at):
        value = {}
        for name, kind in self.fields.items():
            value[name], at = kind.decode(data, at)
        return value, at


class Enum:
    """A number and what belongs to it; the value is a pair of name and content."""

    def __init__(self, **variants):
        self.variants = variants

    def encode(self, value):
        name, content = value
        number = list(self.variants).index(name)
        return Uint(32).encode(number) + self.variants[name].encode(content)

    def decode(self, data, at):
        number, at = Uint(32).decode(data, at)
        if number >= len(self.variants):
            raise Malformed("unknown variant")
        name = list(self.variants)[number]
        content, at = self.variants[name].decode(data, at)
        return (name, content), at


def parse(kind, data):
    """The value that fills `data` to its last byte."""
    value, at = kind.decode(data, 0)
    if at != len(data):
        raise Malformed("bytes left over")
    return value


# ---------------------------------------------------------------------------------------------
# Messages (section 3).
# ---------------------------------------------------------------------------------------------

U8, U16, U32, U64, BOOL = Uint(8), Uint(16), Uint(32), Uint(64), Bool()
HASH = NONCE = RUN = Bytes(16)
ID = Bytes(12)
UNIT = Struct()

VERSION = Struct(protocol=U16, schema=U64)
WORK_MARK = Struct(run=RUN, round=U32, order=HASH)
ROUND_MARK = Struct(run=RUN, round=U32, model=HASH)
PHASES = "sleep idle receive apply train evaluate encode transmit".split()
PHASE = Enum(**{name: UNIT for name in PHASES})
SPENT = Struct(**{name: U64 for name in PHASES})
SNAPSHOT = Struct(
    initial=U64,
    stored=U64,
    harvested=U64,
    conversion=U64,
    overflow=U64,
    leaked=U64,
    spent=SPENT,
    rounds=U32,
    off=BOOL,
)
STORE = Struct(capacity=U64, charge_permille=U16, leakage_nw=U64, restart=U64)
COST = Struct(
    fj_per_cycle=U64,
    per_epoch=U64,
    efficiency=U16,
    circuit_nw=U64,
    per_upload=U64,
    receive_nw=U64,
    idle_nw=U64,
    sleep_nw=U64,
    save=U64,
    boot=U64,
    clock_hz=U64,
)
PACE = Struct(
    epoch=U64,
    evaluate=U64,
    apply_change=U64,
    apply_whole=U64,
    encode=U64,
    open_change=U64,
    open_whole=U64,
    seal=U64,
)
REFUSAL = Enum(
    Version=Struct(ours=VERSION, theirs=VERSION),
    UnknownDevice=UNIT,
    KeyMissing=UNIT,
    KeyRequired=UNIT,
    WrongKey=UNIT,
    NoRandomness=UNIT,
)
LINK = Enum(
    Ack=Struct(number=U16),
    Nack=Struct(damaged=U32, refused=U32),
    Ping=Struct(token=U32),
    Pong=Struct(token=U32),
    Offer=Struct(
        transfer=U16,
        payload=Enum(model=UNIT, update=UNIT, echo=UNIT, sample=UNIT),
        work=Option(WORK_MARK),
        len=U32,
        hash=HASH,
    ),
    Poll=Struct(transfer=U16),
    Status=Struct(transfer=U16, seen=U32, have=List(32)),
    Reject=Struct(
        transfer=U16, reason=Enum(TooLarge=UNIT, Busy=UNIT, Unexpected=UNIT, HashMismatch=UNIT)
    ),
)
SHARD = Enum(
    Absent=UNIT,
    Damaged=UNIT,
    Present=Struct(samples=U32, client=U32, inputs=U16, classes=U16, crc=U32),
)
PLACE = Enum(flashed=UNIT, gathered=UNIT)
DECLINE = Enum(
    Energy=Struct(needed=U64, available=U64),
    NotProvisioned=UNIT,
    Shard=SHARD,
    Model=UNIT,
    Stale=Struct(newest=U32),
    Invalid=UNIT,
    OtherRun=UNIT,
)
CODES = "q16", "q8", "q6", "q4", "rank8", "rank4", "rank2", "rank1"
CODE = Enum(**{name: UNIT for name in CODES})
MEASURE_STEP = Enum(
    Begin=UNIT,
    End=UNIT,
    Clock=Struct(hz=U32),
    Train=Struct(epochs=U16),
    Evaluate=UNIT,
    Encode=Struct(code=CODE),
    Apply=Struct(bits=U8),
    Wait=Struct(state=PHASE, time_us=U64),
)
MEASURE_REFUSAL = Enum(
    NotBegun=UNIT, Busy=UNIT, Clock=Struct(hz=U32), NoModel=UNIT, NoSamples=UNIT, Invalid=UNIT
)
HOST = Enum(
    Link=LINK,
    Connect=Struct(version=VERSION, nonce=NONCE, secure=BOOL, generation=U32),
    Welcome=Struct(session=U32),
    Refuse=REFUSAL,
    Provision=Struct(
        run=RUN,
        client=U32,
        seed=U64,
        store=STORE,
        cost=COST,
        pace=PACE,
        ledger=SNAPSHOT,
        last_round=Option(ROUND_MARK),
        adopt=BOOL,
    ),
    Order=Struct(
        run=RUN,
        round=U32,
        participate=BOOL,
        channel=U8,
        code=CODE,
        epochs=U16,
        power_nw=U64,
        drawn_nw=U64,
        airtime_us=U64,
        learning_rate_q24=U32,
        seed=U64,
        model=HASH,
        period_us=U64,
        listening_us=U64,
        receiving_us=U64,
        income=U64,
        clip_q16=U32,
    ),
    Cancel=Struct(work=WORK_MARK),
    Commit=Struct(mark=ROUND_MARK, counted=BOOL),
    Inspect=UNIT,
    Reboot=UNIT,
    Rekey=Struct(generation=U32, key=Bytes(32)),
    Infer=Struct(place=PLACE, number=U32),
    Label=Struct(number=U32, label=U8),
    Bootsel=UNIT,
    Measure=Struct(number=U32, step=MEASURE_STEP),
)
COUNTERS = """
    sent received oversized damaged forged replayed stray malformed repeated timeouts sessions
""".split()
DEVICE = Enum(
    Link=LINK,
    Announce=Struct(device=ID),
    Hello=Struct(
        version=VERSION,
        device=ID,
        host_nonce=NONCE,
        device_nonce=NONCE,
        secure=BOOL,
        generation=U32,
    ),
    Refuse=REFUSAL,
    Provisioned=Struct(client=U32, ledger=SNAPSHOT),
    OrderReply=Struct(work=WORK_MARK, declined=Option(DECLINE), reserved=U64),
    Progress=Struct(work=WORK_MARK, epoch=U16, cycles=U64),
    Report=Struct(
        work=WORK_MARK,
        trained=BOOL,
        loss_before_q16=U32,
        loss_after_q16=U32,
        samples=U32,
        epochs=U16,
        cycles=U64,
        elapsed_us=U64,
        spent=SPENT,
        harvested=U64,
        ledger=SNAPSHOT,
    ),
    Cancelled=Struct(work=WORK_MARK, ledger=SNAPSHOT),
    Counters=Struct(**{name: U32 for name in COUNTERS}),
    Stack=Struct(available_bytes=U32, used_bytes=U32),
    About=Struct(
        build=List(48),
        board=List(24),
        inputs=U16,
        hidden=U16,
        outputs=U16,
        largest_transfer=U32,
        shard=SHARD,
        codes=U8,
        exact=BOOL,
        ledger=Option(SNAPSHOT),
        last_round=Option(ROUND_MARK),
    ),
    Rekeyed=Struct(generation=U32),
    RekeyRefused=Enum(
        NoKey=UNIT, Generation=Struct(expected=U32), ZeroKey=UNIT, NoStorage=UNIT, Storage=UNIT
    ),
    Crash=Struct(
        cause=Enum(
            PowerOn=UNIT,
            BrownOut=UNIT,
            Pin=UNIT,
            Debugger=UNIT,
            Software=UNIT,
            Watchdog=UNIT,
            Panic=UNIT,
            HardFault=UNIT,
        ),
        boots=U32,
        place=List(48),
        message=List(96),
        pc=U32,
        lr=U32,
    ),
    Classified=Struct(
        sample=HASH, class_=U8, confidence_q16=U32, label=Option(U8), cycles=U64, model=HASH
    ),
    InferRefused=Enum(
        NoModel=UNIT,
        Size=Struct(expected=U32),
        Busy=UNIT,
        NoSample=Struct(place=PLACE, first=U32, count=U32),
        Label=Struct(classes=U16),
    ),
    Labelled=Struct(number=U32, label=U8),
    BootselRefused=Enum(NoDrive=UNIT, NoKey=UNIT),
    Holds=Struct(model=HASH),
    FlashUse=Struct(erases=U32, programs=U32, closed=U32),
    Mark=Struct(
        seq=U32, phase=PHASE, t_us=U64, cycles=U64, samples=U32, bytes=U32, clk_hz=U32
    ),
    Measured=Struct(number=U32, refused=Option(MEASURE_REFUSAL)),
    Supply=Struct(millivolts=Option(U16), brownouts=U32),
)
OUR_VERSION = {"protocol": PROTOCOL, "schema": SCHEMA}

# ---------------------------------------------------------------------------------------------
# Frames and keys (sections 1 and 2.2).
# ---------------------------------------------------------------------------------------------

OPEN, GREETING, MESSAGE, RELIABLE, TRANSFER_CHUNK = range(5)
FROM_DEVICE = 0x80
HEADER = struct.Struct("<BII")


def derive(key, text):
    """32 bytes that follow from a key and a text."""
    return blake3(text, key=key).digest()


def hashed(data):
    """The 16 bytes that name `data`."""
    return blake3(data).digest(16)


def stuff(frame):
    """COBS: the frame without zeros, and its delimiter."""
    out = bytearray()
    for piece in frame.split(b"\0"):
        while len(piece) >= 254:
            out += b"\xff" + piece[:254]
            piece = piece[254:]
        out.append(len(piece) + 1)
        out += piece
    return bytes(out) + b"\0"


def unstuff(line):
    """The frame between two delimiters; None if it ends inside a piece."""
    out = bytearray()
    at = 0
    while at < len(line):
        code = line[at]
        if at + code > len(line):
            return None
        out += line[at + 1 : at + code]
        at += code
        if code < 255 and at < len(line):
            out.append(0)
    return bytes(out)


def finished(body):
    """A frame on the line: checksum, stuffing, delimiter."""
    return stuff(body + struct.pack("<I", zlib.crc32(body)))


def signed(key, kind, payload):
    """A frame outside any session."""
    body = HEADER.pack(kind, 0, 0) + payload
    return finished(body + signature(key, body))


def signature(key, body):
    """The tag of a plain header and payload."""
    return derive(derive(key, b"gleaner greeting"), body)[:16]


# ---------------------------------------------------------------------------------------------
# A session: sealed frames, messages that arrive once, transfers (sections 2, 4 and 5).
# ---------------------------------------------------------------------------------------------

RELIABLE_LINK = ("Offer", "Reject")
UNRELIABLE = ("Progress",)
FAR = float("inf")  # a time that never comes


class Lost(Exception):
    """The session, or the line, is over."""


class Outgoing:
    """A transfer to the host."""

    def __init__(self, number, data, now):
        self.number = number
        self.chunks = [data[at : at + CHUNK] for at in range(0, len(data), CHUNK)]
        self.have = set()  # what the host listed
        self.flying = {}  # index of a chunk in flight -> sequence of its frame
        self.unasked = 0  # chunks sent since a status was asked for
        self.begun = False  # the first status answers the offer
        self.wait, self.poll_at, self.stall_at = FIRST_WAIT, now + FIRST_WAIT, now + STALL


class Incoming:
    """A transfer from the host. It outlives sessions; the number is that of the last offer."""

    def __init__(self, offer):
        self.offer = offer
        self.parts = {}
        self.misfits = 0

    def same_bytes(self, offer):
        return (offer["len"], offer["hash"]) == (self.offer["len"], self.offer["hash"])

    def count(self):
        return -(-self.offer["len"] // CHUNK)

    def bitmap(self):
        bits = sum(1 << index for index in self.parts)
        return bits.to_bytes(32, "little").rstrip(b"\0")


class Session:
    """Everything that is keyed by two nonces and begins anew with them."""

    def __init__(self, link, host_nonce, device_nonce):
        secret = derive(link.client.key, b"gleaner session" + host_nonce + device_nonce)
        self.link, self.client, self.counters = link, link.client, link.client.counters
        self.host_nonce, self.device_nonce = host_nonce, device_nonce
        self.number = int.from_bytes(derive(secret, b"gleaner session id")[:4], "little") or 1
        self.frame_key = derive(secret, b"gleaner session frames")[:16]
        self.sent = self.seen = 0  # newest sequences
        self.expected = 0  # number of the host's next reliable message
        self.queue = deque()  # reliable messages; the first one is in flight
        self.in_flight = 0  # its number
        self.wait, self.repeat_at, self.stall_at = FIRST_WAIT, FAR, FAR
        self.heard_at = time.monotonic()
        self.offers = 0
        self.outgoing = None
        self.incoming_number = None  # transfer that chunks belong to

    # Sending.

    def seal(self, kind, payload):
        """Sends one frame and says which sequence it has."""
        self.sent += 1
        self.counters["sent"] += 1
        header = HEADER.pack(kind | FROM_DEVICE, self.number, self.sent)
        cipher, tag = ascon.encrypt(self.frame_key, header + bytes(7), header, payload)
        self.link.write(finished(header + cipher + tag))
        return self.sent

    def say(self, name, variant=None, **fields):
        """Sends a message, in the kind of frame that belongs to it."""
        content = (variant, fields) if variant else fields
        payload = DEVICE.encode((name, content))
        if name in UNRELIABLE:
            self.seal(MESSAGE, payload)
        else:
            self.enqueue(payload)

    def say_link(self, name, **fields):
        """The same for the messages of the link."""
        payload = DEVICE.encode(("Link", (name, fields)))
        if name in RELIABLE_LINK:
            self.enqueue(payload)
        else:
            self.seal(MESSAGE, payload)

    def enqueue(self, payload):
        self.queue.append(payload)
        if len(self.queue) == 1:
            self.launch()

    def launch(self):
        """First sending of the first message of the queue."""
        now = time.monotonic()
        self.wait, self.repeat_at, self.stall_at = FIRST_WAIT, now + FIRST_WAIT, now + STALL
        self.seal(RELIABLE, struct.pack("<H", self.in_flight) + self.queue[0])

    # Receiving.

    def unseal(self, header, sequence, cipher, tag):
        """The payload of a frame, once; None if it is old or not the host's."""
        if sequence <= self.seen:
            self.counters["replayed"] += 1
            return None
        payload = ascon.decrypt(self.frame_key, header + bytes(7), header, cipher, tag)
        if payload is None:
            self.counters["forged"] += 1
            return None
        self.seen, self.heard_at = sequence, time.monotonic()
        self.counters["received"] += 1
        return payload

    def receive(self, kind, payload):
        """Takes what a frame said."""
        try:
            if kind == TRANSFER_CHUNK:
                head, _ = take(payload, 0, 4)
                self.take_chunk(*struct.unpack("<HH", head), payload[4:])
            elif kind == RELIABLE:
                head, _ = take(payload, 0, 2)
                self.take_reliable(struct.unpack("<H", head)[0], payload[2:])
            else:
                self.dispatch(payload, parse(HOST, payload))
        except Malformed:
            self.counters["malformed"] += 1

    def take_reliable(self, number, payload):
        message = parse(HOST, payload)
        if number == self.expected:
            self.expected = (number + 1) & 0xFFFF
            self.say_link("Ack", number=number)
            self.dispatch(payload, message)
        elif number == (self.expected - 1) & 0xFFFF:
            self.counters["repeated"] += 1
            self.say_link("Ack", number=number)

    def dispatch(self, payload, message):
        name, content = message
        if name != "Link":
            self.client.receive(name, content, payload)
            return
        name, content = content
        handler = getattr(self, "on_" + name.lower(), None)  # Nack and Pong ask for nothing
        if handler:
            handler(content)

    def on_ack(self, ack):
        if self.queue and ack["number"] == self.in_flight:
            self.queue.popleft()
            self.in_flight = (self.in_flight + 1) & 0xFFFF
            self.repeat_at = self.stall_at = FAR
            if self.queue:
                self.launch()

    def on_ping(self, ping):
        self.say_link("Pong", token=ping["token"])

    # Transfers from the host.

    def on_offer(self, offer):
        reason = self.client.objection(offer)
        if reason:
            self.reject(offer["transfer"], reason)
            return
        held = self.client.incoming
        if held and held.same_bytes(offer):
            held.offer, held.misfits = offer, 0
        else:
            self.client.incoming = Incoming(offer)
        self.incoming_number = offer["transfer"]
        self.check_incoming()

    def take_chunk(self, transfer, index, data):
        held = self.client.incoming
        asks, index = index >> 15, index & 0x7FFF
        if transfer != self.incoming_number or index >= held.count():
            return
        if len(data) != min(CHUNK, held.offer["len"] - index * CHUNK):
            return
        is_new = index not in held.parts
        held.parts.setdefault(index, data)
        if is_new and len(held.parts) == held.count():
            self.check_incoming()
        elif asks:
            self.say_status()

    def on_poll(self, poll):
        if poll["transfer"] == self.incoming_number:
            self.say_status()

    def say_status(self):
        bitmap = self.client.incoming.bitmap()
        self.say_link("Status", transfer=self.incoming_number, seen=self.seen, have=bitmap)

    def check_incoming(self):
        """Says what is here; if it is everything and its hash fits, hands it over."""
        held = self.client.incoming
        data = None
        if len(held.parts) == held.count():
            data = b"".join(held.parts[index] for index in range(held.count()))
            if hashed(data) != held.offer["hash"]:
                data, held.parts = None, {}
                held.misfits += 1
                if held.misfits == HASH_TRIES:
                    self.reject(self.incoming_number, "HashMismatch")
                    return
        self.say_status()
        if data is not None:
            self.client.transferred(held.offer, data)

    def reject(self, transfer, reason):
        self.incoming_number = None
        self.say_link("Reject", transfer=transfer, reason=(reason, {}))

    # Transfers to the host.

    def offer(self, payload, work, data):
        """Begins a transfer; it replaces one that is under way."""
        self.offers = self.offers % 0xFFFF + 1
        self.outgoing = Outgoing(self.offers, data, time.monotonic())
        self.say_link(
            "Offer",
            transfer=self.offers,
            payload=(payload, {}),
            work=work,
            len=len(data),
            hash=hashed(data),
        )

    def on_status(self, status):
        out, now = self.outgoing, time.monotonic()
        if not out or status["transfer"] != out.number:
            return
        bits = int.from_bytes(status["have"], "little")
        have = {index for index in range(len(out.chunks)) if bits >> index & 1}
        if have != out.have or not out.begun:
            out.stall_at = now + STALL
        out.have, out.begun, out.wait = have, True, FIRST_WAIT
        out.flying = {
            index: sequence
            for index, sequence in out.flying.items()
            if index not in have and sequence > status["seen"]
        }
        if len(have) == len(out.chunks):
            self.outgoing = None
            return
        self.pump(out)
        out.poll_at = now + out.wait

    def pump(self, out):
        """Sends the lowest missing chunks, as many as may be in flight."""
        missing = (i for i in range(len(out.chunks)) if i not in out.have and i not in out.flying)
        room = WINDOW - len(out.flying)
        batch = [index for index, _ in zip(missing, range(room))]
        for index in batch:
            out.unasked += 1
            asks = index == batch[-1] or out.unasked > WINDOW * 3 // 4
            if asks:
                out.unasked = 0
            head = struct.pack("<HH", out.number, index | asks << 15)
            out.flying[index] = self.seal(TRANSFER_CHUNK, head + out.chunks[index])

    def on_reject(self, reject):
        if self.outgoing and reject["transfer"] == self.outgoing.number:
            log(f"the base station rejects the transfer: {reject['reason'][0]}")
            self.outgoing = None
            self.client.rejected()

    # Time.

    def deadline(self):
        """When `tick` has something to do."""
        polls = (self.outgoing.poll_at, self.outgoing.stall_at) if self.outgoing else ()
        return min(self.heard_at + SILENCE, self.repeat_at, self.stall_at, *polls)

    def tick(self, now):
        """Repeats, polls and gives up what is due."""
        if now >= self.heard_at + SILENCE:
            raise Lost("the base station is silent")
        if now >= self.stall_at:
            raise Lost("a message was never acknowledged")
        if self.sent >> 16 == 0xFFFF:
            raise Lost("sequence numbers are used up")
        if now >= self.repeat_at:
            self.counters["timeouts"] += 1
            self.wait = min(2 * self.wait, LONGEST_WAIT)
            self.repeat_at = now + self.wait
            self.seal(RELIABLE, struct.pack("<H", self.in_flight) + self.queue[0])
        out = self.outgoing
        if out and now >= out.stall_at:
            log("the update does not get through")
            self.outgoing = None
        elif out and now >= out.poll_at:
            out.wait = min(2 * out.wait, LONGEST_WAIT)
            out.poll_at = now + out.wait
            self.say_link("Poll", transfer=out.number)


# ---------------------------------------------------------------------------------------------
# A link: a connection, the handshake on it, and at most one session (sections 1 and 2).
# ---------------------------------------------------------------------------------------------


class Link:
    """One TCP connection."""

    def __init__(self, client, sock):
        self.client, self.sock = client, sock
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.inbox, self.skipping = b"", False
        self.outbox = bytearray()
        self.session = self.pending = None
        self.announced_at = -FAR
        self.announce()

    # Bytes.

    def write(self, line):
        """Queues a frame; one that finds no room is lost, as frames may be."""
        if len(self.outbox) + len(line) <= OUTBOX:
            self.outbox += line

    def flush(self):
        """Writes what the connection takes."""
        if self.outbox:
            try:
                del self.outbox[: self.sock.send(self.outbox)]
            except BlockingIOError:
                pass

    def read(self):
        """Reads what is there and takes the frames in it."""
        try:
            data = self.sock.recv(1 << 16)
        except BlockingIOError:
            return
        if not data:
            raise ConnectionError("closed by the other end")
        *lines, self.inbox = (self.inbox + data).split(b"\0")
        for line in lines:
            if self.skipping or len(line) > LINE_MAX:
                self.client.counters["oversized"] += 1
            elif line:
                self.take_frame(unstuff(line))
            self.skipping = False
        if len(self.inbox) > LINE_MAX:
            self.inbox, self.skipping = b"", True

    def take_frame(self, frame):
        """Takes one frame, or drops it and counts why (section 1, receiving)."""
        counters = self.client.counters
        if frame is None or not FRAME_MIN <= len(frame) <= FRAME_MAX:
            counters["damaged"] += 1
            return
        body, crc = frame[:-4], frame[-4:]
        if zlib.crc32(body) != int.from_bytes(crc, "little"):
            counters["damaged"] += 1
            return
        header, payload, tag = body[:9], body[9:-16], body[-16:]
        kind, number, sequence = HEADER.unpack(header)
        if kind == OPEN and number == sequence == 0:
            if hmac.compare_digest(signature(PUBLIC_KEY, header + payload), tag):
                self.take_open(payload)
            else:
                counters["forged"] += 1
        elif kind in (MESSAGE, RELIABLE, TRANSFER_CHUNK) and number:
            self.take_sealed(kind, number, (header, sequence, payload, tag))
        else:
            counters["stray"] += 1

    def take_sealed(self, kind, number, sealed):
        for session in (self.session, self.pending):
            if session and session.number == number:
                payload = session.unseal(*sealed)
                if payload is not None:
                    if session is self.pending:
                        self.open_pending()
                    session.receive(kind, payload)
                return
        self.client.counters["stray"] += 1
        if not self.session:
            self.announce()

    # Handshake.

    def announce(self):
        """Says who is here, at most once per first wait."""
        now = time.monotonic()
        if now - self.announced_at >= FIRST_WAIT:
            self.announced_at = now
            self.say_open("Announce", {"device": self.client.id})

    def say_open(self, name, content):
        self.client.counters["sent"] += 1
        self.write(b"\0" + signed(PUBLIC_KEY, OPEN | FROM_DEVICE, DEVICE.encode((name, content))))

    def take_open(self, payload):
        """A Connect; the host's other open message, Refuse, is a hint for people."""
        self.client.counters["received"] += 1
        try:
            variant, at = U32.decode(payload, 0)
            if variant == 3:
                self.client.hint(f"the base station refuses: {parse(HOST, payload)[1][0]}")
            if variant != 1:
                return
            # This much of a Connect has the same place in every version.
            theirs, at = VERSION.decode(payload, at)
            host_nonce, at = NONCE.decode(payload, at)
            if theirs != OUR_VERSION:
                self.client.hint(f"the base station speaks another version: {theirs}")
                self.greet(host_nonce, secrets.token_bytes(16))
                self.say_open("Refuse", ("Version", {"ours": OUR_VERSION, "theirs": theirs}))
                return
            connect = parse(HOST, payload)[1]
        except Malformed:
            self.client.counters["malformed"] += 1
            return
        if self.client.key != PUBLIC_KEY and not connect["secure"]:
            self.say_open("Refuse", ("KeyRequired", {}))
        elif not (self.session and self.session.host_nonce == host_nonce):
            if not (self.pending and self.pending.host_nonce == host_nonce):
                self.pending = Session(self, host_nonce, secrets.token_bytes(16))
            self.greet(host_nonce, self.pending.device_nonce)

    def greet(self, host_nonce, device_nonce):
        key = self.client.key
        hello = {
            "version": OUR_VERSION,
            "device": self.client.id,
            "host_nonce": host_nonce,
            "device_nonce": device_nonce,
            "secure": key != PUBLIC_KEY,
            "generation": 0,  # this client keeps no key but its shard's
        }
        self.client.counters["sent"] += 1
        self.write(b"\0" + signed(key, GREETING | FROM_DEVICE, DEVICE.encode(("Hello", hello))))

    def open_pending(self):
        """The host has proven that it knows the key: its new session replaces every other."""
        self.session, self.pending = self.pending, None
        self.client.counters["sessions"] += 1
        self.client.opened(self)

    # Time.

    def deadline(self):
        return self.session.deadline() if self.session else FAR

    def tick(self, now):
        try:
            if self.session:
                self.session.tick(now)
        except Lost as reason:
            log(f"session lost: {reason}")
            self.end_session()

    def end_session(self):
        self.client.closed_session(self.session)
        self.session = None
        self.announce()
