//! Boards that are asked what a picture shows: the host's answers to the bit, refusals by name, and an
//! application that gathers samples of its own and learns them; and boards that died, in the session
//! after.
//!
//! Under `CI=true` a missing emulator or image is a failure; elsewhere the test says what to
//! install and passes.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::mlp::PaperParams;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{
    Classified, DeviceToHost, HostToDevice, InferRefusal, ModelHash, Payload, RejectReason,
    ResetCause, SamplePlace,
};
use gleaner_station::device::image::Program;
use gleaner_station::fleet_file::{Entry, Link};
use gleaner_station::link::Endpoint;
use gleaner_station::link::faults::{FaultCounters, Faults};
use gleaner_station::service::ServiceError;
use gleaner_station::service::infer::{Answer, Question, infer};
use gleaner_tests::emulated::{on_m4, on_rp2040};
use gleaner_tests::in_process::InProcess;
use gleaner_tests::inference::{answer, as_the_host, ask, by_host};
use gleaner_tests::reference::{coded, exact, initial, trained};
use gleaner_tests::served::Served;
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 3;
const SEED: u64 = 5;
/// Three milliseconds of an RP2040 at 125 MHz.
const MOST_CYCLES: u64 = 375_000;

/// A model that knows something.
fn model(digits: &Digits) -> Box<PaperParams> {
    let order = training_order(1, 5, ModelHash::default());
    trained(&initial(SEED), digits, CLIENT, &order)
}

fn show<W: Wire>(station: &mut Station<W>, pixels: &[u8]) -> Result<Classified, InferRefusal> {
    station.source = pixels.to_vec();
    let now = station.wire.now();
    let offer = station
        .link
        .offer(now, Payload::Sample, None, &station.source);
    offer.expect("a session without another transfer");
    answer(station)
}

/// Compares the board's answers with the host's, for samples of the shard and for one it is sent.
fn says_the_same<W: Wire>(station: &mut Station<W>, digits: &Digits) -> u64 {
    let model = model(digits);
    let answers = as_the_host(station, &model, digits, || {});
    assert_eq!(answers.count as usize, digits.pixels.len());
    let stranger = Digits::take(5_000, 1).pixels[0];
    let found = show(station, &stranger).unwrap();
    assert_eq!(found.class, by_host(&model, &stranger).class);
    assert_eq!(
        (found.sample, found.label),
        (ModelHash::of(&stranger), None)
    );
    answers.most.max(found.cycles.0)
}

