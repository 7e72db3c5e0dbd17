//! Runs boards through a measurement plan and recovers a profile from their marks: a synthetic trace
//! is generated from the marks and a known profile, and alignment and fit must return that profile.
//!
//! The currents are synthetic, the marks are the firmware's own. Under `CI=true` a missing emulator or
//! image is a failure; elsewhere the test is skipped.

use std::time::Duration;

use gleaner_energy::align::{Options, by_pins};
use gleaner_energy::fit::{FEWEST_CLOCKS, Kind, fit, integrate};
use gleaner_energy::mark::Mark;
use gleaner_energy::synth::{Recipe, Synth, Truth};
use gleaner_shared::energy::Phase;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{MeasureRefusal, Payload};
use gleaner_station::device::image::Program;
use gleaner_station::fleet_file::{Entry, Link};
use gleaner_station::link::Endpoint;
use gleaner_station::service::ServiceError;
use gleaner_station::service::measure::{Measured, Plan, Step, measure};
use gleaner_tests::emulated::on_rp2040;
use gleaner_tests::in_process::CLOCKS;
use gleaner_tests::reference::{exact, initial};
use gleaner_tests::served::Served;
use gleaner_tests::shard::Digits;
use gleaner_tests::station::Station;
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const PATIENCE: Duration = Duration::from_secs(120);

/// A short plan with three clocks.
fn plan() -> Plan {
    Plan {
        clocks_hz: CLOCKS.to_vec(),
        repeats: 2,
        epochs: vec![1, 3],
        code_bits: Vec::new(),
        transfer_bytes: vec![2_000, 9_000],
        idle_ms: vec![30, 60],
        sleep_ms: vec![30, 60],
    }
}

