//! The link's state machines: bytes and time go in, frames and events come out, no I/O inside.
//!
//! [`HostLink`] and [`DeviceLink`] are driven alike:
//! 1. pass received bytes to `receive`, repeatedly while bytes are left,
//! 2. call `poll` for expired timers,
//! 3. write what `transmit` returns to the line, until it returns nothing,
//! 4. wait for bytes or until `next_wake`, whichever comes first.
//!
//! Messages given to `send` arrive exactly once and in order within a session, whatever the line
//! loses or repeats; those given to `notify` may be lost. A transfer runs beside them, one in each
//! direction. A new session starts with empty queues: the application repeats what is still needed
//! after [`Event::Connected`]. On a line with an unknown device an [`Inquiry`] comes first.

mod channel;
mod device;
mod host;
mod inquiry;
mod reliable;
mod session;
mod timing;

pub use device::DeviceLink;
pub use host::HostLink;
pub use inquiry::{Answer, Claim, Inquiry};
pub use reliable::QUEUE;
pub use timing::Timing;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::Direction;
use super::message::{
    About, DeviceId, DeviceToHost, HostToDevice, LinkMessage, Nack, Offer, Refusal, RejectReason,
};

/// Implements the methods that both links pass on to their channel.
macro_rules! end_methods {
    ($link:ident $(<$keys:ident: $bound:ident>)?, $end:ident, $outgoing:ident) => {
        impl $(<$keys: $bound>)? $link $(<$keys>)? {
            /// Returns whether a session is open.
            pub const fn is_connected(&self) -> bool {
                self.channel.session().is_some()
            }

            /// Queues a message that arrives exactly once, unless the session is lost first.
            ///
            /// # Errors
            /// Without a session, or with [`QUEUE`](super::QUEUE) messages waiting.
            pub fn send(&mut self, message: $outgoing) -> Result<(), SendError> {
                self.channel.send(message)
            }

            /// Returns whether every message given to `send` has arrived.
            pub fn is_idle(&self) -> bool {
                self.channel.is_idle()
            }

            /// Returns whether every message given to `send` was sent at least once: only then can
            /// the peer answer it.
            pub fn is_said(&self) -> bool {
                self.channel.is_said()
            }

            /// Sends a message that may be lost; without a session it is.
            pub fn notify(&mut self, message: $outgoing) {
                self.channel.notify(message);
            }

            /// Offers `source` to the peer; pass the same bytes to every `transmit` until
            /// [`Event::Delivered`] or another end of the transfer. Hashes all bytes.
            ///
            /// # Errors
            /// Without a session, during another transfer, with a full queue, or for a length no
            /// transfer can have.
            pub fn offer(
                &mut self,
                now: Micros,
                payload: Payload,
                work: Option<WorkMark>,
                source: &[u8],
            ) -> Result<Offer, SendError> {
                self.channel.offer(now, payload, work, source)
            }

            /// Stops the outgoing transfer.
            pub fn withdraw(&mut self) {
                self.channel.withdraw();
            }

            /// Accepts the transfer of the last [`Event::Offered`] into `store`, continuing with
            /// chunks of the same bytes from earlier sessions.
            ///
            /// # Errors
            /// Without an offer, or when it does not fit, which is reported to the peer.
            pub fn accept(&mut self, store: &[u8]) -> Result<Accepted, SendError> {
                self.channel.accept(store)
            }

            /// Declines the transfer of the last [`Event::Offered`].
            ///
            /// # Errors
            /// Without an offer, or with a full queue.
            pub fn reject(&mut self, reason: RejectReason) -> Result<(), SendError> {
                self.channel.reject(reason)
            }

            /// Returns the state of the incoming transfer, to be saved over a reset.
            pub const fn receiver(&self) -> &Receiver {
                self.channel.receiver()
            }

            /// Returns the state of the incoming transfer, to restore it or to clear it.
            pub const fn receiver_mut(&mut self) -> &mut Receiver {
                self.channel.receiver_mut()
            }

            /// Returns (chunks known to have arrived, all chunks) of the outgoing transfer.
            pub fn sending(&self) -> Option<(u16, u16)> {
                self.channel.sending()
            }

            /// Returns the counters of the link.
            pub const fn counters(&self) -> Counters {
                self.channel.counters(self.decoder.counters())
            }
        }
    };
}
use end_methods;

