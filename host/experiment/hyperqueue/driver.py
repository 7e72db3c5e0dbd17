"""Points of a gleaner plan as tasks of HyperQueue, whose package has a server, workers and a client
but no command.

Started by `gleaner sweep --engine hyperqueue` with its settings as one JSON argument. Every line on
standard input is a JSON list of points to make; `idle` on standard output says that all of them have
ended, well or not: which, the directory tells. The end of standard input ends this process, and with
it the server and the tasks it started; on a server that was there before they go on.
"""

import json
import os
import queue
import sys
import threading

# What we say goes where our reader is; HyperQueue's own banners go to the log.
reader = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)


def say(text):
    print(text, file=reader, flush=True)


try:
    from hyperqueue import Client, Job, LocalCluster
    from hyperqueue.cluster import WorkerConfig
    from hyperqueue.ffi.protocol import ResourceRequest
except ImportError as error:
    say(f"missing {error}")
    sys.exit(1)


def connect(settings):
    """Returns a client of the server that is there, or of one of our own with one worker."""
    if settings["server_dir"]:
        return Client(settings["server_dir"]), lambda: None
    folder = settings["server"]
    os.makedirs(folder, mode=0o700, exist_ok=True)
    cores = settings["cores"] or os.cpu_count() or 1
    cores = max(cores, settings["threads"])
    cluster = LocalCluster(folder, WorkerConfig(cores=cores))
    return cluster.client(), cluster.stop


def submit(client, settings, points):
    """Submits one task a point; one that fails keeps none of the others from running."""
    job = Job(max_fails=None, name=settings["name"], default_workdir=settings["workdir"])
    request = ResourceRequest(cpus=settings["threads"])
    for point in points:
        log = os.path.join(settings["logs"], f"{point}.log")
        command = settings["command"] + [str(point)] + settings["options"]
        job.program(command, stdout=None, stderr=log, resources=request)
    return client.submit(job)


def main():
    settings = json.loads(sys.argv[1])
    client, stop = connect(settings)
    say("ready")
    orders = queue.Queue()

    def listen():
        for line in sys.stdin:
            orders.put(json.loads(line))
        # Whoever gave the orders is gone; a wait for tasks need not come to its end.
        stop()
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        job = submit(client, settings, orders.get())
        client.wait_for_jobs([job], raise_on_error=False)
        say("idle")


main()
