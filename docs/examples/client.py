#!/usr/bin/env python3
"""A client of the base station in floating point, written from docs/reference/wire.md alone.

    pip install numpy blake3
    gleaner data shard --client 0 --key-file key.txt --out shard.bin    # the run's --set and --seed
    python3 client.py --shard shard.bin --listen 7100              # link = "tcp" in fleet.toml

It needs nothing from the rest of the repository but wire.py and ascon.py beside it; check.py
compares them with the examples of the document. From top to bottom: the ledger, the network, the
shard, and the client that ties them together. Sections are those of docs/reference/wire.md.
"""

import argparse
import selectors
import socket
import struct
import sys
import time
import zlib

import numpy

from wire import CODES, COUNTERS, LARGEST_TRANSFER, PHASES, PUBLIC_KEY, Link, Lost, hashed, log

LINKS = 8  # connections at a time; the base station needs one
HINT_EVERY = 60.0  # seconds between log lines that a stranger can cause

# ---------------------------------------------------------------------------------------------
# The ledger (section 9).
# ---------------------------------------------------------------------------------------------

U64_MAX = 2**64 - 1


def divide(amount, by):
    """To the nearest integer, halves up."""
    return (2 * amount + by) // (2 * by)


def compute_cost(cost, cycles, epochs):
    """Picojoules of so many cycles in so many epochs."""
    return min(U64_MAX, divide(cycles * cost["fj_per_cycle"], 1000) + epochs * cost["per_epoch"])


def upload_cost(cost, drawn_nw, airtime_us):
    """Picojoules of an upload."""
    return min(U64_MAX, divide(drawn_nw * airtime_us, 1000) + cost["per_upload"])


def power_cost(power_nw, time_us):
    """Picojoules of a power for a time."""
    return min(U64_MAX, divide(power_nw * time_us, 1000))


def nothing():
    """A round in which nothing was done."""
    return dict.fromkeys(
        "listening apply train epochs evaluate encode drawn airtime saves period".split(), 0
    )


def round_cost(cost, done):
    """Picojoules of a round, phase by phase."""
    cycles = done["apply"] + done["train"] + done["evaluate"] + done["encode"]
    clock = cost["clock_hz"]
    computing_us = divide(cycles * 1_000_000, clock) if clock else 0
    busy = done["listening"] + computing_us + done["airtime"]
    airtime = done["airtime"]
    return {
        "sleep": power_cost(cost["sleep_nw"], max(0, done["period"] - busy)),
        "idle": cost["save"] if done["saves"] else 0,
        "receive": power_cost(cost["receive_nw"], done["listening"]),
        "apply": compute_cost(cost, done["apply"], 0),
        "train": compute_cost(cost, done["train"], done["epochs"]),
        "evaluate": compute_cost(cost, done["evaluate"], 0),
        "encode": compute_cost(cost, done["encode"], 0),
        "transmit": upload_cost(cost, done["drawn"], airtime) if airtime else 0,
    }


class Ledger(dict):
    """A snapshot in picojoules that changes by income, leaks and payments alone."""

    def __init__(self, snapshot):
        super().__init__(snapshot)
        self.owed = dict.fromkeys(PHASES, 0)

    def moved(self):
        return self["harvested"] + self["leaked"] + sum(self["spent"].values())

    def plausible(self, capacity):
        """Whether the identity holds and the store is not fuller than it can be."""
        gone = self["conversion"] + self["overflow"] + self["leaked"] + sum(self["spent"].values())
        return self["stored"] == self["initial"] + self["harvested"] - gone <= capacity

    def newer_than(self, other):
        return (self["rounds"], self.moved()) > (other["rounds"], other.moved())

    def available(self):
        """What an order may cost; nothing while the device is off."""
        return 0 if self["off"] else self["stored"]

    def pay(self, due):
        """Pays what is stored, waiting last; the round owes the rest. Says whether that was all."""
        whole = True
        for phase in PHASES[2:] + ["idle", "sleep"]:
            paid = min(due[phase], self["stored"])
            self["stored"] -= paid
            self["spent"][phase] += paid
            self.owed[phase] += due[phase] - paid
            whole &= paid == due[phase]
        return whole

    def end_round(self, income, standing, period_us, boot, store):
        """Nets the flows of a round: income pays debts, listening, sleep and leaks before it overflows."""
        lost = income * (1000 - min(1000, store["charge_permille"])) // 1000
        self["rounds"] += 1
        self["harvested"] += income
        self["conversion"] += lost
        self["stored"] += income - lost
        due = self.owed
        if not self["off"]:
            due = {phase: due[phase] + standing[phase] for phase in PHASES}
        self.owed = dict.fromkeys(PHASES, 0)
        whole = self.pay(due)
        self.owed = dict.fromkeys(PHASES, 0)
        leaked = min(self["stored"], power_cost(store["leakage_nw"], period_us))
        self["stored"] -= leaked
        self["leaked"] += leaked
        above = max(0, self["stored"] - store["capacity"])
        self["stored"] -= above
        self["overflow"] += above
        self["off"] = self["off"] or not whole
        if self["off"] and self["stored"] >= store["restart"] + boot:
            self["off"] = False
            self["stored"] -= boot
            self["spent"]["idle"] += boot


