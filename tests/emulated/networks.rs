//! Images for other networks than the paper's: they train to the host's bits on both cores, take part in
//! whole runs, and dense samples cost no more than they must.
//!
//! No RP2040 holds the two models of 784-100-10: an STM32L4R5 trains it, and an RP2040's self-test
//! (`emulated.rs`) has the hundred units with a hundred inputs.

use std::time::Duration;

use gleaner_learn::data::Samples;
use gleaner_learn::train::{FixedClient, FixedModel};
use gleaner_shared::board::Shape;
use gleaner_shared::mlp::{Clip, LearningRate};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::message::{Payload, Report};
use gleaner_sim::fleet::load_data;
use gleaner_sim::scenario::{Override, resolve};
use gleaner_station::device::Board;
use gleaner_station::device::image::Program;
use gleaner_station::device::shard::{self, ClientSamples, listed, with_lists};
use gleaner_station::setup::{self, Options};
use gleaner_tests::emulated::{image_for, in_lockstep_for};
use gleaner_tests::runs::{Folder, assert_as_simulated, emulated_fleet, options, with_boards};
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;

/// The networks of the presets `har` and `digits`, and one that is twice as wide as the paper's.
const WINDOWS: Shape = Shape {
    inputs: 192,
    hidden: 50,
    classes: 7,
};
const DIGITS: Shape = Shape {
    inputs: 64,
    hidden: 32,
    classes: 10,
};
const WIDE: Shape = Shape {
    inputs: 784,
    hidden: 100,
    classes: 10,
};

/// Returns the first training samples of a preset's data.
fn first_of(preset: &str, network: Shape, count: usize) -> Samples {
    let set = load_data(&resolve(preset, &[]).unwrap()).unwrap();
    assert_eq!(
        (set.shape.bytes(), set.classes),
        (network.inputs, network.classes)
    );
    Samples {
        images: set.train.images[..count * network.inputs].to_vec(),
        labels: set.train.labels[..count].to_vec(),
    }
}

/// Returns samples as a board takes them, without lists.
fn shard(network: Shape, samples: &Samples) -> Vec<u8> {
    let samples = ClientSamples {
        client: CLIENT,
        inputs: network.inputs as u16,
        classes: network.classes as u16,
        pixels: &samples.images,
        labels: &samples.labels,
        key: None,
    };
    shard::image(&samples).unwrap()
}

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
    let coded = local
        .code(&global, Clip::NONE, &mut rng(Purpose::Uplink))
        .unwrap();
    assert_eq!(station.update(1), coded, "{network}");
    report
}

/// Has a board train on a shard; returns its cycles a sample.
fn cycles(board: Board, network: Shape, samples: &Samples, shard: &[u8]) -> Option<u64> {
    let wire = in_lockstep_for(board, network, shard)?;
    let report = train(wire, network, samples, 1);
    Some(report.cycles.0 / u64::from(report.samples))
}

#[test]
fn networks_of_other_sizes_train_to_the_hosts_bits_on_both_cores() {
    let digits = first_of("digits", DIGITS, 200);
    for (board, network, samples) in [
        (Board::Rp2040, DIGITS, &digits),
        (Board::Stm32l4r5, WIDE, &first_of("paper-mlp", WIDE, 40)),
    ] {
        let room = board.built_for(network).unwrap().shard().bytes as usize;
        let shard = with_lists(shard(network, samples), board, room);
        let Some(wire) = in_lockstep_for(board, network, &shard) else {
            continue;
        };
        let report = train(wire, network, samples, 2);
        let cycles = report.cycles.0 / u64::from(report.samples) / u64::from(report.epochs);
        println!("{board}: {cycles} cycles a sample and epoch of {network}");
    }
}

/// Most cycles a sample of the preset `har`, as it is flashed: what the images reach, with a little for what
/// a compiler may do; an RP2040's with the flash's cache, which follows where the linker places code, an
/// STM32's without waits for flash.
const MOST_CYCLES: [(Board, u64); 2] = [(Board::Rp2040, 58_500), (Board::Stm32l4r5, 42_500)];

#[test]
fn dense_windows_train_to_the_hosts_bits_and_cost_least_as_they_are_flashed() {
    let samples = first_of("har", WINDOWS, 300);
    let plain = shard(WINDOWS, &samples);
    for (board, most) in MOST_CYCLES {
        let room = board.built_for(WINDOWS).unwrap().shard().bytes as usize;
        let listed = listed(plain.clone(), room);
        let Some(without) = cycles(board, WINDOWS, &samples, &plain) else {
            continue;
        };
        let with = cycles(board, WINDOWS, &samples, &listed).unwrap();
        println!("{board}: {without} cycles a window of {WINDOWS}, with lists {with}");
        let flashed = with_lists(plain.clone(), board, room);
        let least = if with < without { &listed } else { &plain };
        assert!(flashed == *least, "{board}: {without} {with}");
        let least = with.min(without);
        assert!(least <= most, "{board}: {least}");
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

/// Runs three rounds of preset `har`: ten people with a watch, two of whom wear a Pico.
#[test]
fn three_rounds_of_har_with_two_picos_end_with_the_simulations_model() {
    if image_for(Board::Rp2040, Program::Client, WINDOWS).is_none() {
        return;
    }
    let fleet = emulated_fleet(&[Board::Rp2040; 2], 8);
    let mut overrides = setup::overrides(&fleet);
    overrides.extend([
        Override::new("run.scheduler", "cre"),
        Override::new("run.rounds", 3),
    ]);
    let scenario = resolve("har", &overrides).unwrap();
    let folder = Folder::new("networks");
    let options = Options {
        round_limit: Some(Duration::from_secs(1_800)),
        ..options()
    };
    let finished = with_boards(&scenario, &fleet, &folder, &options);
    assert_as_simulated(&scenario, &folder, &finished);
}
