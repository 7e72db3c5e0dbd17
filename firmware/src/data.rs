//! The local samples: the shard in flash, or the reason why there is none.

use gleaner_shared::lists::Lists;
use gleaner_shared::mlp::Samples;
use gleaner_shared::shard::{Shard, ShardError, ShardHeader};
use gleaner_shared::wire::Key;
use gleaner_shared::wire::message::ShardStatus;

use crate::model::{INPUTS, MAX_SAMPLES, OUTPUTS};

/// The samples of a valid shard.
#[derive(Clone, Copy, Debug)]
pub struct LocalData<'a> {
    pixels: &'a [[u8; INPUTS]],
    labels: &'a [u8],
    lists: Option<Lists<'a>>,
}

impl<'a> LocalData<'a> {
    /// Takes pixels and labels of the same samples; the longer slice is cut.
    pub const fn new(pixels: &'a [[u8; INPUTS]], labels: &'a [u8]) -> Self {
        Self {
            pixels,
            labels,
            lists: None,
        }
    }

    /// Adds the lists of the samples, if the shard has them.
    #[must_use]
    pub const fn with_lists(self, lists: Option<Lists<'a>>) -> Self {
        Self { lists, ..self }
    }
}

impl Samples<INPUTS> for LocalData<'_> {
    fn len(&self) -> usize {
        self.pixels.len().min(self.labels.len())
    }

    fn pixels(&self, index: usize) -> &[u8; INPUTS] {
        &self.pixels[index]
    }

    fn label(&self, index: usize) -> u8 {
        self.labels[index]
    }

    fn block(&self) -> Option<&[[u8; INPUTS]]> {
        Some(&self.pixels[..self.len()])
    }

    fn lists(&self) -> Option<Lists<'_>> {
        self.lists
    }
}

/// The content of the shard's flash region.
#[derive(Clone, Copy, Debug)]
pub struct Flashed<'a> {
    /// Status of the shard, as reported to the base station.
    pub status: ShardStatus,
    /// The secret shared with the base station, or the public key.
    pub key: Key,
    /// The samples, if this firmware can train on them.
    pub data: Option<LocalData<'a>>,
}

impl<'a> Flashed<'a> {
    /// Reads the flash region and verifies its checksums.
    #[must_use]
    pub fn read(region: &'a [u8]) -> Self {
        match Shard::open(region) {
            Ok(shard) => Self {
                status: present(shard.header()),
                key: shard.header().key.map_or(Key::PUBLIC, Key::new),
                data: fitting(&shard),
            },
            Err(error) => Self {
                status: match error {
                    ShardError::Absent => ShardStatus::Absent,
                    _ => ShardStatus::Damaged,
                },
                key: Key::PUBLIC,
                data: None,
            },
        }
    }

    /// Returns the client number in the shard, which the base station's number must equal.
    pub const fn client(&self) -> Option<u32> {
        match self.status {
            ShardStatus::Present { client, .. } => Some(client),
            ShardStatus::Absent | ShardStatus::Damaged => None,
        }
    }
}

const fn present(header: &ShardHeader) -> ShardStatus {
    ShardStatus::Present {
        samples: header.samples,
        client: header.client,
        inputs: header.inputs,
        classes: header.classes,
        crc: header.crc,
    }
}

/// Returns the samples if they have this network's dimensions and their error rows fit.
fn fitting<'a>(shard: &Shard<'a>) -> Option<LocalData<'a>> {
    let (pixels, rest) = shard.pixels().as_chunks::<INPUTS>();
    let fits = usize::from(shard.header().inputs) == INPUTS
        && usize::from(shard.header().classes) == OUTPUTS
        && (1..=MAX_SAMPLES).contains(&pixels.len())
        && rest.is_empty();
    fits.then(|| LocalData::new(pixels, shard.labels()).with_lists(shard.lists()))
}