async fn measured(clocks_hz: Vec<u32>, shard_of: u32) -> Result<Measured, ServiceError> {
    let board = Served::start(Digits::take(0, 60).shard(shard_of, None));
    let address = board.address().to_string();
    let entry = Entry::new("board", CLIENT, Link::Tcp { address });
    let endpoint = Endpoint::new(entry.place().unwrap());
    let plan = Plan {
        clocks_hz,
        ..plan()
    };
    measure(&entry, &endpoint, plan.steps(), PATIENCE, &mut |_| {}).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_station_takes_a_board_through_a_plan_and_the_profile_comes_back() {
    let found = measured(CLOCKS.to_vec(), CLIENT).await.unwrap();
    assert_eq!(found.board, "in-process");
    assert_eq!(found.millivolts, Some(3_300));
    for (at, mark) in found.marks.iter().enumerate() {
        assert_eq!(mark.seq as usize, at);
    }
    profile_comes_back(&found.marks, &CLOCKS);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_the_board_does_not_have_is_refused_with_the_one_it_has() {
    let refused = measured(vec![7], CLIENT).await.unwrap_err();
    let expected = MeasureRefusal::Clock { hz: CLOCKS[0] };
    assert!(
        matches!(&refused, ServiceError::Step { number: 1, reason, .. } if *reason == expected),
        "{refused}"
    );
    assert!(refused.to_string().contains("125000000"), "{refused}");
    let other = measured(Vec::new(), CLIENT + 1).await.unwrap_err();
    assert!(matches!(other, ServiceError::OtherClient { found } if found == CLIENT + 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transfer_that_the_boards_network_leaves_no_room_for_is_refused_with_both() {
    let board = Served::start(Digits::take(0, 4).shard(CLIENT, None));
    let address = board.address().to_string();
    let entry = Entry::new("board", CLIENT, Link::Tcp { address });
    let endpoint = Endpoint::new(entry.place().unwrap());
    let steps = vec![Step::Echo(vec![0; 79_641].into())];
    let refused = measure(&entry, &endpoint, steps, PATIENCE, &mut |_| {}).await;
    let said = refused.unwrap_err().to_string();
    for words in ["79641", "784-50-10", "79640 at most", "--print-plan"] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[test]
fn the_profile_of_an_emulated_pico_comes_back_from_its_marks() {
    let shard = Digits::take(0, 8).shard(CLIENT, None);
    // Depending on the layout of the image, the line of the emulated board can hang after a change of
    // its clock; only then another attempt begins, at another moment.
    for pause in [0, 3_700, 11_300, 23_900] {
        let Some(wire) = on_rp2040(Program::Client, Some(&shard)) else {
            return;
        };
        if let Some(marks) = measured_marks(Station::new(wire), Micros(pause)) {
            return profile_comes_back(&marks, &CLOCKS);
        }
    }
    panic!("the line hangs in every attempt");
}

/// Runs a board through the plan, `pause` after its first model, and returns its marks, or `None` if
/// its line hangs.
fn measured_marks<W: Wire>(mut station: Station<W>, pause: Micros) -> Option<Vec<Mark>> {
    station.connect();
    station.deliver(Payload::Model, &exact(&initial(1)));
    let begin = station.wire.now().saturating_add(pause);
    station.run_until(begin, |_, _| None::<()>);
    for (number, step) in plan().steps().into_iter().enumerate() {
        match step {
            Step::Board(step) => {
                let mut refused = station.try_measure(number as u32, step)?;
                while refused == Some(MeasureRefusal::Busy) {
                    refused = station.try_measure(number as u32, step)?;
                }
                assert_eq!(refused, None, "{step:?}");
            }
            Step::Echo(bytes) => echo(&mut station, &bytes)?,
        }
    }
    let marks = station.marks.iter().map(|mark| Mark {
        seq: mark.seq,
        phase: mark.phase,
        t_us: mark.t_us.0,
        cycles: mark.cycles.0,
        samples: mark.samples,
        bytes: mark.bytes,
        clk_hz: mark.clk_hz,
    });
    Some(marks.collect())
}

/// Sends bytes there and back and compares them; returns `None` if the line hangs.
fn echo<W: Wire>(station: &mut Station<W>, bytes: &[u8]) -> Option<()> {
    station.try_deliver(Payload::Echo, bytes)?;
    let deadline = station.wire.now().saturating_add(Micros(5_000_000));
    let back = station.run_until(deadline, |station, event| match event {
        Event::Received(offer) => Some(station.store[..offer.len as usize].to_vec()),
        _ => None,
    });
    assert_eq!(back.as_deref(), Some(bytes));
    Some(())
}

/// Generates a trace from the marks and fits the profile.
#[track_caller]
fn profile_comes_back(marks: &[Mark], clocks: &[u32]) {
    let truth = Truth::default();
    let recipe = Recipe::of(truth.clone(), marks.to_vec(), 5);
    let record = || Synth::try_new(&recipe).unwrap();
    let alignment = by_pins(&mut record(), marks, Options::default()).unwrap();
    let worst = alignment.worst().unwrap().miss_s;
    assert!(worst.abs() <= 20e-6, "{worst} s");
    let measured = integrate(&mut record(), marks, &alignment).unwrap();
    let found = fit(&measured, clocks.len().min(FEWEST_CLOCKS)).unwrap();
    let coefficients = &found.coefficients;
    for (at, term) in coefficients.terms.iter().enumerate() {
        let expected = match term.kind {
            Kind::Sleep => truth.power_w.of(Phase::Sleep),
            Kind::Idle => truth.power_w.of(Phase::Idle),
            Kind::Cycle => truth.cycle.joules_at(term.clock_hz.unwrap()),
            _ => continue,
        };
        let (low, high) = coefficients.interval(at);
        println!("{term:?}: {low:e} to {high:e}, made from {expected:e}");
        // Twice its 95 % interval: one seed in ten thousand.
        let (middle, reach) = ((low + high) / 2.0, high - low);
        assert!((middle - expected).abs() <= reach, "{term:?}");
    }
    // At slow clocks the short epochs of a test leave wide intervals.
    for &hz in &clocks[..1] {
        let value = coefficients.value(Kind::Cycle, hz).unwrap();
        assert!(
            (value / truth.cycle.joules_at(hz) - 1.0).abs() < 0.05,
            "{hz}"
        );
    }
    assert_eq!(found.form.is_some(), clocks.len() >= FEWEST_CLOCKS);
    assert!(found.form.is_none_or(|form| !form.rejects_square()));
}
