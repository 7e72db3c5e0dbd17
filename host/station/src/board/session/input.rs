//! Inputs of the state machine: events of the line, and requests.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::{Event, Greeting, HostEnd};
use gleaner_shared::wire::message::{DeviceToHost, Offer, RejectReason};

use crate::board::{Closing, ConfirmedState, RoundWork};

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
    /// Time passed, and nothing else happened.
    Time,
}

impl Input {
    /// Converts an event of the link; `received` returns the bytes of a complete transfer.
    pub(in crate::board) fn of(event: Event<HostEnd>, received: impl FnOnce() -> Vec<u8>) -> Self {
        match event {
            Event::Connected(greeting) => Self::Connected(Box::new(greeting)),
            Event::Refused(refusal) => Self::Refused {
                reason: refusal.to_string(),
            },
            Event::Lost(reason) => Self::Lost {
                reason: reason.to_string(),
            },
            Event::Message(message) => Self::Message(Box::new(message)),
            Event::Offered(offer) => Self::Offered(offer),
            Event::ChunkReceived { have, of } => Self::Chunk { have, of },
            Event::Received(offer) => Self::Received(offer, received()),
            Event::Delivered(_) => Self::Delivered,
            Event::Rejected(_, reason) => Self::Declined(reason),
            Event::TransferTimedOut(_) => Self::Rejected,
            Event::Corrupt(offer) => Self::Corrupt(offer),
            Event::Nacked(_) | Event::Pong { .. } => Self::Time,
        }
    }
}

/// A request to a board.
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
