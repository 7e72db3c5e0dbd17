//! Outputs of the state machine: actions, answers, and messages that must be queued first.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::Greeting;
use gleaner_shared::wire::message::{HostToDevice, Payload, RejectReason};

use crate::board::{ConfirmedState, SessionError, WorkResult};
use crate::event::{Event, EventKind};

/// An action to carry out now. One that fails is repeated by the board or the machine.
#[derive(Debug)]
pub(in crate::board) enum Action {
    /// Sends a message, if there is a session with room for it.
    Send(HostToDevice),
    /// Accepts the offered transfer of `len` bytes.
    Accept { len: usize },
    /// Declines the offered transfer.
    Reject(RejectReason),
    /// Publishes an event to log and view.
    Publish(Event),
    /// Answers the current request.
    Answer(Answer),
}

/// The answer to a request.
#[derive(Debug)]
pub(in crate::board) enum Answer {
    Worked(WorkResult),
    Closed(ConfirmedState),
    Greeted(Result<Box<Greeting>, SessionError>),
    /// The time that the echo took.
    Echoed(Result<Duration, SessionError>),
}

/// A message or transfer that must be queued before the machine continues.
#[allow(
    clippy::large_enum_variant,
    reason = "a message with a ledger is long, and there is one at a time"
)]
#[derive(Debug, PartialEq, Eq)]
pub(in crate::board) enum Want {
    Say(HostToDevice),
    Offer { payload: Payload, bytes: Arc<[u8]> },
}

/// The actions of one turn.
#[derive(Debug)]
pub(super) struct Output {
    pub(super) now: Duration,
    client: u32,
    /// The current round, if any; events name it.
    pub(super) round: Option<u32>,
    actions: Vec<Action>,
}

impl Output {
    pub(super) const fn new(now: Duration, client: u32, round: Option<u32>) -> Self {
        Self {
            now,
            client,
            round,
            actions: Vec::new(),
        }
    }

    pub(super) fn publish(&mut self, what: EventKind) {
        let (client, round) = (self.client, self.round);
        self.push(Action::Publish(Event {
            client,
            round,
            what,
        }));
    }

    pub(super) fn send(&mut self, message: HostToDevice) {
        self.push(Action::Send(message));
    }

    pub(super) fn answer(&mut self, answer: Answer) {
        self.push(Action::Answer(answer));
    }

    pub(super) fn push(&mut self, action: Action) {
        self.actions.push(action);
    }

    pub(super) fn into_actions(self) -> Vec<Action> {
        self.actions
    }
}
