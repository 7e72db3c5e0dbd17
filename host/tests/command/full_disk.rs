//! Disks and devices without space: commands fail with exit code 1, existing files stay whole, and
//! a run continues to the same bytes once there is space.

use std::fs::{self, File};
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::{Folder, Run, simulated_fleet};

/// Returns the command line of a small run with a checkpoint every so many rounds, or none.
fn simulate(out: &str, every: u32) -> String {
    format!(
        "simulate --rounds 6 --threads 1 --set partition.mean_samples=60 \
         --set data.test_samples=50 --set run.checkpoint_every={every} --out {out}"
    )
}

#[test]
fn a_run_on_a_full_disk_names_the_file_and_continues_to_the_same_bytes() {
    let folder = Folder::new();
    let whole = |every| format!("whole-{every}");
    for every in [0, 2] {
        folder.succeed(&simulate(&whole(every), every));
    }
    let blocks = |file: &str| folder.bytes(&format!("whole-0/{file}")) / 512;
    let (clients, model) = (blocks("clients.csv"), blocks("model.safetensors"));
    assert!(model > 3 * clients, "{model} {clients}");
    // The scenario, half of a log, the model and a checkpoint do not fit.
    for (blocks, every, file) in [
        (1, 0, "scenario.toml"),
        (clients / 2, 0, "clients.csv"),
        (model / 2, 0, "model.safetensors"),
        (model / 2, 2, "checkpoint.bin"),
    ] {
        let broken = format!("within-{blocks}-{every}");
        let simulate = folder.gleaner(&simulate(&broken, every));
        let message = simulate.limited(blocks).fail(1);
        assert!(message.contains(file), "{message}");
        let names = folder.names(&broken);
        assert!(!names.iter().any(|it| it.ends_with(".tmp")), "{names:?}");
        if !names.is_empty() {
            assert!(message.contains("gleaner resume"), "{message}");
            folder.succeed(&format!("resume {broken}"));
            assert_eq!(folder.sums(&broken), folder.sums(&whole(every)), "{file}");
        }
    }
}

#[test]
fn tensorboard_events_that_cannot_be_written_stop_no_run() {
    let folder = Folder::new();
    folder.succeed(&format!("{} --tensorboard", simulate("whole", 0)));
    let half = folder.bytes("whole/clients.csv") / 1024;
    folder.gleaner(&simulate("broken", 0)).limited(half).fail(1);
    // A file takes the place of the folder.
    folder.write("broken/tensorboard", "");
    folder.fail_naming("resume broken --tensorboard", "tensorboard");
    assert_eq!(folder.sums("broken"), folder.sums("whole"));

    fs::remove_file(folder.path("broken/tensorboard")).unwrap();
    folder.succeed("report broken --tensorboard");
    let events = |run: &str| {
        let names = folder.names(&format!("{run}/tensorboard"));
        let [name] = &names[..] else {
            panic!("{names:?}");
        };
        fs::read(folder.path(&format!("{run}/tensorboard/{name}"))).unwrap()
    };
    assert_eq!(events("broken"), events("whole"));
}

/// Runs six simulated clients as a fleet, which has an event log and needs no board.
fn run_fleet(folder: &Folder) {
    folder.write("fleet.toml", simulated_fleet(6));
    folder.succeed(
        "run --quiet --rounds 4 --threads 1 --scheduler random --out whole \
         --set partition.mean_samples=40 --set data.test_samples=50",
    );
}

#[test]
fn an_event_log_that_cannot_grow_stops_the_run_and_is_continued() {
    const BLOCKS: u64 = 2048;
    let folder = Folder::new();
    run_fleet(&folder);
    let log = folder.read("whole/events.jsonl");
    let session = "{\"session_after_round\":0}\n";
    assert!(log.starts_with(session));

    // Space for nothing, for half of the first line after the session, for all but the last line.
    for space in [0, 70, log.len() - 20] {
        let broken = format!("within-{space}");
        fs::create_dir(folder.path(&broken)).unwrap();
        for name in ["scenario.toml", "fleet.toml"] {
            folder.write(
                &format!("{broken}/{name}"),
                folder.read(&format!("whole/{name}")),
            );
        }
        let events = format!("{broken}/events.jsonl");
        let before = BLOCKS as usize * 512 - space;
        // JSON may begin with blanks, which make the length fit.
        let mut text = session.repeat(before / session.len());
        text.insert_str(0, &" ".repeat(before - text.len()));
        folder.write(&events, text);
        let resume = format!("resume --quiet --threads 1 {broken}");
        let message = folder.gleaner(&resume).limited(BLOCKS).fail(1);
        assert!(message.contains("events.jsonl"), "{message}");
        assert!(!folder.exists(&format!("{broken}/SHA256SUMS")));
        assert!(folder.read(&events).ends_with("}\n"), "half a line is left");

        folder.succeed(&resume);
        assert_eq!(folder.sums(&broken), folder.sums("whole"), "{space}");
        folder.succeed(&format!("verify {broken}"));
    }
}

#[test]
fn a_ledger_that_differs_from_the_account_has_its_own_exit_code() {
    let folder = Folder::new();
    run_fleet(&folder);
    let reconciled = |client: u32, radio_board_j: f64| {
        let line = format!(
            "{{\"t_s\":1,\"client\":{client},\"round\":3,\"event\":\"reconciled\",\
             \"compute_model_j\":0.75,\"compute_board_j\":0.5,\"radio_model_j\":0.25,\
             \"radio_board_j\":{radio_board_j},\"harvest_model_j\":0.5,\"harvest_board_j\":0.5}}\n"
        );
        let log = folder.path("whole/events.jsonl");
        let mut log = File::options().append(true).open(log).unwrap();
        log.write_all(line.as_bytes()).unwrap();
    };
    // Computing is measured by the board and modelled by the host.
    reconciled(1, 0.25);
    folder.succeed("resume whole");
    reconciled(4, 0.125);
    let message = folder.gleaner("resume whole").fail(3);
    assert!(
        message.contains("sim-4") && !message.contains("sim-1"),
        "{message}"
    );
}

fn full_device() -> File {
    File::options().write(true).open("/dev/full").unwrap()
}

/// Runs a command whose standard output is full, and returns its standard error.
fn fail_on_full_output(command: &mut Command) -> String {
    let child = command.stdout(full_device()).stderr(Stdio::piped());
    let output = child.spawn().unwrap().wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{command:?}: {message}");
    message
}

#[test]
fn a_full_standard_output_is_an_error() {
    let folder = Folder::new();
    for command in [
        "config explain --markdown",
        "config show",
        "data list",
        "data partition",
        "doctor --help",
        "--version",
    ] {
        let message = fail_on_full_output(&mut folder.gleaner(command));
        assert!(message.contains("os error 28"), "{command}: {message}");
    }
    // The run itself is complete.
    let message = fail_on_full_output(folder.gleaner(&simulate("run", 2)).arg("--json"));
    assert!(message.contains(" run"), "{message}");
    assert!(folder.exists("run/SHA256SUMS") && folder.exists("run/report.html"));
}

#[test]
fn a_full_standard_error_stops_no_run() {
    let folder = Folder::new();
    let mut run = folder.gleaner(&simulate("run", 2));
    let status = run.stdout(Stdio::null()).stderr(full_device()).status();
    assert!(status.unwrap().success());
}

#[test]
fn too_many_threads_are_refused() {
    let folder = Folder::new();
    let message = folder.gleaner("simulate --threads 100000").fail(2);
    assert!(message.contains("100000"), "{message}");
}
