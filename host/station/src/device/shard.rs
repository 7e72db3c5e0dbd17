//! Builds the image of a client's samples for its board's flash, and adds the lists of non-zero
//! pixels where the flash has room for them.

use gleaner_shared::board::Boot;
use gleaner_shared::lists;
use gleaner_shared::shard::{HEADER_BYTES, Shard, ShardHeader, body_crc};

use crate::device::Board;

/// Samples that do not make a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum InvalidSamples {
    /// Pixels and labels have different numbers of samples.
    #[error("{pixels} bytes of pixels are not {labels} samples of {inputs} bytes")]
    Shape {
        pixels: usize,
        labels: usize,
        inputs: u16,
    },
    /// A label is beyond the classes; names the first such sample.
    #[error("sample {sample} has label {label}, but there are {classes} classes")]
    Label {
        sample: usize,
        label: u8,
        classes: u16,
    },
}

/// The samples of one client.
#[derive(Clone, Copy, Debug)]
pub struct ClientSamples<'a> {
    /// Number of the client.
    pub client: u32,
    /// Bytes of a sample.
    pub inputs: u16,
    /// Number of classes of the data.
    pub classes: u16,
    /// One byte per pixel, sample after sample.
    pub pixels: &'a [u8],
    /// One byte per label.
    pub labels: &'a [u8],
    /// Secret key of the client, if it has one.
    pub key: Option<[u8; 32]>,
}

/// Returns the bytes of a shard, to be written to the board's shard address. [`with_lists`] adds
/// lists with which a board trains faster.
///
/// ```
/// use gleaner_shared::shard::Shard;
/// use gleaner_station::device::shard::{ClientSamples, image};
///
/// let bytes = image(&ClientSamples {
///     client: 2,
///     inputs: 3,
///     classes: 10,
///     pixels: &[1, 2, 3, 4, 5, 6],
///     labels: &[9, 0],
///     key: None,
/// })?;
/// assert_eq!(Shard::open(&bytes).unwrap().labels(), [9, 0]);
/// # Ok::<(), gleaner_station::device::shard::InvalidSamples>(())
/// ```
///
/// # Errors
/// Returns an error if pixels, labels and classes do not match.
pub fn image(samples: &ClientSamples<'_>) -> Result<Vec<u8>, InvalidSamples> {
    let (pixels, labels) = (samples.pixels, samples.labels);
    if labels.len().checked_mul(samples.inputs.into()) != Some(pixels.len()) {
        return Err(InvalidSamples::Shape {
            pixels: pixels.len(),
            labels: labels.len(),
            inputs: samples.inputs,
        });
    }
    let wrong = labels
        .iter()
        .position(|&label| u16::from(label) >= samples.classes);
    if let Some(sample) = wrong {
        return Err(InvalidSamples::Label {
            sample,
            label: labels[sample],
            classes: samples.classes,
        });
    }
    let header = ShardHeader {
        inputs: samples.inputs,
        classes: samples.classes,
        samples: labels.len() as u32,
        client: samples.client,
        key: samples.key,
        crc: body_crc(pixels, labels),
        list_bytes: 0,
    };
    Ok([&header.to_bytes()[..], pixels, labels].concat())
}

/// Returns a shard in the form that a board trains on fastest: with the lists of non-zero pixels if
/// `room` bytes hold both, unless the flash is read through a cache and more than half of the pixels
/// are non-zero. Lists of such samples are longer than the samples, and fetching them takes longer
/// than searching the samples.
#[must_use]
pub fn with_lists(shard: Vec<u8>, board: Board, room: usize) -> Vec<u8> {
    match Shard::open(&shard) {
        Ok(opened) if has_cached_flash(board) && is_dense(opened.pixels()) => shard,
        _ => listed(shard, room),
    }
}

/// Tells whether the flash is a separate chip behind a cache, as on RP2040 and RP2350.
fn has_cached_flash(board: Board) -> bool {
    board.row().built.boot != Boot::VectorTable
}

fn is_dense(pixels: &[u8]) -> bool {
    let lit = pixels.iter().filter(|&&x| x != 0).count();
    2 * lit > pixels.len()
}