#[test]
fn an_rp2040_says_what_the_host_says_within_three_milliseconds() {
    let digits = Digits::take(0, 20);
    let Some(wire) = on_rp2040(Program::Client, Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let cycles = says_the_same(&mut Station::new(wire), &digits);
    println!("rp2040: a digit takes {cycles} cycles at most");
    assert!(cycles <= MOST_CYCLES, "{cycles}");
}

#[test]
fn a_cortex_m4_says_what_the_host_says() {
    let digits = Digits::take(0, 200);
    let Some(wire) = on_m4(Program::Client, Some(&digits.shard(CLIENT, None))) else {
        return;
    };
    let cycles = says_the_same(&mut Station::new(wire), &digits);
    println!("emulated-m4: a digit takes {cycles} instructions at most");
}

#[test]
fn questions_out_of_place_are_refused_by_name() {
    let digits = Digits::take(0, 60);
    let mut station = Station::new(InProcess::start(&digits.shard(CLIENT, None)));
    station.connect();
    let flashed = SamplePlace::Flashed;
    assert_eq!(ask(&mut station, flashed, 0), Err(InferRefusal::NoModel));
    let seven = digits.pixels[0];
    assert_eq!(show(&mut station, &seven), Err(InferRefusal::NoModel));
    let model = station.deliver(Payload::Model, &exact(&initial(SEED))).hash;
    for (place, number, first, count) in [
        (flashed, 60, 0, 60),
        (flashed, u32::MAX, 0, 60),
        (SamplePlace::Gathered, 0, 0, 0),
    ] {
        let missing = InferRefusal::NoSample {
            place,
            first,
            count,
        };
        assert_eq!(ask(&mut station, place, number), Err(missing));
    }
    let expected = 784;
    for wrong in [&seven[..783], &[0; 785], &[7]] {
        let refused = Err(InferRefusal::Size { expected });
        assert_eq!(show(&mut station, wrong), refused);
    }
    for (label, refused) in [
        (10, InferRefusal::Label { classes: 10 }),
        (
            9,
            InferRefusal::NoSample {
                place: SamplePlace::Gathered,
                first: 0,
                count: 0,
            },
        ),
    ] {
        station.say(HostToDevice::Label { number: 0, label });
        assert_eq!(answer(&mut station), Err(refused));
    }
    // The same sample twice, and one more behind an update that waits for its round's end.
    let first = show(&mut station, &seven).unwrap();
    assert_eq!(show(&mut station, &seven).unwrap().class, first.class);
    station.provision(generous(CLIENT, SEED));
    station.order(training_order(1, 400, model));
    assert_eq!(ask(&mut station, flashed, 0), Err(InferRefusal::Busy));
    station.source = seven.to_vec();
    let now = station.wire.now();
    let offer = station
        .link
        .offer(now, Payload::Sample, None, &station.source);
    offer.unwrap();
    let deadline = station.deadline();
    let rejected = station.run_until(deadline, |_, event| match event {
        Event::Rejected(_, reason) => Some(*reason),
        _ => None,
    });
    assert_eq!(rejected, Some(RejectReason::Busy));
}

/// Gathers, is labelled, and trains on both: the update is that of the shard with the labelled
/// windows behind it. After a start the sample and its label are there, as long as no newer ones took
/// their place.
fn gathers_and_learns<W: Wire>(
    station: &mut Station<W>,
    digits: &Digits,
    restart: impl FnOnce(&mut W),
) -> bool {
    let about = station.connect();
    assert!(!about.exact, "nobody can recompute what it gathered");
    station.provision(generous(CLIENT, SEED));
    let global = initial(SEED);
    let model = station.deliver(Payload::Model, &exact(&global)).hash;
    let gathered = SamplePlace::Gathered;
    // Windows are the shard's samples in their order: the sensor replays it.
    let newest = |refused: InferRefusal| match refused {
        InferRefusal::NoSample { first, count, .. } if count > 0 => Some(first + count - 1),
        _ => None,
    };
    let (number, found) = loop {
        let refused = ask(station, gathered, u32::MAX).unwrap_err();
        if let Some(number) = newest(refused)
            && let Ok(found) = ask(station, gathered, number)
        {
            break (number, found);
        }
    };
    let at = number as usize % digits.pixels.len();
    assert_eq!(found.sample, ModelHash::of(&digits.pixels[at]));
    assert_eq!(found.class, by_host(&global, &digits.pixels[at]).class);
    assert_eq!(found.label, None);
    let label = 9 - digits.labels[at];
    station.say(HostToDevice::Label { number, label });
    let taken = station.expect(|message| match message {
        DeviceToHost::Labelled { number, label } => Some((*number, *label)),
        _ => None,
    });
    assert_eq!(taken, (number, label));
    let order = training_order(1, 1, model);
    assert_eq!(station.order(order).declined, None);
    let report = station.report(1);
    assert_eq!(report.samples as usize, digits.pixels.len() + 1);
    let mut joined = digits.clone();
    joined.pixels.push(digits.pixels[at]);
    joined.labels.push(label);
    let local = trained(&global, &joined, CLIENT, &order);
    assert_eq!(station.update(1), coded(&local, &global, CLIENT, &order));

    restart(&mut station.wire);
    station.connect();
    station.deliver(Payload::Model, &exact(&global));
    match ask(station, gathered, number) {
        Ok(again) => {
            assert_eq!((again.sample, again.label), (found.sample, Some(label)));
            true
        }
        Err(InferRefusal::NoSample { first, .. }) => {
            assert!(first > number, "{number} is lost, {first} is there");
            false
        }
        Err(refused) => panic!("{refused:?}"),
    }
}

#[test]
fn an_application_gathers_samples_and_the_client_learns_the_labelled() {
    let digits = Digits::take(0, 12);
    let shard = digits.shard(CLIENT, None);
    let mut station = Station::new(InProcess::start_with_app(&shard));
    let kept = gathers_and_learns(&mut station, &digits, InProcess::power_cycle);
    assert!(kept, "a power cut takes no time");
    if let Some(wire) = on_m4(Program::App, Some(&shard)) {
        gathers_and_learns(&mut Station::new(wire), &digits, Wire::reset);
    }
}

fn board_at(address: String) -> Entry {
    Entry::new("board", CLIENT, Link::Tcp { address })
}

const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test(flavor = "multi_thread")]
async fn the_station_asks_over_a_line_that_is_cut_and_delivers_the_model_first() {
    let digits = Digits::take(0, 8);
    let board = Served::start(digits.shard(CLIENT, None));
    let entry = board_at(board.address().to_string());
    let counters = Arc::new(FaultCounters::default());
    let faults = Faults {
        cut: 0.02,
        loss: 0.02,
        seed: 3,
        ..Faults::default()
    };
    let endpoint = Endpoint::new(entry.place().unwrap());
    let endpoint = endpoint.with_faults(faults, Arc::clone(&counters));
    let model = model(&digits);
    let questions: Vec<Question> = digits
        .pixels
        .iter()
        .map(|pixels| Question::Pixels(Arc::from(&pixels[..])))
        .chain([Question::Stored(SamplePlace::Flashed, 8)])
        .collect();
    let bytes: Arc<[u8]> = exact(&model).into();
    let deliver = Some(Arc::clone(&bytes));
    let answers = infer(&entry, &endpoint, deliver, questions, PATIENCE, &mut |_| {}).await;
    let answers = answers.unwrap();
    for (pixels, answer) in digits.pixels.iter().zip(&answers) {
        let Answer::Classified(found) = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(found.class, by_host(&model, pixels).class);
        assert_eq!(found.model, ModelHash::of(&bytes));
    }
    let missing = InferRefusal::NoSample {
        place: SamplePlace::Flashed,
        first: 0,
        count: 8,
    };
    assert_eq!(answers[8..], [Answer::Refused(missing)]);
    assert!(counters.read().iter().sum::<u64>() > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn another_clients_board_is_not_asked() {
    let board = Served::start(Digits::take(0, 4).shard(CLIENT + 1, None));
    let entry = board_at(board.address().to_string());
    let endpoint = Endpoint::new(entry.place().unwrap());
    let questions = vec![Question::Stored(SamplePlace::Flashed, 0)];
    let asked = infer(&entry, &endpoint, None, questions, PATIENCE, &mut |_| {}).await;
    assert!(matches!(asked, Err(ServiceError::OtherClient { found: 4 })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_board_of_another_network_is_named_with_its_sizes() {
    let board = Served::start(Digits::take(0, 4).shard(CLIENT, None));
    let entry = board_at(board.address().to_string());
    let endpoint = Endpoint::new(entry.place().unwrap());
    let sample = || vec![Question::Pixels(vec![7; 192].into())];
    let model = Arc::from(vec![0; 20_128]);
    for (model, said) in [
        (None, "784 bytes of a sample, not 192"),
        (Some(model), "79640 bytes of a model, not 20128"),
    ] {
        let asked = infer(&entry, &endpoint, model, sample(), PATIENCE, &mut |_| {}).await;
        let refused = asked.unwrap_err().to_string();
        for words in ["784-50-10", said, "gleaner flash"] {
            assert!(refused.contains(words), "{words} in {refused}");
        }
    }
}

/// Returns the crash that the board tells in a session, if it does.
fn told<W: Wire>(station: &mut Station<W>) -> Option<(ResetCause, u32, u32)> {
    station.connect();
    let deadline = station.wire.now().saturating_add(Micros(1_000_000));
    station.run_until(deadline, |_, event| match event {
        Event::Message(DeviceToHost::Crash(crash)) => Some((crash.cause, crash.boots, crash.pc)),
        _ => None,
    })
}

#[test]
fn a_fault_is_told_in_the_next_session_and_never_again() {
    let shard = Digits::take(0, 4).shard(CLIENT, None);
    let mut station = Station::new(InProcess::start(&shard));
    assert_eq!(told(&mut station), None);
    station.wire.fault(0x1000_0400, 0x1000_0200);
    assert_eq!(
        told(&mut station),
        Some((ResetCause::HardFault, 2, 0x1000_0400))
    );
    let soon = station.wire.now().saturating_add(Micros(500_000));
    station.run_until(soon, |_, _| None::<()>);
    station.wire.reset();
    assert_eq!(told(&mut station), None);
}

/// Whoever hears the greeting and goes before the crash was acknowledged was not told.
#[test]
fn a_fault_that_nobody_heard_is_told_again() {
    let shard = Digits::take(0, 4).shard(CLIENT, None);
    let mut station = Station::new(InProcess::start(&shard));
    station.connect();
    station.wire.fault(4, 8);
    station.connect();
    station.wire.reset();
    let fault = Some((ResetCause::HardFault, 2, 4));
    assert_eq!(told(&mut station), fault);
}
