//! Data sets of the user's own: one file, `dataset.gds`, that `gleaner data import` writes.
//!
//! `docs/reference/formats.md` describes it: eight bytes that name the format, the length of the header,
//! the header as JSON, one record per sample, and the SHA-256 of all of that.
//!
//! - [`Header`]: what a set states, and the sizes that follow from it.
//! - [`Writer`]: streams records into a file that appears only when it is whole.
//! - [`read`], [`read_header`]: trust nothing that the file says before it is checked.

mod header;
mod name;
mod read;
mod write;

pub use header::{Column, Header, MOST_CLASSES, MOST_INPUTS, Source};
pub(super) use name::is_plain;
pub use name::{NameError, check_name};
pub(super) use read::parse;
pub use read::{read, read_header};
pub use write::{Record, Writer};

/// The file that holds a set, in the set's own folder.
pub const FILE: &str = "dataset.gds";

/// What such a file begins with; the last byte is the format's version.
const MAGIC: &[u8; 8] = b"GLEANDS\x01";

/// Bytes before the header: the magic and the header's length.
const PREFIX: usize = 12;

/// Bytes of the digest at the end.
const DIGEST: usize = 32;

/// A header with 65,535 columns of long names stays below.
const MOST_HEADER: usize = 16 << 20;

/// What the part of a record says: it is learnt from.
const TRAIN: u8 = 0;
/// What the part of a record says: models are judged by it.
const TEST: u8 = 1;

#[cfg(test)]
pub(super) mod tests;
