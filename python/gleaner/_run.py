"""Reads the files of a run as tables and arrays."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ._program import GleanerError, call
from ._tensors import decode

#: Numeric columns of the rounds, some of which are missing in some rounds.
_FIGURES = (
    "accuracy",
    "test_loss",
    "train_loss",
    "bound",
    "objective",
    "rho",
    "beta",
    "compute_j",
    "radio_j",
    "harvest_j",
    "cumulative_spent_j",
    "downlink_s",
    "round_s",
    "validation_accuracy",
    "validation_loss",
)

#: Reads numbers exactly as written; pandas 3.1 and later always do.
_OLD = tuple(int(part) for part in pd.__version__.split(".")[:2]) < (3, 1)
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _OLD else {}

#: First columns of a table of clients.
_KEYS = ["round", "client"]

# Names in runs of earlier versions, each with the present one.
_OLD_NAMES = {
    "implausible": "anomalies",
    "harvested_pj": "harvest_pj",
    "spent_j": "cumulative_spent_j",
    "balance_j": "cumulative_balance_j",
}


class Run:
    """A run in its directory. Each file is read at its first use.

    The files of a complete run are checked against its digests. The tables of a run that is not
    complete hold only whole rounds.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        #: Directory of the run.
        self.directory = Path(directory)
        if not (self.directory / "scenario.toml").is_file():
            raise GleanerError(f"{self.directory} holds no run: there is no scenario.toml")

    @classmethod
    def read(cls, directory: str | os.PathLike[str]) -> Run:
        """Return the run in a directory.

        Raises:
            GleanerError: The directory holds no run.
        """
        return cls(directory)

    def __repr__(self) -> str:
        state = "" if self.complete else ", not complete"
        return f"Run({str(self.directory)!r}{state})"

    @property
    def complete(self) -> bool:
        """Whether the last round is finished."""
        return (self.directory / "SHA256SUMS").is_file()

    @cached_property
    def scenario(self) -> dict[str, Any]:
        """The resolved scenario, by section and key."""
        data = self._bytes("scenario.toml")
        try:
            return tomllib.loads(data.decode())
        except ValueError as error:
            raise self._damaged("scenario.toml", error) from error

    @cached_property
    def rounds(self) -> pd.DataFrame:
        """One row per round: accuracy, losses, energies, participants."""
        rows = []
        for number, line in enumerate(self._lines("rounds.jsonl").splitlines(), 1):
            try:
                row = _with_present_names(json.loads(line))
                rows.append({"round": int(row.pop("round")), **row})
            except (ValueError, AttributeError, KeyError, TypeError) as error:
                raise self._damaged(f"rounds.jsonl, line {number}", error) from error
        table = pd.DataFrame(rows, columns=None if rows else ["round", *_FIGURES[:4]])
        # Rounds without evaluation have null, possibly in a whole column.
        return table.astype({name: float for name in _FIGURES if name in table})

    @cached_property
    def clients(self) -> pd.DataFrame:
        """One row per client and round: its state, order, energies and queue."""
        return self._table("clients.csv", {"channel": "Int64"})

    @cached_property
    def energy(self) -> pd.DataFrame | None:
        """Every client's energy by phase, in picojoules; ``None`` under the paper's accounting."""
        if not (self.directory / "energy.csv").is_file() and not self._is_listed("energy.csv"):
            return None
        return self._table("energy.csv", {})

    @cached_property
    def summary(self) -> dict[str, Any]:
        """The results of the run, as ``gleaner simulate --json`` prints them."""
        self._ensure_complete("summary")
        summary: dict[str, Any]
        summary = json.loads(call(["report", "--json", "--", self.directory]))["summary"]
        return summary

    @cached_property
    def model(self) -> dict[str, np.ndarray]:
        """The tensors of the final model by name."""
        self._ensure_complete("model")
        try:
            return decode(self._bytes("model.safetensors"))
        except ValueError as error:
            raise self._damaged("model.safetensors", error) from error

    def _ensure_complete(self, what: str) -> None:
        if not self.complete:
            raise GleanerError(
                f"{self.directory} is not complete and has no {what} yet; gleaner.resume continues it"
            )

    def _table(self, name: str, types: dict[str, str]) -> pd.DataFrame:
        data = self._lines(name)
        if not data:
            return pd.DataFrame(columns=_KEYS)
        try:
            table = pd.read_csv(io.BytesIO(data), dtype=types, **_EXACT)
        except ValueError as error:
            raise self._damaged(name, error) from error
        table = table.rename(columns=_OLD_NAMES)
        if list(table.columns[:2]) != _KEYS:
            raise self._damaged(name, ValueError("its first columns are not round and client"))
        return table if self.complete else _whole_rounds(table, self.scenario["clients"]["count"])

    def _lines(self, name: str) -> bytes:
        """Return the whole lines of a file that a run appends to."""
        data = self._bytes(name)
        return data if self.complete else data[: data.rfind(b"\n") + 1]

    def _bytes(self, name: str) -> bytes:
        """Return the content of a file, checked against its digest if the run is complete."""
        try:
            data = (self.directory / name).read_bytes()
        except OSError as error:
            raise GleanerError(f"{self.directory / name}: {error.strerror}") from error
        expected = self._digests.get(name)
        if expected is not None and hashlib.sha256(data).hexdigest() != expected:
            raise GleanerError(
                f"{self.directory / name} is damaged: its SHA-256 is not the one in SHA256SUMS"
            )
        return data

    def _is_listed(self, name: str) -> bool:
        return name in self._digests

    @cached_property
    def _digests(self) -> dict[str, str]:
        if not self.complete:
            return {}
        lines = (self.directory / "SHA256SUMS").read_text().splitlines()
        pairs = (line.split(maxsplit=1) for line in lines)
        return {pair[1]: pair[0] for pair in pairs if len(pair) == 2}

    def _damaged(self, place: str, error: Exception) -> GleanerError:
        return GleanerError(f"{self.directory / place}: {error}")


def _with_present_names(row: dict[str, Any]) -> dict[str, Any]:
    """Return a line of ``rounds.jsonl`` with the key names of this version."""
    return {_OLD_NAMES.get(name, name): value for name, value in row.items()}


def _whole_rounds(table: pd.DataFrame, clients: int) -> pd.DataFrame:
    """Return the rounds with a row of every client; only the last may be incomplete."""
    is_last = table["round"].eq(table["round"].max())
    return table if is_last.sum() in (0, clients) else table.loc[~is_last]
