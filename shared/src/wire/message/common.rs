//! Types of both directions: identifiers, hashes, and the messages of the link itself.

use core::fmt;

use crate::wire::schema::{BASIS, Schema, number, text};
use crate::wire::transfer::Bitmap;
use crate::{wire_enum, wire_struct};

/// Declares a fixed number of bytes that prints as hexadecimal.
macro_rules! byte_name {
    ($(#[$doc:meta])* $name:ident, $len:literal) => {
        $(#[$doc])*
        #[derive(
            Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub struct $name(pub [u8; $len]);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl Schema for $name {
            const HASH: u64 = number(text(BASIS, stringify!($name)), $len);
        }
    };
}

byte_name!(
    /// The chip's own number: 96 bits on an STM32, 64 bits and zeros on an RP2040.
    DeviceId,
    12
);
byte_name!(
    /// The first 16 bytes of the BLAKE3 hash of a model's bytes.
    ModelHash,
    16
);
byte_name!(
    /// The name of a run: 16 random bytes, drawn when its directory is created.
    RunId,
    16
);
byte_name!(
    /// The first 16 bytes of the BLAKE3 hash of an order's encoding.
    OrderHash,
    16
);

impl ModelHash {
    /// Hashes the bytes of a model.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(crate::wire::auth::first(blake3::hash(bytes).as_bytes()))
    }
}

impl OrderHash {
    /// Hashes an order's encoding.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(crate::wire::auth::first(blake3::hash(bytes).as_bytes()))
    }
}

wire_struct! {
    /// The protocol and schema that two ends must agree on.
    #[derive(Copy)]
    pub struct Version {
        /// The sender's [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION).
        pub protocol: u16,
        /// The sender's [`SCHEMA_HASH`](super::SCHEMA_HASH).
        pub schema: u64,
    }
}

impl Version {
    /// The version of this build.
    pub const OURS: Self = Self {
        protocol: super::PROTOCOL_VERSION,
        schema: super::SCHEMA_HASH,
    };
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "protocol {}, schema {:#018x}",
            self.protocol, self.schema
        )
    }
}

wire_struct! {
    /// The identity of an order: two orders with the same mark ask for the same update, to the bit.
    #[derive(Copy)]
    pub struct WorkMark {
        pub run: RunId,
        pub round: u32,
        /// Hash of the whole order.
        pub order: OrderHash,
    }
}

wire_struct! {
    /// A round and the model it ended with.
    #[derive(Copy)]
    pub struct RoundMark {
        pub run: RunId,
        pub round: u32,
        pub model: ModelHash,
    }
}

wire_enum! {
    /// The reason why a session is not opened.
    #[derive(Copy, thiserror::Error)]
    pub enum Refusal {
        #[error("this end speaks {ours}, the other end {theirs}: build both from one revision")]
        Version {
            /// Version of the refusing end.
            ours: Version,
            /// Version that it received.
            theirs: Version,
        },
        #[error("no key for this device: add it to fleet.toml")]
        UnknownDevice,
        #[error("the device has no key: give it one, or run the host insecure")]
        KeyMissing,
        #[error("the device has a key and the host runs insecure: give the host the key")]
        KeyRequired,
        #[error(
            "device and host hold different keys: after `gleaner fleet rekey` use its list (for \
             an older run `gleaner resume --fleet`), otherwise flash the board again"
        )]
        WrongKey,
        #[error("the device's source of randomness is broken: no session of it would be safe")]
        NoRandomness,
    }
}

wire_enum! {
    /// The kind of bytes in a transfer.
    #[derive(Copy)]
    pub enum Payload {
        Model,
        /// The change of the model that both ends hold.
        Update,
        /// Arbitrary bytes, to be sent back: measures the link.
        Echo,
        /// The pixels of one sample, to be classified.
        Sample,
    }
}

impl Payload {
    /// Returns whether the payload updates the model.
    #[must_use]
    pub const fn is_model(self) -> bool {
        matches!(self, Self::Model | Self::Update)
    }
}

wire_enum! {
    /// The storage of a board's own samples.
    #[derive(Copy)]
    pub enum SamplePlace {
        /// The shard, numbered from 0.
        Flashed,
        /// Samples gathered by the application, numbered since its start; the oldest are deleted
        /// first.
        Gathered,
    }
}

impl fmt::Display for SamplePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Flashed => "flashed",
            Self::Gathered => "gathered",
        })
    }
}

wire_struct! {
    /// Announces a transfer in chunks of [`CHUNK_BYTES`](crate::wire::CHUNK_BYTES).
    #[derive(Copy)]
    pub struct Offer {
        /// Number of the transfer, which its chunks carry.
        pub transfer: u16,
        pub payload: Payload,
        /// The order whose update it is, if it is one.
        pub work: Option<WorkMark>,
        /// Length in bytes.
        pub len: u32,
        /// Hash of all bytes.
        pub hash: ModelHash,
    }
}

wire_struct! {
    /// The chunks that have arrived.
    pub struct Status {
        pub transfer: u16,
        /// Sequence number of the newest frame received: an earlier chunk that is not listed is
        /// lost.
        pub seen: u32,
        /// One bit per chunk, the first in bit 0 of the first byte.
        pub have: Bitmap,
    }
}

wire_enum! {
    /// The reason why a transfer is rejected.
    #[derive(Copy)]
    pub enum RejectReason {
        /// More bytes than there is room for.
        TooLarge,
        /// The receiver's memory is in use.
        Busy,
        Unexpected,
        /// All chunks arrived and the hash does not fit, repeatedly.
        HashMismatch,
    }
}

wire_struct! {
    /// Reports discarded frames; sent rarely, for the log.
    #[derive(Copy)]
    pub struct Nack {
        pub damaged: u32,
        pub refused: u32,
    }
}

wire_struct! {
    /// Counters of a link since it was created.
    #[derive(Copy, Default)]
    pub struct Counters {
        pub sent: u32,
        pub received: u32,
        /// Frames longer than any valid frame.
        pub oversized: u32,
        /// Frames cut, too short, of unknown kind or with a wrong checksum.
        pub damaged: u32,
        /// Frames with an invalid tag.
        pub forged: u32,
        /// Frames with an old sequence number: duplicates and replays.
        pub replayed: u32,
        /// Frames of another session or direction.
        pub stray: u32,
        /// Authentic frames whose payload does not decode.
        pub malformed: u32,
        /// Messages and chunks sent again.
        pub repeated: u32,
        pub timeouts: u32,
        pub sessions: u32,
    }
}

wire_enum! {
    /// Messages of the link itself.
    pub enum LinkMessage {
        /// Acknowledges a reliable message.
        Ack {
            number: u16,
        },
        /// Reports a discarded frame.
        Nack(Nack),
        /// Asks for a [`LinkMessage::Pong`].
        Ping {
            /// Returned in the answer.
            token: u32,
        },
        /// Answers a [`LinkMessage::Ping`].
        Pong {
            token: u32,
        },
        /// Announces a transfer; reliable.
        Offer(Offer),
        /// Asks which chunks have arrived.
        Poll {
            transfer: u16,
        },
        /// Tells which chunks have arrived.
        Status(Status),
        /// Rejects a transfer; reliable.
        Reject {
            transfer: u16,
            reason: RejectReason,
        },
    }
}
