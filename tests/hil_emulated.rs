//! The firmware's images in their emulators as clients of a whole run.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use std::time::Duration;

use gleaner_host::device::Board;
use gleaner_host::device::image::Program;
use gleaner_host::fleet;
use gleaner_host::fleet::file::{Entry, FleetFile, LinkKind};
use gleaner_host::run::{self, RunDirectory, Silent};
use gleaner_host::scenario::{Override, Scenario, resolve};
use gleaner_host::station::execute::{self, Audience};
use gleaner_host::station::fleet::Pace;
use gleaner_host::station::ledgers::{Ledgers, Pair};
use gleaner_host::station::link::faults::Faults;
use gleaner_host::station::log::{EVENTS, each_line};
use gleaner_host::station::setup::Options;
use gleaner_tests::emulated::available;
use gleaner_tests::folder::Folder;

/// Six clients of about fifteen samples and few epochs: transfers take most of the time.
fn scenario(scheduler: &str, rounds: i64) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", scheduler),
        Override::new("run.rounds", rounds),
        Override::new("run.seed", 5),
        Override::new("clients.count", 6),
        Override::new("clients.kind", "fixed-point"),
        Override::new("cre.estimates", "uplink"),
        Override::new("partition.mean_samples", 15.0),
        Override::new("partition.std_samples", 2.0),
        Override::new("learning.learning_rate", 0.1),
        Override::new("device.cycles_per_sample", 50_000.0),
        Override::new("data.test_samples", 500),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

fn fleet() -> FleetFile {
    let kinds = [
        (LinkKind::Emulated, Some(Board::Rp2040)),
        (LinkKind::Emulated, Some(Board::Rp2040)),
        (LinkKind::Emulated, Some(Board::M4)),
        (LinkKind::Emulated, Some(Board::M4)),
        (LinkKind::Simulated, None),
        (LinkKind::Simulated, None),
    ];
    let entry = |(id, (link, chip))| Entry::new(format!("client-{id}"), id, link, chip);
    FleetFile {
        clients: (0..).zip(kinds).map(entry).collect(),
    }
}

#[test]
fn two_picos_two_m4s_and_two_simulated_clients_equal_six_simulated_ones_to_the_bit() {
    for board in Board::emulated() {
        if available(board.ensure(Program::Client)).is_none() {
            return;
        }
    }
    equal_to_the_bit(&scenario("cre", 7));
    // It orders nobody who cannot pay or be in time: all four boards can, and are heard twice.
    let mut glean = scenario("glean", 4);
    (glean.device.harvest_j, glean.device.deadline_s) = (3e-3, 0.02);
    equal_to_the_bit(&glean);
}

fn equal_to_the_bit(scenario: &Scenario) {
    let scheduler = scenario.run.scheduler;
    let data = fleet::load_data(scenario).unwrap();
    let (mixed, alone) = (
        Folder::new(&format!("emulated-mixed-{scheduler}")),
        Folder::new(&format!("emulated-alone-{scheduler}")),
    );
    let mut simulated = fleet::build(scenario, &data, 1).unwrap();
    let expected = run::execute(scenario, &mut simulated, &alone.run(), 1, &mut Silent).unwrap();
    let options = Options {
        pace: Pace::Fast,
        faults: Faults {
            loss: 0.01,
            duplicate: 0.01,
            ..Faults::default()
        },
        wall_limit: Duration::from_secs(900),
        listen: None,
        threads: 1,
    };
    let directory = mixed.run();
    let finished = execute::run(
        scenario,
        &fleet(),
        &data,
        &directory,
        &options,
        Audience::of(&mut Silent),
    );
    let finished = match finished {
        Err(execute::StationError::Setup(gleaner_host::station::setup::SetupError::Emulator {
            source,
            ..
        })) => {
            assert!(available::<()>(Err(source)).is_none());
            return;
        }
        other => other.unwrap(),
    };
    assert_eq!(finished.outcome.model_sha256, expected.model_sha256);
    for log in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
        assert_eq!(mixed.file(log), alone.file(log), "{scheduler}: {log}");
    }
    let [_, lost, _, duplicated, _] = finished.faults.read();
    assert!(lost > 0 && duplicated > 0, "{lost} {duplicated}");
    let ledgers = Ledgers::of(each_line(&directory.file(EVENTS)).unwrap()).unwrap();
    assert_eq!(ledgers.boards.len(), 4, "every board was heard");
    assert!(ledgers.mismatched().is_empty());
    for (client, ledger) in &ledgers.boards {
        let Pair { model_j, board_j } = ledger.radio;
        assert_eq!(model_j, board_j, "client {client}: upload");
        let Pair { model_j, board_j } = ledger.harvest;
        assert_eq!(model_j, board_j, "client {client}: income");
        assert!(ledger.compute.board_j > 0.0 && ledger.compute.model_j > 0.0);
        assert!(ledger.cycles_per_sample() > 1_000.0, "client {client}");
    }
    let verdict = execute::verify(&directory, 1).unwrap();
    assert_eq!(verdict.replayed, expected.model_sha256);
}
