//! Minimum and maximum of a trace in a fixed number of columns, for drawings.

use std::ops::Range;

use crate::trace::{Block, Trace};

/// One column of a drawing: its interval in the trace and its range of power.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Column {
    pub from_s: f64,
    pub to_s: f64,
    pub min_w: f32,
    pub max_w: f32,
}

struct Window {
    first: u64,
    width: f64,
    columns: Vec<Column>,
}

/// Reads a trace once and returns the columns of every window, given in seconds. Columns without
/// samples are left out.
///
/// # Errors
/// Returns the error of the trace.
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
            seen.filter(|column| column.min_w <= column.max_w).collect()
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
                min_w: f32::INFINITY,
                max_w: f32::NEG_INFINITY,
            })
            .collect();
        Self {
            first,
            width,
            columns,
        }
    }

    /// Adds the samples that start at index `at`.
    fn add(&mut self, at: u64, samples: &[f32]) {
        for (column, drawn) in self.columns.iter_mut().enumerate() {
            let edge = |column: usize| self.first + (column as f64 * self.width) as u64;
            let place = |sample: u64| {
                usize::try_from(sample.saturating_sub(at))
                    .map_or(samples.len(), |it| it.min(samples.len()))
            };
            for &power_w in &samples[place(edge(column))..place(edge(column + 1))] {
                drawn.min_w = drawn.min_w.min(power_w);
                drawn.max_w = drawn.max_w.max(power_w);
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
                .map(|column| column.max_w)
                .fold(0.0, f32::max);
            assert!((most - 9.0).abs() < 1e-6);
            let spikes = columns.iter().filter(|column| column.max_w > 1.0).count();
            assert_eq!(spikes, 1);
        }
        assert!((found[1][0].from_s - 4.0).abs() < 1e-9);
    }
}
