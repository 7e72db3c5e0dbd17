//! The firmware's runner on serial drivers as the boards have them: an update of many frames arrives
//! although the ring is shorter than a frame and nobody wakes the sender.

use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::Payload;
use gleaner_tests::driver::{on_bare_rp2040, on_bare_stm32, on_rp2040, on_stm32};
use gleaner_tests::in_process::InProcess;
use gleaner_tests::reference::{coded, exact, initial, trained};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 4;
const SEED: u64 = 11;

fn digits() -> Digits {
    Digits::take(0, 20)
}

/// Runs a round and returns the station that waits for its update, and the update.
fn round(start: fn(&[u8]) -> InProcess) -> (Station<InProcess>, Vec<u8>) {
    let mut station = Station::new(start(&digits().shard(CLIENT, None)));
    station.connect();
    station.provision(generous(CLIENT, SEED));
    let global = initial(SEED);
    let model = station.deliver(Payload::Model, &exact(&global)).hash;
    let order = training_order(1, 1, model);
    station.order(order);
    station.report(1);
    let local = trained(&global, &digits(), CLIENT, &order);
    (station, coded(&local, &global, CLIENT, &order))
}

#[test]
fn an_update_leaves_through_a_ring_shorter_than_a_frame() {
    for start in [on_stm32 as fn(&[u8]) -> InProcess, on_rp2040] {
        let (mut station, update) = round(start);
        let begin = station.wire.now();
        assert_eq!(station.update(1), update);
        let took = station.wire.now().saturating_sub(begin);
        let floor = Micros(update.len() as u64 * 10_000_000 / 921_600);
        println!("{} bytes took {took} of at least {floor}", update.len());
        assert!(took.0 < 2 * floor.0, "{took}: it hung between pieces");
    }
}

/// What the wrapper is for: alone, the first driver refuses every piece of a model and the second
/// falls asleep over the first. Should this fail, our model of the drivers no longer bites.
#[test]
fn the_drivers_alone_do_not_send_an_update() {
    for start in [on_bare_stm32 as fn(&[u8]) -> InProcess, on_bare_rp2040] {
        let (mut station, _) = round(start);
        let deadline = station.wire.now().saturating_add(Micros(10_000_000));
        let arrived = station.run_until(deadline, |_, event| {
            matches!(event, Event::Received(_)).then_some(())
        });
        assert_eq!(arrived, None);
    }
}