/// Adds the lists of non-zero pixels to a shard if both fit `room` bytes. A shard with lists, and bytes
/// that are no shard, are returned unchanged.
#[must_use]
pub fn listed(shard: Vec<u8>, room: usize) -> Vec<u8> {
    let Ok(opened) = Shard::open(&shard) else {
        return shard;
    };
    let header = *opened.header();
    let body = [opened.pixels(), opened.labels()].concat();
    let start = (HEADER_BYTES + body.len()).next_multiple_of(4);
    if header.list_bytes != 0 || start >= room {
        return shard;
    }
    let mut lists = Vec::new();
    lists::write(opened.pixels(), header.inputs.into(), |part| {
        lists.extend_from_slice(part);
    });
    if lists.len() > room - start {
        return shard;
    }
    let header = ShardHeader {
        list_bytes: lists.len() as u32,
        ..header
    };
    let mut listed = [&header.to_bytes()[..], &body].concat();
    listed.resize(start, 0);
    listed.extend(lists);
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: ClientSamples<'static> = ClientSamples {
        client: 2,
        inputs: 3,
        classes: 10,
        pixels: &[1, 2, 3, 4, 5, 6],
        labels: &[9, 0],
        key: None,
    };

    #[test]
    fn the_device_reads_the_image() {
        let bytes = image(&SAMPLES).unwrap();
        let shard = Shard::open(&bytes).unwrap();
        assert_eq!(shard.pixels(), SAMPLES.pixels);
        assert_eq!(shard.labels(), SAMPLES.labels);
        assert_eq!(shard.header().client, 2);
    }

    #[test]
    fn inconsistent_samples_are_refused() {
        let labels = &[1, 2, 3];
        let shape = image(&ClientSamples { labels, ..SAMPLES }).unwrap_err();
        assert!(matches!(shape, InvalidSamples::Shape { .. }));
        let labels = &[1, 10];
        let label = image(&ClientSamples { labels, ..SAMPLES }).unwrap_err();
        assert!(matches!(label, InvalidSamples::Label { sample: 1, .. }));
    }

    fn shard() -> Vec<u8> {
        let samples = ClientSamples {
            client: 2,
            inputs: 3,
            classes: 10,
            pixels: &[1, 0, 3, 0, 0, 6],
            labels: &[9, 0],
            key: Some([7; 32]),
        };
        image(&samples).unwrap()
    }

    #[test]
    fn lists_are_added_where_they_fit_and_change_nothing_else() {
        let plain = shard();
        let listed = with_lists(plain.clone(), Board::Rp2040, 4096);
        let (before, after) = (Shard::open(&plain).unwrap(), Shard::open(&listed).unwrap());
        assert!(after.lists().is_some());
        assert_eq!(after.header().key, Some([7; 32]));
        let what = |it: &Shard<'_>| (it.pixels().to_vec(), it.labels().to_vec(), it.header().crc);
        assert_eq!(what(&after), what(&before));
        assert_eq!(with_lists(listed.clone(), Board::Rp2040, 8192), listed);
        assert_eq!(
            with_lists(plain.clone(), Board::Rp2040, listed.len()),
            listed
        );
        for room in [0, plain.len(), listed.len() - 1] {
            assert_eq!(
                with_lists(plain.clone(), Board::Rp2040, room),
                plain,
                "{room}"
            );
        }
    }

    #[test]
    fn dense_samples_get_no_lists_behind_a_cache() {
        let samples = ClientSamples {
            client: 2,
            inputs: 3,
            classes: 10,
            pixels: &[1, 0, 3, 0, 5, 6],
            labels: &[9, 0],
            key: None,
        };
        let dense = image(&samples).unwrap();
        assert_eq!(with_lists(dense.clone(), Board::Rp2040, 4096), dense);
        let lists = listed(dense.clone(), 4096);
        assert_eq!(with_lists(dense, Board::Stm32l4r5, 4096), lists);
        assert!(Shard::open(&lists).unwrap().lists().is_some());
    }

    #[test]
    fn bytes_that_are_no_shard_are_unchanged() {
        for bytes in [vec![], vec![0xFF; 300]] {
            assert_eq!(with_lists(bytes.clone(), Board::Rp2040, 4096), bytes);
        }
        let mut damaged = shard();
        damaged[70] ^= 1;
        assert_eq!(with_lists(damaged.clone(), Board::Rp2040, 4096), damaged);
    }
}
