//! Inputs and outputs of the state machine: events of the line and requests in; actions, answers and
//! messages to queue out.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::{Event as LinkEvent, Greeting, HostEnd};
use gleaner_shared::wire::message::{DeviceToHost, HostToDevice, Offer, Payload, RejectReason};

use crate::board::{Closing, ConfirmedState, RoundWork, SessionError, WorkResult};
use crate::event::{Event, EventKind};

/// An event of the line.
#[derive(Debug)]
pub(in crate::board) enum Input {
    /// The line was opened.
    Opened { place: String },
    /// The line is gone, or could not be opened.
    Gone { reason: String },
    /// A session is open.
    Connected(Box<Greeting>),
    /// One end refused the session.
    Refused { reason: String },
    /// The session ended, but the line did not.
    Lost { reason: String },
    /// A message from the board.
    Message(Box<DeviceToHost>),
    /// The board wants to send a transfer.
    Offered(Offer),
    /// A chunk arrived: `have` chunks of `of` are here.
    Chunk { have: u16, of: u16 },
    /// The transfer from the board is complete.
    Received(Offer, Vec<u8>),
    /// The transfer from the board is complete, but its hash is wrong.
    Corrupt(Offer),
    /// The transfer to the board is complete.
    Delivered,
    /// The transfer to the board made no progress for too long.
    Rejected,
    /// The board rejects the transfer.
    Declined(RejectReason),
    /// The message or transfer of `wants` was queued.
    Queued,
    /// Nobody waits for the current work any more.
    Recalled,
    /// Everything that was sent in this session has arrived.
    Idle,
    /// Time passed, and nothing else happened.
    Time,
}

impl Input {
    /// Converts an event of the link; `received` returns the bytes of a complete transfer.
    pub(in crate::board) fn of(
        event: LinkEvent<HostEnd>,
        received: impl FnOnce() -> Vec<u8>,
    ) -> Self {
        match event {
            LinkEvent::Connected(greeting) => Self::Connected(Box::new(greeting)),
            LinkEvent::Refused(refusal) => Self::Refused {
                reason: refusal.to_string(),
            },
            LinkEvent::Lost(reason) => Self::Lost {
                reason: reason.to_string(),
            },
            LinkEvent::Message(message) => Self::Message(Box::new(message)),
            LinkEvent::Offered(offer) => Self::Offered(offer),
            LinkEvent::ChunkReceived { have, of } => Self::Chunk { have, of },
            LinkEvent::Received(offer) => Self::Received(offer, received()),
            LinkEvent::Delivered(_) => Self::Delivered,
            LinkEvent::Rejected(_, reason) => Self::Declined(reason),
            LinkEvent::TransferTimedOut(_) => Self::Rejected,
            LinkEvent::Corrupt(offer) => Self::Corrupt(offer),
            LinkEvent::Nacked(_) | LinkEvent::Pong { .. } => Self::Time,
        }
    }
}

/// A request to a board.
#[allow(
    clippy::large_enum_variant,
    reason = "a confirmed state is long, and there is one at a time"
)]
#[derive(Debug)]
pub(in crate::board) enum Request {
    /// Carries out a round's work.
    Work(Box<RoundWork>),
    /// Closes a round and confirms its ledger.
    Close(Closing),
    /// Restores the state of a checkpoint; has no answer.
    Restore(ConfirmedState),
    /// Waits for a session within a time limit.
    Greet(Duration),
    /// Sends bytes there and back within a time limit.
    Echo(Arc<[u8]>, Duration),
}

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
#[allow(
    clippy::large_enum_variant,
    reason = "a confirmed state is long, and there is one at a time"
)]
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
            client: gleaner_sim::ClientId(client),
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
