"""Whoever has waited longest goes first, on its best free channel, for one epoch at the least power
that meets the deadline, if it can pay. How often everybody has been ordered is its state: a resumed
run goes on with the counts it had.

    gleaner simulate --scheduler process:"python3 docs/examples/schedulers/thrifty.py"
"""

import json

import gleaner_scheduler as gleaner


def decide(request):
    clients, channels = request["clients"], request["channels"]
    counts = json.loads(request["state"]) if request["state"] else [0] * clients
    free, orders = set(range(channels)), []
    for client in sorted(range(clients), key=lambda it: (-request["age"][it], counts[it], it)):
        least_w = request["feasible"]["power_min_w"][client]
        able = [channel for channel in free if least_w[channel] is not None]
        if not able:
            continue
        channel = min(able, key=lambda it: (least_w[it], it))
        bill_j = gleaner.bill_j(request, client, channel, least_w[channel], 1)
        if bill_j <= request["spendable_j"][client]:
            free.remove(channel)
            counts[client] += 1
            orders.append(gleaner.order(client, channel, least_w[channel], 1))
    return gleaner.Decision(orders, state=json.dumps(counts))


gleaner.serve(decide, name="thrifty")
