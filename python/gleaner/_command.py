"""Functions that start runs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from ._program import call
from ._run import Run

#: A path, as the standard library takes it.
PathLike = str | os.PathLike[str]


def simulate(
    preset: PathLike = "paper-mlp",
    *,
    scheduler: str | None = None,
    seed: int | None = None,
    rounds: int | None = None,
    set: Mapping[str, Any] | None = None,
    profile: PathLike | None = None,
    threads: int = 0,
    out: PathLike | None = None,
    tensorboard: bool = False,
    quiet: bool = True,
    allow_process: bool = False,
) -> Run:
    """Simulate one scenario, as ``gleaner simulate`` does, and return the run.

    Args:
        preset: A preset's name, or a scenario file that ends in ``.toml``.
        scheduler: Name of the scheduler.
        seed: Seed of every random stream.
        rounds: Number of communication rounds.
        set: Keys to change, ``{"cre.v": 0.01}`` or ``{"cre": {"v": 0.01}}``.
        profile: Costs of a measured board, as ``gleaner energy fit`` wrote them.
        threads: Threads that train; 0 means one per processor. Results do not depend on it.
        out: Directory of the run, which must be empty; by default a new one under ``runs/``.
        tensorboard: Write the rounds for TensorBoard as well.
        quiet: Do not copy the program's messages to ``sys.stderr``.
        allow_process: Start the programs that a scenario file names with ``process:``. A program in
            ``scheduler`` or ``set`` needs no permission.

    Raises:
        GleanerError: The program failed; the text is its error message. An interrupted run can be
            continued with :func:`resume`.
    """
    arguments = _scenario(preset, seed, rounds, set, profile)
    arguments += _option("--scheduler", scheduler) + _allow(allow_process)
    return _run("simulate", [*arguments, *_option("--out", out)], threads, tensorboard, quiet)


def resume(
    directory: PathLike,
    *,
    threads: int = 0,
    tensorboard: bool = False,
    quiet: bool = True,
    allow_process: bool = False,
) -> Run:
    """Continue an interrupted run; a complete run is only read.

    Args:
        threads, tensorboard, quiet: As of :func:`simulate`.
        allow_process: Start the program that the run's scenario names with ``process:``.

    Raises:
        GleanerError: The program failed; the text is its error message.
    """
    arguments = [*_allow(allow_process), "--", os.fspath(directory)]
    return _run("resume", arguments, threads, tensorboard, quiet)


@dataclass(frozen=True)
class Comparison:
    """Several schedulers over several seeds."""

    #: One row per run: scheduler, power of the baselines, server, seed, figures of the summary.
    table: pd.DataFrame
    #: The runs, in the order of the rows.
    runs: list[Run]


def compare(
    preset: PathLike = "paper-mlp",
    *,
    schedulers: str | Sequence[str] = "paper,glean",
    seeds: int = 5,
    seed: int | None = None,
    baseline_power: str | Sequence[str] = ("max", "min"),
    servers: str | Sequence[str] = ("described", "same"),
    rounds: int | None = None,
    set: Mapping[str, Any] | None = None,
    profile: PathLike | None = None,
    threads: int = 0,
    out: PathLike | None = None,
    tensorboard: bool = False,
    quiet: bool = True,
    allow_process: bool = False,
) -> Comparison:
    """Compare schedulers over seeds, as ``gleaner compare`` does.

    Args:
        preset, seed, rounds, set, profile, threads, tensorboard, quiet, allow_process: As of
            :func:`simulate`.
        schedulers: Their names; ``"paper"``, ``"rivals"`` and ``"all"`` stand for several.
        seeds: Number of seeds; they start at ``seed``, or 0.
        baseline_power: Transmit powers of the baselines: ``"max"``, ``"min"``, ``"least-energy"``.
        servers: ``"described"`` is each scheduler with its own server step, ``"same"`` one for all.
        out: Directory of the comparison; complete runs there are not repeated.

    Raises:
        GleanerError: The program failed; the text is its error message.
    """
    arguments = _scenario(preset, seed, rounds, set, profile)
    arguments += _option("--schedulers", _list(schedulers)) + _option("--seeds", seeds)
    arguments += _option("--baseline-power", _list(baseline_power))
    arguments += _option("--servers", _list(servers)) + _option("--out", out)
    arguments += _allow(allow_process)
    answer = _call("compare", arguments, threads, tensorboard, quiet)
    rows, runs = [], []
    for variant in answer:
        for place, summary in zip(variant["runs"], variant["seeds"], strict=True):
            run = Run.read(place)
            variant_of = {key: variant[key] for key in ("scheduler", "baseline_power", "server")}
            rows.append({**variant_of, "seed": run.scenario["run"]["seed"], **summary})
            runs.append(run)
    return Comparison(pd.DataFrame(rows), runs)


def _run(command: str, arguments: list[str], threads: int, tensorboard: bool, quiet: bool) -> Run:
    answer = _call(command, arguments, threads, tensorboard, quiet)
    run = Run.read(answer["directory"])
    # The program has just printed the summary.
    run.__dict__["summary"] = answer["summary"]
    return run


def _call(command: str, arguments: list[str], threads: int, tensorboard: bool, quiet: bool) -> Any:
    options = ["--json", *_option("--threads", threads)]
    options += ["--tensorboard"] * tensorboard + ["--quiet"] * quiet
    return json.loads(call([command, *options, *arguments], quiet=quiet))


def _scenario(
    preset: PathLike,
    seed: int | None,
    rounds: int | None,
    changes: Mapping[str, Any] | None,
    profile: PathLike | None,
) -> list[str]:
    arguments = _option("--preset", preset) + _option("--seed", seed) + _option("--rounds", rounds)
    for key, value in _flat(changes or {}):
        arguments += _option("--set", f"{key}={_toml(value)}")
    return arguments + _option("--profile", profile)


def _allow(process: bool) -> list[str]:
    return ["--allow-process"] if process else []


def _option(name: str, value: object) -> list[str]:
    """Return ``name=value`` as one word, so that a value may begin with a dash."""
    return [] if value is None else [f"{name}={value}"]


def _list(names: str | Sequence[str]) -> str:
    return names if isinstance(names, str) else ",".join(names)


def _flat(changes: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in changes.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _toml(value: Any) -> str:
    """Return a value as TOML; numpy numbers and arrays become those of Python."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, (int, float)):
        return repr(value)
    return json.dumps(
        os.fspath(value) if isinstance(value, os.PathLike) else str(value), ensure_ascii=False
    )
