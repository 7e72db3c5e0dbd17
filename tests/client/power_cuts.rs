//! The firmware's client on flash that loses its power inside any operation: no closed round is
//! lost, no income comes twice, and the work that follows has the bits of a run without accidents.

use gleaner_firmware::model::{Memory, Params};
use gleaner_firmware::retained::SavedLedger;
use gleaner_firmware::saved::{MODEL_ROUNDS, Region, SECTORS, Saved};
use gleaner_shared::energy::{EnergyStore, Flows, Ledger};
use gleaner_shared::units::{Micros, PicoJoules};
use gleaner_shared::wire::message::{DeviceToHost, HostToDevice, ModelHash, Payload, RoundMark};
use gleaner_tests::cut_run::RecordedRun;
use gleaner_tests::in_process::InProcess;
use gleaner_tests::nor::{Nor, SECTOR};
use gleaner_tests::reference::{apply, coded, exact, initial, trained};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{RUN, Station, generous, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 4;
const SEED: u64 = 11;

/// The short form of `cargo figures powercuts`.
#[test]
fn a_cut_inside_any_operation_of_a_run_loses_no_closed_round_and_no_whole_model() {
    let run = RecordedRun::run();
    let state = run.cut_state(false, 2);
    let client = run.cut_client(67, 24);
    println!("state: {state:?}\nclient: {client:?}");
    assert!(state.cuts > 2_000 && state.models > 700 && client.cuts > 200);
    assert_eq!(state.erasures, 1 + 2 * 20);
}

fn mark(round: u32) -> Option<RoundMark> {
    let model = ModelHash([round as u8; 16]);
    Some(RoundMark {
        run: RUN,
        round,
        model,
    })
}

fn ledger(round: u32) -> Option<SavedLedger> {
    let store = EnergyStore::lossless(PicoJoules(1_000_000));
    let mut ledger = Ledger::new(PicoJoules(1_000), store);
    let flows = Flows {
        income: PicoJoules(7),
        ..Flows::default()
    };
    for _ in 0..round {
        let _ = ledger.end_round(&flows);
    }
    Some(SavedLedger {
        run: RUN,
        client: 3,
        snapshot: ledger.snapshot(),
        income_round: Some(round),
    })
}

fn open(flash: &Nor) -> Saved<Nor> {
    Saved::open(Region::new(flash.clone(), 0))
}

/// Closes a round and lets the model be written whose seed is the round.
fn close(saved: &mut Saved<Nor>, round: u32, model: &Params) {
    let hash = gleaner_firmware::exact::hash_of(model);
    saved.close(ledger(round), mark(round), Some(hash));
    while saved.is_saving() {
        saved.go_on(model);
    }
}

#[test]
fn a_thousand_rounds_wear_the_sectors_alike() {
    let flash = Nor::new(SECTORS, 1);
    flash.start_trace();
    let mut saved = open(&flash);
    for round in 1..=1_000 {
        saved.close(ledger(round), mark(round), None);
    }
    let (erases, programs) = saved.operations();
    let trace = flash.trace();
    let of = |sector: usize| {
        let hits = trace
            .iter()
            .filter(|it| it.is_erasure() && it.at == sector * SECTOR);
        hits.count()
    };
    let worn: Vec<usize> = (0..SECTORS).map(of).collect();
    println!("{erases} erases, {programs} pages in 1000 rounds: {worn:?}");
    assert_eq!(worn[..4], [16, 16, 16, 15]);
    assert!(worn[4..].iter().all(|&count| count == 0));
    assert_eq!((erases, programs), (63, 2_000));
    // The counts are as old as the last record, and that has counted itself.
    assert_eq!(open(&flash).operations(), (erases, programs));
}

#[test]
fn a_model_is_written_once_in_eight_rounds_into_the_area_that_does_not_hold_the_last() {
    let flash = Nor::new(SECTORS, 1);
    let mut saved = open(&flash);
    let mut model = Box::new(Params::new());
    let mut memory = Box::new(Memory::new());
    let rounds = 2 * MODEL_ROUNDS + 1;
    for round in 1..=rounds {
        model.initialise(round.into());
        close(&mut saved, round, &model);
        let newest = (round - 1) / MODEL_ROUNDS * MODEL_ROUNDS + 1;
        let mut expected = Box::new(Params::new());
        expected.initialise(newest.into());
        let held = open(&flash).recall(&mut memory);
        assert_eq!(
            held,
            Some(gleaner_firmware::exact::hash_of(&expected)),
            "{round}"
        );
    }
    let (erases, programs) = saved.operations();
    println!("{erases} erases, {programs} pages in {rounds} rounds");
    assert_eq!(erases, 3 * 20 + 2);
}

/// A supply that fails in every model would wear the flash out.
#[test]
fn a_model_that_a_cut_broke_off_is_not_begun_again_at_once() {
    let flash = Nor::new(SECTORS, 1);
    let mut model = Box::new(Params::new());
    model.initialise(1);
    let hash = gleaner_firmware::exact::hash_of(&model);
    let mut begun = 0;
    for round in 1..=2 * MODEL_ROUNDS {
        let mut saved = open(&flash);
        saved.close(ledger(round), mark(round), Some(hash));
        begun += u32::from(saved.is_saving());
        saved.go_on(&model);
    }
    assert_eq!(begun, 2);
}

#[test]
fn what_is_written_already_is_not_written_again() {
    let flash = Nor::new(SECTORS, 1);
    let mut saved = open(&flash);
    saved.close(ledger(1), mark(1), None);
    let operations = flash.operations();
    saved.close(ledger(1), mark(1), None);
    drop(open(&flash));
    assert_eq!(flash.operations(), operations);
}

#[test]
fn flash_that_takes_nothing_more_leaves_the_board_without_and_the_last_record_readable() {
    let flash = Nor::new(SECTORS, 1);
    let mut saved = open(&flash);
    saved.close(ledger(1), mark(1), None);
    // The next record's page does not keep what is written, so it goes into the page after it.
    flash.wear_out(256, 1);
    saved.close(ledger(2), mark(2), None);
    assert_eq!(open(&flash).state().last_round, mark(2));
    // A chip that ends with the first sector of the journal.
    let small = Nor::new(1, 1);
    let mut saved = open(&small);
    for round in 1..=20 {
        saved.close(ledger(round), mark(round), Some(ModelHash([1; 16])));
        while saved.is_saving() {
            saved.go_on(&Params::new());
        }
    }
    assert_eq!(open(&small).state().last_round, mark(16));
}

#[test]
fn noise_and_zeros_are_no_record() {
    let flash = Nor::new(SECTORS, 1);
    let saved = open(&flash);
    assert_eq!(
        (saved.state().last_round, saved.state().ledger),
        (None, None)
    );
    let mut memory = Box::new(Memory::new());
    assert_eq!(open(&flash).recall(&mut memory), None);
}

/// The base station then need not send the whole model: the change is half as long.
#[test]
fn a_board_that_lost_its_power_takes_the_change_of_the_model_it_holds_in_flash() {
    let digits = Digits::take(0, 4);
    let mut station = Station::new(InProcess::start(&digits.shard(CLIENT, None)));
    let mut global = initial(SEED);
    let model = ModelHash::of(&exact(&global));
    let mut provision = generous(CLIENT, SEED);
    station.connect();
    station.provision(provision);
    station.deliver(Payload::Model, &exact(&global));
    station.order(training_order(1, 1, model));
    provision.ledger = station.report(1).ledger;
    provision.last_round = mark(1);
    let update = station.update(1);
    station.say(HostToDevice::Commit {
        mark: mark(1).unwrap(),
        counted: true,
    });
    let later = station.wire.now().saturating_add(Micros(2_000_000));
    station.run_until(later, |_, _| None::<()>);

    station.wire.power_cycle();
    station.connect();
    let (mut holds, mut wear) = (None, None);
    station.say(HostToDevice::Provision(provision));
    station.expect(|message| {
        match *message {
            DeviceToHost::Holds { model } => holds = Some(model),
            DeviceToHost::FlashUse { erases, closed, .. } => wear = Some((erases, closed)),
            _ => {}
        }
        matches!(message, DeviceToHost::Provisioned { .. }).then_some(())
    });
    // The model came after the record that counts.
    assert_eq!((holds, wear), (Some(model), Some((1, 1))));
    apply(&update, &mut global);
    station.deliver(Payload::Update, &update);
    let order = training_order(2, 1, ModelHash::of(&exact(&global)));
    assert_eq!(station.order(order).declined, None);
    let local = trained(&global, &digits, CLIENT, &order);
    let expected = coded(&local, &global, CLIENT, &order);
    assert!(station.update(2) == expected);
}

/// A base station that does not leave a busy board alone.
#[test]
fn a_model_on_its_way_into_flash_gives_way_to_a_base_station_that_insists() {
    let flash = Nor::new(SECTORS, 1);
    let mut saved = open(&flash);
    saved.close(ledger(1), mark(1), Some(ModelHash([1; 16])));
    let put_off = (0..20).take_while(|_| saved.puts_off()).count();
    assert_eq!((put_off, saved.is_saving()), (8, false));
}
