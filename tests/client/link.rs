//! The two state machines joined by lines that lose, repeat and flip.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{OrderHash, Payload, Refusal, RunId, WorkMark};
use gleaner_shared::wire::{Event, HostToDevice, Insecure, Key};
use gleaner_tests::line::{Faults, Line};
use gleaner_tests::pair::{Happened, KEY, Pair, device};

const MINUTE: Micros = Micros(60_000_000);
const CLEAN: Faults = Faults {
    loss: 0.0,
    duplicate: 0.0,
    bit_error: 0.0,
};
const ROUGH: Faults = Faults {
    loss: 0.2,
    duplicate: 0.01,
    bit_error: 1e-5,
};

fn connected(happened: &Happened) -> bool {
    matches!(happened, Happened::Host(Event::Connected(_)))
}

fn model() -> Vec<u8> {
    (0..39_760u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect()
}

/// A host and a device with one key that have opened a session over such a line.
fn in_session(faults: Faults, seed: u64) -> Pair<Key> {
    let mut pair = Pair::new(KEY, device(KEY, 1), faults, seed);
    pair.run_until(MINUTE, connected).expect("a session");
    pair
}

/// Lets the host offer its source.
fn offer_model(pair: &mut Pair<Key>) {
    pair.host
        .offer(pair.now, Payload::Model, None, &pair.host_source)
        .expect("room");
}

#[test]
fn a_session_opens_within_milliseconds_on_a_clean_line() {
    let pair = in_session(CLEAN, 0);
    assert!(pair.now < Micros(20_000), "{}", pair.now);
}

fn cancel(round: u32) -> HostToDevice {
    let work = WorkMark {
        run: RunId([1; 16]),
        round,
        order: OrderHash([2; 16]),
    };
    HostToDevice::Cancel { work }
}

#[test]
fn orders_arrive_exactly_once_and_in_order_at_twenty_percent_loss() {
    for seed in 0..20 {
        let mut pair = in_session(ROUGH, seed);
        let mut next = 0;
        let mut arrived = Vec::new();
        while arrived.len() < 100 {
            while next < 100 && pair.host.send(cancel(next)).is_ok() {
                next += 1;
            }
            match pair.step(Micros(600_000_000)).expect("no stall") {
                Happened::Device(Event::Message(HostToDevice::Cancel { work })) => {
                    arrived.push(work.round);
                }
                Happened::Host(Event::Lost(reason)) => panic!("seed {seed}: {reason}"),
                _ => {}
            }
        }
        assert_eq!(arrived, (0..100).collect::<Vec<u32>>());
    }
}

#[test]
fn models_cross_in_both_directions_at_once() {
    let mut pair = in_session(ROUGH, 3);
    pair.host_source = model();
    pair.device_source = model().into_iter().rev().collect();
    offer_model(&mut pair);
    pair.device
        .offer(pair.now, Payload::Update, None, &pair.device_source)
        .expect("room");
    let mut delivered = 0;
    pair.run_until(MINUTE, |happened| {
        delivered += usize::from(matches!(
            happened,
            Happened::Host(Event::Delivered(_)) | Happened::Device(Event::Delivered(_))
        ));
        delivered == 2
    })
    .expect("both delivered");
    assert_eq!(pair.device_store[..39_760], pair.host_source);
    assert_eq!(pair.host_store[..39_760], pair.device_source);
}

#[test]
fn a_transfer_resumes_after_the_device_restarts() {
    let mut pair = in_session(CLEAN, 0);
    pair.host_source = model();
    offer_model(&mut pair);
    pair.run_until(MINUTE, |happened| {
        matches!(
            happened,
            Happened::Device(Event::ChunkReceived { have: 30, .. })
        )
    })
    .expect("30 chunks");
    // The device restarts; its memory and what it noted of the transfer survive.
    let kept = pair.device.receiver().clone();
    pair.device = device(KEY, 2);
    *pair.device.receiver_mut() = kept;
    pair.down.flush();
    pair.up.flush();
    let sent = pair.down.bytes;
    let before = pair.now;
    pair.run_until(MINUTE, |h| matches!(h, Happened::Host(Event::Connected(_))))
        .expect("back");
    assert!(
        pair.now.0 - before.0 < 2_000_000,
        "in step within two seconds"
    );
    offer_model(&mut pair);
    pair.run_until(MINUTE, |h| matches!(h, Happened::Host(Event::Delivered(_))))
        .expect("done");
    assert_eq!(pair.device_store[..39_760], pair.host_source);
    assert!(
        pair.down.bytes - sent < 15_000,
        "{} bytes",
        pair.down.bytes - sent
    );
}

#[test]
fn a_host_with_keys_refuses_a_device_without() {
    let mut pair = Pair::new(KEY, device(Key::PUBLIC, 1), CLEAN, 0);
    let refused = pair.step(MINUTE);
    assert_eq!(
        refused,
        Some(Happened::Host(Event::Refused(Refusal::KeyMissing)))
    );
    let told = pair.step(MINUTE);
    assert_eq!(
        told,
        Some(Happened::Device(Event::Refused(Refusal::KeyMissing)))
    );
    assert!(!pair.host.is_connected() && !pair.device.is_connected());
}

#[test]
fn a_device_with_a_key_refuses_an_insecure_host() {
    let mut pair = Pair::new(Insecure, device(KEY, 1), CLEAN, 0);
    let refused = pair.run_until(MINUTE, |h| matches!(h, Happened::Host(_)));
    assert_eq!(
        refused,
        Some(Happened::Host(Event::Refused(Refusal::KeyRequired)))
    );
}

#[test]
fn different_keys_open_no_session() {
    let mut pair = Pair::new(Key::new([9; 32]), device(KEY, 1), CLEAN, 0);
    let refused = pair.step(MINUTE);
    assert_eq!(
        refused,
        Some(Happened::Host(Event::Refused(Refusal::WrongKey)))
    );
}

#[test]
fn a_fleet_of_ones_own_may_do_without_keys() {
    let mut pair = Pair::new(Insecure, device(Key::PUBLIC, 1), CLEAN, 0);
    pair.run_until(MINUTE, connected).expect("a session");
}

#[test]
fn a_silent_peer_is_an_outcome_at_both_ends() {
    let mut pair = in_session(CLEAN, 0);
    assert_eq!(pair.step(MINUTE), None, "idle links stay up");
    let cut = Faults { loss: 1.0, ..CLEAN };
    pair.down = Line::new(cut, 921_600, 0, 0);
    pair.up = Line::new(cut, 921_600, 0, 1);
    let mut lost = (false, false);
    pair.run_until(Micros(2 * MINUTE.0), |happened| {
        lost.0 |= matches!(happened, Happened::Host(Event::Lost(_)));
        lost.1 |= matches!(happened, Happened::Device(Event::Lost(_)));
        lost == (true, true)
    })
    .expect("both notice");
}

#[test]
fn bytes_that_change_under_way_are_never_taken_for_the_model() {
    let mut pair = in_session(CLEAN, 0);
    pair.host_source = model();
    offer_model(&mut pair);
    pair.host_source[5_000] ^= 1;
    let mut corrupt = 0;
    let end = pair.run_until(MINUTE, |happened| {
        corrupt += usize::from(matches!(happened, Happened::Device(Event::Corrupt(_))));
        assert!(!matches!(happened, Happened::Device(Event::Received(_))));
        matches!(happened, Happened::Host(Event::Rejected(..)))
    });
    assert!(end.is_some(), "the sender is told");
    assert_eq!(corrupt, 4);
}
