//! `gleaner sweep plan`, `point` and `gather` as processes that are killed, stopped, or out of disk space.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use gleaner_shared::rng::{Purpose, Rng};

const SWEEP: &str = "
seeds = 2
[set]
run.rounds = 12
run.checkpoint_every = 1
device.cycles_per_sample = 3000.0
partition.mean_samples = 20.0
partition.std_samples = 2.0
data.test_samples = 50
data.validation_samples = 50
[grid]
run.scheduler = [\"random\", \"round-robin\"]
";

fn gleaner(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_gleaner"));
    command.args(words);
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A folder with the sweep in `lab.toml`.
struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    fn new(sweep: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lab.toml"), sweep).unwrap();
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = gleaner(words);
        command.current_dir(self.folder.path()).output().unwrap()
    }

    fn succeed(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert!(output.status.success(), "{words:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The table of the whole sweep, made in one piece.
    fn whole(&self) -> String {
        self.succeed(&["sweep", "lab.toml", "--out", "whole", "-q"]);
        fs::read_to_string(self.path("whole/sweep.csv")).unwrap()
    }

    fn point(&self, dir: &str, number: usize) -> Child {
        gleaner(&["sweep", "point", &self.text(dir), &number.to_string(), "-q"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    }
}

/// Bytes in all logs of rounds below a folder of work.
fn logged(work: &Path) -> u64 {
    let runs = fs::read_dir(work).into_iter().flatten().flatten();
    runs.filter_map(|run| fs::metadata(run.path().join("rounds.jsonl")).ok())
        .map(|log| log.len())
        .sum()
}

/// Sleeps for a moment.
fn pause() {
    std::thread::sleep(Duration::from_millis(2));
}

fn is_running(child: &mut Child) -> bool {
    child.try_wait().unwrap().is_none()
}

#[test]
fn killed_workers_leave_the_same_table_as_undisturbed_ones() {
    const KILLS: u64 = 16;
    let lab = Lab::new(SWEEP);
    let whole = lab.whole();
    lab.succeed(&["sweep", "plan", "lab.toml", "--out", "torn"]);
    let run = fs::read_dir(lab.path("whole/points")).unwrap().next();
    let log = run.unwrap().unwrap().path().join("rounds.jsonl");
    let length = fs::metadata(log).unwrap().len();
    let mut rng = Rng::stream(3, Purpose::Faults, 0, 0);
    let mut hits = 0;
    for kill in 0..KILLS {
        let number = (kill % 4) as usize;
        let mut worker = lab.point("torn", number);
        let moment = length * (kill / 4) / 4 + u64::from(rng.below(length as u32 / 4));
        while is_running(&mut worker) && logged(&lab.path("torn/work")) < moment {
            pause();
        }
        hits += u32::from(is_running(&mut worker));
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    assert!(hits > 8, "only {hits} kills came before the end");
    let output = lab.run(&["sweep", "gather", "torn", "-q"]);
    let missing = said(&output).contains("missing");
    assert_eq!(
        output.status.code(),
        Some(i32::from(missing)),
        "{}",
        said(&output)
    );
    for number in 0..4 {
        lab.succeed(&["sweep", "point", "torn", &number.to_string(), "-q"]);
        // A complete point is left as it is.
        lab.succeed(&["sweep", "point", "torn", &number.to_string(), "-q"]);
    }
    lab.succeed(&["sweep", "gather", "torn", "-q"]);
    assert_eq!(
        fs::read_to_string(lab.path("torn/sweep.csv")).unwrap(),
        whole
    );
    assert!(!lab.path("torn/work").exists());
    let best = |dir: &str| fs::read_to_string(lab.path(dir).join("best.json")).unwrap();
    assert_eq!(best("torn"), best("whole"));
    assert!(best("torn").contains("\"chosen_by\": \"tail_validation_accuracy\""));
}

#[test]
fn a_second_worker_exits_with_code_4_and_a_signal_stops_at_a_checkpoint() {
    // Ends by the signal.
    let lab = Lab::new(&SWEEP.replace("rounds = 12", "rounds = 1000000"));
    lab.succeed(&["sweep", "plan", "lab.toml", "--out", "long"]);
    let mut worker = gleaner(&["sweep", "point", &lab.text("long"), "0", "-q"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while is_running(&mut worker) && logged(&lab.path("long/work")) == 0 {
        pause();
    }
    let second = lab.run(&["sweep", "point", "long", "0"]);
    assert_eq!(second.status.code(), Some(4), "{}", said(&second));
    let owner = format!("process {} on", worker.id());
    assert!(said(&second).contains(&owner), "{}", said(&second));
    let mut kill = Command::new("kill");
    kill.args(["-USR1", &worker.id().to_string()]);
    assert!(kill.status().unwrap().success());
    let stopped = worker.wait_with_output().unwrap();
    assert_eq!(stopped.status.code(), Some(130), "{}", said(&stopped));
    assert!(
        said(&stopped).contains("stopped after round"),
        "{}",
        said(&stopped)
    );
    let output = lab.run(&["sweep", "gather", "long"]);
    assert_eq!(output.status.code(), Some(1));
    let note = said(&output);
    assert!(
        note.contains("point 0") && note.contains("newest checkpoint is after round"),
        "{note}"
    );
    assert!(note.contains("4 missing and 0 failed"), "{note}");
    assert!(!lab.path("long/failed").exists());
}

#[test]
fn gather_names_missing_and_failed_points_and_chooses_nothing() {
    let sweep = SWEEP
        .replace("[set]", "[set]\nharvest.source = \"trace\"")
        .replace(
            "[grid]",
            "[grid]\nharvest.file = [\"light.csv\", \"gone.csv\"]",
        )
        .replace("seeds = 2", "seeds = 1");
    let lab = Lab::new(&sweep);
    fs::write(lab.path("light.csv"), "t_s,p_w\n0,0.5\n10,0.5\n").unwrap();
    lab.succeed(&["sweep", "plan", "lab.toml", "--out", "gaps"]);
    lab.succeed(&["sweep", "point", "gaps", "0", "-q"]);
    let output = lab.run(&["sweep", "point", "gaps", "3", "-q"]);
    assert_eq!(output.status.code(), Some(1));
    let output = lab.run(&["sweep", "gather", "gaps"]);
    assert_eq!(output.status.code(), Some(1));
    let note = said(&output);
    for number in [1, 2] {
        let missing = format!("point {number} (");
        let line = note.lines().find(|line| line.starts_with(&missing));
        assert!(
            line.is_some_and(|line| line.ends_with("not executed yet")),
            "{note}"
        );
    }
    let failed = note.lines().find(|line| line.starts_with("point 3 ("));
    assert!(
        failed.is_some_and(|line| line.contains("gone.csv")),
        "{note}"
    );
    assert!(note.contains("2 missing and 1 failed"), "{note}");
    let table = fs::read_to_string(lab.path("gaps/sweep.csv")).unwrap();
    assert_eq!(table.lines().count(), 2);
    let best = fs::read_to_string(lab.path("gaps/best.json")).unwrap();
    assert!(best.contains("\"chosen_by\": null"), "{best}");
    let output = lab.run(&["sweep", "point", "gaps", "4"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        said(&output).contains("there is no point 4"),
        "{}",
        said(&output)
    );
}

#[test]
fn a_point_on_a_full_disk_fails_with_the_reason_and_continues_to_the_same_bytes() {
    let lab = Lab::new(SWEEP);
    let whole = lab.whole();
    lab.succeed(&["sweep", "plan", "lab.toml", "--out", "full"]);
    let script = "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_gleaner")])
        .args(["sweep", "point", &lab.text("full"), "1", "-q"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(
        said(&output).contains("File too large"),
        "{}",
        said(&output)
    );
    let output = lab.run(&["sweep", "gather", "full"]);
    let note = said(&output);
    assert!(
        note.contains("File too large") && note.contains("3 missing and 1 failed"),
        "{note}"
    );
    let (file, dir) = (lab.text("lab.toml"), lab.text("full"));
    lab.succeed(&["sweep", &file, "--out", &dir, "-q"]);
    assert_eq!(
        fs::read_to_string(lab.path("full/sweep.csv")).unwrap(),
        whole
    );
    assert!(!lab.path("full/failed").exists() && !lab.path("full/work").exists());
}

#[test]
fn the_plan_of_another_sweep_is_refused_and_stays() {
    let lab = Lab::new(SWEEP);
    lab.succeed(&["sweep", "plan", "lab.toml", "--out", "mine"]);
    let planned = fs::read_to_string(lab.path("mine/plan.json")).unwrap();
    fs::write(
        lab.path("lab.toml"),
        SWEEP.replace("rounds = 12", "rounds = 3"),
    )
    .unwrap();
    let output = lab.run(&["sweep", "plan", "lab.toml", "--out", "mine"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("plan.json"), "{}", said(&output));
    assert_eq!(
        fs::read_to_string(lab.path("mine/plan.json")).unwrap(),
        planned
    );
    let run = lab.succeed(&["sweep", "point", "mine", "3", "-q"]);
    let scenario = fs::read_to_string(lab.path(&format!("{}/scenario.toml", run.trim()))).unwrap();
    assert!(scenario.contains("rounds = 12"), "{scenario}");
}

#[test]
fn without_validation_images_nothing_is_chosen_and_a_missing_engine_names_what_to_install() {
    let lab = Lab::new(
        &SWEEP
            .replace("data.validation_samples = 50\n", "")
            .replace("rounds = 12", "rounds = 2"),
    );
    let output = lab.run(&["sweep", "lab.toml", "--out", "plain"]);
    assert!(output.status.success(), "{}", said(&output));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("data.validation_samples"), "{table}");
    assert!(!table.contains("Best of"), "{table}");

    let bare = |engine: &str| {
        let mut command = gleaner(&["sweep", "lab.toml", "--engine", engine, "--out", engine]);
        command
            .current_dir(lab.folder.path())
            .env("PATH", lab.folder.path());
        command.output().unwrap()
    };
    for (engine, remedy) in [
        ("slurm", "apt install slurm-wlm"),
        ("hyperqueue", "pip install hyperqueue"),
    ] {
        let output = bare(engine);
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains(remedy), "{}", said(&output));
    }
}

#[test]
fn a_stopped_point_of_any_study_continues_from_its_checkpoint() {
    let lab = Lab::new(SWEEP);
    let small = [
        "partition.mean_samples=20",
        "partition.std_samples=2",
        "data.test_samples=50",
    ];
    let small = small.iter().flat_map(|key| ["--set", key]);
    let words = [
        "compare",
        "--schedulers",
        "random",
        "--baseline-power",
        "min",
        "--servers",
        "described",
        "--seeds",
        "1",
    ];
    let words = words
        .into_iter()
        .chain(["--rounds", "100000", "--set", "run.checkpoint_every=1"]);
    let words: Vec<&str> = words.chain(small).chain(["--out", "cmp"]).collect();
    // The command is killed; the worker of another node continues, is stopped by a signal, and
    // continues again.
    let mut follower = gleaner(&words);
    let follower = follower
        .current_dir(lab.folder.path())
        .stderr(Stdio::null());
    let mut follower = follower.stdout(Stdio::null()).spawn().unwrap();
    while is_running(&mut follower) && logged(&lab.path("cmp/work")) < 4000 {
        pause();
    }
    follower.kill().unwrap();
    follower.wait().unwrap();
    for _ in 0..2 {
        let worker = gleaner(&["sweep", "point", &lab.text("cmp"), "0"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // Long enough for the first round of the worker.
        std::thread::sleep(Duration::from_secs(2));
        let mut kill = Command::new("kill");
        kill.args(["-USR1", &worker.id().to_string()]);
        assert!(kill.status().unwrap().success());
        let stopped = worker.wait_with_output().unwrap();
        assert_eq!(stopped.status.code(), Some(130), "{}", said(&stopped));
        let text = said(&stopped);
        assert!(text.contains("continuing after round"), "{text}");
    }
}
