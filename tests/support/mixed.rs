//! A small fleet: four of the firmware's clients over TCP and two simulated ones.

use gleaner_learn::data::Dataset;
use gleaner_sim::scenario::{Override, Scenario, resolve};
use gleaner_station::fleet_file::{Entry, FleetFile, Link, SecretKey};
use gleaner_station::setup;

use crate::served::Served;

/// A small run: six clients of about forty samples.
///
/// # Panics
/// Never: the scenario is a good one.
#[must_use]
pub fn scenario(scheduler: &str, rounds: i64) -> Scenario {
    let set = |key: &str, value: i64| Override::new(key, value);
    let overrides = [
        Override::new("run.scheduler", scheduler),
        set("run.rounds", rounds),
        set("run.seed", 11),
        set("clients.count", 6),
        Override::new("clients.kind", "fixed-point"),
        Override::new("cre.estimates", "uplink"),
        Override::new("partition.mean_samples", 40.0),
        Override::new("partition.std_samples", 5.0),
        Override::new("learning.learning_rate", 0.1),
        Override::new("device.cycles_per_sample", 5_000.0),
        set("data.test_samples", 500),
        set("run.checkpoint_every", 1),
    ];
    resolve("paper-mlp", &overrides).unwrap()
}

/// Boards for clients 0 to 3, with a key for every other; clients 4 and 5 are simulated.
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
