//! Limits of wall time, each in its phase.

use std::time::Duration;

use gleaner_shared::wire::message::DeclineReason;

use super::scene::*;
use crate::board::session::{Answer, Input, Request};
use crate::board::{Limits, RoundWork, SessionError};

/// Lets a limit pass, and returns why the work ended.
fn ends_after(board: &mut Board, limit: Duration) -> String {
    let moment = Duration::from_nanos(1);
    assert!(board.pass(limit - moment).0.is_empty());
    assert_eq!(board.machine.wakes_at(), Some(board.now + moment));
    let reason = board.pass(moment).missing(0);
    assert!(!board.machine.is_busy());
    assert_eq!(board.machine.wakes_at(), None);
    reason
}

#[test]
fn a_board_that_does_not_connect_ends_the_round() {
    let mut board = Board::new();
    board.work(job(0));
    assert_eq!(
        ends_after(&mut board, LIMITS.connect),
        "not connected: it has not connected yet"
    );
    let mut board = Board::new();
    board.open();
    board.tell(Input::Refused {
        reason: "another key".to_owned(),
    });
    board.work(job(0));
    assert_eq!(
        ends_after(&mut board, LIMITS.connect),
        "not connected: another key"
    );
}

#[test]
fn a_board_that_greets_and_is_not_provisioned_ends_the_round() {
    let mut board = Board::new();
    board.work(job(0));
    board.open();
    board.now += seconds(30);
    board.tell(Input::Connected(greeting()));
    assert!(ends_after(&mut board, seconds(30)).starts_with("not connected"));
}

#[test]
fn a_board_that_is_reset_before_it_is_provisioned_has_no_more_time() {
    let mut board = Board::new();
    board.open();
    board.work(job(0));
    for _ in 0..5 {
        board.now += seconds(10);
        board.tell(Input::Connected(greeting()));
    }
    assert!(ends_after(&mut board, seconds(10)).starts_with("not connected"));
}

#[test]
fn a_board_that_was_waited_for_in_vain_is_not_waited_for_as_long_again() {
    let mut board = Board::new();
    for (round, limit) in [(0, 60), (1, 10), (2, 10)] {
        board.work(job(round));
        assert!(board.pass(seconds(limit - 1)).0.is_empty());
        board.pass(seconds(1)).missing(round);
    }
    // After a greeting it is waited for again.
    board.open();
    board.tell(Input::Connected(greeting()));
    board.tell(Input::Lost {
        reason: "silence".to_owned(),
    });
    board.work(job(0));
    assert_eq!(
        ends_after(&mut board, LIMITS.connect),
        "not connected: silence"
    );
}

#[test]
fn a_model_that_does_not_arrive_ends_the_round() {
    let late = "the model did not arrive in time";
    // The order is not answered.
    let mut board = Board::ordered(0);
    assert_eq!(ends_after(&mut board, LIMITS.download), late);
    // The model is on its way, or taken again and again.
    let mut board = Board::ordered(0);
    board.pass(seconds(3));
    board.reply(0, Some(DeclineReason::Model));
    board.queue();
    board.tell(Input::Rejected);
    board.queue();
    assert_eq!(ends_after(&mut board, seconds(4)), late);
}

#[test]
fn training_that_takes_too_long_ends_the_round() {
    let mut board = Board::ordered(0);
    board.now += seconds(6);
    board.reply(0, None);
    // Two epochs were ordered.
    assert_eq!(
        ends_after(&mut board, 2 * LIMITS.epoch),
        "training took too long"
    );
}

#[test]
fn an_update_that_does_not_arrive_ends_the_round() {
    let mut board = Board::training(0);
    board.now += seconds(9);
    board.report(0);
    assert_eq!(
        ends_after(&mut board, LIMITS.upload),
        "the update did not arrive in time"
    );
}

#[test]
fn input_at_the_last_moment_is_in_time() {
    let mut board = Board::new();
    board.open();
    board.tell(Input::Connected(greeting()));
    board.work(job(0));
    board.now += LIMITS.connect;
    board.provisioned();
    board.queue();
    board.now += LIMITS.download;
    board.reply(0, None);
    board.now += 2 * LIMITS.epoch;
    board.report(0);
    board.now += LIMITS.upload;
    assert_eq!(board.update(0).done(), UPDATE);
}

#[test]
fn a_board_that_never_lasts_long_enough_ends_the_round() {
    let mut board = Board::there();
    board.work(job(0));
    let whole = LIMITS.whole(2);
    while board.now + seconds(5) < whole {
        board.queue();
        board.now += seconds(5);
        board.tell(Input::Lost {
            reason: "silence".to_owned(),
        });
        board.come();
    }
    let left = whole - board.now;
    assert_eq!(ends_after(&mut board, left), "not done in time: silence");
}

#[test]
fn a_pace_has_no_limit_but_the_whole() {
    for pace in [(0, 1_000), (1_000, 1)] {
        let mut board = Board::there();
        board.work(RoundWork {
            pace: Some((seconds(pace.0), seconds(pace.1))),
            ..job(0)
        });
        board.queue();
        board.reply(0, None);
        board.report(0);
        board.update(0);
        assert!(ends_after(&mut board, LIMITS.whole(2)).starts_with("not done in time"));
    }
}

#[test]
fn a_board_that_is_away_when_the_whole_time_is_over_is_waited_for_no_longer() {
    let mut board = Board::there();
    board.work(job(0));
    for _ in 0..3 {
        board.come();
        board.queue();
        board.now += seconds(6);
        board.reply(0, None);
        board.now += seconds(9);
        board.tell(Input::Lost {
            reason: "silence".to_owned(),
        });
    }
    // It would be waited for longer than this.
    let left = LIMITS.whole(2) - board.now;
    assert!(left < LIMITS.connect);
    assert_eq!(ends_after(&mut board, left), "not done in time: silence");
    // The next round waits as long as any.
    board.work(job(0));
    let reason = ends_after(&mut board, LIMITS.connect);
    assert_eq!(reason, "not connected: silence");
}

#[test]
fn an_echo_times_out_with_and_without_a_board() {
    for mut board in [Board::new(), Board::there()] {
        board.ask(Request::Echo(b"bytes".as_slice().into(), seconds(9)));
        assert!(board.pass(seconds(8)).0.is_empty());
        let Some(Answer::Echoed(echoed)) = board.pass(seconds(1)).answer() else {
            panic!("it took too long");
        };
        assert_eq!(echoed, Err(SessionError::EchoTimedOut(seconds(9))));
    }
}

#[test]
fn limits_longer_than_any_clock_are_never_reached() {
    let mut board = Board::there();
    board.now += seconds(1);
    let limits = Limits {
        download: Duration::MAX - seconds(1_000),
        ..LIMITS
    };
    board.work(RoundWork { limits, ..job(0) });
    assert!(board.pass(seconds(1_000_000)).0.is_empty());
    assert_eq!(board.finish(0), UPDATE);
}
