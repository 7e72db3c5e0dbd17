//! Images for other networks than the paper's: they train to the host's bits, take part in whole runs,
//! and dense samples cost no more than they must.
//!
//! The self-tests (`emulated.rs`) train 64-32-10, 192-50-7 and 100-100-10 on both cores. Here are clients:
//! 192-50-7 on an RP2040, and 784-100-10, whose two models no RP2040 holds, on a Cortex-M4.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use std::time::Duration;

use gleaner_host::device::Board;
use gleaner_host::device::image::Program;
use gleaner_host::device::shard::{listed, with_lists};
use gleaner_host::fleet;
use gleaner_host::fleet::file::{Entry, FleetFile, LinkKind};
use gleaner_host::run::{self, Silent};
use gleaner_host::scenario::{Override, resolve};
use gleaner_host::station::execute::{self, Audience};
use gleaner_host::station::fleet::Pace;
use gleaner_host::station::link::faults::Faults;
use gleaner_host::station::setup::Options;
use gleaner_learn::data::Samples;
use gleaner_learn::train::{FixedClient, FixedModel};
use gleaner_shared::board::Shape;
use gleaner_shared::mlp::LearningRate;
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::message::{Payload, Report};
use gleaner_tests::emulated::{available, in_lockstep_for, on_m4_for};
use gleaner_tests::folder::Folder;
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::windows;
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;

const WINDOWS: Shape = Shape {
    inputs: 192,
    hidden: 50,
    classes: 7,
};
const WIDE: Shape = Shape {
    inputs: 784,
    hidden: 100,
    classes: 10,
};

/// Runs one round and compares its update with the host's, bit by bit.
fn train<W: Wire>(wire: W, network: Shape, samples: &Samples, epochs: u16) -> Report {
    let mut station = Station::new(wire);
    station.connect();
    let about = station.about.clone().unwrap();
    assert_eq!(about.shape.sizes(), network);
    assert_eq!(about.largest_transfer as usize, network.exact_bytes());
    station.provision(generous(CLIENT, SEED));
    let mut global = FixedModel::new(network).unwrap();
    global.initialise(SEED);
    let model = station.deliver(Payload::Model, &global.exact()).hash;
    let order = training_order(1, epochs, model);
    assert_eq!(station.order(order).declined, None);
    let report = station.report(1);

    let all: Vec<u32> = (0..samples.len() as u32).collect();
    let client = FixedClient::new(samples, &all, network).unwrap();
    let (mut local, rate) = (global.clone(), LearningRate(order.learning_rate_q24));
    let rng = |purpose| Rng::stream(order.seed, purpose, CLIENT, order.round);
    let rounding = rng(Purpose::Training);
    client
        .train(&mut local, epochs.into(), rate, rounding)
        .unwrap();
    let coded = local.code(&global, &mut rng(Purpose::Uplink)).unwrap();
    assert_eq!(station.update(1), coded, "{network}");
    report
}

fn cycles_per_sample(report: &Report) -> u64 {
    report.cycles.0 / u64::from(report.samples) / u64::from(report.epochs)
}

#[test]
fn dense_windows_train_to_the_hosts_bits_on_an_rp2040_and_cost_least_as_they_are_flashed() {
    let samples = windows::samples(WINDOWS, 200, 0);
    let shard = windows::shard(WINDOWS, &samples, CLIENT);
    let room = Board::Rp2040.built_for(WINDOWS).unwrap().shard().bytes as usize;
    let as_flashed = with_lists(shard.clone(), room);
    let Some(wire) = in_lockstep_for(Board::Rp2040, WINDOWS, &as_flashed) else {
        return;
    };
    let flashed = cycles_per_sample(&train(wire, WINDOWS, &samples, 1));
    let wire = in_lockstep_for(Board::Rp2040, WINDOWS, &listed(shard, room)).unwrap();
    let with_lists = cycles_per_sample(&train(wire, WINDOWS, &samples, 1));
    println!("rp2040: {flashed} cycles a dense window of {WINDOWS}, with lists {with_lists}");
    assert!(flashed <= with_lists, "{flashed} {with_lists}");
}

#[test]
fn a_network_twice_as_wide_trains_to_the_hosts_bits_on_a_cortex_m4() {
    let samples = windows::samples(WIDE, 60, 0);
    let shard = windows::shard(WIDE, &samples, CLIENT);
    if let Some(wire) = on_m4_for(WIDE, &shard) {
        let report = train(wire, WIDE, &samples, 2);
        let cycles = cycles_per_sample(&report);
        println!("emulated-m4: {cycles} instructions a dense sample of {WIDE}");
    }
}

#[test]
fn a_network_that_does_not_fit_is_refused_before_anything_is_built() {
    let refused = Board::Rp2040.ensure_for(Program::Client, WIDE).unwrap_err();
    let said = refused.to_string();
    for words in ["rp2040", "784-100-10 needs", "257536"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn three_rounds_with_two_picos_on_dense_windows_end_with_the_simulations_model() {
    if available(Board::Rp2040.ensure_for(Program::Client, WINDOWS)).is_none() {
        return;
    }
    let overrides = [
        Override::new("run.scheduler", "round-robin"),
        Override::new("run.rounds", 3),
        Override::new("run.seed", 5),
        Override::new("clients.count", 2),
        Override::new("clients.kind", "fixed-point"),
        Override::new("cre.estimates", "uplink"),
        Override::new("partition.rule", "iid"),
        Override::new("partition.mean_samples", 20.0),
        Override::new("partition.std_samples", 0.0),
        Override::new("learning.hidden", 50),
        Override::new("learning.learning_rate", 0.1),
        Override::new("device.cycles_per_sample", 5_000.0),
    ];
    let scenario = resolve("paper-mlp", &overrides).unwrap();
    let data = windows::dataset(WINDOWS, 400);
    let (boards, alone) = (Folder::new("networks-picos"), Folder::new("networks-alone"));
    let mut simulated = fleet::build(&scenario, &data, 1).unwrap();
    let expected = run::execute(&scenario, &mut simulated, &alone.run(), 1, &mut Silent).unwrap();
    let pico = |id| {
        let board = Some(Board::Rp2040);
        Entry::new(format!("pico-{id}"), id, LinkKind::Emulated, board)
    };
    let fleet = FleetFile {
        clients: (0..2).map(pico).collect(),
    };
    let options = Options {
        pace: Pace::Fast,
        faults: Faults::default(),
        wall_limit: Duration::from_secs(900),
        listen: None,
        threads: 1,
    };
    let mut silent = Silent;
    let audience = Audience::of(&mut silent);
    let finished = execute::run(&scenario, &fleet, &data, &boards.run(), &options, audience);
    let finished = finished.unwrap();
    assert_eq!(finished.outcome.model_sha256, expected.model_sha256);
}
