"""Finds the program ``gleaner``, checks its version and starts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

from ._version import __version__

#: Environment variable with the path of the program to start instead of the installed one.
VARIABLE = "GLEANER_PROGRAM"

#: Seconds between the request to end and the kill of a program.
PATIENCE_S = 10.0

#: Advice at the end of every error about the installation.
REMEDY = (
    "install both together with `pip install .` in a checkout of the repository, or name a "
    f"program of this version in the environment variable {VARIABLE}"
)


class GleanerError(Exception):
    """The program failed, or a file of a run cannot be read."""


class ProgramError(GleanerError):
    """The program is missing or has another version than this module."""


def program() -> Path:
    """Return the path of the program, after checking that its version is the module's.

    The path is that in ``GLEANER_PROGRAM``, else of the program installed beside this module, else
    of the first on ``PATH``.

    Raises:
        ProgramError: The program is missing, cannot be started, or has another version.
    """
    path = _find()
    try:
        changed = path.stat().st_mtime_ns
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}; {REMEDY}") from error
    _check(path, changed)
    return path


def _find() -> Path:
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    name = "gleaner.exe" if os.name == "nt" else "gleaner"
    scripts = {sysconfig.get_path("scripts")}
    scripts.add(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    for folder in sorted(scripts):
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    found = shutil.which(name)
    if found is None:
        raise ProgramError(f"the program gleaner is not installed; {REMEDY}")
    return Path(found)


@lru_cache(maxsize=8)
def _check(path: Path, _changed: int) -> None:
    """Check the version of a program, once for every path and time of change."""
    try:
        asked = subprocess.run([path, "--version"], capture_output=True, check=False)
    except OSError as error:
        raise ProgramError(f"{path} cannot be started: {error.strerror}; {REMEDY}") from error
    said = asked.stdout.decode(errors="replace").splitlines()
    first = said[0] if said else ""
    if asked.returncode != 0 or not first.startswith("gleaner "):
        raise ProgramError(f"{path} is not the program gleaner; {REMEDY}")
    version = first.removeprefix("gleaner ").strip()
    if version != __version__:
        raise ProgramError(
            f"{path} is gleaner {version}, this module is {__version__}; {REMEDY}"
        )


def call(arguments: Sequence[str | os.PathLike[str]], *, quiet: bool = True) -> str:
    """Start the program and return its output; unless ``quiet``, copy its messages to ``stderr``.

    An exception in this call, such as Ctrl-C, ends the program as well.

    Raises:
        GleanerError: The program failed; the text is its error message.
    """
    with subprocess.Popen(
        [program(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as child:
        messages: list[str] = []
        listener = threading.Thread(
            target=_listen, args=(child.stderr, messages, quiet), daemon=True
        )
        try:
            listener.start()
            assert child.stdout is not None
            answer = child.stdout.read()
            code = child.wait()
        except BaseException:
            _end(child)
            raise
        finally:
            listener.join(PATIENCE_S)
    if code != 0:
        raise GleanerError(_error_text(messages, code))
    return answer


def _listen(stream: IO[str], messages: list[str], quiet: bool) -> None:
    for line in stream:
        messages.append(line)
        if not quiet:
            print(line, end="", file=sys.stderr, flush=True)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _error_text(messages: list[str], code: int) -> str:
    """Return the messages of a failed program from its last error on."""
    starts = [at for at, line in enumerate(messages) if line.startswith("error: ")]
    text = "".join(messages[starts[-1] :] if starts else messages)
    return text.removeprefix("error: ").strip() or f"gleaner ended with exit code {code}"
