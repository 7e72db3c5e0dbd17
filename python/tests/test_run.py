"""Tests of reading complete, interrupted and damaged runs."""

import hashlib
import json
import math
import pathlib

import numpy as np
import pytest

import gleaner


def test_a_run_has_tables_tensors_and_a_summary(made):
    assert made.complete
    assert list(made.rounds["round"]) == [1, 2, 3, 4]
    assert made.rounds["accuracy"].between(0, 1).all()
    assert all(isinstance(who, list) for who in made.rounds["participants"])
    clients = made.clients
    assert len(clients) == 40
    assert set(clients["state"]) <= {"idle", "trained", "infeasible", "late"}
    assert clients["within_income"].dtype == bool
    trained = clients[clients["state"] == "trained"]
    assert trained["channel"].notna().all()
    assert clients[clients["state"] == "idle"]["channel"].isna().all()
    assert len(trained) == sum(map(len, made.rounds["participants"]))
    asked = {"scheduler": "cre", "seed": 3, "rounds": 4}
    assert made.scenario["run"] == made.scenario["run"] | asked
    assert made.energy is None, "the paper's books have no phases"
    shapes = {name: tensor.shape for name, tensor in made.model.items()}
    assert sum(map(math.prod, shapes.values())) == 784 * 50 + 50 + 50 * 10 + 10, shapes
    assert all(tensor.dtype == np.float32 for tensor in made.model.values())


def test_the_summary_is_the_programs_and_agrees_with_the_tables(made):
    again = gleaner.Run.read(made.directory)
    assert again.summary == made.summary
    spent = made.clients[["compute_j", "radio_j"]].to_numpy().sum()
    assert made.summary["energy_j"] == pytest.approx(spent, rel=1e-9)
    assert made.summary["final_accuracy"] == made.rounds["accuracy"].iloc[-1]


def test_equal_runs_are_equal_whatever_the_threads_and_however_the_keys_are_given(made, tmp_path):
    again = gleaner.simulate(
        scheduler="cre",
        rounds=4,
        seed=np.int64(3),
        set={
            "partition.mean_samples": 30,
            "partition.std_samples": np.float64(3),
            "data": {"test_samples": 50},
        },
        out=str(tmp_path / "-again"),
    )
    assert again.rounds.equals(made.rounds)
    assert again.clients.equals(made.clients)
    assert all((again.model[name] == made.model[name]).all() for name in made.model)


def test_a_run_with_an_energy_store_has_phases_of_energy(small, tmp_path):
    run = gleaner.simulate("rp2040", rounds=2, set=small, out=tmp_path / "run", threads=1)
    assert run.energy is not None
    assert len(run.energy) == len(run.clients)
    assert list(run.energy.columns[:2]) == ["round", "client"]


def test_events_for_tensorboard_lie_beside_the_tables(made):
    (events,) = (made.directory / "tensorboard").iterdir()
    assert "tfevents" in events.name and b"test/accuracy" in events.read_bytes()


def test_a_comparison_has_a_row_for_every_run(small, tmp_path):
    comparison = gleaner.compare(
        schedulers=["cre", "random"],
        seeds=2,
        seed=5,
        baseline_power="min",
        servers="described",
        rounds=2,
        set=small,
        out=tmp_path / "zwei Läufe",
        threads=1,
    )
    table = comparison.table
    assert list(zip(table["scheduler"], table["seed"])) == [
        ("cre", 5),
        ("cre", 6),
        ("random", 5),
        ("random", 6),
    ]
    assert [run.summary["energy_j"] for run in comparison.runs] == list(table["energy_j"])


def test_a_folder_without_a_run_is_refused(tmp_path):
    with pytest.raises(gleaner.GleanerError, match="holds no run"):
        gleaner.Run.read(tmp_path)
    with pytest.raises(gleaner.GleanerError, match="holds no run"):
        gleaner.Run.read(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("name", "what"),
    [("rounds.jsonl", "rounds"), ("clients.csv", "clients"), ("model.safetensors", "model")],
)
def test_a_file_that_was_changed_or_is_gone_is_named_and_the_others_are_read(copied, name, what):
    path = copied / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-9] + b"7" + whole[-8:])
    with pytest.raises(gleaner.GleanerError, match=f"{name} is damaged: its SHA-256"):
        getattr(gleaner.Run.read(copied), what)
    path.unlink()
    run = gleaner.Run.read(copied)
    with pytest.raises(gleaner.GleanerError, match=f"{name}: No such file"):
        getattr(run, what)
    for other in {"rounds", "clients", "model"} - {what}:
        assert len(getattr(run, other)) > 0
    path.write_bytes(whole)
    assert len(getattr(gleaner.Run.read(copied), what)) > 0


