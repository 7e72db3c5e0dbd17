//! What a machine is told: what the line brought, and what is asked of the board.

use std::sync::Arc;
use std::time::Duration;

use gleaner_shared::wire::link::{Event, Greeting, HostEnd};
use gleaner_shared::wire::message::{DeviceToHost, Offer, RejectReason};

use crate::board::{Closing, ConfirmedState, RoundWork};

/// Something that happened.
#[derive(Debug)]
pub(in crate::board) enum Input {
    /// The line was opened.
    Opened {
        /// Where the line leads.
        place: String,
    },
    /// The line is gone, or could not be opened.
    Gone {
        /// What the system said.
        reason: String,
    },
    /// A session is open.
    Connected(Box<Greeting>),
    /// One side does not want the session.
    Refused {
        /// The reason, in words for log and view.
        reason: String,
    },
    /// The session ended, the line did not.
    Lost {
        /// The reason, in words for log and view.
        reason: String,
    },
    /// The board said something.
    Message(Box<DeviceToHost>),
    /// The board wants to send a transfer.
    Offered(Offer),
    /// A chunk of the transfer from the board is here.
    Chunk {
        /// Chunks here.
        have: u16,
        /// Chunks in all.
        of: u16,
    },
    /// The transfer from the board is whole.
    Received(Offer, Vec<u8>),
    /// All of a transfer from the board is here, and its hash does not fit.
    Corrupt(Offer),
    /// The transfer to the board arrived whole.
    Delivered,
    /// The transfer to the board made no progress for too long.
    Rejected,
    /// The board does not want the transfer.
    Declined(RejectReason),
    /// What the machine wanted was queued.
    Queued,
    /// Nothing but time passed.
    Time,
}

impl Input {
    /// Reads an event of the link; `received` is called for the bytes of a transfer that is whole.
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

/// What can be asked of a board.
#[derive(Debug)]
pub(in crate::board) enum Request {
    /// Carries out a round's work.
    Work(Box<RoundWork>),
    /// Closes a round.
    Close(Closing),
    /// Goes back to a checkpoint; has no answer.
    Restore(ConfirmedState),
    /// Waits for a session, so long at most.
    Greet(Duration),
    /// Sends bytes there and back, within that time.
    Echo(Arc<[u8]>, Duration),
}
