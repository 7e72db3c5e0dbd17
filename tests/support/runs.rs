//! Whole runs with boards, and the same runs simulated to compare them with.

use std::time::Duration;

use gleaner_learn::data::Dataset;
use gleaner_sim::fleet;
use gleaner_sim::run::{Completed, Run, RunDirectory, Silent};
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::device::Board;
use gleaner_station::event::Event;
use gleaner_station::execute::{self, Audience, Finished};
use gleaner_station::fleet::Pace;
use gleaner_station::fleet_file::{Entry, FleetFile, Link, SecretKey};
use gleaner_station::ledgers::{Ledgers, Pair};
use gleaner_station::link::faults::Faults;
use gleaner_station::log::{EVENTS, Line, each_line};
use gleaner_station::setup::{self, Options};
use tempfile::TempDir;

use crate::served::Served;

/// A run directory that is deleted when it is dropped.
pub struct Folder(TempDir);

impl Folder {
    /// Creates a directory with `name` in its own name.
    ///
    /// # Panics
    /// When temporary files cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let folder = tempfile::Builder::new()
            .prefix(&format!("gleaner-{name}-"))
            .tempdir();
        Self(folder.expect("a folder for temporary files"))
    }

    /// Returns the folder as the directory of a run.
    #[must_use]
    pub fn run(&self) -> RunDirectory {
        RunDirectory::new(self.0.path())
    }

    /// Reads a file of the run.
    ///
    /// # Panics
    /// When the file cannot be read.
    #[must_use]
    pub fn file(&self, name: &str) -> Vec<u8> {
        let path = self.run().file(name);
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }
}

/// Reads the events of a run with boards.
///
/// # Panics
/// When its log cannot be read.
pub fn events(directory: &RunDirectory) -> impl Iterator<Item = Event> + use<> {
    let lines = each_line(&directory.file(EVENTS)).expect("an event log");
    lines.filter_map(|line| match line.expect("a line of the event log") {
        Line::Event { event, .. } => Some(event),
        Line::Session { .. } => None,
    })
}

/// Options of a run on lines without faults, as fast as they go, with one thread.
#[must_use]
pub fn options() -> Options {
    Options {
        pace: Pace::Fast,
        faults: Faults::default(),
        round_limit: Some(Duration::from_secs(240)),
        listen: None,
        threads: 1,
    }
}

/// Resolves a small scenario of fixed-point clients with `more` settings.
///
/// # Panics
/// When a setting of `more` is wrong.
#[must_use]
pub fn small(scheduler: &str, rounds: i64, clients: i64, more: &[Override]) -> Scenario {
    let common = [
        Override::new("run.scheduler", scheduler),
        Override::new("run.rounds", rounds),
        Override::new("run.checkpoint_every", 1),
        Override::new("clients.count", clients),
        Override::new("clients.kind", "fixed-point"),
        Override::new("cre.estimates", "uplink"),
    ];
    resolve("paper-mlp", &[&common, more].concat()).expect("good settings")
}

/// Resolves a scenario of six clients with about forty samples, for [`fleet_file`].
#[must_use]
pub fn scenario(scheduler: &str, rounds: i64) -> Scenario {
    let more = [
        Override::new("run.seed", 11),
        Override::new("partition.mean_samples", 40.0),
        Override::new("partition.std_samples", 5.0),
        Override::new("learning.learning_rate", 0.1),
        // As the clients of [`Served`] count them.
        Override::new("device.cycles_per_sample", 200.0),
        Override::new("data.test_samples", 500),
    ];
    small(scheduler, rounds, 6, &more)
}

/// Starts boards for clients 0 to 3, every other with a key; clients 4 and up are simulated.
///
/// # Panics
/// When the system has no ports to give.
#[must_use]
pub fn fleet_file(scenario: &Scenario, data: &Dataset) -> (FleetFile, Vec<Served>) {
    let key = |client: u32| client.is_multiple_of(2).then_some([client as u8 + 1; 32]);
    let shards = setup::shards(scenario, data, key).unwrap();
    let mut fleet = FleetFile::default();
    let mut boards = Vec::new();
    for (id, shard) in (0..).zip(shards) {
        let mut entry = Entry::new(format!("client-{id}"), id, Link::Simulated);
        if id < 4 {
            let board = Served::start(shard);
            entry.serve_at(board.address().to_string());
            entry.key = key(id).map(SecretKey);
            boards.push(board);
        }
        fleet.clients.push(entry);
    }
    (FleetFile::parse(&fleet.to_toml(), "test").unwrap(), boards)
}

