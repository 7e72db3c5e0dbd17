//! Boards that send false data, and unknown clients on their lines.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::units::{Cycles, PicoJoules};
use gleaner_shared::wire::link::{Event, Greeting};
use gleaner_shared::wire::message::{
    About, DeclineReason, DeviceToHost, HostToDevice, ModelHash, ModelShape, Offer, OrderReply,
    Payload, Progress, RejectReason, Report, RoundMark, RunId, WorkMark,
};

use super::scene::*;
use crate::board::session::{Action, Answer, Input, Request, Want, rejection};
use crate::board::{Closing, ConfirmedState, SessionError};
use crate::event::EventKind;

/// Returns ledgers that are impossible after the first order: an inconsistent one, one of a larger
/// store, and one with the income of rounds that were never ordered.
fn impossible() -> [Snapshot; 3] {
    let forged = Snapshot {
        stored: PicoJoules(900),
        ..ledger(1)
    };
    let larger = Snapshot {
        initial: PicoJoules(5_000),
        stored: PicoJoules(5_010),
        ..ledger(1)
    };
    [forged, larger, ledger(2)]
}

fn close(board: &mut Board, round: u32) -> ConfirmedState {
    let mark = RoundMark {
        run: RUN,
        round,
        model: ModelHash([0; 16]),
    };
    let closing = Closing {
        mark,
        counted: false,
        income: INCOME,
        period: PERIOD,
        rest: None,
    };
    match board.ask(Request::Close(closing)).answer() {
        Some(Answer::Closed(confirmed)) => confirmed,
        other => panic!("the round is closed, not {other:?}"),
    }
}

/// Does a round's work up to the offer of the model.
fn offering() -> Board {
    let mut board = Board::ordered(0);
    board.reply(0, Some(DeclineReason::Model));
    board.queue();
    board
}

fn rejected(reason: RejectReason) -> Input {
    let model = offer(Payload::Model, 0, &model(0));
    Input::of(Event::Rejected(model, reason), Vec::new)
}

#[test]
fn an_impossible_ledger_is_published_and_not_used() {
    for found in impossible() {
        let says: [fn(Snapshot) -> DeviceToHost; 3] = [
            |ledger| DeviceToHost::Provisioned {
                client: CLIENT,
                ledger,
            },
            |ledger| DeviceToHost::Cancelled {
                work: mark(0),
                ledger,
            },
            |ledger| {
                DeviceToHost::Report(Report {
                    ledger,
                    trained: false,
                    ..report(0)
                })
            },
        ];
        for say in says {
            let mut board = Board::training(0);
            let refused = |events: Vec<EventKind>| {
                let refused = |event: &EventKind| matches!(event, EventKind::LedgerRefused { found: it, .. } if *it == found);
                events.iter().any(refused)
            };
            assert!(refused(board.say(say(found)).events()));
            // Said once, however often the board does.
            assert!(!refused(board.say(say(found)).events()));
            if board.machine.is_busy() {
                board.pass(LIMIT).missing(0);
            }
            assert_eq!(close(&mut board, 0).ledger, ledger(1));
            // The next greeting is answered with a possible ledger.
            let turn = board.tell(Input::Connected(greeting()));
            let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
                panic!("it is provisioned");
            };
            assert_eq!(provision.ledger, ledger(1));
        }
    }
}

#[test]
fn an_update_of_the_wrong_length_ends_the_round_at_once() {
    let mut board = Board::uploading(0);
    let turn = board.tell(Input::Offered(offer(Payload::Update, 0, b"long!")));
    assert!(matches!(
        turn.0.first(),
        Some(Action::Reject(RejectReason::TooLarge))
    ));
    assert_eq!(
        turn.missing(0),
        "the update did not arrive: it has 5 bytes, not 4"
    );
    assert!(!board.machine.is_busy());
}

#[test]
fn an_offer_of_another_round_or_kind_ends_nothing() {
    let mut board = Board::training(1);
    for (payload, round) in [
        (Payload::Update, 0),
        (Payload::Model, 1),
        (Payload::Echo, 0),
    ] {
        let turn = board.tell(Input::Offered(offer(payload, round, b"long!")));
        assert!(matches!(
            turn.0[..],
            [Action::Reject(RejectReason::Unexpected)]
        ));
    }
    board.report(1);
    assert_eq!(board.update(1).done(), UPDATE);
}

#[test]
fn an_update_whose_hash_never_fits_ends_the_round_when_the_link_gives_up() {
    let mut board = Board::uploading(0);
    let corrupt = || Input::of(Event::Corrupt(offer(Payload::Update, 0, &UPDATE)), Vec::new);
    for _ in 0..3 {
        assert!(board.tell(corrupt()).0.is_empty());
    }
    board.tell(corrupt()).missing(0);
    // The next round has as many tries as any.
    board.work(job(1));
    board.queue();
    board.tell(Input::Delivered);
    board.queue();
    board.reply(1, None);
    board.report(1);
    let corrupt = Input::Corrupt(offer(Payload::Update, 1, &UPDATE));
    assert!(board.tell(corrupt).0.is_empty());
    assert_eq!(board.update(1).done(), UPDATE);
}

