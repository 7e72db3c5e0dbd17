//! Shards of unlike ink for an emulated board.

use std::io::Write;
use std::path::Path;

use anyhow::Context;
use gleaner_learn::data::Dataset;
use gleaner_shared::mlp::Shape;
use gleaner_sim::scenario::Load;
use gleaner_station::device::Board;
use gleaner_station::device::shard::{ClientSamples, image, listed, with_lists};
use tempfile::NamedTempFile;

/// The samples of a shard, by their number of non-zero inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// The first of the data.
    Mixed,
    /// The first of the class with the fewest.
    Least,
    /// The first of the class with the most.
    Most,
}

/// A shard in a file that is deleted when it is dropped.
pub(super) struct Shard {
    file: NamedTempFile,
    /// Samples and non-zero inputs.
    pub(super) load: Load,
}

impl Shard {
    /// Writes a shard; `lists` says whether it has lists of its non-zero inputs, otherwise it has them
    /// as it is flashed.
    pub(super) fn write(
        board: Board,
        network: Shape,
        data: &Dataset,
        samples: usize,
        ink: Ink,
        lists: Option<bool>,
    ) -> anyhow::Result<Self> {
        let set = &data.train;
        anyhow::ensure!(
            (1..=set.labels.len()).contains(&samples),
            "--samples {samples}: {} has 1 to {}",
            data.name,
            set.labels.len()
        );
        let mut chosen: Vec<u32> = (0..set.labels.len() as u32).collect();
        if ink != Ink::Mixed {
            let of = |class: u8| {
                let own = chosen
                    .iter()
                    .filter(|&&at| set.labels[at as usize] == class);
                own.copied().collect::<Vec<u32>>()
            };
            let mean = |of: &Vec<u32>| set.nonzero_inputs(of) / of.len().max(1) as u64;
            let mut classes: Vec<Vec<u32>> = (0..u8::try_from(network.classes)?).map(of).collect();
            classes.retain(|of| !of.is_empty());
            classes.sort_by_cached_key(mean);
            let end = if ink == Ink::Least {
                classes.first()
            } else {
                classes.last()
            };
            chosen = end.cloned().unwrap_or_default();
        }
        chosen.truncate(samples);
        let pixels: Vec<u8> = (chosen.iter())
            .flat_map(|&at| &set.images[network.inputs * at as usize..][..network.inputs])
            .copied()
            .collect();
        let labels: Vec<u8> = chosen.iter().map(|&at| set.labels[at as usize]).collect();
        let bytes = image(&ClientSamples {
            client: 0,
            inputs: u16::try_from(network.inputs)?,
            classes: u16::try_from(network.classes)?,
            pixels: &pixels,
            labels: &labels,
            key: None,
        })?;
        let room = board.built_for(network)?.shard().bytes as usize;
        let bytes = match lists {
            Some(true) => listed(bytes, room),
            Some(false) => bytes,
            None => with_lists(bytes, board, room),
        };
        let mut file = NamedTempFile::new().context("no temporary file")?;
        file.write_all(&bytes)
            .with_context(|| format!("cannot write {}", file.path().display()))?;
        let load = Load {
            samples: u32::try_from(chosen.len())?,
            nonzero: set.nonzero_inputs(&chosen),
        };
        Ok(Self { file, load })
    }

    /// Returns the file.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}
