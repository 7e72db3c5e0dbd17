//! All messages between the two ends: two enums, append-only.
//!
//! The encoding is postcard's; every collection has a bound known at compile time. Fields with a
//! unit have a unit's type. Weights are never in a message: they are sent as plain bytes in chunks.

mod common;
mod crash;
mod device;
mod host;
mod infer;
mod measure;

pub use common::{
    Counters, DeviceId, LinkMessage, ModelHash, Nack, Offer, OrderHash, Payload, Refusal,
    RejectReason, RoundMark, RunId, SamplePlace, Status, Version, WorkMark,
};
pub use crash::{Crash, PLACE_BYTES, ResetCause};
pub use device::{
    About, BootselRefusal, DeclineReason, DeviceToHost, Hello, ModelShape, OrderReply, Progress,
    RekeyRefusal, Report, ShardStatus,
};
pub use host::{Connect, HostToDevice, Order, Provision};
pub use infer::{Classified, InferRefusal};
pub use measure::{Mark, MeasureRefusal, MeasureStep, Supply};

use serde::{Serialize, de::DeserializeOwned};

use super::schema::{self, Schema};

/// Version of frames, handshake and timing rules; messages have the schema hash in addition.
pub const PROTOCOL_VERSION: u16 = 6;
/// Changes with any change of any message.
pub const SCHEMA_HASH: u64 = {
    let hash = schema::number(schema::BASIS, PROTOCOL_VERSION as u64);
    let hash = schema::number(hash, HostToDevice::HASH);
    schema::number(hash, DeviceToHost::HASH)
};

/// The error of encoding or decoding a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[non_exhaustive]
#[allow(missing_docs)]
pub enum MessageError {
    /// An unknown variant, a bound exceeded, or too few bytes.
    #[error("the bytes do not decode as a message")]
    Malformed,
    #[error("bytes follow the message")]
    TrailingBytes,
    #[error("the message does not fit into its buffer")]
    TooLong,
}

/// Encodes a message into `buffer` and returns its length.
///
/// # Errors
/// [`MessageError::TooLong`] when the buffer ends first.
pub fn encode<T: Serialize>(message: &T, buffer: &mut [u8]) -> Result<usize, MessageError> {
    postcard::to_slice(message, buffer)
        .map(|used| used.len())
        .map_err(|_| MessageError::TooLong)
}

/// Decodes a message that must fill `bytes` completely.
///
/// # Errors
/// Distinguishes malformed bytes from trailing ones.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, MessageError> {
    match postcard::take_from_bytes(bytes) {
        Ok((message, [])) => Ok(message),
        Ok(_) => Err(MessageError::TrailingBytes),
        Err(_) => Err(MessageError::Malformed),
    }
}