/// One end of a link: the messages it sends and receives.
pub trait End {
    /// Messages that this end sends.
    type Outgoing: Serialize + From<LinkMessage>;
    /// Messages that this end receives.
    type Incoming: DeserializeOwned;
    /// What this end learns when a session opens.
    type Greeting;
    /// The direction of this end's frames.
    const SENDS: Direction;
    /// Whether this end sends keep-alive messages.
    const KEEPS_ALIVE: bool;

    /// Separates link messages from those for the application.
    ///
    /// # Errors
    /// Returns a message for the application.
    fn link_part(message: Self::Incoming) -> Result<LinkMessage, Self::Incoming>;
}

/// The end of the base station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEnd;

/// The end of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceEnd;

impl From<LinkMessage> for HostToDevice {
    fn from(message: LinkMessage) -> Self {
        Self::Link(message)
    }
}

impl From<LinkMessage> for DeviceToHost {
    fn from(message: LinkMessage) -> Self {
        Self::Link(message)
    }
}

/// The identity of a board, as known when its session opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The chip's number, as proved by the greeting.
    pub device: DeviceId,
    /// Whether the board has a key.
    pub secure: bool,
    /// The generation of the proved key.
    pub generation: u32,
    /// The board's description of itself.
    pub about: About,
}

impl End for HostEnd {
    type Outgoing = HostToDevice;
    type Incoming = DeviceToHost;
    type Greeting = Greeting;
    const SENDS: Direction = Direction::HostToDevice;
    const KEEPS_ALIVE: bool = true;

    fn link_part(message: DeviceToHost) -> Result<LinkMessage, DeviceToHost> {
        match message {
            DeviceToHost::Link(message) => Ok(message),
            other => Err(other),
        }
    }
}

impl End for DeviceEnd {
    type Outgoing = DeviceToHost;
    type Incoming = HostToDevice;
    type Greeting = ();
    const SENDS: Direction = Direction::DeviceToHost;
    const KEEPS_ALIVE: bool = false;

    fn link_part(message: HostToDevice) -> Result<LinkMessage, HostToDevice> {
        match message {
            HostToDevice::Link(message) => Ok(message),
            other => Err(other),
        }
    }
}

/// The reason why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum LostReason {
    /// Nothing was received for [`Timing::silence`].
    #[error("nothing heard for too long")]
    Silence,
    /// A message was not acknowledged within [`Timing::stall`].
    #[error("a message was never acknowledged")]
    Unacknowledged,
    #[error("all sequence numbers were used")]
    Exhausted,
}

/// An event of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Event<E: End> {
    /// A session is open; queues and outgoing transfer start empty.
    Connected(E::Greeting),
    /// A session was refused, by this end or by the other.
    Refused(Refusal),
    /// The session ended; the host reconnects by itself.
    Lost(LostReason),
    /// A message for the application.
    Message(E::Incoming),
    /// The peer discarded frames.
    Nacked(Nack),
    /// The peer answered a ping of the application.
    Pong { token: u32 },
    /// The peer wants to send a transfer: answer with `accept` or `reject`.
    Offered(Offer),
    /// A chunk of the incoming transfer was written.
    ChunkReceived { have: u16, of: u16 },
    /// The incoming transfer is complete and its hash fits.
    Received(Offer),
    /// All chunks arrived but the hash does not fit; they are requested again.
    Corrupt(Offer),
    /// The outgoing transfer arrived completely.
    Delivered(Offer),
    /// The peer rejected the outgoing transfer.
    Rejected(Offer, RejectReason),
    /// The outgoing transfer made no progress for [`Timing::stall`].
    TransferTimedOut(Offer),
}

/// The reason why a message or transfer was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum SendError {
    #[error("no session is open")]
    NotConnected,
    #[error("too many messages wait for their acknowledgement")]
    QueueFull,
    #[error("a transfer is already going out")]
    TransferInProgress,
    /// See [`MAX_TRANSFER`](crate::wire::MAX_TRANSFER).
    #[error("a transfer must have 1 to MAX_TRANSFER bytes")]
    Length,
    #[error("there is no offer to answer")]
    NoOffer,
}
