//! A run killed at any moment and resumed ends with the same bytes as one left alone.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use gleaner_files::sha256;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::run::{Checkpoint, RunDirectory};

/// Small enough to be quick, long enough to be hit in the middle.
const SMALL: [&str; 13] = [
    "--rounds",
    "30",
    "--set",
    "partition.mean_samples=60",
    "--set",
    "partition.std_samples=10",
    "--set",
    "data.test_samples=50",
    "--set",
    "run.checkpoint_every=1",
    "--threads",
    "1",
    "--tensorboard",
];

fn gleaner() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
}

fn simulate(out: &Path, more: &[&str]) -> Command {
    let mut command = gleaner();
    command
        .arg("simulate")
        .args(SMALL)
        .args(more)
        .arg("--quiet")
        .arg("--out")
        .arg(out);
    command
}

fn resume(out: &Path) -> Command {
    let mut command = gleaner();
    command.arg("resume").arg(out).args(["--threads", "1"]);
    command
}

fn succeed(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

fn sums(run: &Path) -> String {
    fs::read_to_string(run.join("SHA256SUMS")).unwrap()
}

/// Kills a process once a log has reached a length, or lets it end if it never does.
fn kill_when_logged(mut child: Child, log: &Path, bytes: u64) {
    while child.try_wait().unwrap().is_none() {
        if fs::metadata(log).is_ok_and(|metadata| metadata.len() >= bytes) {
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        std::thread::yield_now();
    }
}

fn is_killed_and_resumed_to_the_same_bytes(kills: u32, more: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    succeed(&mut simulate(&whole, more));
    let length = fs::metadata(whole.join("clients.csv")).unwrap().len();
    let expected = sums(&whole);

    let broken = folder.path().join("broken");
    let log = broken.join("clients.csv");
    let mut rng = Rng::stream(11, Purpose::Faults, 0, kills);
    let mut hits = 0;
    for kill in 0..kills {
        let mut command = if broken.join("scenario.toml").exists() {
            resume(&broken)
        } else {
            let _ = fs::remove_dir_all(&broken);
            simulate(&broken, more)
        };
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // The log is cut back on resuming, so thresholds rise to make progress on average.
        let from = length * u64::from(kill) / u64::from(kills);
        let span = u32::try_from(length / u64::from(kills) * 2).unwrap();
        kill_when_logged(child, &log, from + u64::from(rng.below(span)));
        hits += u32::from(!broken.join("SHA256SUMS").exists());
    }
    assert!(
        hits > kills / 2,
        "only {hits} of {kills} kills came before the end"
    );
    if !broken.join("SHA256SUMS").exists() {
        succeed(&mut resume(&broken));
    }
    assert_eq!(sums(&broken), expected);
    let events =
        |run: &Path| fs::read(run.join("tensorboard/events.out.tfevents.0.gleaner")).unwrap();
    assert_eq!(events(&broken), events(&whole));
}

#[test]
fn killed_at_many_moments_a_run_resumes_to_the_same_bytes() {
    is_killed_and_resumed_to_the_same_bytes(12, &[]);
}

#[test]
fn doubts_about_a_client_are_the_same_in_a_run_that_was_killed() {
    let liar = [
        "--set",
        "hostile.clients=1",
        "--set",
        "hostile.attack=loss",
        "--set",
        "cre.estimates=uplink",
    ];
    is_killed_and_resumed_to_the_same_bytes(5, &liar);
}

#[test]
fn a_run_that_stops_on_validation_stops_there_though_it_was_killed() {
    let stopping = [
        "--set",
        "run.stop=validation",
        "--set",
        "run.patience=3",
        "--set",
        "data.validation_samples=100",
        "--set",
        "learning.learning_rate=0.1",
    ];
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    succeed(&mut simulate(&whole, &stopping));
    let rounds = fs::read_to_string(whole.join("rounds.jsonl")).unwrap();
    assert!(rounds.lines().count() < 30 && rounds.contains("\"cause\":\"patience\""));
    is_killed_and_resumed_to_the_same_bytes(6, &stopping);
}

#[test]
fn fixed_point_clients_resume_with_the_model_they_hold() {
    let fixed = [
        "--set",
        "clients.kind=fixed-point",
        "--set",
        "cre.estimates=uplink",
    ];
    is_killed_and_resumed_to_the_same_bytes(4, &fixed);
}

#[test]
fn a_server_goes_on_with_what_it_remembers() {
    let spectral = ["--set", "server.rule=spectral", "--scheduler", "random"];
    is_killed_and_resumed_to_the_same_bytes(4, &spectral);
    let fixed = [
        "--set",
        "server.rule=nesterov",
        "--set",
        "clients.kind=fixed-point",
    ];
    is_killed_and_resumed_to_the_same_bytes(3, &fixed);
}

#[test]
fn a_damaged_checkpoint_falls_back_to_the_previous_one_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    succeed(&mut simulate(&whole, &[]));
    let broken = folder.path().join("broken");
    let mut command = simulate(&broken, &[]);
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let half = fs::metadata(whole.join("clients.csv")).unwrap().len() / 2;
    kill_when_logged(child, &broken.join("clients.csv"), half);
    // The kill may fall between the two renames; then the older one is the newest there is.
    let newest = ["checkpoint.bin", "checkpoint.previous.bin"]
        .iter()
        .map(|name| broken.join(name))
        .find(|path| path.exists())
        .unwrap();
    let mut bytes = fs::read(&newest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&newest, bytes).unwrap();
    let output = succeed(&mut resume(&broken));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("damaged checkpoint") && said.contains("hash"),
        "{said}"
    );
    assert_eq!(sums(&broken), sums(&whole));
}

