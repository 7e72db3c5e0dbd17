//! The limit of wall time of a round, whatever happens in it.

use std::time::Duration;

use gleaner_shared::wire::message::{DeclineReason, HostToDevice};

use super::scene::*;
use crate::board::session::{Answer, Input, Request};
use crate::board::{RoundWork, SessionError, WorkResult};

/// Lets the rest of the limit pass, and returns why the work ended.
fn ends_at_the_limit(board: &mut Board) -> String {
    let moment = Duration::from_nanos(1);
    assert!(board.pass(LIMIT - moment - board.now).0.is_empty());
    assert_eq!(board.machine.wakes_at(), Some(LIMIT));
    let reason = board.pass(moment).missing(0);
    assert!(!board.machine.is_busy());
    assert_eq!(board.machine.wakes_at(), None);
    reason
}

fn lost() -> Input {
    Input::Lost {
        reason: "silence".to_owned(),
    }
}

#[test]
fn a_board_that_does_not_connect_ends_the_round() {
    let mut board = Board::new();
    board.work(job(0));
    assert_eq!(
        ends_at_the_limit(&mut board),
        "not connected: it has not connected yet"
    );
    let mut board = Board::new();
    board.open();
    board.tell(Input::Refused {
        reason: "another key".to_owned(),
    });
    board.work(job(0));
    assert_eq!(ends_at_the_limit(&mut board), "not connected: another key");
}

#[test]
fn a_board_that_greets_and_is_not_provisioned_ends_the_round() {
    let mut board = Board::new();
    board.work(job(0));
    board.open();
    for _ in 0..5 {
        board.now += seconds(10);
        board.tell(Input::Connected(greeting()));
    }
    assert!(ends_at_the_limit(&mut board).starts_with("not connected"));
}

#[test]
fn a_model_that_does_not_arrive_ends_the_round() {
    let late = "the model did not arrive in time";
    // The order is not answered.
    let mut board = Board::ordered(0);
    assert_eq!(ends_at_the_limit(&mut board), late);
    // The model is on its way, or taken again and again.
    let mut board = Board::ordered(0);
    board.pass(seconds(3));
    board.reply(0, Some(DeclineReason::Model));
    board.queue();
    board.tell(Input::Rejected);
    board.queue();
    assert_eq!(ends_at_the_limit(&mut board), late);
}

#[test]
fn training_that_takes_too_long_ends_the_round() {
    let mut board = Board::ordered(0);
    board.now += seconds(6);
    board.reply(0, None);
    assert_eq!(ends_at_the_limit(&mut board), "training took too long");
}

#[test]
fn an_update_that_does_not_arrive_ends_the_round() {
    let mut board = Board::training(0);
    board.now += seconds(9);
    board.report(0);
    assert_eq!(
        ends_at_the_limit(&mut board),
        "the update did not arrive in time"
    );
}

#[test]
fn input_at_the_last_moment_is_in_time() {
    let mut board = Board::uploading(0);
    board.now += LIMIT;
    assert_eq!(board.update(0).done(), UPDATE);
}

#[test]
fn a_board_that_hangs_up_at_each_order_has_no_more_time() {
    let mut board = Board::there();
    board.work(job(0));
    while board.now + seconds(5) < LIMIT {
        board.queue();
        board.now += seconds(5);
        board.tell(lost());
        board.come();
    }
    assert_eq!(
        ends_at_the_limit(&mut board),
        "the model did not arrive in time"
    );
    // And none in the next round while it is away.
    board.tell(lost());
    board.work(job(1));
    assert_eq!(board.machine.wakes_at(), Some(2 * LIMIT));
    assert_eq!(board.pass(LIMIT).missing(1), "not connected: silence");
}

#[test]
fn a_board_that_is_reset_while_it_trains_has_no_more_time() {
    let mut board = Board::there();
    board.work(job(0));
    for _ in 0..3 {
        board.queue();
        board.now += seconds(6);
        board.reply(0, None);
        board.now += seconds(9);
        board.tell(lost());
        board.come();
    }
    board.queue();
    board.reply(0, None);
    assert_eq!(ends_at_the_limit(&mut board), "training took too long");
}

#[test]
fn a_pace_has_no_limit_but_that_of_the_round() {
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
        assert!(ends_at_the_limit(&mut board).contains("after the limit"));
    }
}

#[test]
fn the_first_loss_of_a_session_ends_work_on_trial() {
    let trial = || RoundWork {
        on_trial: true,
        ..job(0)
    };
    for gone in [
        lost(),
        Input::Gone {
            reason: "silence".to_owned(),
        },
        Input::Connected(greeting()),
    ] {
        let mut board = Board::there();
        board.work(trial());
        board.queue();
        board.reply(0, None);
        let Some(Answer::Worked(WorkResult::Missing(reason))) = board.tell(gone).answer() else {
            panic!("the work goes on");
        };
        assert!(reason.starts_with("its session ended on trial"));
        assert!(!board.machine.is_busy());
    }
    // One that keeps its session does its work.
    let mut board = Board::there();
    board.work(trial());
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn work_that_nobody_waits_for_is_cancelled() {
    for mut board in [Board::ordered(0), Board::training(0), Board::uploading(0)] {
        let turn = board.tell(Input::Recalled);
        let cancel = HostToDevice::Cancel { work: mark(0) };
        assert_eq!(turn.sent(), [cancel]);
        assert_eq!(turn.missing(0), "the round closed without it");
        assert!(!board.machine.is_busy());
    }
    let mut away = Board::new();
    away.work(job(0));
    away.tell(Input::Recalled).missing(0);
    assert!(!away.machine.is_busy());
    // Nothing is recalled twice, and other requests are not.
    assert!(away.tell(Input::Recalled).0.is_empty());
    away.ask(Request::Greet(seconds(9)));
    assert!(away.tell(Input::Recalled).0.is_empty());
    assert!(away.machine.is_busy());
}

#[test]
fn a_board_is_owed_the_end_of_its_work_until_it_has_it() {
    let mut board = Board::uploading(0);
    // What was sent has arrived, but the work is not over.
    board.tell(Input::Idle);
    assert!(board.machine.owes());
    board.update(0).done();
    board.tell(Input::Idle);
    assert!(!board.machine.owes());
    board.ask(closing(0));
    assert!(board.machine.owes());
    // A board that went before it had the message gets all of it with its next provision.
    board.tell(lost());
    board.tell(Input::Idle);
    assert!(board.machine.owes());
    board.come();
    board.tell(Input::Idle);
    assert!(!board.machine.owes());
    // One that was away all the time is owed nothing.
    let mut away = Board::new();
    away.work(job(0));
    away.pass(LIMIT).missing(0);
    away.ask(closing(0));
    assert!(!away.machine.owes());
}

/// The end of a round without the board's update.
fn closing(round: u32) -> Request {
    Request::Close(crate::board::Closing {
        mark: gleaner_shared::wire::message::RoundMark {
            run: RUN,
            round,
            model: Default::default(),
        },
        counted: false,
        income: INCOME,
        period: PERIOD,
        rest: None,
    })
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
    board.work(RoundWork {
        limit: Duration::MAX,
        ..job(0)
    });
    assert!(board.pass(seconds(1_000_000)).0.is_empty());
    assert_eq!(board.finish(0), UPDATE);
}
