"""Gleaner's `random` once more: as many random clients as there are channels, all with the epochs of
the slowest, at full power. Draws from the same stream, so a run ends with the same digests.

    gleaner simulate --scheduler process:"python3 docs/examples/schedulers/like_random.py"
"""

import gleaner_scheduler as gleaner


def decide(request):
    clients = list(range(request["clients"]))
    gleaner.Rng(request["seed"], round=request["round"]).shuffle(clients)
    drawn = list(enumerate(clients[: request["channels"]]))
    most = request["feasible"]["epochs_max"]
    able = [(client, channel) for channel, client in drawn if most[client][channel] > 0]
    epochs = min((most[client][channel] for client, channel in able), default=0)
    power_w = request["power_max_w"]
    return gleaner.Decision(
        [gleaner.order(client, channel, power_w, epochs) for client, channel in able],
        infeasible=[client for channel, client in drawn if most[client][channel] == 0],
    )


gleaner.serve(decide, name="random")
