"""Tests of a missing, foreign, failing or interrupted program."""

import importlib.metadata
import json
import os
import pathlib
import signal
import subprocess
import sys
import textwrap

import pytest

import gleaner


def pretend(path: pathlib.Path, script: str) -> pathlib.Path:
    """Write a program that is not gleaner."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def test_module_wheel_and_program_have_one_version():
    assert importlib.metadata.version("gleaner") == gleaner.__version__
    said = subprocess.run([gleaner.program(), "--version"], capture_output=True, text=True)
    assert said.stdout.splitlines()[0] == f"gleaner {gleaner.__version__}"


def test_the_program_is_the_one_installed_beside_the_module(monkeypatch):
    monkeypatch.delenv("GLEANER_PROGRAM", raising=False)
    assert gleaner.program().parent == pathlib.Path(sys.executable).parent


def test_a_missing_or_foreign_program_is_refused_with_advice(monkeypatch, tmp_path):
    def refused(path, match):
        monkeypatch.setenv("GLEANER_PROGRAM", str(path))
        with pytest.raises(gleaner.ProgramError, match=match) as error:
            gleaner.simulate(rounds=1)
        assert "pip install ." in str(error.value)

    refused(tmp_path / "nowhere", "No such file")
    older = pretend(tmp_path / "older", "echo gleaner 0.0.1")
    refused(older, f"is gleaner 0.0.1, this module is {gleaner.__version__}")
    refused(pretend(tmp_path / "other", "echo hello"), "is not the program gleaner")
    refused(pretend(tmp_path / "mute", "exit 1"), "is not the program gleaner")
    (tmp_path / "data").write_text("no program")
    refused(tmp_path / "data", "cannot be started")


def test_a_missing_program_is_an_error(monkeypatch, tmp_path):
    monkeypatch.delenv("GLEANER_PROGRAM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    with pytest.raises(gleaner.ProgramError, match="is not installed"):
        gleaner.program()


def test_an_error_of_the_program_is_an_exception_with_its_text(made, tmp_path):
    with pytest.raises(gleaner.GleanerError, match="paper-mlp") as error:
        gleaner.simulate("paper-mpl", out=tmp_path / "run")
    assert "error:" not in str(error.value)
    with pytest.raises(gleaner.GleanerError, match="cre.w"):
        gleaner.simulate(set={"cre.w": 1}, out=tmp_path / "run")
    with pytest.raises(gleaner.GleanerError, match="is not empty"):
        gleaner.simulate(rounds=1, out=made.directory)
    with pytest.raises(gleaner.GleanerError, match="invalid value"):
        gleaner.simulate(rounds=-1, out=tmp_path / "run")
    with pytest.raises(gleaner.GleanerError, match="nowhere"):
        gleaner.resume(tmp_path / "nowhere")


def test_a_program_that_a_file_names_needs_permission(small, tmp_path):
    script = tmp_path / "rest.py"
    script.write_text(
        "import json, sys\n"
        "for number, line in enumerate(sys.stdin):\n"
        "    answer = {'round': number, 'orders': []} if number else {'version': 2}\n"
        "    print(json.dumps(answer), flush=True)\n"
    )
    scheduler = f"process:{sys.executable} {script}"
    scenario = tmp_path / "lab.toml"
    scenario.write_text(f"[run]\nscheduler = {json.dumps(scheduler)}\n")
    options = {"rounds": 2, "set": small, "threads": 1}
    with pytest.raises(gleaner.GleanerError, match="--allow-process"):
        gleaner.simulate(scenario, out=tmp_path / "refused", **options)
    run = gleaner.simulate(scenario, out=tmp_path / "run", allow_process=True, **options)
    assert run.complete
    given = gleaner.simulate(scheduler=scheduler, out=tmp_path / "given", **options)
    assert given.rounds.equals(run.rounds)


def test_messages_are_copied_unless_quiet(small, tmp_path, capsys):
    gleaner.simulate(rounds=2, set=small, out=tmp_path / "run", quiet=False, threads=1)
    assert "round 2/2" in capsys.readouterr().err


def test_ctrl_c_ends_the_program_and_leaves_a_run_to_resume(small, tmp_path):
    """The signal goes to Python alone, as a notebook sends it."""
    out = tmp_path / "lang"
    script = f"""
        import signal, gleaner
        # Tests that were started in the background inherit a signal that is ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        gleaner.simulate(rounds=1_000_000, set={small!r}, out={str(out)!r}, threads=1)
    """
    python = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    log = out / "rounds.jsonl"
    while not (log.is_file() and log.stat().st_size):
        assert python.poll() is None, python.communicate()[1]
    children = pathlib.Path(f"/proc/{python.pid}/task/{python.pid}/children")
    child = int(children.read_text().split()[0]) if children.is_file() else None
    python.send_signal(signal.SIGINT)
    said = python.communicate(timeout=120)[1]
    assert "KeyboardInterrupt" in said and python.returncode != 0, said
    if child is not None:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
    run = gleaner.Run.read(out)
    assert not run.complete
    assert list(run.rounds["round"]) == list(range(1, len(run.rounds) + 1))
