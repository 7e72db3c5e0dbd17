//! A whole run of every kind of emulated board beside simulated clients, against the same run of
//! simulated clients alone.

use std::time::Duration;

use gleaner_sim::fleet;
use gleaner_sim::run::{Run, RunDirectory, Silent};
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::device::Board;
use gleaner_station::execute::{self, Audience, StationError};
use gleaner_station::fleet::Pace;
use gleaner_station::fleet_file::{Entry, FleetFile, Link};
use gleaner_station::ledgers::{Ledgers, Pair};
use gleaner_station::link::faults::Faults;
use gleaner_station::log::{EVENTS, each_line};
use gleaner_station::setup::{Options, SetupError};

use crate::emulated::available;
use crate::folder::Folder;

/// Two of each, and two simulated.
const BOARDS: [Board; 6] = [
    Board::Rp2040,
    Board::Rp2040,
    Board::M4,
    Board::M4,
    Board::Stm32l4r5,
    Board::Stm32l4r5,
];
const CLIENTS: i64 = 8;

/// Eight clients of about fifteen samples and few epochs: transfers take most of the time.
///
/// # Panics
/// Never: the scenario is a good one.
#[must_use]
pub fn scenario(scheduler: &str, rounds: i64) -> Scenario {
    let overrides = [
        Override::new("run.scheduler", scheduler),
        Override::new("run.rounds", rounds),
        Override::new("run.seed", 5),
        Override::new("clients.count", CLIENTS),
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

fn fleet_file() -> FleetFile {
    let boards = BOARDS.map(|board| Link::Emulated { board });
    let simulated = std::iter::repeat(Link::Simulated);
    let entry = |(id, link)| Entry::new(format!("client-{id}"), id, link);
    FleetFile {
        clients: (0..CLIENTS as u32)
            .zip(boards.into_iter().chain(simulated))
            .map(entry)
            .collect(),
    }
}

/// Runs both and returns the hash of the model they end with; nothing where an emulator is missing.
///
/// # Panics
/// When they differ in a bit of the model, a line of a log or a ledger.
#[must_use]
pub fn equal_to_the_bit(scenario: &Scenario) -> Option<String> {
    let scheduler = &scenario.run.scheduler;
    let data = fleet::load_data(scenario).unwrap();
    let (mixed, alone) = (
        Folder::new(&format!("emulated-mixed-{scheduler}")),
        Folder::new(&format!("emulated-alone-{scheduler}")),
    );
    let mut simulated = fleet::build(scenario, &data, 1).unwrap();
    let expected = Run::create(scenario, &alone.run(), 1, &mut Silent)
        .unwrap()
        .drive(&mut simulated)
        .unwrap();
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
    let mut silent = Silent;
    let audience = Audience::default();
    let finished = execute::run(
        Run::open(scenario, &directory, 1, &mut silent).unwrap(),
        &fleet_file(),
        &data,
        &options,
        audience,
    );
    let finished = match finished {
        Err(StationError::Setup(SetupError::Emulator { source, .. })) => {
            return available(Err(source));
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
    assert_eq!(ledgers.boards.len(), BOARDS.len(), "every board was heard");
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
    Some(verdict.replayed)
}
