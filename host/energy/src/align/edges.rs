//! Levels of the three pins, from samples: debounced, and timed.

use crate::trace::{Block, Trace};

/// A level the pins held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The three bits.
    pub code: u8,
    /// When it began, in samples from the trace's first: halfway between the last sample of the
    /// level before and the first of this one.
    pub from: f64,
}

/// What the pins of a trace showed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Levels {
    /// The levels in order; the first from sample 0.
    pub levels: Vec<Level>,
    /// Samples in all.
    pub samples: u64,
    /// Excursions too short to be a level that came back to where they began.
    pub glitches: u64,
}

/// Reads a trace to its end and returns the levels of pins `shift`, `shift + 1` and `shift + 2`.
///
/// A code counts as a level once it has stayed for `hold` samples: the pins of a board do not
/// change at the same instant, and lines ring.
///
/// # Errors
/// What is wrong with the trace.
pub fn read<T: Trace>(trace: &mut T, shift: u32, hold: u32) -> Result<Levels, T::Error> {
    let mut detector = Detector {
        found: Levels::default(),
        hold: u64::from(hold.max(1)),
        candidate: None,
        last_settled: 0,
    };
    let mut block = Block::default();
    while trace.read(&mut block)? {
        for pins in &block.pins {
            detector.sample(pins.checked_shr(shift).unwrap_or(0) & 0b111);
        }
    }
    Ok(detector.found)
}

struct Detector {
    found: Levels,
    hold: u64,
    /// A code that is not the level's, and its first sample in a row.
    candidate: Option<(u8, u64)>,
    /// The last sample that showed the level.
    last_settled: u64,
}

impl Detector {
    fn sample(&mut self, code: u8) {
        let now = self.found.samples;
        self.found.samples += 1;
        let Some(level) = self.found.levels.last() else {
            self.found.levels.push(Level { code, from: 0.0 });
            return;
        };
        if code == level.code {
            self.found.glitches += u64::from(self.candidate.take().is_some());
            self.last_settled = now;
            return;
        }
        let since = match self.candidate {
            Some((same, since)) if same == code => since,
            _ => now,
        };
        self.candidate = Some((code, since));
        if now + 1 - since >= self.hold {
            let from = 0.5 * (self.last_settled as f64 + since as f64);
            self.found.levels.push(Level { code, from });
            self.candidate = None;
            self.last_settled = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::Recorded;

    fn levels(pins: &[u8], hold: u32) -> Levels {
        read(&mut Recorded::of_pins(pins), 0, hold).unwrap()
    }

    #[test]
    fn pins_that_change_one_after_the_other_make_one_edge() {
        // 3 -> 4 through 2 and 6.
        let found = levels(&[3, 3, 3, 3, 2, 6, 4, 4, 4, 4], 3);
        let codes: Vec<u8> = found.levels.iter().map(|level| level.code).collect();
        assert_eq!(codes, [3, 4]);
        assert!((found.levels[1].from - 4.5).abs() < 1e-12);
        assert_eq!(found.glitches, 0);
    }

    #[test]
    fn short_excursions_are_counted_and_forgotten() {
        let found = levels(&[1, 1, 1, 5, 5, 1, 1, 1, 0, 1], 3);
        assert_eq!(found.levels.len(), 1);
        assert_eq!((found.glitches, found.samples), (2, 10));
    }

    #[test]
    fn other_inputs_do_not_matter() {
        let pins = [0b1111_1010, 0b0000_0010, 0b1000_1010, 0b0000_0010];
        let found = read(&mut Recorded::of_pins(&pins), 1, 2).unwrap();
        assert_eq!(found.levels.len(), 1, "{found:?}");
        assert!(
            read(&mut Recorded::of_pins(&[]), 0, 3)
                .unwrap()
                .levels
                .is_empty()
        );
    }
}