class Books:
    """One round: what was ordered, what was done, what of that is charged."""

    def __init__(self, ordered, income=0):
        self.ordered, self.income = ordered, income  # None: the round has ended before
        self.done, self.charged = nothing(), nothing()

    def due(self, cost):
        """The cost of what was done since the last time."""
        now, before = round_cost(cost, self.done), round_cost(cost, self.charged)
        self.charged = dict(self.done)
        return {phase: max(0, now[phase] - before[phase]) for phase in PHASES}

    def end(self, cost, ledger, store):
        """Pays for the work, then nets listening, sleep and leaks with the harvest, once a round."""
        ledger.pay(self.due(cost))
        if self.ordered is None:
            return
        self.done["listening"], self.done["saves"], self.done["period"] = self.ordered
        period = self.ordered[2]
        ledger.end_round(self.income, self.due(cost), period, cost["boot"], store)


# ---------------------------------------------------------------------------------------------
# The network and its coding (section 8).
# ---------------------------------------------------------------------------------------------

HIDDEN = 50
UNITS = (2**14, 255 * 2**14, 2**12, 2**22)
LIMITS = (32_767, 2**30 - 1, 32_767, 2**30 - 1)
EXACT = ("<i2", "<i4", "<i2", "<i4")
LARGEST_DIFFERENCE = 2**30


class Network:
    """A perceptron; a model of it is a list of the tensors W1, b1, W2, b2 in whole units."""

    def __init__(self, inputs, outputs):
        self.shapes = ((inputs, HIDDEN), (HIDDEN,), (HIDDEN, outputs), (outputs,))
        self.sizes = [int(numpy.prod(shape)) for shape in self.shapes]
        self.parameters = sum(self.sizes)
        self.model_len = sum(n * numpy.dtype(kind).itemsize for n, kind in zip(self.sizes, EXACT))

    def update_len(self, bits):
        return 16 + self.parameters * bits // 8

    def read(self, data):
        """The model in its exact form."""
        model, at = [], 0
        for size, shape, kind in zip(self.sizes, self.shapes, EXACT):
            tensor = numpy.frombuffer(data, kind, size, at)
            at += tensor.nbytes
            model.append(tensor.astype(numpy.int64).reshape(shape))
        return model

    def write(self, model):
        """The exact form of a model."""
        return b"".join(tensor.astype(kind).tobytes() for tensor, kind in zip(model, EXACT))

    def apply(self, model, update):
        """The model and a change coded with 8 bits."""
        scales = struct.unpack_from("<4I", update)
        changed, at = [], 16
        for tensor, scale, limit in zip(model, scales, LIMITS):
            codes = numpy.frombuffer(update, numpy.int8, tensor.size, at).astype(numpy.int64)
            at += tensor.size
            difference = (codes * scale + 128) >> 8
            changed.append(numpy.clip(tensor + difference.reshape(tensor.shape), -limit, limit))
        return changed

    def code(self, trained, model, name, clip, rng):
        """The update from `model` to `trained` (real numbers), rounded at random, without bias.

        A change longer than `clip` is shortened to it; 0 means no bound.

        Differences are rounded once, to codes: most are below one unit, and would vanish were
        they rounded to whole units first.
        """
        base = reals(model)
        squares = sum(float(numpy.sum((after - before) ** 2)) for after, before in zip(trained, base))
        if clip and squares > clip**2:
            share = clip / squares**0.5
            trained = [before + share * (after - before) for after, before in zip(trained, base)]
        differences = [
            numpy.clip(real * units - tensor, -LARGEST_DIFFERENCE, LARGEST_DIFFERENCE)
            for real, tensor, units in zip(trained, model, UNITS)
        ]
        return CODERS[name](differences, rng)


