//! The board's ledger, round by round.

use gleaner_shared::energy::{CostModel, Pace, Phase, Snapshot, Spent};
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::{DeviceToHost, HostToDevice, ModelHash, Report, RoundMark};

use super::scene::*;
use crate::board::booking::Booking;
use crate::board::bounds::Bounds;
use crate::board::session::{Answer, Input, Request};
use crate::board::{Closing, ConfirmedState};
use crate::event::EventKind;

const MARK: RoundMark = RoundMark {
    run: RUN,
    round: 0,
    model: ModelHash([0; 16]),
};

const CLOSING: Closing = Closing {
    mark: MARK,
    counted: false,
    income: INCOME,
    period: PERIOD,
    rest: None,
};

fn spent_on(phases: &[(Phase, u64)]) -> Spent {
    let mut spent = Spent::ZERO;
    for &(phase, amount) in phases {
        spent[phase] = PicoJoules(amount);
    }
    spent
}

fn energy() -> Booking {
    let bounds = Bounds {
        store: STORE,
        cost: CostModel::default(),
        pace: Pace::default(),
    };
    let mut booking = Booking::new(ConfirmedState::new(PicoJoules(500), STORE), bounds);
    booking.begin(&order(0));
    booking
}

#[test]
fn the_income_of_a_round_is_booked_once() {
    // By the base station, for an absent board.
    let mut silent = energy();
    silent.close(&CLOSING);
    assert_eq!(silent.confirmed().ledger, ledger(1));
    // By the board.
    let mut busy = energy();
    busy.note(ledger(1));
    busy.close(&CLOSING);
    assert_eq!(busy.confirmed().ledger, ledger(1));
    // By the base station, for a board that spent something and booked no income.
    let spent = Snapshot {
        stored: PicoJoules(400),
        spent: spent_on(&[(Phase::Train, 100)]),
        ..ledger(0)
    };
    let mut stopped = energy();
    stopped.note(spent);
    stopped.close(&CLOSING);
    let ledger = stopped.confirmed().ledger;
    assert_eq!((ledger.stored, ledger.rounds), (PicoJoules(410), 1));
}

#[test]
fn a_ledger_older_than_the_confirmed_one_is_not_noted() {
    let mut energy = energy();
    energy.close(&CLOSING);
    energy.note(ledger(0));
    energy.close(&CLOSING);
    assert_eq!(energy.confirmed().ledger, ledger(2));
}

#[test]
fn an_unexpected_ledger_is_published() {
    let mut energy = energy();
    assert_eq!(energy.compare(ledger(0)), None);
    let (expected, found) = (ledger(0), ledger(1));
    let differs = EventKind::LedgerDiffers { expected, found };
    assert_eq!(energy.compare(found), Some(differs));
    // Now it is known, and so is the confirmed one, which a board without power returns to.
    assert_eq!(energy.compare(found), None);
    assert_eq!(energy.compare(ledger(0)), None);
}

#[test]
fn a_provisioned_board_with_another_ledger_is_published_and_works() {
    let mut board = Board::new();
    board.open();
    board.tell(Input::Connected(greeting()));
    board.work(job(0));
    let turn = board.say(DeviceToHost::Provisioned {
        client: CLIENT,
        ledger: ledger(1),
    });
    assert!(matches!(
        turn.events()[..],
        [EventKind::LedgerDiffers { .. }]
    ));
    assert!(turn.sent().is_empty());
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn energy_of_cancelled_work_is_booked() {
    let mut board = Board::training(0);
    board.pass(LIMIT).missing(0);
    let spent = Snapshot {
        stored: PicoJoules(410),
        spent: spent_on(&[(Phase::Train, 100)]),
        ..ledger(1)
    };
    board.say(DeviceToHost::Cancelled {
        work: mark(0),
        ledger: spent,
    });
    let closing = CLOSING;
    let Some(Answer::Closed(confirmed)) = board.ask(Request::Close(closing)).answer() else {
        panic!("the round is closed");
    };
    assert_eq!(confirmed.ledger, spent);
}

#[test]
fn energy_spent_before_a_power_cut_stays_booked_and_is_provisioned() {
    let mut board = Board::training(0);
    let spent = Snapshot {
        stored: PicoJoules(410),
        spent: spent_on(&[(Phase::Train, 60), (Phase::Transmit, 40)]),
        ..ledger(1)
    };
    board.say(DeviceToHost::Report(Report {
        ledger: spent,
        ..report(0)
    }));
    board.update(0).done();
    // Its memory is gone: it is provisioned with the ledger of the last closed round.
    board.come();
    let closing = Closing {
        counted: true,
        ..CLOSING
    };
    let turn = board.ask(Request::Close(closing));
    let [
        HostToDevice::Provision(provision),
        HostToDevice::Commit { .. },
    ] = turn.sent()[..]
    else {
        panic!("it is provisioned with its ledger: {:?}", turn.sent());
    };
    assert_eq!(
        (provision.ledger, provision.last_round),
        (spent, Some(MARK))
    );
    let Some(Answer::Closed(confirmed)) = turn.answer() else {
        panic!("the round is closed");
    };
    assert_eq!(confirmed.ledger, spent);
}

#[test]
fn a_board_that_kept_its_ledger_is_not_provisioned_again() {
    let mut board = Board::there();
    board.work(job(0));
    board.finish(0);
    let closing = Closing {
        counted: true,
        ..CLOSING
    };
    let turn = board.ask(Request::Close(closing));
    assert!(matches!(turn.sent()[..], [HostToDevice::Commit { .. }]));
}
