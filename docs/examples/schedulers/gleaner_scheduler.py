"""What a scheduler in Python needs: the loop over standard input and output, and Gleaner's seeded
random streams.

    import gleaner_scheduler as gleaner

    def decide(request):
        return [gleaner.order(client, channel, power_w, epochs), ...]

    gleaner.serve(decide, name="mine")

Nothing but the standard library is used. docs/guide/schedulers.md has the protocol.
"""

import json
import math
import sys

VERSION = 2

# What a stream is drawn for; schedulers have a stream of their own.
SCHEDULE = 9

_MASK32 = 0xFFFFFFFF
_MASK64 = 0xFFFFFFFFFFFFFFFF


class Decision:
    """Orders, and what may go with them."""

    def __init__(self, orders, infeasible=(), state=None, note=None):
        self.orders = orders
        self.infeasible = infeasible
        self.state = state
        self.note = note


def order(client, channel, power_w=None, epochs=1, level=None, bit_rate=None):
    """One participant's order. A transceiver's power may be given as a level, and its bit rate may be
    named; both count from 0 in the lists of request["rate"]."""
    named = {"power_w": power_w, "level": level, "bit_rate": bit_rate}
    given = {key: value for key, value in named.items() if value is not None}
    return {"client": client, "channel": channel, "epochs": epochs, **given}


def serve(decide, name=None, wants=(), aggregation="mean"):
    """Answers hello and requests until the input ends. `decide` takes a request, a dictionary, and
    returns a list of orders or a Decision."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            if message["version"] != VERSION:
                sys.exit(f"this program speaks version {VERSION}, not {message['version']}")
            answer = {"version": VERSION, "wants": list(wants), "aggregation": aggregation}
            if name is not None:
                answer["name"] = name
        else:
            decision = decide(message)
            if not isinstance(decision, Decision):
                decision = Decision(decision)
            answer = {"round": message["round"], "orders": list(decision.orders)}
            if decision.infeasible:
                answer["infeasible"] = list(decision.infeasible)
            if decision.state is not None:
                answer["state"] = decision.state
            if decision.note is not None:
                answer["note"] = decision.note
        # Without flush the line stays here, and the base station waits for it.
        print(json.dumps(answer, allow_nan=False), flush=True)


def sent_at(request, power_w):
    """The level a transceiver sends a power with: the lowest that reaches it. None with other radios."""
    levels = request.get("rate", {}).get("levels")
    reaching = [it for it in levels or [] if it["radiated_w"] >= power_w * (1 - 1e-9)]
    return (reaching or levels or [None])[0 if reaching else -1]


def bit_rate_bps(request, client, channel, power_w):
    """The bit rate of an upload; 0 if none is received."""
    gain, band_hz = request["gain"][client][channel], request["bandwidth_hz"]
    level = sent_at(request, power_w)
    if level:
        rate = request["rate"]
        needed_w = lambda it: it["sensitivity_w"] * rate["margin"]
        received = [it for it in rate["bit_rates"] if level["radiated_w"] * gain >= needed_w(it)]
        return received[-1]["bps"] if received else 0.0
    snr = power_w * gain / (band_hz * request["noise_w_per_hz"])
    return min(band_hz * math.log1p(snr) / math.log(2), largest_rate_bps(request))


def largest_rate_bps(request):
    """The largest bit rate that the radio has."""
    rate = request.get("rate", {"model": "shannon"})
    if rate["model"] == "gfsk":
        return rate["bit_rates"][-1]["bps"]
    if rate["model"] == "capped":
        return min(rate["max_bits_per_hz"] * request["bandwidth_hz"], rate["max_rate_bps"])
    return math.inf


def upload_s(request, client, channel, power_w):
    """How long an upload takes; infinite if no bit rate is received."""
    rate_bps = bit_rate_bps(request, client, channel, power_w)
    return request["model_bits"] / rate_bps if rate_bps > 0 else math.inf


def least_power_w(request, client, channel, epochs):
    """The least power with which so many epochs meet the deadline; infinite if none does."""
    ready_s = request["downlink_s"] + request["order_s"][client]
    slack_s = request["deadline_s"] - request["reserve_s"][client] - ready_s
    slack_s -= epochs * request["epoch_s"][client]
    if slack_s <= 0 or request["model_bits"] / slack_s > largest_rate_bps(request):
        return math.inf
    if "levels" in request.get("rate", {}):
        powers = [level["radiated_w"] for level in request["rate"]["levels"]]
        fast = [it for it in powers if upload_s(request, client, channel, it) <= slack_s]
        return min(fast, default=math.inf)
    exponent = math.log(2) * request["model_bits"] / (request["bandwidth_hz"] * slack_s)
    noise_w = request["bandwidth_hz"] * request["noise_w_per_hz"]
    # Beyond this the power has no number.
    if exponent > 700:
        return math.inf
    return math.expm1(exponent) * noise_w / request["gain"][client][channel]


def bill_j(request, client, channel, power_w, epochs):
    """What an order costs a client, beside what everybody pays."""
    level = sent_at(request, power_w)
    amplifier_w = power_w / request["amplifier_efficiency"][client]
    drawn_w = (level["drawn_w"] if level else amplifier_w) + request["circuit_w"][client]
    sending_j = drawn_w * upload_s(request, client, channel, power_w) + request["upload_j"][client]
    return epochs * request["epoch_j"][client] + request["order_j"][client] + sending_j


def _mix(value):
    """The finaliser of SplitMix64, with its increment."""
    z = (value + 0x9E3779B97F4A7C15) & _MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK64
    return z ^ (z >> 31)


class Rng:
    """Gleaner's generator, xoshiro128++: one stream per (seed, purpose, client, round)."""

    def __init__(self, seed, purpose=SCHEDULE, client=0, round=0):
        low = _mix(_mix(_mix(seed) ^ ((purpose << 32) | client)) ^ round)
        high = _mix(low)
        self.state = [(low & _MASK32) | 1, low >> 32, high & _MASK32, high >> 32]

    def next_u32(self):
        """32 random bits."""
        s0, s1, s2, s3 = self.state
        result = (_rotate((s0 + s3) & _MASK32, 7) + s0) & _MASK32
        s2 ^= s0
        s3 ^= s1
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ ((s1 << 9) & _MASK32), _rotate(s3, 11)]
        return result

    def next_u64(self):
        """64 random bits, the first draw in the low half."""
        low = self.next_u32()
        return low | self.next_u32() << 32

    def uniform(self):
        """A number in [0, 1)."""
        return (self.next_u64() >> 11) * (1.0 / (1 << 53))

    def below(self, bound):
        """A whole number below `bound` without bias."""
        if bound == 0:
            return 0
        product = self.next_u32() * bound
        if product & _MASK32 < bound:
            threshold = (-bound & _MASK32) % bound
            while product & _MASK32 < threshold:
                product = self.next_u32() * bound
        return product >> 32

    def shuffle(self, items):
        """Shuffles a list in place."""
        for last in range(len(items) - 1, 0, -1):
            other = self.below(last + 1)
            items[last], items[other] = items[other], items[last]


def _rotate(word, by):
    return ((word << by) | (word >> (32 - by))) & _MASK32
