//! Differential privacy with boards: their bound, the noise's secret, replay and resume.

use std::fs;

use gleaner_sim::fleet;
use gleaner_sim::round::Cause;
use gleaner_sim::run::{self, Run, RunDirectory, Silent};
use gleaner_sim::scenario::{NoiseSource, Scenario};
use gleaner_station::execute::{self, Audience, Finished, StationError};
use gleaner_station::mismatched_boards;
use gleaner_tests::runs::{Folder, assert_as_simulated, events, fleet_file, options, scenario};

fn private(rounds: i64) -> Scenario {
    let mut scenario = scenario("random", rounds);
    scenario.privacy.clip = 0.02;
    scenario.privacy.noise_multiplier = 1.0;
    scenario.privacy.noise = NoiseSource::Secret;
    scenario
}

fn on_boards(
    scenario: &Scenario,
    directory: &RunDirectory,
    audience: Audience,
) -> Result<Finished, StationError> {
    let data = fleet::load_data(scenario).unwrap();
    let (fleet, _boards) = fleet_file(scenario, &data);
    let mut silent = Silent;
    let run = Run::open(scenario, directory, 1, &mut silent).unwrap();
    execute::run(run, &fleet, &data, &options(), audience)
}

#[test]
fn boards_shorten_their_updates_to_the_bits_of_simulated_clients() {
    let mut scenario = private(4);
    // No noise, which has a secret of its own in every run.
    scenario.privacy.noise_multiplier = 0.0;
    let folder = Folder::new("private-clip");
    let finished = on_boards(&scenario, &folder.run(), Audience::default()).unwrap();
    let bounded = assert_as_simulated(&scenario, &folder, &finished);
    let anomalies = &finished.outcome.summary.anomalies;
    assert!(
        anomalies.is_empty(),
        "rounding is no anomaly: {anomalies:?}"
    );
    scenario.privacy.clip = 100.0;
    let free = gleaner_tests::runs::simulated(&scenario, &Folder::new("private-free"));
    assert_ne!(
        bounded.model_sha256, free.model_sha256,
        "the bound was reached"
    );
}

#[test]
fn noise_from_the_seed_is_refused_where_clients_are_boards() {
    let mut scenario = private(1);
    scenario.privacy.noise = NoiseSource::Seed;
    let folder = Folder::new("private-seed");
    let refused = on_boards(&scenario, &folder.run(), Audience::default()).unwrap_err();
    let words = refused.to_string();
    assert!(
        words.contains("privacy.noise = \"secret\"") && words.contains("client-0"),
        "{words}"
    );
    assert!(!folder.run().is_started());
}

#[test]
fn a_private_run_replays_to_its_model_with_its_secret_and_not_without() {
    let mut scenario = private(20);
    scenario.privacy.noise_multiplier = 4.0;
    scenario.privacy.epsilon = 2.5;
    scenario.hostile.clients = 1;
    let folder = Folder::new("private");
    let directory = folder.run();
    // Stopped by hand in round 3, and continued.
    let audience = Audience::default();
    let stop = audience.stop.clone();
    let stopped = on_boards(
        &scenario,
        &directory,
        Audience {
            listener: Box::new(move |event| {
                if event.round == Some(3) {
                    stop.request();
                }
            }),
            ..audience
        },
    );
    assert!(stopped.is_err() && !directory.is_complete());
    let finished = on_boards(&scenario, &directory, Audience::default()).unwrap();
    let summary = &finished.outcome.summary;
    assert_eq!(summary.ending.unwrap().cause, Cause::Epsilon);
    assert!(
        summary.rounds > 3 && summary.rounds < 20,
        "{}",
        summary.rounds
    );
    assert!(summary.privacy.unwrap().epsilon <= 2.5);
    let rows = run::read_rounds(&directory.file(RunDirectory::ROUNDS)).unwrap();
    let spent: Vec<f64> = rows
        .iter()
        .map(|row| row.privacy.unwrap().epsilon)
        .collect();
    assert!(spent.is_sorted_by(|a, b| a < b), "{spent:?}");

    let verdict = execute::verify(&directory, 1).unwrap();
    assert_eq!(verdict.recorded, verdict.replayed);
    assert_eq!(verdict.recorded, finished.outcome.model_sha256);
    assert_eq!(mismatched_boards(&directory).unwrap(), [""; 0]);
    assert!(events(&directory).count() > 0);

    let secret = directory.file(RunDirectory::NOISE);
    let text = fs::read_to_string(&secret).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(&secret).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    let other = if text.starts_with('0') { "1" } else { "0" };
    fs::write(&secret, format!("{other}{}", &text[1..])).unwrap();
    // The models that arrived are others from round 2 on.
    assert!(execute::verify(&directory, 1).is_err());
    fs::remove_file(&secret).unwrap();
    let missing = execute::verify(&directory, 1).unwrap_err().to_string();
    assert!(missing.contains("noise.key"), "{missing}");
}