def interrupted(folder: pathlib.Path) -> None:
    """Leave a run as a crash does while a round is written."""
    (folder / "SHA256SUMS").unlink()
    (folder / "model.safetensors").unlink()
    for name in ("rounds.jsonl", "clients.csv"):
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[:-30])


def test_an_interrupted_run_has_its_whole_rounds_and_says_that_it_is_not_complete(copied, made):
    interrupted(copied)
    run = gleaner.Run.read(copied)
    assert not run.complete and "not complete" in repr(run)
    assert run.rounds.equals(made.rounds.iloc[:3])
    assert run.clients.equals(made.clients[made.clients["round"] < 4])
    for what in ("model", "summary"):
        with pytest.raises(gleaner.GleanerError, match=f"has no {what} yet"):
            getattr(run, what)
    finished = gleaner.resume(copied)
    assert finished.rounds.equals(made.rounds)
    assert finished.summary == made.summary


def test_a_run_that_has_just_begun_has_empty_tables(copied):
    interrupted(copied)
    (copied / "rounds.jsonl").write_bytes(b"")
    (copied / "clients.csv").write_bytes(b"round,clie")
    run = gleaner.Run.read(copied)
    assert len(run.rounds) == 0 and "accuracy" in run.rounds
    assert len(run.clients) == 0


def test_columns_of_earlier_versions_have_their_present_names(copied):
    present = gleaner.Run.read(copied)
    interrupted(copied)
    for name, column in (("rounds.jsonl", "spent_j"), ("clients.csv", "balance_j")):
        text = (copied / name).read_text()
        assert f"cumulative_{column}" in text
        (copied / name).write_text(text.replace(f"cumulative_{column}", column))
    earlier = gleaner.Run.read(copied)
    for name in ("rounds", "clients"):
        assert list(getattr(earlier, name).columns) == list(getattr(present, name).columns)


def test_not_a_number_is_kept_and_a_broken_line_is_named(copied):
    interrupted(copied)
    lines = (copied / "rounds.jsonl").read_text().splitlines()
    first = json.loads(lines[0]) | {"train_loss": None, "accuracy": None}
    (copied / "rounds.jsonl").write_text(json.dumps(first) + "\n")
    rows = (copied / "clients.csv").read_text().splitlines()
    cells = rows[1].split(",")
    at = rows[0].split(",").index("queue_j")
    cells[at] = "NaN"
    cells[at + 1] = "-inf"
    (copied / "clients.csv").write_text("\n".join([rows[0], ",".join(cells), *rows[2:11]]) + "\n")
    run = gleaner.Run.read(copied)
    assert math.isnan(run.rounds["train_loss"][0])
    assert math.isnan(run.clients["queue_j"][0])
    assert run.clients["cumulative_balance_j"][0] == -math.inf

    (copied / "rounds.jsonl").write_text(f"{lines[0]}\n[1, 2\n{lines[1]}\n")
    (copied / "clients.csv").write_text("who,what\n1,2\n")
    run = gleaner.Run.read(copied)
    with pytest.raises(gleaner.GleanerError, match="rounds.jsonl, line 2"):
        run.rounds
    with pytest.raises(gleaner.GleanerError, match="clients.csv: "):
        run.clients


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:5],
        lambda data: b"\xff" * 8 + data[8:],
        lambda data: data[:-4],
        lambda data: data.replace(b'"F32"', b'"F99"', 1),
        lambda data: data.replace(b'"shape":[', b'"shape":[9', 1),
        lambda data: data[:8] + b"[" + data[9:],
    ],
)
def test_an_invalid_model_is_refused_even_with_the_right_digest(copied, damage):
    path = copied / "model.safetensors"
    sums = (copied / "SHA256SUMS").read_text()
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(damage(path.read_bytes()))
    after = hashlib.sha256(path.read_bytes()).hexdigest()
    (copied / "SHA256SUMS").write_text(sums.replace(before, after))
    with pytest.raises(gleaner.GleanerError, match="model.safetensors: "):
        gleaner.Run.read(copied).model