#[test]
fn a_board_that_rejects_the_model_is_given_up_with_its_reason() {
    for reason in [
        RejectReason::TooLarge,
        RejectReason::Unexpected,
        RejectReason::HashMismatch,
    ] {
        let missing = offering().tell(rejected(reason)).missing(0);
        assert_eq!(missing, rejection(reason));
    }
}

#[test]
fn the_model_is_offered_again_to_a_busy_board_after_a_pause() {
    let mut board = offering();
    let mut offers = 0;
    while board.now < seconds(4) {
        board.tell(rejected(RejectReason::Busy));
        assert_eq!(board.machine.wants(), None);
        let at = board.machine.wakes_at().unwrap();
        board.pass(at - board.now);
        board.queue();
        offers += 1;
    }
    assert_eq!(offers, 8);
    board.tell(Input::Delivered);
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn a_board_that_is_always_busy_has_no_extra_time() {
    let mut board = offering();
    board.now += LIMIT - seconds(1) / 4;
    board.tell(rejected(RejectReason::Busy));
    let at = board.machine.wakes_at().unwrap();
    assert_eq!(at, LIMIT);
    assert_eq!(
        board.pass(at - board.now).missing(0),
        "the model did not arrive in time"
    );
}

#[test]
fn an_echo_waits_for_a_busy_board_and_ends_with_any_other_rejection() {
    let mut board = Board::there();
    board.ask(Request::Echo(UPDATE.as_slice().into(), seconds(9)));
    let (want, _) = board.queue();
    board.tell(rejected(RejectReason::Busy));
    assert_eq!(board.machine.wants(), None);
    let at = board.machine.wakes_at().unwrap();
    assert!(at < seconds(1));
    board.pass(at);
    assert_eq!(board.queue().0, want);
    let turn = board.tell(rejected(RejectReason::TooLarge));
    let Some(Answer::Echoed(echoed)) = turn.answer() else {
        panic!("it is over");
    };
    let rejected = SessionError::EchoRejected(RejectReason::TooLarge);
    assert_eq!(echoed, Err(rejected));
}

/// The greeting of a board that was built for another network.
fn built_for_another() -> About {
    About {
        shape: ModelShape {
            inputs: 784,
            hidden: 30,
            outputs: 10,
        },
        ..about()
    }
}

const BUILT_FOR_ANOTHER: &str = "it was built for a network 784-30-10, this run's is 784-50-10: \
                                 `gleaner flash` builds and writes that";

fn greeted(about: About) -> Input {
    Input::Connected(Box::new(Greeting {
        about,
        ..*greeting()
    }))
}

#[test]
fn a_board_of_another_network_or_without_room_for_model_or_code_is_not_used() {
    let small = About {
        largest_transfer: 7,
        ..about()
    };
    let plain = About {
        codes: UploadCode::Q16.bit() | UploadCode::Q4.bit(),
        ..about()
    };
    for (about, reason) in [
        (built_for_another(), BUILT_FOR_ANOTHER),
        (
            small,
            "it takes transfers of 7 bytes at most, the model has 8",
        ),
        (
            plain,
            "it cannot code uploads as q8: set upload.code to one of q16, q4",
        ),
    ] {
        let mut board = Board::new();
        board.open();
        board.tell(greeted(about));
        board.work(job(0));
        assert_eq!(board.provisioned().missing(0), reason);
        assert_eq!(board.machine.wants(), None::<Want>);
    }
}

#[test]
fn a_board_flashed_for_another_network_in_mid_round_is_left_out_until_it_has_its_own_again() {
    let mut board = Board::training(0);
    board.tell(Input::Gone {
        reason: "flashed".to_owned(),
    });
    board.open();
    board.tell(greeted(built_for_another()));
    assert_eq!(board.provisioned().missing(0), BUILT_FOR_ANOTHER);
    // Its later messages about the round are ignored.
    board.report(0);
    assert!(board.update(0).answer().is_none());
    assert_eq!(board.work(job(1)).missing(1), BUILT_FOR_ANOTHER);

    board.tell(greeted(about()));
    board.provisioned();
    board.work(job(2));
    assert_eq!(board.finish(2), UPDATE);
}

#[test]
fn endless_refusals_are_counted_and_rarely_published() {
    let mut board = Board::there();
    let mut events = Vec::new();
    // Two reasons in turn, and one that is new every time, as a stranger's version may be.
    for turn in 0..10_000 {
        for reason in ["another key", "no key", &format!("version {turn}")] {
            let reason = reason.to_owned();
            events.extend(board.tell(Input::Refused { reason }).events());
        }
    }
    let key = |times| EventKind::Refused {
        reason: "another key".to_owned(),
        times,
    };
    for times in [1, 16, 256, 4096] {
        assert!(events.contains(&key(times)), "{times}");
    }
    assert_eq!(events.len(), 4 + 4 + 6 + 4);
    // A new line is a new count.
    let reason = "gone".to_owned();
    board.tell(Input::Gone { reason });
    board.open();
    let reason = "another key".to_owned();
    assert_eq!(board.tell(Input::Refused { reason }).events(), [key(1)]);
}

#[test]
fn progress_is_published_when_it_grows_within_the_order() {
    let mut board = Board::training(0);
    let mut events = Vec::new();
    for epoch in [1, 1, 2, 1, 2, 3, u16::MAX, 0, 2] {
        let turn = board.say(DeviceToHost::Progress(Progress {
            work: mark(0),
            epoch,
            cycles: Cycles(1),
        }));
        events.extend(turn.events());
    }
    assert_eq!(events, [1, 2].map(|done| EventKind::Epoch { done }));
}

#[test]
fn a_report_that_contradicts_its_order_is_published_and_not_counted() {
    let good = report(0);
    for (report, what) in [
        (Report { epochs: 3, ..good }, "3 epochs trained, 2 ordered"),
        (Report { epochs: 1, ..good }, "1 epochs trained, 2 ordered"),
        (
            Report {
                samples: 99,
                ..good
            },
            "99 samples trained, its shard has 100",
        ),
        (
            Report {
                cycles: Cycles(u64::MAX),
                ..good
            },
            "18446744073709551615 cycles for 2 epochs, more than 300000000000",
        ),
    ] {
        let mut board = Board::training(0);
        let what = what.to_owned();
        let turn = board.say(DeviceToHost::Report(report));
        let reason = format!("its report is impossible: {what}");
        assert_eq!(
            turn.events().first(),
            Some(&EventKind::Implausible { what })
        );
        let measured = |event: &EventKind| matches!(event, EventKind::Reported(_));
        assert!(!turn.events().iter().any(measured));
        assert_eq!(turn.missing(0), reason);
    }
}

#[test]
fn a_provision_taken_as_another_client_is_no_provision() {
    let mut board = Board::new();
    board.open();
    board.tell(Input::Connected(greeting()));
    let ledger = ledger(0);
    let client = CLIENT + 1;
    assert!(
        board
            .say(DeviceToHost::Provisioned { client, ledger })
            .0
            .is_empty()
    );
    board.work(job(0));
    let turn = board.pass(LIMIT);
    let reason = turn.missing(0);
    assert!(reason.contains(&format!("as client {client}")), "{reason}");
}

/// Returns marks of other work: of another run, of another order in this round, of another round.
fn foreign() -> [WorkMark; 3] {
    let other = order(1);
    let other_order = gleaner_shared::wire::message::Order {
        learning_rate_q24: 7,
        ..other
    };
    let other_run = WorkMark {
        run: RunId([6; 16]),
        ..mark(1)
    };
    [other_run, other_order.mark(), mark(0)]
}

#[test]
fn messages_of_another_run_order_or_round_are_ignored() {
    for work in foreign() {
        let foreign_offer = Offer {
            work: Some(work),
            ..offer(Payload::Update, 1, &UPDATE)
        };
        let mut board = Board::ordered(1);
        let accepted = OrderReply {
            work,
            declined: None,
            reserved: PicoJoules::ZERO,
        };
        assert!(board.say(DeviceToHost::OrderReply(accepted)).0.is_empty());
        board.reply(1, None);
        let theirs = Report { work, ..report(1) };
        assert!(board.say(DeviceToHost::Report(theirs)).0.is_empty());
        let progress = Progress {
            work,
            epoch: 1,
            cycles: Cycles(1),
        };
        assert!(board.say(DeviceToHost::Progress(progress)).0.is_empty());
        board.report(1);
        let turn = board.tell(Input::Offered(foreign_offer));
        assert!(matches!(
            turn.0[..],
            [Action::Reject(RejectReason::Unexpected)]
        ));
        let whole = Input::Received(foreign_offer, UPDATE.to_vec());
        assert!(board.tell(whole).0.is_empty());
        assert_eq!(board.update(1).done(), UPDATE);
    }
}

#[test]
fn results_of_work_not_ordered_in_this_session_are_ignored() {
    let mut board = Board::there();
    board.work(job(1));
    let unexpected = |turn: Turn| matches!(turn.0[..], [Action::Reject(RejectReason::Unexpected)]);
    // Before the order is sent, and before it is accepted.
    for _ in 0..2 {
        assert!(board.report(1).0.is_empty());
        let offered = offer(Payload::Update, 1, &UPDATE);
        assert!(unexpected(board.tell(Input::Offered(offered))));
        assert!(board.update(1).0.is_empty());
        if board.machine.wants().is_some() {
            board.queue();
        }
    }
    // An update before its report is rejected, too.
    board.reply(1, None);
    let offered = offer(Payload::Update, 1, &UPDATE);
    assert!(unexpected(board.tell(Input::Offered(offered))));
    assert!(board.update(1).0.is_empty());
    board.report(1);
    assert_eq!(board.update(1).done(), UPDATE);
}
