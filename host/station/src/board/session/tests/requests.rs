//! Requests to a board in every state.

use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{
    About, HostToDevice, ModelHash, Order, Payload, RoundMark, ShardStatus,
};

use super::scene::*;
use crate::board::session::{Answer, Input, Request, Want};
use crate::board::{Closing, ConfirmedState, SessionError};

fn closed(round: u32) -> RoundMark {
    RoundMark {
        run: RUN,
        round,
        model: ModelHash([round as u8; 16]),
    }
}

fn closing(round: u32, rest: Option<Order>) -> Request {
    Request::Close(Closing {
        mark: closed(round),
        counted: rest.is_none(),
        income: INCOME,
        period: PERIOD,
        rest,
    })
}

fn confirmed(turn: Turn) -> ConfirmedState {
    match turn.answer() {
        Some(Answer::Closed(confirmed)) => confirmed,
        other => panic!("the round is closed: {other:?}"),
    }
}

fn greeted(turn: Turn) -> Option<Result<Box<Greeting>, SessionError>> {
    match turn.answer() {
        None => None,
        Some(Answer::Greeted(answer)) => Some(answer),
        other => panic!("a greeting was asked for: {other:?}"),
    }
}

#[test]
fn work_for_an_absent_board_begins_when_it_connects() {
    let mut board = Board::new();
    assert!(board.work(job(0)).0.is_empty());
    board.open();
    board.now += seconds(30);
    board.tell(Input::Connected(greeting()));
    assert_eq!(board.machine.wants(), None);
    board.provisioned();
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn a_board_with_the_wrong_shard_gets_no_work() {
    let shards = [
        (ShardStatus::Absent, "it has no shard: flash one"),
        (ShardStatus::Damaged, "its shard is damaged: flash it again"),
        (
            ShardStatus::Present {
                samples: 100,
                client: 8,
                inputs: 784,
                classes: 10,
                crc: 7,
            },
            "it holds the shard of client 8, not 3",
        ),
        (
            ShardStatus::Present {
                samples: 100,
                client: CLIENT,
                inputs: 784,
                classes: 10,
                crc: 8,
            },
            "its shard has checksum 00000008, this run's has 00000007: flash it",
        ),
    ];
    for (shard, reason) in shards {
        let mut board = Board::new();
        board.open();
        let about = About { shard, ..about() };
        board.tell(Input::Connected(Box::new(Greeting {
            about,
            ..*greeting()
        })));
        board.provisioned();
        assert_eq!(board.work(job(0)).missing(0), reason);
        assert!(!board.machine.is_busy());
    }
}

#[test]
fn a_closed_round_is_sent_and_confirmed() {
    let mut board = Board::there();
    let rest = Order {
        participate: false,
        ..order(0)
    };
    let turn = board.ask(closing(0, Some(rest)));
    let commit = HostToDevice::Commit {
        mark: closed(0),
        counted: false,
    };
    assert_eq!(turn.sent(), [HostToDevice::Order(rest), commit]);
    let confirmed = confirmed(turn);
    assert_eq!(confirmed.last_round, Some(closed(0)));
    assert_eq!(confirmed.ledger, ledger(1));
}

#[test]
fn an_absent_board_learns_of_closed_rounds_from_its_next_provision() {
    let mut board = Board::new();
    board.ask(closing(0, None));
    let confirmed = confirmed(board.ask(closing(1, None)));
    assert_eq!(confirmed.ledger, ledger(2));
    board.open();
    let turn = board.tell(Input::Connected(greeting()));
    let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
        panic!("it is provisioned");
    };
    assert_eq!(provision.ledger, ledger(2));
    assert_eq!(provision.last_round, Some(closed(1)));
}

#[test]
fn a_restored_board_goes_on_from_the_checkpoint() {
    let mut board = Board::there();
    board.work(job(0));
    board.finish(0);
    let checkpoint = confirmed(board.ask(closing(0, None)));
    board.work(job(1));
    board.queue();
    board.tell(Input::Delivered);
    board.finish(1);
    assert!(board.ask(Request::Restore(checkpoint)).0.is_empty());
    assert!(!board.machine.is_busy());
    let turn = board.tell(Input::Connected(greeting()));
    let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
        panic!("it is provisioned");
    };
    assert_eq!(provision.ledger, checkpoint.ledger);
    assert_eq!(provision.last_round, Some(closed(0)));
    // What the board had booked since is forgotten.
    let confirmed = confirmed(board.ask(closing(1, None)));
    assert_eq!(confirmed.ledger.rounds, checkpoint.ledger.rounds + 1);
}

