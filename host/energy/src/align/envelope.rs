//! A trace of any length in as many columns as a page is wide: the least and the most of each.

use std::ops::Range;

use crate::trace::{Block, Trace};

/// What a column of a drawing covers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Column {
    /// Where it begins in the trace.
    pub from_s: f64,
    /// Where it ends.
    pub to_s: f64,
    /// The least power in it.
    pub least_w: f32,
    /// The most.
    pub most_w: f32,
}

/// A part of a trace that is being drawn.
struct Window {
    first: u64,
    /// Samples of a column.
    width: f64,
    columns: Vec<Column>,
}

/// Reads a trace once and returns every window of it, in seconds, as so many columns; a column
/// that no sample falls into is left out.
///
/// # Errors
/// What is wrong with the trace.
pub fn envelopes<T: Trace>(
    trace: &mut T,
    windows: &[Range<f64>],
    columns: usize,
) -> Result<Vec<Vec<Column>>, T::Error> {
    let rate_hz = trace.about().rate_hz;
    let mut windows: Vec<Window> = (windows.iter())
        .map(|range| Window::new(range, rate_hz, columns))
        .collect();
    let mut block = Block::default();
    let mut at = 0;
    while trace.read(&mut block)? {
        for window in &mut windows {
            window.add(at, &block.power_w);
        }
        at += block.power_w.len() as u64;
    }
    Ok((windows.into_iter())
        .map(|window| {
            let seen = window.columns.into_iter();
            seen.filter(|column| column.least_w <= column.most_w)
                .collect()
        })
        .collect())
}

impl Window {
    fn new(range: &Range<f64>, rate_hz: f64, columns: usize) -> Self {
        let first = (range.start.max(0.0) * rate_hz) as u64;
        let count = ((range.end - range.start) * rate_hz).max(1.0);
        let width = (count / columns.max(1) as f64).max(1.0);
        let at_s = |column: usize| (first as f64 + column as f64 * width) / rate_hz;
        let columns = (0..(count / width).ceil() as usize)
            .map(|column| Column {
                from_s: at_s(column),
                to_s: at_s(column + 1),
                least_w: f32::INFINITY,
                most_w: f32::NEG_INFINITY,
            })
            .collect();
        Self {
            first,
            width,
            columns,
        }
    }

    /// Takes the samples from `at` on.
    fn add(&mut self, at: u64, samples: &[f32]) {
        for (column, drawn) in self.columns.iter_mut().enumerate() {
            let edge = |column: usize| self.first + (column as f64 * self.width) as u64;
            let place = |sample: u64| {
                usize::try_from(sample.saturating_sub(at))
                    .map_or(samples.len(), |it| it.min(samples.len()))
            };
            for &power_w in &samples[place(edge(column))..place(edge(column + 1))] {
                drawn.least_w = drawn.least_w.min(power_w);
                drawn.most_w = drawn.most_w.max(power_w);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::align::synthetic::Recorded;

    #[test]
    fn no_spike_is_lost_and_nothing_is_drawn_beyond_the_end() {
        let mut power_w = vec![1.0; 10_000];
        power_w[4_321] = 9.0;
        let mut trace = Recorded::new(1_000.0, power_w, Vec::new());
        let found = envelopes(&mut trace, &[0.0..20.0, 4.0..4.5], 50).unwrap();
        assert_eq!(found[0].len(), 25);
        for columns in &found {
            let most = columns
                .iter()
                .map(|column| column.most_w)
                .fold(0.0, f32::max);
            assert!((most - 9.0).abs() < 1e-6);
            let spikes = columns.iter().filter(|column| column.most_w > 1.0).count();
            assert_eq!(spikes, 1);
        }
        assert!((found[1][0].from_s - 4.0).abs() < 1e-9);
    }
}
