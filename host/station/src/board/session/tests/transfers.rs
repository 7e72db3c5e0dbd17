//! Unexpected and late transfers and reports.

use gleaner_shared::wire::link::Event;
use gleaner_shared::wire::message::{DeclineReason, Offer, Payload, RejectReason};

use super::scene::*;
use crate::board::session::{Action, Input, Request};
use crate::event::EventKind;

/// Returns how an offer is answered: with the bytes to make room for, or with a reason.
fn answer(board: &mut Board, offer: Offer) -> Result<usize, RejectReason> {
    match board.tell(Input::Offered(offer)).0[..] {
        [Action::Accept { len }] => Ok(len),
        [Action::Reject(reason)] => Err(reason),
        ref other => panic!("one answer, not {other:?}"),
    }
}

fn update_of(round: u32) -> Offer {
    offer(Payload::Update, round, &UPDATE)
}

#[test]
fn an_update_is_taken_after_the_report_on_its_order_alone() {
    let unexpected = Err(RejectReason::Unexpected);
    let mut board = Board::new();
    board.open();
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.work(job(4));
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.tell(Input::Connected(greeting()));
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.provisioned();
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.queue();
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.reply(4, None);
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
    board.report(4);
    assert_eq!(answer(&mut board, update_of(3)), unexpected);
    assert_eq!(answer(&mut board, update_of(4)), Ok(4));
    board.update(4).done();
    assert_eq!(answer(&mut board, update_of(4)), unexpected);
}

#[test]
fn an_update_of_another_length_is_rejected_as_too_large() {
    for bytes in [b"long!".as_slice(), b"no", b""] {
        let mut board = Board::uploading(0);
        let offered = offer(Payload::Update, 0, bytes);
        let whole = Input::Received(offered, bytes.to_vec());
        assert!(board.tell(whole).0.is_empty());
        let turn = board.tell(Input::Offered(offered));
        assert!(matches!(
            turn.0.first(),
            Some(Action::Reject(RejectReason::TooLarge))
        ));
        turn.missing(0);
    }
}

#[test]
fn a_transfer_of_another_kind_is_not_expected() {
    let mut board = Board::there();
    board.work(job(0));
    for payload in [Payload::Model, Payload::Echo] {
        let offered = offer(payload, 0, &UPDATE);
        assert_eq!(answer(&mut board, offered), Err(RejectReason::Unexpected));
    }
    board.pass(LIMIT).missing(0);
    board.ask(Request::Echo(UPDATE.as_slice().into(), seconds(9)));
    assert_eq!(
        answer(&mut board, update_of(0)),
        Err(RejectReason::Unexpected)
    );
    assert_eq!(answer(&mut board, offer(Payload::Echo, 0, &UPDATE)), Ok(4));
}

#[test]
fn a_late_report_of_another_round_is_not_taken() {
    let mut board = Board::training(0);
    board.pass(LIMIT).missing(0);
    board.report(0);
    board.work(job(1));
    board.queue();
    board.tell(Input::Delivered);
    board.queue();
    assert!(board.report(0).0.is_empty());
    assert!(matches!(
        board.reply(1, None).events()[..],
        [EventKind::Ordered { .. }]
    ));
    assert!(board.report(0).0.is_empty());
    board.report(1);
    assert_eq!(board.update(1).done(), UPDATE);
}

#[test]
fn a_late_update_of_another_round_is_not_taken() {
    let mut board = Board::uploading(0);
    assert_eq!(answer(&mut board, update_of(0)), Ok(4));
    board.pass(LIMIT).missing(0);
    // A transfer that was accepted in time may still be completed.
    assert!(board.update(0).0.is_empty());
    board.work(job(1));
    board.queue();
    board.tell(Input::Delivered);
    board.queue();
    board.reply(1, None);
    assert!(board.update(0).0.is_empty());
    assert!(matches!(
        board.report(1).events()[..],
        [EventKind::Reported(_)]
    ));
    assert!(board.update(0).0.is_empty());
    assert_eq!(board.update(1).done(), UPDATE);
}

#[test]
fn an_update_with_the_wrong_hash_is_left_to_the_link() {
    let mut board = Board::uploading(0);
    let corrupt = Input::of(Event::Corrupt(update_of(0)), || panic!("nothing is whole"));
    assert!(board.tell(corrupt).0.is_empty());
    // The link asked for the chunks again, and they came.
    let whole = Input::of(Event::Received(update_of(0)), || UPDATE.to_vec());
    assert_eq!(board.tell(whole).done(), UPDATE);
}

#[test]
fn a_transfer_without_progress_is_offered_again() {
    let mut board = Board::ordered(0);
    board.reply(0, Some(DeclineReason::Model));
    let (want, _) = board.queue();
    let stalled = offer(Payload::Model, 0, &model(0));
    board.tell(Input::of(Event::TransferTimedOut(stalled), Vec::new));
    assert_eq!(board.queue().0, want);
}

#[test]
fn chunks_are_published_every_eight_and_at_the_end() {
    let mut board = Board::there();
    let mut events = Vec::new();
    for have in 1..=20 {
        let turn = board.tell(Input::Chunk { have, of: 20 });
        events.extend(turn.events());
    }
    let receiving = |have| EventKind::Receiving { have, of: 20 };
    assert_eq!(events, [receiving(8), receiving(16), receiving(20)]);
}

#[test]
fn unexpected_inputs_change_nothing() {
    let mut board = Board::there();
    for input in [
        Input::Delivered,
        Input::Rejected,
        Input::Queued,
        Input::Time,
    ] {
        assert!(board.tell(input).0.is_empty());
    }
    board.reply(0, None);
    board.report(8);
    board.update(8);
    assert!(!board.machine.is_busy());
    board.work(job(0));
    assert_eq!(board.finish(0), UPDATE);
}
