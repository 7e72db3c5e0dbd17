//! Frames, messages, model transfer and the link's state machines.
//!
//! `docs/reference/wire.md` is the specification; this is its implementation, the same for both ends. Lowest
//! layer first:
//! - `cobs`, [`frame`] and [`decoder`]: bytes of the line to checked frames and back.
//! - [`auth`]: keys, nonces and tags; [`keys`]: generations of keys; [`seal`]: encryption of a
//!   session.
//! - [`schema`] and [`message`]: the messages, and a hash of their definitions.
//! - [`transfer`]: models in chunks.
//! - [`link`]: the state machines of both ends.

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
