//! Alignment by pins: debounced levels of the three pins, matched one to one with the marks.

use gleaner_shared::energy::Phase;

use super::clock::Clock;
use super::{AlignError, board_s};
use crate::mark::Mark;
use crate::trace::{Block, Trace};

/// A level of the three pins.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Level {
    pub code: u8,
    /// Start in samples from the start of the trace: halfway between the last sample of the
    /// previous level and the first of this one.
    pub from: f64,
}

/// The levels of a trace's pins in order; the first starts at sample 0.
#[derive(Clone, Debug, Default, PartialEq)]
#[allow(missing_docs)]
pub struct Levels {
    pub levels: Vec<Level>,
    pub samples: u64,
    /// Number of excursions that were too short for a level.
    pub glitches: u64,
}

/// Reads a trace to its end and returns the levels of pins `shift`, `shift + 1` and `shift + 2`.
///
/// A code counts as a level once it has stayed for `hold` samples: the pins of a board do not
/// change at the same instant, and lines ring.
pub(super) fn read<T: Trace>(trace: &mut T, shift: u32, hold: u32) -> Result<Levels, T::Error> {
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
    /// A code that differs from the level, and its first consecutive sample.
    candidate: Option<(u8, u64)>,
    /// The last sample at the level.
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

/// A level that the marks imply. Consecutive marks of one phase share a level.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    /// Index of the first mark.
    mark: usize,
    phase: Phase,
    from_s: f64,
}

/// A mark and the start of its level, on the board's clock and in the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) mark: usize,
    pub(super) board_s: f64,
    pub(super) trace_s: f64,
}

/// Pairs every level with its mark. The pins may show one more level before the first mark and one
/// after the last.
pub(super) fn pair(
    marks: &[Mark],
    seen: &Levels,
    rate_hz: f64,
    hold: u32,
) -> Result<Vec<Pair>, AlignError> {
    let told = told(marks);
    let spare = seen.levels.len().checked_sub(told.len());
    let begins: &[usize] = match spare {
        Some(0) => &[0],
        Some(1) => &[0, 1],
        Some(2) => &[1],
        _ => &[],
    };
    let best = begins
        .iter()
        .filter(|&&begin| agreement(&told, seen, begin) == told.len())
        .map(|&begin| pairs(&told, seen, begin, rate_hz))
        .min_by(|a, b| worst_miss(a).total_cmp(&worst_miss(b)));
    best.ok_or_else(|| mismatch(marks, &told, seen, rate_hz, hold))
}

fn told(marks: &[Mark]) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::new();
    for (at, mark) in marks.iter().enumerate() {
        if told.last().is_none_or(|level| level.phase != mark.phase) {
            told.push(Told {
                mark: at,
                phase: mark.phase,
                from_s: board_s(mark),
            });
        }
    }
    told
}

/// Returns the number of levels that agree from the start if level `begin` is that of the first mark.
fn agreement(told: &[Told], seen: &Levels, begin: usize) -> usize {
    let seen = seen.levels.get(begin..).unwrap_or_default();
    (told.iter().zip(seen))
        .take_while(|(told, seen)| told.phase.code() == seen.code)
        .count()
}

/// Pairs levels with marks. The first level of a trace began before it and has no edge.
fn pairs(told: &[Told], seen: &Levels, begin: usize, rate_hz: f64) -> Vec<Pair> {
    (told.iter().zip(&seen.levels[begin..]))
        .filter(|(_, seen)| seen.from > 0.0)
        .map(|(told, seen)| Pair {
            mark: told.mark,
            board_s: told.from_s,
            trace_s: seen.from / rate_hz,
        })
        .collect()
}

fn worst_miss(pairs: &[Pair]) -> f64 {
    let times: Vec<(f64, f64)> = pairs.iter().map(|p| (p.board_s, p.trace_s)).collect();
    Clock::through(&times, 0.0).map_or(f64::INFINITY, |clock| {
        let misses = times.iter().map(|t| (t.1 - clock.to_trace(t.0)).abs());
        misses.fold(0.0, f64::max)
    })
}

/// Returns the first difference between marks and pins, from the start that agrees longer.
fn mismatch(marks: &[Mark], told: &[Told], seen: &Levels, rate_hz: f64, hold: u32) -> AlignError {
    let begin = usize::from(agreement(told, seen, 1) > agreement(told, seen, 0));
    let agreed = agreement(told, seen, begin);
    let here = seen.levels.get(begin + agreed);
    let pins = match here {
        Some(level) => format!(
            "the pins show {} from {:.6} s",
            Phase::from_code(level.code).map_or("an unknown code", Phase::name),
            level.from / rate_hz
        ),
        None => format!(
            "the pins do not change until the trace ends at {:.6} s",
            seen.samples as f64 / rate_hz
        ),
    };
    let marked = match told.get(agreed) {
        Some(level) => {
            let mark = &marks[level.mark];
            format!(
                "mark {} is {} at {} us",
                mark.seq,
                mark.phase.name(),
                mark.t_us
            )
        }
        None => "there are no more marks".to_owned(),
    };
    AlignError::CountsDiffer {
        levels: seen.levels.len(),
        told: told.len(),
        agreed,
        place: format!(
            "{marked}, {pins}{}",
            too_short(marks, told, agreed, rate_hz, hold)
        ),
    }
}

/// Returns a hint if a phase near the difference is too short to be seen on the pins.
fn too_short(marks: &[Mark], told: &[Told], agreed: usize, rate_hz: f64, hold: u32) -> String {
    let near = told.get(agreed.saturating_sub(1)..).unwrap_or_default();
    let short = near
        .windows(2)
        .take(2)
        .find(|pair| (pair[1].from_s - pair[0].from_s) * rate_hz < f64::from(hold));
    short.map_or_else(String::new, |pair| {
        format!(
            "; mark {} is shorter than {hold} samples and cannot be seen",
            marks[pair[0].mark].seq
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::Recorded;

    fn levels(pins: &[u8], hold: u32) -> Levels {
        read(&mut Recorded::of_pins(pins), 0, hold).unwrap()
    }

    #[test]
    fn pins_that_change_in_sequence_make_one_edge() {
        // 3 -> 4 through 2 and 6.
        let found = levels(&[3, 3, 3, 3, 2, 6, 4, 4, 4, 4], 3);
        let codes: Vec<u8> = found.levels.iter().map(|level| level.code).collect();
        assert_eq!(codes, [3, 4]);
        assert!((found.levels[1].from - 4.5).abs() < 1e-12);
        assert_eq!(found.glitches, 0);
    }

    #[test]
    fn short_excursions_are_counted_and_ignored() {
        let found = levels(&[1, 1, 1, 5, 5, 1, 1, 1, 0, 1], 3);
        assert_eq!(found.levels.len(), 1);
        assert_eq!((found.glitches, found.samples), (2, 10));
    }

    #[test]
    fn other_inputs_are_ignored() {
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
