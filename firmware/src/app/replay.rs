//! A sensor for boards without one: replays the board's own shard in a loop.

use gleaner_shared::mlp::Samples as _;

use super::window::Sensor;
use crate::data::{Flashed, LocalData};
use crate::model::INPUTS;

/// Reads a shard pixel by pixel, without labels.
pub struct Replay {
    shard: Option<LocalData<'static>>,
    at: usize,
}

impl Replay {
    /// Reads the flash region of the shard; without a valid shard every reading is zero.
    pub fn new(region: &'static [u8]) -> Self {
        Self {
            shard: Flashed::read(region).data,
            at: 0,
        }
    }
}

impl Sensor for Replay {
    fn read(&mut self) -> u8 {
        let Some(shard) = &self.shard else { return 0 };
        let (sample, pixel) = (self.at / INPUTS, self.at % INPUTS);
        self.at = (self.at + 1) % (INPUTS * shard.len());
        shard.pixels(sample)[pixel]
    }

    fn label(&mut self) -> Option<u8> {
        None
    }
}
