//! What both ends say: names, hashes, and the messages that keep a link going.

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
    /// A run's own name: 16 random bytes, drawn when its directory is made.
    RunId,
    16
);
byte_name!(
    /// The first 16 bytes of the BLAKE3 hash of an order's encoding.
    OrderHash,
    16
);

impl ModelHash {
    /// Hashes bytes.
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
    /// What two ends must agree on before they talk.
    #[derive(Copy)]
    pub struct Version {
        /// [`PROTOCOL_VERSION`](super::PROTOCOL_VERSION) of the speaker.
        pub protocol: u16,
        /// [`SCHEMA_HASH`](super::SCHEMA_HASH) of the speaker.
        pub schema: u64,
    }
}

impl Version {
    /// This build's.
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
    /// One piece of work: two orders with the same mark ask for the same update, to the bit.
    #[derive(Copy)]
    pub struct WorkMark {
        /// The run that gave the order.
        pub run: RunId,
        /// Number of the round.
        pub round: u32,
        /// Everything the order says.
        pub order: OrderHash,
    }
}

wire_struct! {
    /// A round and the model it ended with.
    #[derive(Copy)]
    pub struct RoundMark {
        /// The run the round is of.
        pub run: RunId,
        /// Number of the round.
        pub round: u32,
        /// Hash of the model.
        pub model: ModelHash,
    }
}

wire_enum! {
    /// Why a session is not opened.
    #[derive(Copy)]
    pub enum Refusal {
        /// The ends were built from different contracts.
        Version {
            /// What the refusing end speaks.
            ours: Version,
            /// What it was offered.
            theirs: Version,
        },
        /// The host has no key for this device.
        UnknownDevice,
        /// The host wants a key and the device has none.
        KeyMissing,
        /// The device has a key and the host works without.
        KeyRequired,
        /// The tag of the greeting was made with another key.
        WrongKey,
        /// The device has a key and no randomness that a session could rest on.
        NoRandomness,
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version { ours, theirs } => write!(
                f,
                "this end speaks {ours}, the other end {theirs}: build both from one revision"
            ),
            Self::UnknownDevice => f.write_str("no key for this device: add it to fleet.toml"),
            Self::KeyMissing => {
                f.write_str("the device has no key: give it one, or run the host insecure")
            }
            Self::KeyRequired => f.write_str(
                "the device has a key and the host runs insecure: give the host the key",
            ),
            Self::WrongKey => f.write_str(
                "device and host hold different keys: after `gleaner fleet rekey` use its list (for \
                 an older run `gleaner resume --fleet`), otherwise flash the board again",
            ),
            Self::NoRandomness => f.write_str(
                "the device's source of randomness is broken: no session of it would be safe",
            ),
        }
    }
}

impl core::error::Error for Refusal {}

wire_enum! {
    /// What the bytes of a transfer are.
    #[derive(Copy)]
    pub enum Payload {
        /// The whole model.
        Model,
        /// The change of a model since the one both ends hold.
        Update,
        /// Anything, to be offered back: measures the link.
        Echo,
        /// The pixels of one sample, to be classified.
        Sample,
    }
}

impl Payload {
    /// Tells whether it brings a model up to date.
    #[must_use]
    pub const fn is_model(self) -> bool {
        matches!(self, Self::Model | Self::Update)
    }
}

wire_enum! {
    /// Which of a board's own samples are meant.
    #[derive(Copy)]
    pub enum SamplePlace {
        /// Those of its shard, numbered from 0.
        Flashed,
        /// Those its application gathered, numbered since its start; the oldest go first.
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
    /// Announces bytes to come in chunks of [`CHUNK_BYTES`](crate::wire::CHUNK_BYTES).
    #[derive(Copy)]
    pub struct Offer {
        /// Number of the transfer; its chunks carry it.
        pub transfer: u16,
        /// What the bytes are.
        pub payload: Payload,
        /// The work whose result they are, if they are any.
        pub work: Option<WorkMark>,
        /// How many bytes.
        pub len: u32,
        /// Hash of all of them.
        pub hash: ModelHash,
    }
}

wire_struct! {
    /// Which chunks have arrived.
    pub struct Status {
        /// Number of the transfer.
        pub transfer: u16,
        /// Sequence of the newest frame seen: a chunk sent no later and not listed is lost.
        pub seen: u32,
        /// One bit per chunk, the first in bit 0 of the first byte.
        pub have: Bitmap,
    }
}

wire_enum! {
    /// Why a transfer is not wanted.
    #[derive(Copy)]
    pub enum RejectReason {
        /// More bytes than there is room for.
        TooLarge,
        /// The receiver is doing something else with its memory.
        Busy,
        /// Not what was asked for.
        Unexpected,
        /// All chunks arrived and the hash does not fit, again and again.
        HashMismatch,
    }
}

wire_struct! {
    /// A frame was thrown away; sent seldom, for the log.
    #[derive(Copy)]
    pub struct Nack {
        /// Damaged frames so far.
        pub damaged: u32,
        /// Refused frames so far.
        pub refused: u32,
    }
}

wire_struct! {
    /// What a link has been through since it was made.
    #[derive(Copy, Default)]
    pub struct Counters {
        /// Frames sent.
        pub sent: u32,
        /// Frames accepted.
        pub received: u32,
        /// Frames longer than any frame.
        pub oversized: u32,
        /// Frames cut, too short, of unknown kind or with a wrong checksum.
        pub damaged: u32,
        /// Frames with a wrong tag.
        pub forged: u32,
        /// Frames of an earlier sequence number: duplicates and replays.
        pub replayed: u32,
        /// Frames of another session or direction.
        pub stray: u32,
        /// Authentic frames whose payload does not decode.
        pub malformed: u32,
        /// Messages and chunks sent again.
        pub repeated: u32,
        /// Timers that ran out.
        pub timeouts: u32,
        /// Sessions opened.
        pub sessions: u32,
    }
}

wire_enum! {
    /// What keeps a link going; handled by the link itself.
    pub enum LinkMessage {
        /// The reliable message of this number arrived.
        Ack {
            /// Its number.
            number: u16,
        },
        /// A frame was thrown away.
        Nack(Nack),
        /// Asks for a [`LinkMessage::Pong`].
        Ping {
            /// Comes back in the answer.
            token: u32,
        },
        /// Answers a [`LinkMessage::Ping`].
        Pong {
            /// The token of the question.
            token: u32,
        },
        /// Announces a transfer; reliable.
        Offer(Offer),
        /// Asks which chunks have arrived.
        Poll {
            /// Number of the transfer.
            transfer: u16,
        },
        /// Says which chunks have arrived.
        Status(Status),
        /// Does not want a transfer; reliable.
        Reject {
            /// Number of the transfer.
            transfer: u16,
            /// Why not.
            reason: RejectReason,
        },
    }
}
