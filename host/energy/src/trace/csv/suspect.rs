//! Lost samples in a table of the PPK2's application.
//!
//! The application shows a lost sample as 0.200 uA with every input low. A sleeping board may draw
//! that, so only a run of it between samples of at least [`AWAKE_A`] on both sides is a gap.

use super::super::error::{Kind, Missing};
use super::row::Row;

/// No board falls from here to 0.200 uA and back between two samples.
const AWAKE_A: f64 = 10e-6;

/// What a lost sample is shown as.
const LOST_UA: f64 = 0.2;

/// Watches for runs of what may be lost samples.
#[derive(Clone, Debug)]
pub(super) struct Suspect {
    watched: bool,
    awake: bool,
    run: Option<(u64, u64)>,
}

impl Suspect {
    pub(super) const fn new(watched: bool) -> Self {
        Self {
            watched,
            awake: false,
            run: None,
        }
    }

    /// Takes the next row; a run that it ends is a gap with the line of its first sample.
    pub(super) fn next(&mut self, line: u64, row: &Row) -> Option<(u64, Kind)> {
        if !self.watched {
            return None;
        }
        if row.pins == 0 && (row.current_a * 1e6 - LOST_UA).abs() < 1e-9 {
            if let Some((_, samples)) = &mut self.run {
                *samples += 1;
            } else if self.awake {
                self.run = Some((line, 1));
            }
            return None;
        }
        self.awake = row.current_a >= AWAKE_A;
        let (first, samples) = self.run.take()?;
        let missing = Missing::Exactly(samples);
        self.awake.then_some((first, Kind::Gap { missing }))
    }
}
