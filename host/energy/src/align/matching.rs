//! Levels of the pins against the phases of the marks, one to one.

use gleaner_shared::energy::Phase;

use super::clock::Clock;
use super::edges::Levels;
use super::{AlignError, board_s};
use crate::mark::Mark;

/// A level as the marks tell it: marks of one phase in a row share one.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Told {
    /// The first of its marks, by its place.
    mark: usize,
    phase: Phase,
    from_s: f64,
}

/// A mark that begins where a level does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    /// The mark, by its place.
    pub(super) mark: usize,
    /// When the board says it began.
    pub(super) board_s: f64,
    /// When the pins changed.
    pub(super) trace_s: f64,
}

/// Pairs every level with its mark; the pins may show one level more before the first mark and
/// one after the last.
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

/// Returns how many levels agree in a row, the first mark's being level `begin`.
fn agreement(told: &[Told], seen: &Levels, begin: usize) -> usize {
    let seen = seen.levels.get(begin..).unwrap_or_default();
    (told.iter().zip(seen))
        .take_while(|(told, seen)| told.phase.code() == seen.code)
        .count()
}

/// The trace's first level began before it, so it has no edge.
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

/// Says where marks and pins part, counted from whichever beginning agrees longer.
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
            "the pins change no more until the trace ends at {:.6} s",
            seen.samples as f64 / rate_hz
        ),
    };
    let marked = match told.get(agreed) {
        Some(level) => {
            let mark = &marks[level.mark];
            format!(
                "mark {} says {} at {} us",
                mark.seq,
                mark.phase.name(),
                mark.t_us
            )
        }
        None => "there is no mark any more".to_owned(),
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

/// A phase the pins cannot show is the likeliest reason near it.
fn too_short(marks: &[Mark], told: &[Told], agreed: usize, rate_hz: f64, hold: u32) -> String {
    let near = told.get(agreed.saturating_sub(1)..).unwrap_or_default();
    let short = near
        .windows(2)
        .take(2)
        .find(|pair| (pair[1].from_s - pair[0].from_s) * rate_hz < f64::from(hold));
    short.map_or_else(String::new, |pair| {
        format!(
            "; mark {} lasts less than {hold} samples and cannot be seen",
            marks[pair[0].mark].seq
        )
    })
}
