//! Rounds that go well.

use gleaner_shared::units::Cycles;
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, ModelHash, Payload, Progress,
};
use gleaner_sim::ClientId;

use super::scene::*;
use crate::board::RoundWork;
use crate::board::session::{Action, Input, Want};
use crate::event::{EventKind, Measured};

#[test]
fn a_round_brings_model_order_report_and_update() {
    let mut board = Board::there();
    assert!(board.work(job(0)).0.is_empty());
    let (want, turn) = board.queue();
    assert_eq!(want, Want::Say(HostToDevice::Order(order(0))));
    assert!(turn.0.is_empty());
    let turn = board.reply(0, Some(DeclineReason::Model));
    let sending = EventKind::Sending {
        bytes: 8,
        whole: true,
    };
    assert_eq!(turn.events(), [sending]);
    let (want, _) = board.queue();
    let whole = Want::Offer {
        payload: Payload::Model,
        bytes: model(0),
    };
    assert_eq!(want, whole);
    assert_eq!(board.machine.wants(), None);
    assert_eq!(board.tell(Input::Delivered).events(), [EventKind::Sent]);
    board.queue();
    let ordered = EventKind::Ordered {
        epochs: 2,
        channel: 1,
        power_w: 1_000_000.0 * 1e-9,
    };
    assert_eq!(board.reply(0, None).events(), [ordered]);
    let turn = board.report(0);
    let reported = EventKind::Reported(Box::new(Measured::of(&report(0))));
    assert_eq!(turn.events(), [reported]);
    let turn = board.tell(Input::Offered(offer(Payload::Update, 0, &UPDATE)));
    assert!(matches!(turn.0[..], [Action::Accept { len: 4 }]));
    let turn = board.update(0);
    let uploaded = EventKind::Uploaded {
        bytes: 4,
        hash: ModelHash::of(&UPDATE).to_string(),
    };
    assert_eq!(turn.events(), [uploaded]);
    assert!(turn.sent().is_empty());
    assert_eq!(turn.done(), UPDATE);
    assert!(!board.machine.is_busy());
    assert_eq!(
        (board.machine.wants(), board.machine.wakes_at()),
        (None, None)
    );
}

#[test]
fn a_board_that_holds_the_model_before_is_sent_the_change() {
    let mut board = Board::there();
    board.work(job(0));
    board.finish(0);
    let turn = board.work(job(1));
    let sending = EventKind::Sending {
        bytes: 6,
        whole: false,
    };
    assert_eq!(turn.events(), [sending]);
    let (want, _) = board.queue();
    let change = Want::Offer {
        payload: Payload::Update,
        bytes: b"change".as_slice().into(),
    };
    assert_eq!(want, change);
    board.tell(Input::Delivered);
    assert_eq!(board.finish(1), UPDATE);
    // Other boards worked in round 2: this board's model is too old for the change.
    assert!(board.work(job(3)).events().is_empty());
    assert_eq!(board.finish(3), UPDATE);
}

#[test]
fn events_name_the_client_and_the_round() {
    let mut board = Board::ordered(5);
    let named = |action: &Action| match action {
        Action::Publish(event) => Some((event.client, event.round)),
        _ => None,
    };
    let turn = board.reply(5, None);
    assert_eq!(
        turn.0.first().and_then(named),
        Some((ClientId(CLIENT), Some(5)))
    );
    let turn = board.pass(LIMIT);
    assert_eq!(
        turn.0.first().and_then(named),
        Some((ClientId(CLIENT), Some(5)))
    );
    let turn = board.tell(Input::Lost {
        reason: "silence".to_owned(),
    });
    assert_eq!(
        turn.0.first().and_then(named),
        Some((ClientId(CLIENT), None))
    );
}

#[test]
fn an_empty_store_yields_no_update() {
    let mut board = Board::training(0);
    let dry = gleaner_shared::wire::message::Report {
        trained: false,
        ..report(0)
    };
    let turn = board.say(DeviceToHost::Report(dry));
    assert!(matches!(
        turn.events()[..],
        [EventKind::Reported(_), EventKind::Missing { .. }]
    ));
    assert_eq!(
        turn.missing(0),
        "its energy store was empty during training"
    );
}

#[test]
fn real_pace_delays_download_and_upload() {
    let mut board = Board::there();
    board.work(RoundWork {
        pace: Some((seconds(3), seconds(20))),
        ..job(0)
    });
    board.queue();
    board.pass(seconds(1));
    board.reply(0, None);
    assert!(matches!(
        board.report(0).events()[..],
        [EventKind::Reported(_)]
    ));
    // The model would have been there at 3 s, and the update 20 s later.
    assert!(board.pass(seconds(2)).0.is_empty());
    assert!(board.update(0).0.is_empty());
    assert_eq!(board.machine.wakes_at(), Some(seconds(23)));
    assert!(board.pass(seconds(19)).0.is_empty());
    assert_eq!(board.pass(seconds(1)).done(), UPDATE);
}

#[test]
fn a_slow_transfer_is_not_delayed() {
    let mut board = Board::there();
    board.work(RoundWork {
        pace: Some((seconds(3), seconds(4))),
        ..job(0)
    });
    board.queue();
    board.pass(seconds(3));
    board.reply(0, None);
    assert!(matches!(
        board.report(0).events()[..],
        [EventKind::Reported(_)]
    ));
    board.pass(seconds(4));
    assert_eq!(board.update(0).done(), UPDATE);
}

#[test]
fn progress_is_published_for_the_current_round() {
    let progress = |round| {
        DeviceToHost::Progress(Progress {
            work: mark(round),
            epoch: 1,
            cycles: Cycles(1),
        })
    };
    let mut board = Board::there();
    assert!(board.say(progress(4)).0.is_empty());
    board.work(job(4));
    assert!(board.say(progress(3)).0.is_empty());
    assert_eq!(
        board.say(progress(4)).events(),
        [EventKind::Epoch { done: 1 }]
    );
}
