//! Frames, messages, model transfer and the link's state machines.
//!
//! `docs/reference/wire.md` is the specification; this is its implementation, the same for both ends.
//! Lowest layer first:
//! - `cobs`, [`frame`] and [`decoder`]: bytes on the line to checked frames and back.
//! - [`auth`]: keys, nonces and tags; [`keys`]: their generations; [`seal`]: what encrypts a
//!   session.
//! - [`schema`] and [`message`]: what is said, and the hash of its shape.
//! - [`transfer`]: models in chunks.
//! - [`link`]: the two state machines that bytes and time go into and actions come out of.

pub mod auth;
mod cobs;
pub mod decoder;
pub mod frame;
pub mod keys;
pub mod link;
pub mod message;
pub mod schema;
pub mod seal;
pub mod transfer;

pub use auth::{Insecure, Key, Keyring, Nonce};
pub use decoder::{Arrival, FrameDecoder};
pub use frame::{DELIMITER, Damage, Direction, Frame, FrameBuffer, Header, Kind};
pub use keys::{DeviceKeys, Generation, HostKeys};
pub use link::{DeviceLink, Event, HostLink, Timing};
pub use message::{DeviceToHost, HostToDevice, PROTOCOL_VERSION, SCHEMA_HASH};
pub use seal::SessionKey;
pub use transfer::{CHUNK_BYTES, MAX_TRANSFER};
