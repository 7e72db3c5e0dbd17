//! Disks and devices without room: what is there stays whole, the command says what is wrong and
//! fails, and the run goes on to the same bytes once there is room.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

fn gleaner() -> Command {
    Command::new(env!("CARGO_BIN_EXE_gleaner"))
}

/// A small run with a checkpoint every so many rounds, or none.
fn simulate(out: &Path, every: u32) -> Vec<String> {
    let options = format!(
        "simulate --rounds 6 --threads 1 --set partition.mean_samples=60 \
         --set data.test_samples=50 --set run.checkpoint_every={every} --out"
    );
    let words = options.split_whitespace().map(str::to_owned);
    words.chain([out.display().to_string()]).collect()
}

/// Lets no file of a command grow beyond so many blocks of 512 bytes.
fn within(blocks: u64, arguments: &[String]) -> Output {
    Command::new("sh")
        .arg("-c")
        // A file that may not grow is an error then, not the end of the process.
        .arg(format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""
        ))
        .arg(env!("CARGO_BIN_EXE_gleaner"))
        .args(arguments)
        .output()
        .unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn sums(run: &Path) -> String {
    fs::read_to_string(run.join("SHA256SUMS")).unwrap()
}

#[test]
fn a_run_on_a_full_disk_says_how_to_go_on_and_goes_on_to_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let whole = |every| folder.path().join(format!("whole-{every}"));
    for every in [0, 2] {
        let output = gleaner().args(simulate(&whole(every), every)).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    let blocks = |file: &str| fs::metadata(whole(0).join(file)).unwrap().len() / 512;
    let (clients, model) = (blocks("clients.csv"), blocks("model.safetensors"));
    assert!(model > 3 * clients, "{model} {clients}");
    // No room for the scenario, in the middle of a log, for the model, for a checkpoint.
    for (room, every, file) in [
        (1, 0, "scenario.toml"),
        (clients / 2, 0, "clients.csv"),
        (model / 2, 0, "model.safetensors"),
        (model / 2, 2, "checkpoint.bin"),
    ] {
        let broken = folder.path().join(format!("within-{room}-{every}"));
        let output = within(room, &simulate(&broken, every));
        assert_eq!(output.status.code(), Some(1), "{room}: {}", said(&output));
        let said = said(&output);
        assert!(
            said.contains(file) && said.contains("File too large"),
            "{said}"
        );
        let leftovers = fs::read_dir(&broken).unwrap().flatten();
        let names: Vec<_> = leftovers.map(|entry| entry.file_name()).collect();
        let left = |name: &std::ffi::OsString| name.to_string_lossy().ends_with(".tmp");
        assert!(!names.iter().any(left), "{names:?}");
        if names.is_empty() {
            continue;
        }
        assert!(said.contains("`gleaner resume "), "{said}");
        let output = gleaner().arg("resume").arg(&broken).output().unwrap();
        assert!(output.status.success(), "{}", self::said(&output));
        assert_eq!(sums(&broken), sums(&whole(every)), "{file}");
    }
}

#[test]
fn events_that_find_no_place_stop_no_run_and_are_written_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    let live = [simulate(&whole, 0), vec!["--tensorboard".to_owned()]].concat();
    let output = gleaner().args(live).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let half = fs::metadata(whole.join("clients.csv")).unwrap().len() / 1024;
    assert_eq!(
        within(half, &simulate(&broken, 0)).status.code(),
        Some(1),
        "a run stopped in the middle"
    );

    // A file where the folder belongs takes no events, whoever asks.
    fs::write(broken.join("tensorboard"), "").unwrap();
    let mut resume = gleaner();
    resume.arg("resume").arg(&broken).arg("--tensorboard");
    let output = resume.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("tensorboard"), "{}", said(&output));
    assert_eq!(sums(&broken), sums(&whole));

    fs::remove_file(broken.join("tensorboard")).unwrap();
    let mut report = gleaner();
    report.arg("report").arg(&broken).arg("--tensorboard");
    let output = report.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let events = |run: &Path| {
        let folder = fs::read_dir(run.join("tensorboard")).unwrap().flatten();
        let files: Vec<_> = folder
            .map(|entry| fs::read(entry.path()).unwrap())
            .collect();
        assert_eq!(files.len(), 1);
        files
    };
    assert_eq!(events(&broken), events(&whole));
}

/// A fleet of six simulated clients: its run has an event log, and needs no board.
fn fleet(folder: &Path) -> String {
    let client = |id| format!("[[client]]\nname = \"sim-{id}\"\nid = {id}\nlink = \"simulated\"\n");
    let file = folder.join("fleet.toml");
    fs::write(&file, (0..6).map(client).collect::<String>()).unwrap();
    file.display().to_string()
}

fn run_on_fleet(folder: &Path, out: &Path) -> Output {
    let options = "run --quiet --rounds 4 --threads 1 --scheduler random \
                   --set partition.mean_samples=40 --set data.test_samples=50";
    gleaner()
        .args(options.split_whitespace())
        .args(["--fleet", &fleet(folder), "--out"])
        .arg(out)
        .output()
        .unwrap()
}

