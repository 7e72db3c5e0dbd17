//! Makes the image of a client's samples that its board carries in flash.

mod listed;

pub use self::listed::{listed, with_lists};

use gleaner_shared::shard::{ShardHeader, body_crc};

/// Why no shard can be made of these samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ShardBuildError {
    /// Pixels and labels do not belong together.
    #[error("{pixels} bytes of pixels are not {labels} samples of {inputs} bytes")]
    Shape {
        /// Bytes of pixels.
        pixels: usize,
        /// Labels.
        labels: usize,
        /// Bytes of a sample.
        inputs: u16,
    },
    /// A label beyond the classes.
    #[error("sample {sample} has label {label}, but there are {classes} classes")]
    Label {
        /// The first such sample.
        sample: usize,
        /// Its label.
        label: u8,
        /// Classes.
        classes: u16,
    },
}

/// The samples of one client.
#[derive(Clone, Copy, Debug)]
pub struct ClientSamples<'a> {
    /// The client's number.
    pub client: u32,
    /// Bytes of a sample.
    pub inputs: u16,
    /// Classes.
    pub classes: u16,
    /// One byte a pixel, sample after sample.
    pub pixels: &'a [u8],
    /// One byte a label.
    pub labels: &'a [u8],
    /// The secret the client shares with its base station.
    pub key: Option<[u8; 32]>,
}

/// Returns the bytes to be put at the board's shard address; [`with_lists`] adds what a board with
/// room for it trains faster with.
///
/// # Errors
/// When pixels, labels and classes do not fit together.
pub fn image(samples: &ClientSamples<'_>) -> Result<Vec<u8>, ShardBuildError> {
    let (pixels, labels) = (samples.pixels, samples.labels);
    if labels.len().checked_mul(samples.inputs.into()) != Some(pixels.len()) {
        return Err(ShardBuildError::Shape {
            pixels: pixels.len(),
            labels: labels.len(),
            inputs: samples.inputs,
        });
    }
    let wrong = labels
        .iter()
        .position(|&label| u16::from(label) >= samples.classes);
    if let Some(sample) = wrong {
        return Err(ShardBuildError::Label {
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

#[cfg(test)]
mod tests {
    use gleaner_shared::shard::Shard;

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
    fn the_device_reads_what_the_host_wrote() {
        let bytes = image(&SAMPLES).unwrap();
        let shard = Shard::open(&bytes).unwrap();
        assert_eq!(shard.pixels(), SAMPLES.pixels);
        assert_eq!(shard.labels(), SAMPLES.labels);
        assert_eq!(shard.header().client, 2);
    }

    #[test]
    fn samples_that_do_not_fit_together_are_refused() {
        let labels = &[1, 2, 3];
        let shape = image(&ClientSamples { labels, ..SAMPLES }).unwrap_err();
        assert_eq!(
            shape.to_string(),
            "6 bytes of pixels are not 3 samples of 3 bytes"
        );
        let labels = &[1, 10];
        let label = image(&ClientSamples { labels, ..SAMPLES }).unwrap_err();
        assert_eq!(
            label.to_string(),
            "sample 1 has label 10, but there are 10 classes"
        );
    }
}
