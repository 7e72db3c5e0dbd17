//! Lines that come and go, and sessions on them.

use std::time::Duration;

use gleaner_shared::wire::message::HostToDevice;

use super::scene::*;
use crate::board::session::{Input, Want};
use crate::event::EventKind;

fn gone(board: &mut Board, reason: &str) -> Vec<EventKind> {
    let turn = board.tell(Input::Gone {
        reason: reason.to_owned(),
    });
    turn.events()
}

#[test]
fn a_line_is_opened_at_once_and_left_alone_for_longer_every_time() {
    let mut board = Board::new();
    assert_eq!(board.machine.opens_at(), Some(Duration::ZERO));
    let mut waits = Vec::new();
    for _ in 0..7 {
        gone(&mut board, "nobody");
        let at = board.machine.opens_at().unwrap();
        waits.push((at - board.now).as_millis());
        board.now = at;
    }
    assert_eq!(waits, [100, 200, 400, 800, 1_600, 2_000, 2_000]);
    // An open line proves nothing, since a gateway may accept it.
    board.open();
    gone(&mut board, "nobody");
    assert_eq!(board.machine.opens_at(), Some(board.now + seconds(2)));
    board.come();
    gone(&mut board, "nobody");
    let soon = board.now + Duration::from_millis(100);
    assert_eq!(board.machine.opens_at(), Some(soon));
}

#[test]
fn the_same_reason_of_a_closed_line_is_published_once() {
    let mut board = Board::new();
    let event = |reason: &str| {
        vec![EventKind::Gone {
            reason: reason.to_owned(),
        }]
    };
    assert_eq!(gone(&mut board, "nobody"), event("nobody"));
    assert_eq!(gone(&mut board, "nobody"), []);
    assert_eq!(gone(&mut board, "busy"), event("busy"));
    board.come();
    // There was a board in between.
    assert_eq!(gone(&mut board, "busy"), event("busy"));
    board.open();
    board.tell(Input::Connected(greeting()));
    assert_eq!(gone(&mut board, "busy"), event("busy"));
}

#[test]
fn a_refusal_is_published_once_and_ends_nothing() {
    let mut board = Board::there();
    let refused = || Input::Refused {
        reason: "another key".to_owned(),
    };
    board.work(job(0));
    assert!(matches!(
        board.tell(refused()).events()[..],
        [EventKind::Refused { .. }]
    ));
    assert!(board.tell(refused()).0.is_empty());
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn a_greeting_is_answered_with_the_provision() {
    let mut board = Board::new();
    let turn = board.open();
    let place = "memory".to_owned();
    assert_eq!(turn.events(), [EventKind::Opened { place }]);
    let turn = board.tell(Input::Connected(greeting()));
    let connected = EventKind::Connected {
        board: "board".to_owned(),
        build: "build".to_owned(),
        samples: Some(100),
        shard_crc: Some(7),
    };
    assert_eq!(turn.events(), [connected]);
    let [HostToDevice::Provision(provision)] = turn.sent()[..] else {
        panic!("it is provisioned");
    };
    assert_eq!((provision.client, provision.seed), (CLIENT, 1));
    assert_eq!(provision.ledger, ledger(0));
    assert_eq!(provision.last_round, None);
}

#[test]
fn a_board_is_not_provisioned_without_a_greeting() {
    // The link may keep its old session for a moment on a new line.
    let mut board = Board::there();
    board.work(job(0));
    gone(&mut board, "unplugged");
    board.open();
    board.provisioned();
    assert_eq!(board.machine.wants(), None);
    board.tell(Input::Connected(greeting()));
    board.provisioned();
    let order = Want::Say(HostToDevice::Order(order(0)));
    assert_eq!(board.machine.wants(), Some(order));
}

#[test]
fn a_board_that_says_it_was_provisioned_twice_goes_on() {
    let mut board = Board::ordered(0);
    assert!(board.provisioned().0.is_empty());
    board.reply(0, None);
    board.report(0);
    assert_eq!(board.update(0).done(), UPDATE);
}
