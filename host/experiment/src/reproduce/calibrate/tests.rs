//! The calibration as a whole, in short form.

use super::*;

fn calibration(stage: Stage, rounds: u32) -> Calibration {
    Calibration {
        stage,
        rounds,
        seed: 100,
        overrides: Vec::new(),
        rates: vec![0.01, 0.02],
        b1: vec![0.05, 0.083, 0.3],
        instances: None,
    }
}

#[test]
fn the_same_calibration_gives_the_same_findings() {
    let find = || {
        let mut steps = Vec::new();
        let found = calibration(Stage::All, 30).run(&mut |done, all, _| steps.push((done, all)));
        let found = found.unwrap();
        assert_eq!(steps.len(), READINGS.len() + 2 * 3 + 1);
        assert_eq!(steps.last(), Some(&(steps.len() - 1, steps.len() - 1)));
        (found.text, found.json, found.files)
    };
    assert_eq!(find(), find());
}

#[test]
fn a_stage_does_its_own_part_alone() {
    let files = |stage| {
        let found = calibration(stage, 5).run(&mut |_, _, _| {}).unwrap();
        found
            .files
            .into_iter()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
    };
    assert_eq!(files(Stage::Channel), ["channel.csv"]);
    assert_eq!(files(Stage::Training), ["training.csv"]);
}

#[test]
fn an_unknown_key_and_a_missing_recording_are_refused() {
    let mut refused = calibration(Stage::Channel, 1);
    refused.overrides = vec![Override::new("cre.nothing", "1")];
    let error = refused.run(&mut |_, _, _| {}).unwrap_err();
    assert!(matches!(error, ExperimentError::Scenario(_)), "{error}");
    let mut refused = calibration(Stage::Training, 1);
    refused.instances = Some("no-such-file.json".into());
    let error = refused.run(&mut |_, _, _| {}).unwrap_err();
    assert!(matches!(error, ExperimentError::File(_)), "{error}");
}
