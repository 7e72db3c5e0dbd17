//! Orders that are declined, models that are rejected, lines without room.

use gleaner_shared::energy::Shortfall;
use gleaner_shared::units::PicoJoules;
use gleaner_shared::wire::message::{DeclineReason, Payload, ShardStatus};

use super::scene::*;
use crate::board::session::{Input, Want};
use crate::event::EventKind;

#[test]
fn a_declined_order_ends_the_round_with_the_reason() {
    let shortfall = Shortfall {
        needed: PicoJoules(20),
        available: PicoJoules(5),
    };
    let reasons = [
        (
            DeclineReason::Energy(shortfall),
            format!("declined: {shortfall}"),
        ),
        (
            DeclineReason::NotProvisioned,
            "declined: it was not provisioned".to_owned(),
        ),
        (
            DeclineReason::Shard(ShardStatus::Damaged),
            "declined: its shard does not fit; `gleaner flash` says how to make a smaller one"
                .to_owned(),
        ),
        (
            DeclineReason::Stale { newest: 9 },
            "declined: it has closed round 9 already".to_owned(),
        ),
        (
            DeclineReason::Invalid,
            "declined: a field of the order is out of range".to_owned(),
        ),
        (
            DeclineReason::OtherRun,
            "declined: it was provisioned for another run".to_owned(),
        ),
    ];
    for (declined, reason) in reasons {
        assert_eq!(
            Board::ordered(4).reply(4, Some(declined)).missing(4),
            reason
        );
    }
}

#[test]
fn a_rejected_model_is_offered_again() {
    let mut board = Board::ordered(0);
    board.reply(0, Some(DeclineReason::Model));
    for _ in 0..20 {
        let (want, _) = board.queue();
        assert!(matches!(
            want,
            Want::Offer {
                payload: Payload::Model,
                ..
            }
        ));
        // Published once, however often it is offered.
        assert!(board.tell(Input::Rejected).0.is_empty());
    }
    board.queue();
    assert_eq!(board.tell(Input::Delivered).events(), [EventKind::Sent]);
    assert_eq!(board.finish(0), UPDATE);
}

#[test]
fn a_board_that_does_not_keep_the_model_is_given_up_after_four_orders() {
    let mut board = Board::there();
    board.work(job(0));
    for _ in 0..3 {
        board.queue();
        board.reply(0, Some(DeclineReason::Model));
        board.queue();
        board.tell(Input::Delivered);
        assert!(board.machine.is_busy());
    }
    board.queue();
    board.reply(0, Some(DeclineReason::Model));
    board.queue();
    let turn = board.tell(Input::Delivered);
    assert_eq!(turn.missing(0), "it does not keep the model");
}

#[test]
fn a_reply_of_another_round_is_ignored() {
    let mut board = Board::ordered(2);
    let turn = board.reply(1, Some(DeclineReason::Stale { newest: 9 }));
    assert!(turn.0.is_empty());
    assert!(board.reply(1, None).0.is_empty());
    assert!(matches!(
        board.reply(2, None).events()[..],
        [EventKind::Ordered { .. }]
    ));
}

#[test]
fn a_reply_before_the_order_was_sent_is_ignored() {
    let mut board = Board::there();
    board.work(job(2));
    assert!(board.reply(2, Some(DeclineReason::Invalid)).0.is_empty());
    assert_eq!(board.finish(2), UPDATE);
}

#[test]
fn a_message_without_room_is_wanted_until_it_is_queued() {
    let mut board = Board::there();
    board.work(job(0));
    let want = board.machine.wants();
    for _ in 0..5 {
        assert!(board.pass(seconds(1)).0.is_empty());
        assert_eq!(board.machine.wants(), want);
    }
    // The limit of the round runs on.
    let turn = board.pass(LIMIT);
    assert_eq!(turn.missing(0), "the model did not arrive in time");
    assert_eq!(board.machine.wants(), None);
}