#[test]
fn an_event_log_without_room_stops_the_run_and_the_rest_of_it_replays() {
    const BLOCKS: u64 = 2048;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let output = run_on_fleet(folder.path(), &whole);
    assert!(output.status.success(), "{}", said(&output));
    let log = fs::read_to_string(whole.join("events.jsonl")).unwrap();
    let session = "{\"session_after_round\":0}\n";
    assert!(log.starts_with(session));

    // Room for nothing, for half of the first line after the session, for all but the last.
    for room in [0, 70, log.len() - 20] {
        let broken = folder.path().join(format!("within-{room}"));
        fs::create_dir(&broken).unwrap();
        for name in ["scenario.toml", "fleet.toml"] {
            fs::copy(whole.join(name), broken.join(name)).unwrap();
        }
        let events = broken.join("events.jsonl");
        let before = BLOCKS as usize * 512 - room;
        // Blanks make the length fit, as any JSON may have them.
        let mut text = session.repeat(before / session.len());
        text.insert_str(0, &" ".repeat(before - text.len()));
        fs::write(&events, text).unwrap();
        let resume = ["resume", "--quiet", "--threads", "1"].map(str::to_owned);
        let resume = [&resume[..], &[broken.display().to_string()]].concat();
        let output = within(BLOCKS, &resume);
        assert_eq!(output.status.code(), Some(1), "{room}: {}", said(&output));
        let note = said(&output);
        assert!(note.contains("events.jsonl: File too large"), "{note}");
        assert!(!broken.join("SHA256SUMS").exists());
        let text = fs::read(&events).unwrap();
        assert!(text.ends_with(b"}\n"), "half a line is left");

        let output = gleaner().args(&resume).output().unwrap();
        assert!(output.status.success(), "{room}: {}", said(&output));
        assert_eq!(sums(&broken), sums(&whole), "{room}");
        let output = gleaner().arg("verify").arg(&broken).output().unwrap();
        assert!(output.status.success(), "{room}: {}", said(&output));
    }
}

#[test]
fn a_ledger_that_is_not_the_models_has_an_exit_code_of_its_own_and_names_the_board() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let output = run_on_fleet(folder.path(), &run);
    assert!(output.status.success(), "{}", said(&output));
    let resume = || gleaner().arg("resume").arg(&run).output().unwrap();
    let reconciled = |client: u32, radio_board_j: f64| {
        let line = format!(
            "{{\"t_s\":1,\"client\":{client},\"round\":3,\"event\":\"reconciled\",\
             \"compute_model_j\":0.75,\"compute_board_j\":0.5,\"radio_model_j\":0.25,\
             \"radio_board_j\":{radio_board_j},\"harvest_model_j\":0.5,\"harvest_board_j\":0.5}}\n"
        );
        let mut log = File::options().append(true).open(run.join("events.jsonl"));
        log.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    };
    // Computing is measured by one side and modelled by the other.
    reconciled(1, 0.25);
    assert_eq!(resume().status.code(), Some(0));
    reconciled(4, 0.125);
    let output = resume();
    assert_eq!(output.status.code(), Some(3));
    let note = said(&output);
    assert!(note.contains("sim-4") && !note.contains("sim-1"), "{note}");
}

/// Runs a command whose standard output has no room.
fn into_a_full_device(arguments: &[String]) -> Output {
    let full = File::options().write(true).open("/dev/full").unwrap();
    gleaner()
        .args(arguments)
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
}

#[test]
fn whatever_cannot_be_printed_is_said_and_fails() {
    for command in [
        "config explain",
        "config explain --markdown",
        "config show",
        "config presets",
        "data list",
        "data info mnist-subset",
        "data partition",
        "doctor --help",
        "--version",
    ] {
        let words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let output = into_a_full_device(&words);
        assert_eq!(
            output.status.code(),
            Some(1),
            "{command}: {}",
            said(&output)
        );
        let end = "standard output: No space left on device (os error 28)\n";
        assert!(said(&output).ends_with(end), "{command}: {}", said(&output));
    }
}

#[test]
fn a_run_that_cannot_be_shown_is_complete() {
    for format in ["--json", "--quiet"] {
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut arguments = simulate(&run, 2);
        arguments.push(format.to_owned());
        let output = into_a_full_device(&arguments);
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        let note = said(&output);
        assert!(note.contains("the run is complete in "), "{note}");
        assert!(run.join("SHA256SUMS").is_file() && run.join("report.html").is_file());
    }
}

#[test]
fn a_run_whose_remarks_nobody_can_read_succeeds() {
    let folder = tempfile::tempdir().unwrap();
    let full = File::options().write(true).open("/dev/full").unwrap();
    let arguments = simulate(&folder.path().join("run"), 2);
    let mut command = gleaner();
    let status = command.args(arguments).stdout(Stdio::null()).stderr(full);
    assert!(status.status().unwrap().success());
}

#[test]
fn more_threads_than_any_machine_has_use_for_are_refused() {
    let output = gleaner()
        .args(["simulate", "--threads", "100000"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    let note = said(&output);
    assert!(
        note.contains("'100000'") && note.contains("to 1024"),
        "{note}"
    );
}