#[test]
fn a_restore_of_an_absent_board_is_provisioned_later() {
    let mut board = Board::new();
    let checkpoint = ConfirmedState {
        last_round: Some(closed(6)),
        ..ConfirmedState::new(PicoJoules(77), STORE)
    };
    board.ask(Request::Restore(checkpoint));
    board.open();
    let turn = board.tell(Input::Connected(greeting()));
    let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
        panic!("it is provisioned");
    };
    assert_eq!(provision.ledger, checkpoint.ledger);
    assert_eq!(provision.last_round, Some(closed(6)));
}

#[test]
fn a_second_request_is_refused_while_one_is_pending() {
    let mut board = Board::new();
    for there in [false, true] {
        board.work(job(0));
        let requests = [
            Request::Work(Box::new(job(1))),
            closing(0, None),
            Request::Restore(ConfirmedState::new(PicoJoules(1), STORE)),
            Request::Greet(seconds(1)),
            Request::Echo(b"bytes".as_slice().into(), seconds(1)),
        ];
        assert!(board.machine.is_busy());
        for request in requests {
            assert!(board.machine.ask(board.now, request).is_err());
        }
        if !there {
            board.come();
        }
        assert_eq!(board.finish(0), UPDATE);
    }
}

#[test]
fn a_greeting_is_passed_on_when_the_board_is_provisioned() {
    let mut board = Board::new();
    assert!(greeted(board.ask(Request::Greet(seconds(9)))).is_none());
    board.open();
    let turn = board.tell(Input::Connected(greeting()));
    assert!(greeted(turn).is_none());
    assert_eq!(greeted(board.provisioned()), Some(Ok(greeting())));
    let again = board.ask(Request::Greet(seconds(9)));
    assert_eq!(greeted(again), Some(Ok(greeting())));
}

#[test]
fn a_greeting_that_does_not_come_has_a_reason() {
    let mut board = Board::new();
    board.ask(Request::Greet(seconds(9)));
    board.tell(Input::Gone {
        reason: "nobody".to_owned(),
    });
    assert!(greeted(board.pass(seconds(8))).is_none());
    let answer = greeted(board.pass(seconds(1)));
    assert_eq!(
        answer,
        Some(Err(SessionError::NotConnected("nobody".to_owned())))
    );
    // A board that greeted and says no more is good enough to be looked at.
    board.open();
    board.tell(Input::Connected(greeting()));
    board.ask(Request::Greet(seconds(9)));
    assert_eq!(greeted(board.pass(seconds(9))), Some(Ok(greeting())));
}

#[test]
fn an_echo_is_offered_until_it_comes_back() {
    let mut board = Board::there();
    let bytes = b"there and back".as_slice();
    board.ask(Request::Echo(bytes.into(), seconds(9)));
    for _ in 0..3 {
        let (want, _) = board.queue();
        let echo = Want::Offer {
            payload: Payload::Echo,
            bytes: bytes.into(),
        };
        assert_eq!(want, echo);
        assert_eq!(board.machine.wants(), None);
        board.pass(seconds(1));
        board.tell(Input::Rejected);
    }
    board.queue();
    assert!(board.tell(Input::Delivered).0.is_empty());
    let back = Input::Received(offer(Payload::Echo, 0, bytes), bytes.to_vec());
    let Some(Answer::Echoed(echoed)) = board.tell(back).answer() else {
        panic!("it came back");
    };
    assert_eq!(echoed, Ok(seconds(3)));
    assert_eq!(board.machine.wants(), None);
}

#[test]
fn an_echo_that_differs_says_so() {
    let mut board = Board::there();
    board.ask(Request::Echo(b"there".as_slice().into(), seconds(9)));
    board.queue();
    let back = Input::Received(offer(Payload::Echo, 0, b"THERE"), b"THERE".to_vec());
    let Some(Answer::Echoed(echoed)) = board.tell(back).answer() else {
        panic!("it came back");
    };
    assert!(matches!(echoed, Err(SessionError::EchoDiffers(_))));
}
