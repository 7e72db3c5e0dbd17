"""Federated learning for energy-harvesting microcontrollers, from Python.

This module starts the program ``gleaner`` and reads the runs it writes::

    import gleaner

    run = gleaner.simulate(scheduler="cre", rounds=20, set={"cre.v": 0.01})
    run.rounds.plot(x="round", y="accuracy")
    run.summary["energy_j"], run.model["w1"].shape

See docs/guide/python.md of the repository.
"""

from ._command import Comparison, compare, resume, simulate
from ._program import GleanerError, ProgramError, program
from ._run import Run
from ._version import __version__

__all__ = [
    "Comparison",
    "GleanerError",
    "ProgramError",
    "Run",
    "__version__",
    "compare",
    "program",
    "resume",
    "simulate",
]
