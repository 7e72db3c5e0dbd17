//! The link's state machines: bytes and time go in, frames and events come out, no I/O inside.
//!
//! [`HostLink`] and [`DeviceLink`] are driven alike:
//! 1. pass what the line brought to `receive`, again while bytes are left,
//! 2. call `poll` for what time brought,
//! 3. write what `transmit` returns to the line, until it returns nothing,
//! 4. wait for bytes or until `next_wake`, whichever comes first.
//!
//! Control messages given to `send` arrive exactly once and in order within a session, whatever
//! the line loses or repeats; those given to `notify` may be lost. A transfer runs beside them,
//! one each way. A new session starts with empty queues: what the peer must still do is said
//! again by whoever knows, after [`Event::Connected`]. On a line that may be anybody's an [`Inquiry`]
//! comes first.

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

/// Writes what both links hand on to their channel.
macro_rules! end_methods {
    ($link:ident $(<$keys:ident: $bound:ident>)?, $end:ident, $outgoing:ident) => {
        impl $(<$keys: $bound>)? $link $(<$keys>)? {
            /// Tells whether a session is open.
            #[must_use]
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

            /// Tells whether every message given to `send` has arrived.
            #[must_use]
            pub fn is_idle(&self) -> bool {
                self.channel.is_idle()
            }

            /// Says something that may be lost; without a session it is.
            pub fn notify(&mut self, message: $outgoing) {
                self.channel.notify(message);
            }

            /// Offers `source` to the peer; pass the same bytes to every `transmit` until
            /// [`Event::Delivered`] or another end of it. Hashes all of it.
            ///
            /// # Errors
            /// Without a session, during another transfer, with a full queue, or for a length
            /// no transfer can have.
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

            /// Accepts the transfer of the last [`Event::Offered`] into `store`, going on from
            /// what earlier sessions brought of the same bytes.
            ///
            /// # Errors
            /// Without an offer, or when it does not fit, which the peer is told.
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

            /// Returns what has arrived of the incoming transfer, to be kept over a reset.
            #[must_use]
            pub const fn receiver(&self) -> &Receiver {
                self.channel.receiver()
            }

            /// Puts back what a reset kept, or forgets what the memory no longer holds.
            pub const fn receiver_mut(&mut self) -> &mut Receiver {
                self.channel.receiver_mut()
            }

            /// Returns (chunks known to have arrived, chunks in all) of the outgoing transfer.
            #[must_use]
            pub fn sending(&self) -> Option<(u16, u16)> {
                self.channel.sending()
            }

            /// Returns what the link has been through.
            #[must_use]
            pub const fn counters(&self) -> Counters {
                self.channel.counters(self.decoder.counters())
            }
        }
    };
}
use end_methods;

/// One end of a link: what it says and what it hears.
pub trait End {
    /// What this end says.
    type Outgoing: Serialize + From<LinkMessage>;
    /// What this end hears.
    type Incoming: DeserializeOwned;
    /// What this end learns when a session opens.
    type Greeting;
    /// The direction of this end's frames.
    const SENDS: Direction;
    /// Whether this end speaks when there is nothing to say.
    const KEEPS_ALIVE: bool;

    /// Tells a link message from one for the application.
    ///
    /// # Errors
    /// Gives back a message for the application.
    fn link_part(message: Self::Incoming) -> Result<LinkMessage, Self::Incoming>;
}

/// The base station's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostEnd;

/// A board's end.
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

/// What a base station knows of a board when their session opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// The chip's number, as the greeting proved it.
    pub device: DeviceId,
    /// Whether the board has a key.
    pub secure: bool,
    /// The generation of the key it proved.
    pub generation: u32,
    /// What the board said of itself.
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

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum LostReason {
    /// Nothing was heard for [`Timing::silence`].
    Silence,
    /// A message was not acknowledged within [`Timing::stall`].
    Unacknowledged,
    /// All sequence numbers were used.
    Exhausted,
}

impl core::fmt::Display for LostReason {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::Silence => "nothing heard for too long",
            Self::Unacknowledged => "a message was never acknowledged",
            Self::Exhausted => "all sequence numbers were used",
        })
    }
}

/// What happened on a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<E: End> {
    /// A session is open; queues and outgoing transfer start empty.
    Connected(E::Greeting),
    /// A session was refused, by this end or by the other.
    Refused(Refusal),
    /// The session ended; the host connects again by itself.
    Lost(LostReason),
    /// A message for the application.
    Message(E::Incoming),
    /// The peer threw frames away.
    Nacked(Nack),
    /// A ping of the application came back.
    Pong {
        /// Its token.
        token: u32,
    },
    /// The peer wants to send a transfer: answer with `accept` or `reject`.
    Offered(Offer),
    /// A chunk of the incoming transfer was written.
    ChunkReceived {
        /// Chunks here.
        have: u16,
        /// Chunks in all.
        of: u16,
    },
    /// The incoming transfer is whole and its hash fits.
    Received(Offer),
    /// All chunks came and the hash does not fit; they are being asked for again.
    Corrupt(Offer),
    /// The outgoing transfer arrived whole.
    Delivered(Offer),
    /// The peer does not want the outgoing transfer.
    Rejected(Offer, RejectReason),
    /// The outgoing transfer made no progress for [`Timing::stall`].
    TransferTimedOut(Offer),
}

/// Why something was not queued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
pub enum SendError {
    /// No session is open.
    NotConnected,
    /// Too many messages wait for their acknowledgement.
    QueueFull,
    /// A transfer is already going out.
    TransferInProgress,
    /// An empty transfer, or one of more than
    /// [`MAX_TRANSFER`](crate::wire::MAX_TRANSFER) bytes.
    Length,
    /// There is no offer to answer.
    NoOffer,
}

impl core::fmt::Display for SendError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(match self {
            Self::NotConnected => "no session is open",
            Self::QueueFull => "too many messages wait for their acknowledgement",
            Self::TransferInProgress => "a transfer is already going out",
            Self::Length => "a transfer must have 1 to MAX_TRANSFER bytes",
            Self::NoOffer => "there is no offer to answer",
        })
    }
}

impl core::error::Error for SendError {}
