//! Events against the bytes of TensorBoard itself, and against runs that were cut back.

use super::*;
use crate::run::Silent;

/// A line of the log as a run writes it.
fn line(round: u32) -> String {
    format!(
        r#"{{"round":{round},"accuracy":0.{round},"train_loss":null,"participants":[2,4],"epochs":3,
        "compute_j":0.1,"radio_j":0.2,"harvest_j":0.3,"cumulative_spent_j":0.4,"downlink_s":0.5,"round_s":0.75,
        "overdrawn":[4],"absent":[]}}"#
    )
    .replace('\n', "")
}

fn row(round: u32) -> RoundLog {
    RoundLog {
        round: serde_json::from_str(&line(round)).unwrap(),
        clients: Vec::new(),
        energy: Vec::new(),
        problem: None,
    }
}

/// A run whose log has the rounds up to one.
fn run(rounds: u32) -> (tempfile::TempDir, RunDirectory) {
    let folder = tempfile::tempdir().unwrap();
    let directory = RunDirectory::new(folder.path().join("läuft gut"));
    fs::create_dir(directory.path()).unwrap();
    log(&directory, rounds);
    (folder, directory)
}

fn log(directory: &RunDirectory, rounds: u32) {
    let lines: String = (1..=rounds).map(|round| line(round) + "\n").collect();
    fs::write(directory.file(RunDirectory::ROUNDS), lines).unwrap();
}

fn events(directory: &RunDirectory) -> Vec<u8> {
    fs::read(directory.file(FILE)).unwrap()
}

#[test]
fn the_bytes_are_those_of_tensorboards_own_writer() {
    // Written by tensorboard 2.21 with its `RecordWriter` and `Event`.
    let theirs = "0f000000000000006d532b091a0d627261696e2e4576656e743a32fc9851292300000000000000b0\
        9f774309000000000000d03f10012a160a140a0d746573742f6163637572616379150000003fdd4f3c7b3b0000\
        00000000001a23ac5c09000000000000f83f10ac022a2d0a140a0d746573742f6163637572616379150000403f\
        0a150a0e656e657267792f7370656e745f6a1500000000d107478c";
    let mut ours = Vec::new();
    append_record(&version(), &mut ours);
    let first = event(0.25, 1, &[("test/accuracy", 0.5)]);
    append_record(&first, &mut ours);
    let figures = [("test/accuracy", 0.75), ("energy/spent_j", 0.0)];
    append_record(&event(1.5, 300, &figures), &mut ours);
    let ours: String = ours.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(ours, theirs);
}

#[test]
fn every_round_is_an_event_at_its_modelled_time() {
    let (_folder, directory) = run(4);
    write_tensorboard(&directory).unwrap();
    let bytes = events(&directory);
    let mut rest = &bytes[..];
    assert_eq!(encode::split_record(&mut rest), Some(&version()[..]));
    for round in 1..=4 {
        let figures = figures(&row(round).round);
        assert!(figures.contains(&("test/accuracy", f64::from(round) / 10.0)));
        assert!(figures.contains(&("round/participants", 2.0)));
        let names: Vec<_> = figures.iter().map(|(name, _)| *name).collect();
        assert!(!names.contains(&"training/loss"), "null is no figure");
        let expected = event(0.75 * f64::from(round), round, &figures);
        assert_eq!(encode::split_record(&mut rest), Some(&expected[..]));
    }
    assert!(rest.is_empty());
}

#[test]
fn a_run_cut_back_to_its_checkpoint_has_every_round_once() {
    let (_folder, directory) = run(5);
    write_tensorboard(&directory).unwrap();
    let ahead = events(&directory);
    log(&directory, 2);
    let mut silent = Silent;
    // Nobody asks for events again: there are some.
    let mut live = Live::new(&mut silent, &directory, false);
    live.started(2, 5);
    assert!(events(&directory).len() < ahead.len());
    for round in 3..=5 {
        live.round(&row(round));
    }
    live.finish().unwrap();
    assert_eq!(events(&directory), ahead);
}

#[test]
fn a_run_without_events_stays_without_and_figures_that_are_no_numbers_are_left_out() {
    let (_folder, directory) = run(1);
    let mut silent = Silent;
    let mut live = Live::new(&mut silent, &directory, false);
    live.started(0, 1);
    live.round(&row(1));
    live.finish().unwrap();
    assert!(!directory.file(FILE).exists());

    let mut wild = row(1).round;
    wild.train_loss = Some(f64::NAN);
    wild.bound = Some(f64::INFINITY);
    assert_eq!(figures(&wild), figures(&row(1).round));
}

#[test]
fn a_damaged_log_is_named_and_a_place_that_is_taken_does_not_stop_the_run() {
    let (_folder, directory) = run(2);
    let log = directory.file(RunDirectory::ROUNDS);
    fs::write(&log, line(1) + "\n{\"round\":2,").unwrap();
    let refused = write_tensorboard(&directory).unwrap_err().to_string();
    assert!(refused.contains("rounds.jsonl, line 2"), "{refused}");

    fs::write(directory.file("tensorboard"), "a file of somebody's").unwrap();
    fs::write(&log, "").unwrap();
    let mut silent = Silent;
    let mut live = Live::new(&mut silent, &directory, true);
    live.started(0, 1);
    live.round(&row(1));
    let refused = live.finish().unwrap_err().to_string();
    assert!(refused.contains("tensorboard"), "{refused}");
}