def plain(bits):
    """The coder of a code of so many bits a parameter and a scale a tensor."""
    largest = 2 ** (bits - 1) - 1

    def code(differences, rng):
        scales, codes = [], []
        for difference in differences:
            scale = max(256, int(numpy.ceil(numpy.abs(difference).max() * 256 / largest)))
            numbers = rounded(difference * 256 / scale, largest, rng)
            scales.append(scale)
            codes.append(packed(numbers, bits))
        return struct.pack("<4I", *scales) + b"".join(codes)

    return code


def blocks(differences, rng):
    """Four bits a parameter, and a scale for up to 64 of a row."""
    out = []
    for difference in differences:
        scale = max(1, int(numpy.ceil(numpy.abs(difference).max() / (7 * 255))))
        out.append(struct.pack("<I", scale))
        for row in numpy.atleast_2d(difference):
            for part in numpy.split(row, range(64, row.size, 64)):
                own = int(numpy.ceil(numpy.abs(part).max() / (7 * scale)))
                numbers = rounded(part / (max(own, 1) * scale), 7, rng)
                out.append(bytes([own]) + packed(numbers, 4))
    return b"".join(out)


def rounded(numbers, largest, rng):
    """Integers next to the numbers, right on average."""
    numbers = numpy.floor(numbers + rng.random(numbers.shape))
    return numpy.clip(numbers, -largest, largest).astype(numpy.int64).ravel()


def packed(numbers, bits):
    """Numbers of so many bits as bytes, the first in the lowest bits."""
    places = (numbers[:, None] >> numpy.arange(bits)) & 1
    return numpy.packbits(places.astype(numpy.uint8).ravel(), bitorder="little").tobytes()


CODERS = {"q16": plain(16), "q8": plain(8), "q6": plain(6), "q4": blocks}


def reals(model):
    """A model in real numbers."""
    return [tensor / units for tensor, units in zip(model, UNITS)]


def q16(loss):
    """A loss as reports have it."""
    return min(round(loss * 2**16), 2**32 - 1)


def forward(parameters, pixels, labels):
    """Mean loss in nats, the hidden layer, and the softmax."""
    w1, b1, w2, b2 = parameters
    hidden = numpy.maximum(pixels @ w1 + b1, 0)
    logits = hidden @ w2 + b2
    logits -= logits.max(axis=1, keepdims=True)
    softmax = numpy.exp(logits)
    total = softmax.sum(axis=1, keepdims=True)
    loss = numpy.mean(numpy.log(total[:, 0]) - logits[numpy.arange(len(labels)), labels])
    return float(loss), hidden, softmax / total


def descend(parameters, pixels, labels, rate):
    """One step of gradient descent on the mean loss: the loss before, the parameters after."""
    loss, hidden, error = forward(parameters, pixels, labels)
    error[numpy.arange(len(labels)), labels] -= 1
    error /= len(labels)
    back = (error @ parameters[2].T) * (hidden > 0)
    steps = (pixels.T @ back, back.sum(axis=0), hidden.T @ error, error.sum(axis=0))
    trained = [parameter - rate * step for parameter, step in zip(parameters, steps)]
    return loss, [numpy.clip(p, -most / u, most / u) for p, most, u in zip(trained, LIMITS, UNITS)]


# ---------------------------------------------------------------------------------------------
# The shard (section 10).
# ---------------------------------------------------------------------------------------------