#[test]
fn a_run_from_before_the_radio_had_its_name_is_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    succeed(&mut simulate(&whole, &[]));
    let broken = folder.path().join("broken");
    let child = simulate(&broken, &[])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let half = fs::metadata(whole.join("clients.csv")).unwrap().len() / 2;
    kill_when_logged(child, &broken.join("clients.csv"), half);

    let file = broken.join("scenario.toml");
    let text = fs::read_to_string(&file).unwrap();
    let old = text.replace("[radio]", "[link]");
    assert_ne!(text, old);
    fs::write(&file, &old).unwrap();
    let directory = RunDirectory::new(&broken);
    let mut checkpoint = Checkpoint::read(&directory).0.unwrap();
    checkpoint.scenario = sha256(old.as_bytes());
    checkpoint.write(&directory).unwrap();

    let output = succeed(&mut resume(&broken));
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said.matches("[link] is now [radio]").count(), 1, "{said}");
    assert!(said.contains("continuing after round"), "{said}");
    // Only the scenario is written otherwise.
    let after_scenario = |run: &Path| sums(run).split_once('\n').unwrap().1.to_owned();
    assert_eq!(after_scenario(&broken), after_scenario(&whole));
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    for (name, more) in [
        ("cre", ["--scheduler", "cre"]),
        ("fednova", ["--scheduler", "fednova"]),
        ("fresh", ["--scheduler", "channel-allocate"]),
        ("fixed", ["--set", "clients.kind=fixed-point"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let of = |threads: &str| {
            let run = folder.path().join(threads);
            succeed(
                gleaner()
                    .arg("simulate")
                    .args(&SMALL[2..10])
                    .args(more)
                    .args([
                        "--threads",
                        threads,
                        "--quiet",
                        "--rounds",
                        "8",
                        "--out",
                        run.to_str().unwrap(),
                    ]),
            );
            sums(&run)
        };
        let one = of("1");
        assert_eq!(one, of("2"), "{name}");
        assert_eq!(one, of("4"), "{name}");
    }
}

#[test]
fn an_occupied_directory_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let output = simulate(folder.path(), &[]).output().unwrap();
    assert!(!output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("not empty") && said.contains("gleaner resume"),
        "{said}"
    );
}

#[test]
fn a_complete_run_without_its_report_gets_it_when_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    succeed(&mut simulate(&run, &[]));
    let report = run.join("report.html");
    let whole = fs::read_to_string(&report).unwrap();
    fs::remove_file(&report).unwrap();
    succeed(&mut resume(&run));
    assert_eq!(fs::read_to_string(&report).unwrap(), whole);
}

#[test]
fn a_resumed_run_comes_to_the_same_figures() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let figures = |output: &Output| -> serde_json::Value {
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        result["summary"].clone()
    };
    let expected = figures(&succeed(&mut simulate(&whole, &["--json"])));
    let child = simulate(&broken, &[])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let half = fs::metadata(whole.join("clients.csv")).unwrap().len() / 2;
    kill_when_logged(child, &broken.join("clients.csv"), half);
    assert_eq!(figures(&succeed(resume(&broken).arg("--json"))), expected);
    // And once more from the logs alone.
    assert_eq!(figures(&succeed(resume(&broken).arg("--json"))), expected);
}
