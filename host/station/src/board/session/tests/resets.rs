//! Boards that are reset, and lines that go, in every state.

use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, ModelHash, Payload,
};

use super::scene::*;
use crate::board::RoundWork;
use crate::board::session::{Answer, Input, Request, Want};
use crate::event::EventKind;

/// Returns a board in every state of a provisioned session with work.
fn every_state() -> Vec<(&'static str, Board)> {
    let paced = || {
        let mut board = Board::there();
        board.work(RoundWork {
            pace: Some((seconds(3), seconds(20))),
            ..job(0)
        });
        board.queue();
        board.reply(0, None);
        board
    };
    let ordering = || {
        let mut board = Board::there();
        board.work(job(0));
        board
    };
    let reply = |declined| {
        let mut board = ordering();
        board.queue();
        board.reply(0, declined);
        board
    };
    let mut ordered = ordering();
    ordered.queue();
    let mut delivering = reply(Some(DeclineReason::Model));
    delivering.queue();
    let mut uploading = reply(None);
    uploading.report(0);
    let mut holding = paced();
    holding.pass(seconds(3));
    holding.report(0);
    holding.update(0);
    vec![
        ("ordering", ordering()),
        ("ordered", ordered),
        ("offering", reply(Some(DeclineReason::Model))),
        ("delivering", delivering),
        ("training at a real pace", paced()),
        ("training", reply(None)),
        ("uploading", uploading),
        ("holding", holding),
    ]
}

/// Does the work from the beginning, at whatever pace it was asked for.
fn do_all_of_it(board: &mut Board) -> Vec<u8> {
    assert_eq!(board.queue().0, Want::Say(HostToDevice::Order(order(0))));
    board.reply(0, None);
    board.pass(seconds(3));
    board.report(0);
    let turn = board.update(0);
    match board.machine.is_busy() {
        true => board.pass(seconds(20)).done(),
        false => turn.done(),
    }
}

#[test]
fn a_new_session_starts_the_round_over() {
    for (state, mut board) in every_state() {
        let turn = board.tell(Input::Connected(greeting()));
        assert!(
            matches!(turn.events()[..], [EventKind::Connected { .. }]),
            "{state}"
        );
        assert!(matches!(turn.sent()[..], [HostToDevice::Provision(_)]));
        assert_eq!(board.machine.wants(), None, "{state}");
        assert!(board.provisioned().0.is_empty(), "{state}");
        assert_eq!(do_all_of_it(&mut board), UPDATE, "{state}");
    }
}

#[test]
fn a_lost_session_starts_the_round_over() {
    for (state, mut board) in every_state() {
        let turn = board.tell(Input::Lost {
            reason: "silence".to_owned(),
        });
        assert!(
            matches!(turn.events()[..], [EventKind::Lost { .. }]),
            "{state}"
        );
        assert_eq!(board.machine.opens_at(), None, "{state}");
        assert_eq!(board.machine.wants(), None, "{state}");
        board.come();
        assert_eq!(do_all_of_it(&mut board), UPDATE, "{state}");
    }
}

#[test]
fn a_line_that_goes_starts_the_round_over() {
    for (state, mut board) in every_state() {
        let turn = board.tell(Input::Gone {
            reason: "unplugged".to_owned(),
        });
        assert!(
            matches!(turn.events()[..], [EventKind::Gone { .. }]),
            "{state}"
        );
        assert!(board.machine.opens_at().is_some(), "{state}");
        assert_eq!(board.machine.wants(), None, "{state}");
        board.come();
        assert_eq!(do_all_of_it(&mut board), UPDATE, "{state}");
    }
}

#[test]
fn no_state_gives_a_board_that_went_more_time() {
    for (state, mut board) in every_state() {
        board.now += seconds(1);
        board.tell(Input::Lost {
            reason: "silence".to_owned(),
        });
        assert_eq!(board.machine.wakes_at(), Some(LIMIT), "{state}");
    }
}

#[test]
fn an_update_of_the_old_session_does_not_count_in_the_new_one() {
    let mut board = Board::uploading(0);
    board.come();
    // What was on its way says nothing of an order that was not given again.
    assert!(board.update(0).0.is_empty());
    board.queue();
    assert!(board.update(0).0.is_empty());
    board.reply(0, None);
    assert!(matches!(
        board.report(0).events()[..],
        [EventKind::Reported(_)]
    ));
    assert_eq!(board.update(0).done(), UPDATE);
}

#[test]
fn a_model_of_the_old_session_is_not_built_on_in_the_new_one() {
    let mut board = Board::there();
    board.work(job(0));
    board.finish(0);
    board.come();
    assert!(board.work(job(1)).events().is_empty());
    assert_eq!(
        board.machine.wants(),
        Some(Want::Say(HostToDevice::Order(order(1))))
    );
}

#[test]
fn an_echo_starts_over_with_a_new_session() {
    let bytes = b"there and back".as_slice();
    let mut board = Board::there();
    board.ask(Request::Echo(bytes.into(), seconds(9)));
    board.queue();
    board.tell(Input::Gone {
        reason: "unplugged".to_owned(),
    });
    assert_eq!(board.machine.wants(), None);
    board.now += seconds(4);
    board.come();
    let (want, _) = board.queue();
    assert!(matches!(
        want,
        Want::Offer {
            payload: Payload::Echo,
            ..
        }
    ));
    let back = Input::Received(offer(Payload::Echo, 0, bytes), bytes.to_vec());
    let Some(Answer::Echoed(echoed)) = board.tell(back).answer() else {
        panic!("it came back");
    };
    assert_eq!(echoed, Ok(seconds(4)));
}

/// A board that was off since, or asleep, says what it has in flash.
#[test]
fn a_board_that_says_which_model_it_holds_is_sent_the_change() {
    let first_want = |holds: Option<u32>| {
        let mut board = Board::new();
        board.open();
        board.tell(Input::Connected(greeting()));
        if let Some(round) = holds {
            let model = ModelHash::of(&model(round));
            assert!(board.say(DeviceToHost::Holds { model }).0.is_empty());
        }
        board.provisioned();
        board.work(job(4));
        board.queue().0
    };
    let change = Want::Offer {
        payload: Payload::Update,
        bytes: b"change".as_slice().into(),
    };
    assert_eq!(first_want(Some(3)), change);
    for holds in [None, Some(2), Some(4)] {
        assert_eq!(first_want(holds), Want::Say(HostToDevice::Order(order(4))));
    }
}

#[test]
fn a_board_that_does_not_hold_the_claimed_model_is_sent_the_whole_one() {
    let mut board = Board::there();
    let base = ModelHash::of(&model(3));
    board.say(DeviceToHost::Holds { model: base });
    board.work(job(4));
    board.queue();
    board.tell(Input::Delivered);
    board.queue();
    board.reply(4, Some(DeclineReason::Model));
    let (want, _) = board.queue();
    let (payload, bytes) = (Payload::Model, model(4));
    assert_eq!(want, Want::Offer { payload, bytes });
}

#[test]
fn flash_wear_is_published() {
    let mut board = Board::there();
    let turn = board.say(DeviceToHost::FlashUse {
        erases: 21,
        programs: 316,
        closed: 1,
    });
    let published = EventKind::Flash {
        erases: 21,
        programs: 316,
        closed: 1,
    };
    assert_eq!(turn.events(), [published]);
}