class Shard:
    """A client's samples, and its key if it has one."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        header = struct.Struct("<4sHHHHII32sIII")
        if len(data) < header.size:
            sys.exit(f"{path}: {len(data)} bytes are no shard")
        magic, version, self.inputs, self.classes, flags, *rest = header.unpack_from(data)
        count, self.client, key, self.crc, _, own = rest
        if magic != b"GLSH" or version != 1 or zlib.crc32(data[:60]) != own:
            sys.exit(f"{path}: the header is not that of a shard of version 1")
        # What may follow are lists for boards.
        content = data[64 : 64 + count * (self.inputs + 1)]
        if len(content) != count * (self.inputs + 1) or zlib.crc32(content) != self.crc:
            sys.exit(f"{path}: the samples are damaged")
        self.samples = count
        self.key = key if flags & 1 else None
        pixels = numpy.frombuffer(content, numpy.uint8, count * self.inputs)
        self.pixels = pixels.reshape(count, self.inputs) / 255
        self.labels = numpy.frombuffer(content, numpy.uint8, count, count * self.inputs)
        if self.labels.max(initial=0) >= self.classes:
            sys.exit(f"{path}: a label is not below {self.classes}")

    def about(self):
        """What a greeting says of it."""
        return (
            "Present",
            {
                "samples": self.samples,
                "client": self.client,
                "inputs": self.inputs,
                "classes": self.classes,
                "crc": self.crc,
            },
        )


# ---------------------------------------------------------------------------------------------
# The client (section 7).
# ---------------------------------------------------------------------------------------------


def closed_rounds(mark):
    """How many rounds are closed; they count from 0."""
    return mark["round"] + 1 if mark else 0


class Work:
    """An order that was accepted, and what came of it."""

    def __init__(self, mark, order, model, reserved):
        self.mark, self.order, self.model, self.reserved = mark, order, model, reserved
        self.parameters = reals(model)
        self.began = time.monotonic()
        self.epochs = self.cycles = 0
        self.loss_before = self.loss_after = 0.0
        self.report = self.update = None  # at the end of the work
        self.ordered = True  # in the session that is open


class Client:
    """What outlives sessions: the model, work, the ledger. Nothing outlives the process."""

    def __init__(self, shard, key):
        self.shard, self.key = shard, key
        self.id = b"py client" + struct.pack(">I", shard.client)[1:]
        self.network = Network(shard.inputs, shard.classes)
        self.counters = dict.fromkeys(COUNTERS, 0)
        self.hint_at = 0.0
        self.links = []
        self.session = None
        self.provision = None  # of this session
        self.model = self.model_hash = None
        self.incoming = None
        self.work = None
        self.ledger = self.ledger_of = None  # and the run and client it belongs to
        self.booked = None  # round whose income is in the ledger
        self.books = None  # of that round, until it has ended
        self.unpaid_apply = 0  # cycles of receiving models that no order has paid for
        self.spent_before = {}  # that round
        self.closed = None  # mark of the last round that was closed

    # Sessions.

    def opened(self, link):
        """A session is open on `link`; connections without one are strangers or remains."""
        for other in [other for other in self.links if other is not link]:
            self.drop(other, "replaced by a new session")
        self.closed_session(self.session)
        self.session = link.session
        log(f"session {self.session.number:08x} with {peer(link)}")
        self.session.say(
            "About",
            build=b"client.py",
            board=b"python",
            inputs=self.shard.inputs,
            hidden=HIDDEN,
            outputs=self.shard.classes,
            largest_transfer=LARGEST_TRANSFER,
            shard=self.shard.about(),
            codes=sum(1 << CODES.index(name) for name in CODERS),
            exact=False,
            ledger=self.ledger,
            last_round=self.closed,
        )

    def closed_session(self, session):
        """Work is not spoken of until its order is given again."""
        if session and session is self.session:
            self.session = self.provision = None
            if self.work:
                self.work.ordered = False

    def drop(self, link, reason):
        """Ends a connection."""
        if link.session:
            log(f"connection with {peer(link)} ended: {reason}")
        self.closed_session(link.session)
        self.links.remove(link)
        link.sock.close()

    def hint(self, text):
        """Logs what nobody proved."""
        now = time.monotonic()
        if now >= self.hint_at:
            self.hint_at = now + HINT_EVERY
            log(text)

    # Messages.

    def receive(self, name, content, payload):
        """A message of the host, each exactly once and in order."""
        if name == "Provision":
            self.on_provision(content)
        elif name == "Order":
            mark = {"run": content["run"], "round": content["round"], "order": hashed(payload[1:])}
            self.on_order(mark, content)
        elif name == "Cancel":
            if self.work and self.work.mark == content["work"]:
                self.work = self.session.outgoing = None
            if not self.work:
                self.finish_round()
            if self.ledger:
                self.session.say("Cancelled", work=content["work"], ledger=self.ledger)
        elif name == "Commit":
            self.on_commit(content)
        elif name == "Inspect":
            self.session.say("Counters", **{k: v & 0xFFFF_FFFF for k, v in self.counters.items()})
        elif name == "Rekey":
            self.session.say("RekeyRefused", "NoStorage")
        elif name in ("Infer", "Label"):
            # It classifies nothing: it has no sample that anybody could ask for.
            self.session.say("InferRefused", "NoSample", place=("gathered", {}), first=0, count=0)
        elif name == "Measure":
            # It has no pins and no clock of its own.
            self.session.say("Measured", number=content["number"], refused=("NotBegun", {}))
        elif name == "Bootsel":
            self.session.say("BootselRefused", "NoDrive")
        elif name == "Reboot":
            self.model = self.model_hash = self.work = self.incoming = None
            raise Lost("restart on request")

    def on_provision(self, provision):
        """Chooses the ledger to go on with (section 9.2); the host decides which rounds are closed."""
        theirs = Ledger(provision["ledger"])
        if not theirs.plausible(provision["store"]["capacity"]):
            return
        last, owner = provision["last_round"], (provision["run"], provision["client"])
        keeps_own = (
            not provision["adopt"]
            and self.ledger_of == owner
            and closed_rounds(self.closed) <= closed_rounds(last)
            and self.ledger.newer_than(theirs)
        )
        self.closed = last
        if not keeps_own:
            # Work goes with the ledger that paid for it; work of another run is always in this case.
            self.ledger, self.ledger_of, self.booked, self.work = theirs, owner, None, None
            self.books = None
        if self.work and self.is_closed(self.work.mark["round"]):
            self.work = None
        self.provision = provision
        self.session.say("Provisioned", client=provision["client"], ledger=self.ledger)

    def is_closed(self, round_number):
        return round_number < closed_rounds(self.closed)

    def on_commit(self, commit):
        """A round is over."""
        mark = commit["mark"]
        if not self.provision or mark["run"] != self.provision["run"]:
            return
        if not self.is_closed(mark["round"]):
            self.closed = mark
        if self.work and self.is_closed(self.work.mark["round"]):
            self.work = self.session.outgoing = None
        if not self.work:
            self.finish_round()
        counted = ", our update counts" if commit["counted"] else ""
        log(f"round {mark['round']} is closed{counted}")

    def on_order(self, mark, order):
        """Accepts or declines an order, for the first reason that holds (section 7.2)."""
        work = self.work
        if work and self.provision and work.mark == mark and not self.is_closed(mark["round"]):
            work.ordered = True
            self.session.say("OrderReply", work=mark, declined=None, reserved=work.reserved)
            self.hand_over()
            return
        declined, reserved = self.objections_to(order), 0
        if declined:
            log(f"round {order['round']}: declined, {declined[0]}")
        elif order["participate"]:
            reserved = self.needed(order)
            self.work = Work(mark, order, self.model, reserved)
            self.take(order)
        # Who is brought up to date hears the same order again; nobody else does.
        booked = declined is None or declined[0] in ("Shard", "Invalid", "Energy")
        if booked and not self.work:
            self.finish_round()
        self.session.say("OrderReply", work=mark, declined=declined, reserved=reserved)

    def objections_to(self, order):
        """Why an order that is not under way is declined; books the income of its round."""
        if not self.provision:
            return "NotProvisioned", {}
        if order["run"] != self.provision["run"]:
            return "OtherRun", {}
        if self.is_closed(order["round"]):
            return "Stale", {"newest": self.closed["round"]}
        if self.work:
            self.work = self.session.outgoing = None
            self.finish_round()
        if self.booked is None or order["round"] > self.booked:
            self.begin_round(order)
        if not order["participate"]:
            return None
        if self.provision["client"] != self.shard.client:
            return "Shard", self.shard.about()
        if order["epochs"] == 0 or order["code"][0] not in CODERS:
            return "Invalid", {}
        current = order["model"] == self.model_hash
        # A model is received only for an order that can be paid.
        needed = self.needed(order, 0 if current else self.receiving(self.model is None))
        if needed > self.ledger.available():
            return "Energy", {"needed": needed, "available": self.ledger.available()}
        return None if current else ("Model", {})

    def begin_round(self, order):
        """Ends the round before and begins this one, once; its income is booked at its end."""
        self.finish_round()
        self.booked = order["round"]
        self.spent_before = dict(self.ledger["spent"])
        # Without an order to train it hears the broadcast and sleeps.
        self.books = Books((order["listening_us"], 0, order["period_us"]), order["income"])

    def finish_round(self):
        """The end of a round, once."""
        if self.books and self.provision:
            self.books.end(self.provision["cost"], self.ledger, self.provision["store"])
            self.books = None

    def receiving(self, whole):
        """Cycles of opening the frames of a model, or of a change, and applying it."""
        kind = "whole" if whole else "change"
        return self.provision["pace"]["apply_" + kind] + self.provision["pace"]["open_" + kind]

    def needed(self, order, to_come=0):
        """What an order costs by the provisioned cycles; nothing is paid twice of an ended round."""
        pace, whole = self.provision["pace"], nothing()
        if self.books:
            whole["listening"] = order["listening_us"] + order["receiving_us"]
            whole["period"] = order["period_us"]
            whole["saves"] = 1
        whole["apply"] = self.unpaid_apply + to_come
        whole["epochs"], whole["train"] = order["epochs"], pace["epoch"] * order["epochs"]
        whole["evaluate"], whole["encode"] = pace["evaluate"], pace["encode"] + pace["seal"]
        whole["drawn"], whole["airtime"] = order["drawn_nw"], order["airtime_us"]
        return min(U64_MAX, sum(round_cost(self.provision["cost"], whole).values()))

    def take(self, order):
        """Begins to charge an order: it was heard, and its model received."""
        if self.books:
            listening = order["listening_us"] + order["receiving_us"]
            self.books = Books((listening, 1, order["period_us"]), self.books.income)
        else:
            self.books = Books(None)
        if self.books.ordered:
            self.books.done["listening"] = self.books.ordered[0]
        self.books.done["apply"], self.unpaid_apply = self.unpaid_apply, 0
        self.ledger.pay(self.books.due(self.provision["cost"]))

    # Transfers.

    def objection(self, offer):
        """Why an offer is rejected, or None."""
        payload = offer["payload"][0]
        if payload == "echo":
            return None if 0 < offer["len"] <= LARGEST_TRANSFER else "TooLarge"
        if payload == "sample" or offer["work"] or (payload == "update" and self.model is None):
            return "Unexpected"
        expected = self.network.model_len if payload == "model" else self.network.update_len(8)
        return None if offer["len"] == expected else "TooLarge"

    def transferred(self, offer, data):
        """All bytes of a transfer are here."""
        payload = offer["payload"][0]
        if payload == "echo":
            self.session.offer("echo", None, data)
            return
        if payload == "model":
            self.model = self.network.read(data)
        else:
            self.model = self.network.apply(self.model, data)
        self.model_hash = hashed(self.network.write(self.model))
        self.unpaid_apply += self.receiving(payload == "model")

    def rejected(self):
        """The host does not want the update."""
        if self.work and self.work.update:
            self.work = None

    # Work.

    def busy(self):
        return self.work is not None and self.work.report is None and self.provision is not None

    def charge(self):
        """Pays for the work; the work ends if the store runs dry."""
        whole = self.ledger.pay(self.books.due(self.provision["cost"]))
        if not whole:
            self.finish(trained=False)
        return whole

    def step(self):
        """One epoch, or the evaluation and the end of the work."""
        work, order, done = self.work, self.work.order, self.books.done
        pixels, labels = self.shard.pixels, self.shard.labels
        if work.epochs < order["epochs"]:
            rate = order["learning_rate_q24"] / 2**24
            loss, work.parameters = descend(work.parameters, pixels, labels, rate)
            if work.epochs == 0:
                work.loss_before = loss
            work.loss_after = loss
            work.epochs += 1
            work.cycles += self.provision["pace"]["epoch"]
            done["train"], done["epochs"] = work.cycles, work.epochs
            if self.charge() and work.ordered:
                self.session.say("Progress", work=work.mark, epoch=work.epochs, cycles=work.cycles)
            return
        work.loss_after, _, _ = forward(work.parameters, pixels, labels)
        pace = self.provision["pace"]
        done["evaluate"], done["encode"] = pace["evaluate"], pace["encode"] + pace["seal"]
        done["drawn"], done["airtime"] = order["drawn_nw"], order["airtime_us"]
        if self.charge():
            rng = numpy.random.default_rng(order["seed"])
            name, clip = order["code"][0], order["clip_q16"] / 2**16
            work.update = self.network.code(work.parameters, work.model, name, clip, rng)
            self.finish(trained=True)

    def finish(self, trained):
        """Writes the report and sends what there is to send."""
        work = self.work
        self.finish_round()
        spent = self.ledger["spent"]
        work.report = {
            "work": work.mark,
            "trained": trained,
            "loss_before_q16": q16(work.loss_before),
            "loss_after_q16": q16(work.loss_after),
            "samples": self.shard.samples,
            "epochs": work.epochs,
            "cycles": work.cycles,
            "elapsed_us": int((time.monotonic() - work.began) * 1e6),
            "spent": {phase: spent[phase] - self.spent_before[phase] for phase in PHASES},
            "harvested": work.order["income"],
            "ledger": {**self.ledger, "spent": dict(spent)},
        }
        log(
            f"round {work.mark['round']}: {work.epochs} epochs,"
            f" loss {work.loss_before:.4f} -> {work.loss_after:.4f}"
        )
        self.hand_over()

    def hand_over(self):
        """Report and update, once they are there and their order was given in this session."""
        work = self.work
        if work.ordered and work.report and not self.session.outgoing:
            self.session.say("Report", **work.report)
            if work.update:
                self.session.offer("update", work.mark, work.update)


# ---------------------------------------------------------------------------------------------
# The program.
# ---------------------------------------------------------------------------------------------


def peer(link):
    """The other end, for people."""
    try:
        host, port, *_ = link.sock.getpeername()
        return f"{host}:{port}"
    except OSError:
        return "a lost peer"


def serve(client, listener, connect_to):
    """Serves connections and trains in between, for ever."""
    redial_at = 0.0
    while True:
        now = time.monotonic()
        if connect_to and not client.links and now >= redial_at:
            redial_at = now + 1.0
            try:
                client.links.append(Link(client, socket.create_connection(connect_to, timeout=5)))
            except OSError:
                pass
        if client.busy():
            client.step()
        for link in client.links:
            link.tick(now)

        with selectors.DefaultSelector() as selector:
            if listener:
                selector.register(listener, selectors.EVENT_READ)
            for link in client.links:
                writes = selectors.EVENT_WRITE if link.outbox else 0
                selector.register(link.sock, selectors.EVENT_READ | writes, link)
            due = min([now + 1.0] + [link.deadline() for link in client.links])
            ready = selector.select(0 if client.busy() else max(0.0, due - time.monotonic()))
        for key, events in ready:
            if key.data is None:
                accept(client, listener)
            elif key.data in client.links:
                attend(client, key.data, events)


def accept(client, listener):
    """A new connection; where there are too many, the oldest one without a session goes."""
    try:
        link = Link(client, listener.accept()[0])
    except OSError:
        return
    strangers = [other for other in client.links if not other.session]
    if len(client.links) >= LINKS and strangers:
        client.drop(strangers[0], "too many")
    client.links.append(link)


def attend(client, link, events):
    """Reads and writes what a connection has."""
    try:
        if events & selectors.EVENT_WRITE:
            link.flush()
        if events & selectors.EVENT_READ:
            link.read()
    except Lost as reason:
        log(f"session lost: {reason}")
        link.end_session()
    except OSError as error:
        client.drop(link, error)


def key_from(text):
    """A key from the command line."""
    key = bytes.fromhex(text)
    if len(key) != 32 or key == PUBLIC_KEY:
        raise argparse.ArgumentTypeError("a key is 64 hexadecimal digits, not all zero")
    return key


def address_from(text):
    """HOST:PORT."""
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def main():
    """Reads the command line and serves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--shard", required=True, metavar="FILE", help="as `gleaner data shard` writes it"
    )
    parser.add_argument(
        "--key", type=key_from, metavar="HEX", help="instead of the one in the shard"
    )
    place = parser.add_mutually_exclusive_group()
    place.add_argument(
        "--listen", type=int, default=7100, metavar="PORT", help="on loopback, 0: any [7100]"
    )
    place.add_argument("--connect", type=address_from, metavar="HOST:PORT", help="dial instead")
    parser.add_argument("--bind", default="127.0.0.1", metavar="HOST", help="listen elsewhere")
    options = parser.parse_args()
    shard = Shard(options.shard)
    key = options.key or shard.key or PUBLIC_KEY
    if key == PUBLIC_KEY:
        log("no key: whoever reaches this client may give it orders")
    listener = None
    if not options.connect:
        listener = socket.create_server((options.bind, options.listen))
        listener.setblocking(False)
        log(f"listening on {options.bind}:{listener.getsockname()[1]}")
    log(f"client {shard.client} with {shard.samples} samples")
    try:
        serve(Client(shard, key), listener, options.connect)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
