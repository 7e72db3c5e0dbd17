//! The firmware's images in their emulators.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use gleaner_shared::wire::message::{ModelHash, Payload, RoundMark, ShardStatus};
use gleaner_tests::emulated::{on_m4, on_rp2040};
use gleaner_tests::reference::{coded, exact, initial, trained};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;

/// A round of three epochs over 200 samples, checked to the bit.
fn trains_as_the_host_does(wire: impl Wire, board: &str, digits: &Digits) {
    let mut station = Station::new(wire);
    let hello = station.connect();
    assert_eq!(hello.board, board);
    assert!(!hello.build.is_empty());
    assert!(
        matches!(
            hello.shard,
            ShardStatus::Present {
                samples: 200,
                client: CLIENT,
                ..
            }
        ),
        "{:?}",
        hello.shard
    );
    station.provision(generous(CLIENT, SEED));
    let global = initial(SEED);
    let model = station.deliver(Payload::Model, 0, &exact(&global)).hash;
    let order = training_order(1, 3, model);
    assert_eq!(station.order(order).declined, None);
    let report = station.report(1);
    let local = trained(&global, digits, CLIENT, &order);
    assert_eq!(station.update(1), coded(&local, &global, CLIENT, &order));
    println!(
        "{board}: {} cycles a sample and epoch",
        report.cycles.0 / u64::from(report.samples * u32::from(report.epochs))
    );
    station.commit(RoundMark {
        round: 1,
        model: ModelHash::default(),
    });
}

#[test]
fn the_cortex_m4_trains_as_the_host_does() {
    let digits = Digits::take(0, 200);
    if let Some(wire) = on_m4(Some(&digits.shard(CLIENT, None))) {
        trains_as_the_host_does(wire, "emulated-m4", &digits);
    }
}

#[test]
fn the_rp2040_trains_as_the_host_does() {
    let digits = Digits::take(0, 200);
    if let Some(wire) = on_rp2040(Some(&digits.shard(CLIENT, None))) {
        trains_as_the_host_does(wire, "rp2040", &digits);
    }
}
