"""Writes made-up readings of a wrist's acceleration: python3 readings.py readings.csv

Four people rest, walk and run; each has a pace and a strength of their own.
"""

import math
import random
import sys

RATE_HZ = 25
SECONDS = 120
PEOPLE = {"ada": (1.8, 1.0), "bob": (1.6, 1.3), "cyd": (2.0, 0.8), "dan": (1.7, 1.1)}
ACTIVITIES = {"rest": (0.0, 0.0), "walk": (1.0, 0.4), "run": (1.5, 1.2)}


def main(path):
    noise = random.Random(7)
    with open(path, "w", newline="\n") as out:
        out.write("time,ax,ay,az,activity,person\n")
        for person, (pace_hz, strength) in PEOPLE.items():
            for activity, (speed, swing_g) in ACTIVITIES.items():
                for step in range(RATE_HZ * SECONDS):
                    time_s = step / RATE_HZ
                    angle = 2 * math.pi * pace_hz * speed * time_s
                    swing = strength * swing_g
                    axes = (
                        swing * math.sin(angle),
                        0.5 * swing * math.cos(angle),
                        1.0 + 0.7 * swing * math.sin(2 * angle),
                    )
                    values = ",".join(f"{axis + noise.gauss(0, 0.1):.3f}" for axis in axes)
                    out.write(f"{time_s:.2f},{values},{activity},{person}\n")


if __name__ == "__main__":
    main(sys.argv[1])
