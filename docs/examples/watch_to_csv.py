"""Writes the watch data of seglearn as a table: python3 watch_to_csv.py watch_dataset.npy watch.csv

Needs numpy. The file is a pickle: read only the one whose digest host/learn/data/README.md states.
"""

import sys

import numpy as np

STEPS = 4  # readings that become one


def main(source, target):
    data = np.load(source, allow_pickle=True).item()
    subjects, exercises, sides = (data[key].astype(int) for key in ("subject", "y", "side"))
    order = sorted(range(len(subjects)), key=lambda i: (subjects[i], exercises[i], sides[i]))
    with open(target, "w", newline="\n") as out:
        out.write(",".join([*data["X_labels"], "exercise", "subject", "recording"]) + "\n")
        for recording, i in enumerate(order):
            whole = len(data["X"][i]) // STEPS * STEPS
            steps = data["X"][i][:whole].reshape(-1, STEPS, 6).mean(axis=1)
            tags = f"{data['y_labels'][exercises[i]]},{subjects[i]},{recording}"
            for step in steps:
                out.write(",".join(f"{value:.5f}" for value in step) + f",{tags}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
