//! What a machine wants done: actions, answers, and what must be queued before it goes on.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{HostToDevice, Payload, RejectReason};

use crate::board::{ConfirmedState, WorkResult};
use crate::event::{Event, EventKind};

/// Something to be done now. Failing to is no fault: the board hears of it again, or asks again.
#[derive(Debug)]
pub(in crate::board) enum Action {
    /// Sends a message, if there is a session with room for it.
    Send(HostToDevice),
    /// Accepts the transfer on offer.
    Accept {
        /// Its bytes.
        len: usize,
    },
    /// Declines the transfer on offer.
    Reject(RejectReason),
    /// Tells log and view.
    Publish(Event),
    /// Answers what was asked.
    Answer(Answer),
}

/// What came of a request.
#[derive(Debug)]
pub(in crate::board) enum Answer {
    /// Of a round's work.
    Worked(WorkResult),
    /// Of the end of a round: what is confirmed of the board.
    Closed(ConfirmedState),
    /// Of the wait for a session: the greeting, or why there is none.
    Greeted(Result<Box<Greeting>, String>),
    /// Of bytes sent there and back: how long it took, or what went wrong.
    Echoed(Result<Duration, String>),
}

/// What must be queued before the machine goes on, however long there is no room for it.
#[allow(
    clippy::large_enum_variant,
    reason = "a message with a ledger is long, and there is one at a time"
)]
#[derive(Debug, PartialEq, Eq)]
pub(in crate::board) enum Want {
    /// A message.
    Say(HostToDevice),
    /// A transfer.
    Offer {
        /// What the bytes are.
        payload: Payload,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
}

/// The actions of one turn, and what they are written with.
#[derive(Debug)]
pub(super) struct Output {
    /// The time of this turn.
    pub(super) now: Duration,
    /// The client the board plays.
    client: u32,
    /// The round that is worked on, if any.
    pub(super) round: Option<u32>,
    actions: Vec<Action>,
}

impl Output {
    /// Starts a turn.
    pub(super) const fn new(now: Duration, client: u32, round: Option<u32>) -> Self {
        Self {
            now,
            client,
            round,
            actions: Vec::new(),
        }
    }

    /// Tells log and view.
    pub(super) fn publish(&mut self, what: EventKind) {
        let (client, round) = (self.client, self.round);
        self.push(Action::Publish(Event {
            client,
            round,
            what,
        }));
    }

    /// Sends a message, if that is possible now.
    pub(super) fn send(&mut self, message: HostToDevice) {
        self.push(Action::Send(message));
    }

    /// Answers what was asked.
    pub(super) fn answer(&mut self, answer: Answer) {
        self.push(Action::Answer(answer));
    }

    /// Adds an action behind the others.
    pub(super) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    /// Returns the actions, the first one first.
    pub(super) fn into_actions(self) -> Vec<Action> {
        self.actions
    }
}
