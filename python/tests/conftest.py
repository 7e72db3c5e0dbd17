"""Fixtures: one small run, simulated once by the installed program."""

import pathlib

import pytest

import gleaner

#: Ten clients of some thirty samples.
SMALL = {"partition": {"mean_samples": 30, "std_samples": 3}, "data.test_samples": 50}


@pytest.fixture(scope="session")
def small() -> dict:
    """Settings that make any scenario small."""
    return SMALL


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> gleaner.Run:
    """A complete run, in a folder with spaces and letters beyond ASCII."""
    out = tmp_path_factory.mktemp("runs") / "ein Lauf, größer – 试验"
    return gleaner.simulate(
        scheduler="cre", rounds=4, seed=3, set=SMALL, out=out, tensorboard=True, threads=1
    )


@pytest.fixture
def copied(made: gleaner.Run, tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the run for tests that damage it."""
    import shutil

    return pathlib.Path(shutil.copytree(made.directory, tmp_path / "copy"))