/// Lists emulated boards as clients 0 and up, followed by simulated clients.
#[must_use]
pub fn emulated_fleet(boards: &[Board], simulated: usize) -> FleetFile {
    let boards = boards.iter();
    let emulated = boards.map(|&board| Link::Emulated { board });
    let simulated = std::iter::repeat_n(Link::Simulated, simulated);
    let entry = |(id, link)| Entry::new(format!("client-{id}"), id, link);
    FleetFile {
        clients: (0..).zip(emulated.chain(simulated)).map(entry).collect(),
        ..FleetFile::default()
    }
}

/// Runs a scenario with simulated clients alone.
///
/// # Panics
/// When the run fails.
#[must_use]
pub fn simulated(scenario: &Scenario, folder: &Folder) -> Completed {
    let data = fleet::load_data(scenario).unwrap();
    let mut deployment = fleet::build(scenario, &data, 1).unwrap();
    let (directory, mut silent) = (folder.run(), Silent);
    let run = Run::create(scenario, &directory, 1, &mut silent).unwrap();
    run.drive(&mut deployment).unwrap()
}

/// Runs a scenario with the boards of a fleet.
///
/// # Panics
/// When the run fails.
#[must_use]
pub fn with_boards(
    scenario: &Scenario,
    fleet: &FleetFile,
    folder: &Folder,
    options: &Options,
) -> Finished {
    let data = fleet::load_data(scenario).unwrap();
    let (directory, mut silent) = (folder.run(), Silent);
    let run = Run::open(scenario, &directory, 1, &mut silent).unwrap();
    execute::run(run, fleet, &data, options, Audience::default()).unwrap()
}

/// Compares a run with boards to the same run simulated: model, logs and replay are the same to the
/// bit. Returns the simulated run.
///
/// # Panics
/// When they differ.
#[track_caller]
pub fn assert_as_simulated(scenario: &Scenario, folder: &Folder, finished: &Finished) -> Completed {
    let scheduler = &scenario.run.scheduler;
    let alone = Folder::new(&format!("simulated-{scheduler}"));
    let expected = simulated(scenario, &alone);
    assert_eq!(
        finished.outcome.model_sha256, expected.model_sha256,
        "{scheduler}"
    );
    for log in [RunDirectory::ROUNDS, RunDirectory::CLIENTS] {
        assert_eq!(folder.file(log), alone.file(log), "{scheduler}: {log}");
    }
    let verdict = execute::verify(&folder.run(), 1).unwrap();
    assert_eq!(verdict.recorded, expected.model_sha256);
    assert_eq!(verdict.replayed, expected.model_sha256);
    expected
}

/// Two of each emulated board.
const EMULATED: [Board; 6] = [
    Board::Rp2040,
    Board::Rp2040,
    Board::M4,
    Board::M4,
    Board::Stm32l4r5,
    Board::Stm32l4r5,
];

/// Runs two of each emulated board and two simulated clients on lines that lose and repeat frames,
/// and compares the run with eight simulated clients. Returns the hash of the model.
///
/// # Panics
/// When the two runs differ in a bit of the model, a line of a log or a ledger.
#[must_use]
pub fn emulated_as_simulated(scheduler: &str, rounds: i64) -> String {
    // Few samples and epochs: transfers take most of the time.
    let more = [
        Override::new("run.seed", 5),
        Override::new("partition.mean_samples", 15.0),
        Override::new("partition.std_samples", 2.0),
        Override::new("learning.learning_rate", 0.1),
        Override::new("device.cycles_per_sample", 7_000.0),
        Override::new("data.test_samples", 500),
    ];
    let scenario = small(scheduler, rounds, 8, &more);
    let folder = Folder::new(&format!("emulated-{scheduler}"));
    let options = Options {
        faults: Faults {
            loss: 0.01,
            duplicate: 0.01,
            ..Faults::default()
        },
        round_limit: Some(Duration::from_secs(1_800)),
        ..options()
    };
    let fleet = emulated_fleet(&EMULATED, 2);
    let finished = with_boards(&scenario, &fleet, &folder, &options);
    let expected = assert_as_simulated(&scenario, &folder, &finished);
    let [_, lost, _, duplicated, _] = finished.faults.read();
    assert!(lost > 0 && duplicated > 0, "{lost} {duplicated}");
    let ledgers = Ledgers::of(each_line(&folder.run().file(EVENTS)).unwrap()).unwrap();
    assert_eq!(ledgers.boards.len(), EMULATED.len());
    assert!(ledgers.mismatched().is_empty());
    for (client, ledger) in &ledgers.boards {
        for (phase, pair) in [("radio", ledger.radio), ("harvest", ledger.harvest)] {
            let Pair { model_j, board_j } = pair;
            assert_eq!(model_j, board_j, "client {client}: {phase}");
        }
        assert!(ledger.compute.board_j > 0.0 && ledger.compute.model_j > 0.0);
        assert!(ledger.cycles_per_sample() > 1_000.0, "client {client}");
    }
    expected.model_sha256
}
