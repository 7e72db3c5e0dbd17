"""The program ``gleaner``: where it is, whether it is ours, and starting it."""

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

#: Names the program to start, in place of the one this module was installed with.
VARIABLE = "GLEANER_PROGRAM"

#: Seconds a program that was told to end may take before it is killed.
PATIENCE_S = 10.0

#: How to mend an installation.
REMEDY = (
    "install both together with `pip install .` in a checkout of the repository, or name a "
    f"program of this version in the environment variable {VARIABLE}"
)


class GleanerError(Exception):
    """The program failed, or what a run wrote cannot be read; the text says what and where."""


class ProgramError(GleanerError):
    """There is no program, or it is not of this module's version."""


def program() -> Path:
    """Return the program this module starts, once its version is known to be the module's.

    It is the one that ``GLEANER_PROGRAM`` names, else the one installed beside this module, else
    the first on the path.

    Raises:
        ProgramError: There is none, it cannot be started, or it is of another version.
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
    """Ask a program for its version; once for every file that was there."""
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
            f"{path} is gleaner {version}, this module is of {__version__}; {REMEDY}"
        )


def call(arguments: Sequence[str | os.PathLike[str]], *, quiet: bool = True) -> str:
    """Start the program and return what it printed; unless ``quiet``, pass its remarks on.

    Whatever ends this call early, Ctrl-C above all, ends the program as well.

    Raises:
        GleanerError: The program failed; the text is its own.
    """
    with subprocess.Popen(
        [program(), *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as child:
        remarks: list[str] = []
        listener = threading.Thread(
            target=_listen, args=(child.stderr, remarks, quiet), daemon=True
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
        raise GleanerError(_complaint(remarks, code))
    return answer


def _listen(stream: IO[str], remarks: list[str], quiet: bool) -> None:
    for line in stream:
        remarks.append(line)
        if not quiet:
            print(line, end="", file=sys.stderr, flush=True)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(PATIENCE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def _complaint(remarks: list[str], code: int) -> str:
    """Return what a program said of its failure: all from its last error on."""
    starts = [at for at, line in enumerate(remarks) if line.startswith("error: ")]
    text = "".join(remarks[starts[-1] :] if starts else remarks)
    return text.removeprefix("error: ").strip() or f"gleaner ended with exit code {code}"
