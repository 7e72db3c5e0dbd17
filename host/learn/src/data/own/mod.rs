//! Data sets of the user's own: one file, `dataset.gds`, that `gleaner data import` writes.
//!
//! `docs/reference/formats.md` describes it: eight bytes that name the format, the length of the header,
//! the header as JSON, one record per sample, and the SHA-256 of all of that.
//!
//! - [`Header`]: the header, and the sizes that follow from it.
//! - [`Writer`]: streams records into a file that appears under its name only when complete.
//! - [`read()`], [`read_header`]: read a file and check everything in it.

mod header;
mod read;
mod write;

pub use header::{Column, Header, MOST_CLASSES, MOST_INPUTS, Source};
pub(super) use read::parse;
pub use read::{read, read_header};
pub use write::{Record, Writer};

/// The file of a set in the set's own folder.
pub const FILE: &str = "dataset.gds";

/// The first bytes of the file; the last of them is the format's version.
const MAGIC: &[u8; 8] = b"GLEANDS\x01";

/// Bytes before the header: the magic and the header's length.
const PREFIX: usize = 12;

/// Bytes of the digest at the end.
const DIGEST: usize = 32;

/// Bytes of the longest header; one with 65,535 columns of long names is shorter.
const MOST_HEADER: usize = 16 << 20;

/// The byte of a record that says whether it is a training or a test sample.
const TRAIN: u8 = 0;
const TEST: u8 = 1;

#[cfg(test)]
pub(super) mod tests;
