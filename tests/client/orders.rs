//! Host and firmware over a paced line in virtual time: the firmware's own runner, the host's
//! own link, every byte of the protocol between them.

use gleaner_shared::energy::{Ledger, Phase};
use gleaner_shared::mlp::code::Code;
use gleaner_shared::mlp::{Clip, PaperParams, UploadCode, Width};
use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::Key;
use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, MeasureRefusal, MeasureStep, ModelHash, Order,
    Payload, Provision, RejectReason, RoundMark, RunId, ShardStatus,
};
use gleaner_tests::in_process::{CLOCKS, InProcess};
use gleaner_tests::reference::{apply, coded, exact, initial, trained};
use gleaner_tests::reset::{self, Moment, reset_at};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{RUN, Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 4;
const SEED: u64 = 11;

fn digits() -> Digits {
    Digits::take(0, 60)
}

fn station() -> Station<InProcess> {
    Station::new(InProcess::start(&digits().shard(CLIENT, None)))
}

/// Connects, provisions and sends the first model.
fn ready(station: &mut Station<InProcess>) -> ModelHash {
    station.connect();
    station.provision(generous(CLIENT, SEED));
    station.deliver(Payload::Model, &exact(&initial(SEED))).hash
}

#[test]
fn two_rounds_give_the_reference_model_to_the_bit() {
    let mut station = station();
    let mut model = ready(&mut station);
    let mut global = initial(SEED);
    for round in 1..=2 {
        let order = training_order(round, 3, model);
        assert_eq!(station.order(order).declined, None);
        let report = station.report(round);
        assert!(report.trained && report.loss_after_q16 < report.loss_before_q16);
        assert!(report.ledger.is_consistent());
        assert_eq!((report.samples, report.epochs), (60, 3));

        let local = trained(&global, &digits(), CLIENT, &order);
        let update = coded(&local, &global, CLIENT, &order);
        assert_eq!(station.update(round), update);

        // With one client its update is the broadcast.
        apply(&update, &mut global);
        station.deliver(Payload::Update, &update);
        model = ModelHash::of(&exact(&global));
        station.commit(RoundMark {
            run: RUN,
            round,
            model,
        });
    }
}

#[test]
fn every_code_a_board_names_gives_the_bytes_of_the_reference() {
    let (mut lengths, global) = (Vec::new(), initial(SEED));
    for code in UploadCode::ALL {
        let mut station = station();
        let model = ready(&mut station);
        let named = station.about.as_ref().unwrap().codes & code.bit() != 0;
        let order = Order {
            code,
            ..training_order(1, 2, model)
        };
        let declined = station.order(order).declined;
        if !named {
            assert_eq!(declined, Some(DeclineReason::Invalid), "{code}");
            continue;
        }
        assert_eq!(declined, None, "{code}");
        assert!(station.report(1).trained);
        let local = trained(&global, &digits(), CLIENT, &order);
        let update = station.update(1);
        assert_eq!(update, coded(&local, &global, CLIENT, &order), "{code}");
        lengths.push(update.len());
    }
    assert!(
        lengths.len() >= 7 && lengths.is_sorted_by(|a, b| a > b),
        "{lengths:?}"
    );
}

#[test]
fn an_ordered_bound_shortens_the_update_to_the_bits_of_the_reference() {
    let global = initial(SEED);
    let update = |clip_q16| {
        let mut station = station();
        let model = ready(&mut station);
        let order = Order {
            clip_q16,
            ..training_order(1, 3, model)
        };
        assert_eq!(station.order(order).declined, None);
        assert!(station.report(1).trained);
        let local = trained(&global, &digits(), CLIENT, &order);
        let update = station.update(1);
        assert_eq!(update, coded(&local, &global, CLIENT, &order), "{clip_q16}");
        update
    };
    let length = |update: &[u8]| {
        let mut change = vec![0.0; PaperParams::COUNT];
        let code = Code::<784, 50, 10>::parse(update, Width::Byte).unwrap();
        code.write_f32(&mut change);
        change.iter().map(|x| f64::from(x * x)).sum::<f64>().sqrt()
    };
    let free = update(0);
    assert_eq!(
        update(u32::MAX),
        free,
        "a bound that is not reached changes nothing"
    );
    let whole = length(&free);
    for share in [0.5, 0.1] {
        let clip = Clip::from_real(share * whole);
        let found = length(&update(clip.0)) / clip.to_real();
        // Rounding to whole units adds a little.
        assert!((0.9..1.1).contains(&found), "{share}: {found}");
    }
}

#[test]
fn the_greeting_names_build_board_shape_and_shard() {
    let mut station = station();
    let about = station.connect();
    assert!(about.build.ends_with("+host"), "{}", about.build);
    assert_eq!(about.board, "in-process");
    let shape = (about.shape.inputs, about.shape.hidden, about.shape.outputs);
    assert_eq!(shape, (784, 50, 10));
    assert!(
        matches!(
            about.shard,
            ShardStatus::Present {
                samples: 60,
                client: CLIENT,
                ..
            }
        ),
        "{:?}",
        about.shard
    );
    assert_eq!((about.ledger, about.last_round), (None, None));
}

#[test]
fn without_a_good_shard_of_its_own_a_client_declines_to_train() {
    let good = digits().shard(CLIENT, None);
    let mut damaged = good.clone();
    damaged[5_000] ^= 1;
    let others = digits().shard(CLIENT + 1, None);
    for (flash, expected) in [
        (&[0xFF; 64][..], Some(ShardStatus::Absent)),
        (&damaged, Some(ShardStatus::Damaged)),
        (&others, None),
    ] {
        let mut station = Station::new(InProcess::start(flash));
        let model = ready(&mut station);
        let told = station.about.as_ref().unwrap().shard;
        let reply = station.order(training_order(1, 1, model));
        assert_eq!(reply.declined, Some(DeclineReason::Shard(told)));
        assert!(expected.is_none_or(|expected| expected == told), "{told:?}");
    }
}

#[test]
fn an_order_that_cannot_be_paid_is_declined_before_any_work() {
    let mut station = station();
    station.connect();
    let mut poor = generous(CLIENT, SEED);
    poor.ledger = Ledger::new(PicoJoules(5), poor.store).snapshot();
    station.provision(poor);
    let model = station.deliver(Payload::Model, &exact(&initial(SEED))).hash;
    let mut order = training_order(1, 1, model);
    order.income = PicoJoules(10);
    let reply = station.order(order);
    let Some(DeclineReason::Energy(shortfall)) = reply.declined else {
        panic!("{:?}", reply.declined);
    };
    // What the round brings is not there yet.
    assert_eq!(shortfall.available, PicoJoules(5));
    assert!(shortfall.needed > shortfall.available);
    // What is left goes into hearing the broadcast, and the rest of the round unpaid.
    station.say(HostToDevice::Cancel { work: order.mark() });
    let ledger = station.expect(|message| match message {
        DeviceToHost::Cancelled { ledger, .. } => Some(*ledger),
        _ => None,
    });
    assert_eq!(ledger.spent.of(Phase::Receive), PicoJoules(15));
    assert_eq!(ledger.stored, PicoJoules::ZERO);
    station.say(HostToDevice::Inspect);
    let supply = station.expect(|message| match message {
        DeviceToHost::Supply(supply) => Some(*supply),
        _ => None,
    });
    assert_eq!(supply.brownouts, 1);
}

#[test]
fn orders_out_of_place_are_declined_with_the_reason() {
    let mut station = station();
    station.connect();
    let declined = |station: &mut Station<InProcess>, order| station.order(order).declined;
    let blind = training_order(1, 1, ModelHash::default());
    assert_eq!(
        declined(&mut station, blind),
        Some(DeclineReason::NotProvisioned)
    );
    station.provision(generous(CLIENT, SEED));
    assert_eq!(declined(&mut station, blind), Some(DeclineReason::Model));
    let model = station.deliver(Payload::Model, &exact(&initial(SEED))).hash;
    let invalid = training_order(1, 0, model);
    assert_eq!(
        declined(&mut station, invalid),
        Some(DeclineReason::Invalid)
    );
    station.commit(RoundMark {
        run: RUN,
        round: 3,
        model,
    });
    let stale = training_order(3, 1, model);
    assert_eq!(
        declined(&mut station, stale),
        Some(DeclineReason::Stale { newest: 3 })
    );
}

#[test]
fn a_cancelled_round_uploads_nothing_and_keeps_what_it_spent() {
    let mut station = station();
    let model = ready(&mut station);
    let order = training_order(1, 50, model);
    station.order(order);
    station.expect(|message| match message {
        DeviceToHost::Progress(progress) if progress.epoch == 2 => Some(()),
        _ => None,
    });
    station.say(HostToDevice::Cancel { work: order.mark() });
    let ledger = station.expect(|message| match message {
        DeviceToHost::Cancelled { work, ledger } if *work == order.mark() => Some(*ledger),
        _ => None,
    });
    assert!(ledger.spent.compute() > PicoJoules::ZERO && ledger.is_consistent());
    assert_eq!(ledger.spent.of(Phase::Transmit), PicoJoules::ZERO);
    assert!(ledger.spent.waiting() > PicoJoules::ZERO);
    let reply = station.order(training_order(2, 1, model));
    assert_eq!(reply.declined, None);
    station.update(2);
    assert_eq!(station.updates.len(), 1);
}

#[test]
fn a_training_client_keeps_its_link_and_watchdog_and_takes_no_transfer() {
    let mut station = station();
    let model = ready(&mut station);
    station.order(training_order(1, 400, model));
    station.source = vec![1; 500];
    let now = station.wire.now();
    station
        .link
        .offer(now, Payload::Model, None, &station.source)
        .unwrap();
    let mut hunger = Micros::ZERO;
    let deadline = now.saturating_add(Micros(10_000_000));
    let rejected = station.run_until(deadline, |station, event| {
        hunger = hunger.max(station.wire.hunger());
        match event {
            Event::Rejected(_, reason) => Some(*reason),
            _ => None,
        }
    });
    assert_eq!(rejected, Some(RejectReason::Busy));
    assert!(hunger < Micros(1_000_000), "{hunger}");
}

#[test]
fn an_echo_comes_back_and_the_same_bytes_do_again() {
    let mut station = station();
    station.connect();
    let bytes: Vec<u8> = (0..50_000u32).map(|i| (i * 7) as u8).collect();
    for _ in 0..2 {
        station.store.fill(0);
        station.deliver(Payload::Echo, &bytes);
        let deadline = station.wire.now().saturating_add(Micros(5_000_000));
        let back = station.run_until(deadline, |station, event| match event {
            Event::Received(offer) => Some(station.store[..offer.len as usize].to_vec()),
            _ => None,
        });
        assert_eq!(back.as_deref(), Some(&bytes[..]));
        station.settle();
    }
}

#[test]
fn a_key_in_the_shard_is_demanded_of_the_host() {
    let flash = digits().shard(CLIENT, Some([0x5A; 32]));
    let mut station = Station::with_keys(InProcess::start(&flash), Key::new([0x5A; 32]));
    station.connect();

    let mut stranger = Station::new(InProcess::start(&flash));
    let deadline = Micros(3_000_000);
    let opened = stranger.run_until(deadline, |_, event| {
        matches!(event, Event::Connected(_)).then_some(())
    });
    assert_eq!(opened, None);
}

#[test]
fn a_reset_keeps_the_ledger_and_a_power_cut_falls_back_to_the_hosts() {
    let mut station = station();
    let model = ready(&mut station);
    station.order(training_order(1, 1, model));
    let spent = station.report(1).ledger;

    station.wire.reset();
    let about = station.connect();
    assert_eq!(about.ledger, Some(spent));
    assert_eq!(station.provision(generous(CLIENT, SEED)), spent);

    station.wire.power_cycle();
    assert_eq!(station.connect().ledger, None);
    let confirmed = generous(CLIENT, SEED).ledger;
    assert_eq!(station.provision(generous(CLIENT, SEED)), confirmed);
}

#[test]
fn a_reset_at_any_moment_of_a_round_costs_no_update_and_counts_none_twice() {
    for moment in Moment::ALL {
        let mut station = Station::new(InProcess::start(&reset::shard()));
        let recovery = reset_at(&mut station, moment);
        assert!(recovery <= Micros(2_000_000), "{moment:?}: {recovery}");
    }
}

/// Says nothing but what keeps the link alive for a while, and returns what the client said.
fn overheard(station: &mut Station<InProcess>, time: Micros) -> Vec<DeviceToHost> {
    let mut said = Vec::new();
    let deadline = station.wire.now().saturating_add(time);
    station.run_until(deadline, |_, event| {
        if let Event::Message(message) = event {
            said.push(message.clone());
        }
        None::<()>
    });
    said
}

/// A base station that begins anew on the same line, as another process does.
fn another_host(mut station: Station<InProcess>) -> Station<InProcess> {
    station.link.connect();
    station.about = None;
    station.updates.clear();
    station
}

#[test]
fn work_of_an_aborted_run_is_dropped_and_never_said_in_the_next() {
    for epochs in [1, 400] {
        let mut first = station();
        let model = ready(&mut first);
        let order = training_order(1, epochs, model);
        assert_eq!(first.order(order).declined, None);
        if epochs == 1 {
            first.report(1);
        }
        // The run is aborted with the work done, or half done; another one begins.
        let mut second = another_host(first);
        second.connect();
        let other = Provision {
            run: RunId([0x0E; 16]),
            ..generous(CLIENT, SEED)
        };
        assert_eq!(second.provision(other), other.ledger);
        assert_eq!(overheard(&mut second, Micros(2_000_000)), []);
        assert_eq!(second.updates, []);
        // The same round of the new run, with another learning rate, is another piece of work.
        let order = Order {
            run: other.run,
            learning_rate_q24: 1 << 20,
            ..training_order(1, 1, model)
        };
        assert_eq!(second.order(order).declined, None);
        assert_eq!(second.report(1).work, order.mark());
        let global = initial(SEED);
        let local = trained(&global, &digits(), CLIENT, &order);
        assert_eq!(second.update(1), coded(&local, &global, CLIENT, &order));
    }
}

#[test]
fn an_order_or_a_commit_of_another_run_is_not_obeyed() {
    let mut station = station();
    let model = ready(&mut station);
    let foreign = Order {
        run: RunId([0x0E; 16]),
        ..training_order(1, 1, model)
    };
    assert_eq!(
        station.order(foreign).declined,
        Some(DeclineReason::OtherRun)
    );
    station.order(training_order(1, 1, model));
    station.commit(RoundMark {
        run: foreign.run,
        round: 7,
        model,
    });
    // Neither was round 7 closed nor the work of round 1 dropped.
    station.update(1);
    assert_eq!(station.order(training_order(2, 1, model)).declined, None);
}

#[test]
fn work_is_said_in_a_new_session_once_its_order_was_given_again_and_is_not_done_twice() {
    let mut first = station();
    let model = ready(&mut first);
    let order = training_order(1, 3, model);
    first.order(order);
    let report = first.report(1);
    let mut again = another_host(first);
    again.connect();
    again.provision(generous(CLIENT, SEED));
    assert_eq!(overheard(&mut again, Micros(2_000_000)), []);
    let reply = again.order(order);
    assert_eq!(reply.declined, None);
    assert!(reply.reserved > PicoJoules::ZERO);
    assert_eq!(again.report(1), report);
    let global = initial(SEED);
    let local = trained(&global, &digits(), CLIENT, &order);
    assert_eq!(again.update(1), coded(&local, &global, CLIENT, &order));
}

#[test]
fn another_order_of_the_same_run_and_round_begins_anew() {
    let mut first = station();
    let model = ready(&mut first);
    first.order(training_order(1, 3, model));
    first.report(1);
    // The base station went back to a checkpoint and now orders something else.
    let mut again = another_host(first);
    again.connect();
    again.provision(generous(CLIENT, SEED));
    let order = training_order(1, 2, model);
    assert_eq!(again.order(order).declined, None);
    let report = again.report(1);
    assert_eq!((report.work, report.epochs), (order.mark(), 2));
    let global = initial(SEED);
    let local = trained(&global, &digits(), CLIENT, &order);
    assert_eq!(again.update(1), coded(&local, &global, CLIENT, &order));
}

#[test]
fn a_measured_client_marks_every_phase_without_a_gap() {
    let mut station = station();
    ready(&mut station);
    let refused = station.measure(0, MeasureStep::Evaluate);
    assert_eq!(refused, Some(MeasureRefusal::NotBegun));
    assert_eq!(station.marks, []);
    let wait = |state, micros| MeasureStep::Wait {
        state,
        time: Micros(micros),
    };
    for (number, step) in [
        MeasureStep::Begin,
        MeasureStep::Clock { hz: CLOCKS[1] },
        MeasureStep::Train { epochs: 2 },
        MeasureStep::Evaluate,
        MeasureStep::Apply { bits: 8 },
        wait(Phase::Sleep, 300_000),
        MeasureStep::End,
    ]
    .into_iter()
    .enumerate()
    {
        assert_eq!(station.measure(number as u32, step), None, "{step:?}");
    }
    let marks = &station.marks;
    for (at, pair) in marks.windows(2).enumerate() {
        assert_eq!(pair[0].seq, at as u32);
        assert!(pair[0].t_us <= pair[1].t_us);
    }
    let of = |phase| marks.iter().filter(move |mark| mark.phase == phase);
    assert_eq!(of(Phase::Train).count(), 2);
    assert_eq!(of(Phase::Evaluate).count(), 2);
    assert!(of(Phase::Train).all(|mark| mark.samples == 60 && mark.cycles.0 > 0));
    assert!(of(Phase::Train).all(|mark| mark.clk_hz == CLOCKS[1]));
    assert!(of(Phase::Encode).count() == 1 && of(Phase::Apply).count() == 1);
    let sleep = marks.iter().position(|mark| mark.phase == Phase::Sleep);
    let [asleep, awake] = [0, 1].map(|after| marks[sleep.unwrap() + after].t_us);
    assert!(awake.saturating_sub(asleep) >= Micros(300_000));
}

#[test]
fn steps_out_of_place_are_refused_with_the_reason() {
    let mut station = station();
    station.connect();
    assert_eq!(station.measure(0, MeasureStep::Begin), None);
    let waits = |state, micros| MeasureStep::Wait {
        state,
        time: Micros(micros),
    };
    for (step, reason) in [
        (
            MeasureStep::Clock { hz: 7 },
            MeasureRefusal::Clock { hz: CLOCKS[0] },
        ),
        (MeasureStep::Train { epochs: 1 }, MeasureRefusal::NoModel),
        (waits(Phase::Train, 1), MeasureRefusal::Invalid),
        (waits(Phase::Idle, u64::MAX), MeasureRefusal::Invalid),
    ] {
        assert_eq!(station.measure(1, step), Some(reason), "{step:?}");
    }
    station.provision(generous(CLIENT, SEED));
    let model = station.deliver(Payload::Model, &exact(&initial(SEED))).hash;
    assert_eq!(
        station.measure(2, MeasureStep::Apply { bits: 7 }),
        Some(MeasureRefusal::Invalid)
    );
    // A round goes on as ever, and is marked.
    station.order(training_order(1, 400, model));
    assert_eq!(
        station.measure(3, MeasureStep::Evaluate),
        Some(MeasureRefusal::Busy)
    );
    // The second epoch closes the mark of the first.
    for _ in 0..2 {
        station.expect(|message| matches!(message, DeviceToHost::Progress(_)).then_some(()));
    }
    assert!(station.marks.iter().any(|mark| mark.phase == Phase::Train));
}
