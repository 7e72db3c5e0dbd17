//! Scales from values to bytes, fitted to the training values or read from a table.
//!
//! The fitted scale of a column runs from its least to its greatest training value, or over two standard
//! deviations on either side of the mean where that is narrower: outliers do not use up the steps,
//! and a network learns faster from bytes that use their range. A common scale covers the whole range
//! of all columns, which suits images.

use std::cell::Cell;
use std::fmt::Write as _;
use std::path::Path;

use super::gather::Spool;
use super::options::Scaling;
use super::stretch::Plan;
use super::table::{self, Table};
use super::{ImportError, Place};
use crate::data::fetch::Progress;
use crate::data::own::{Column, Header};

/// Standard deviations on either side of the mean that a fitted scale covers.
const REACH: f64 = 2.0;

/// Returns the columns with their scales.
///
/// # Errors
/// When a table lacks a column, or a file cannot be read.
pub(super) fn fit(
    spool: &Spool,
    names: &[String],
    plan: &Plan,
    scaling: &Scaling,
    progress: &mut dyn Progress,
) -> Result<Vec<Column>, ImportError> {
    if let Scaling::File(path) = scaling {
        return read_scale(path, names);
    }
    let mut spreads = vec![Spread::default(); names.len()];
    let (mut cutter, border) = (plan.cutter(), Cell::new(0));
    spool.each::<ImportError>(
        |stretch| border.set(cutter.next(stretch).border),
        |row, values| {
            if u64::from(row) < border.get() {
                for step in values.chunks_exact(names.len()) {
                    for (spread, &value) in spreads.iter_mut().zip(step) {
                        spread.add(f64::from(value));
                    }
                }
            }
            progress.advance(4 * values.len() as u64);
            Ok(())
        },
    )?;
    let mut ranges: Vec<(f64, f64)> = spreads.iter().map(Spread::range).collect();
    if *scaling == Scaling::Common {
        let least = spreads.iter().map(|it| it.least).fold(f64::MAX, f64::min);
        let most = spreads.iter().map(|it| it.most).fold(f64::MIN, f64::max);
        ranges.fill((least, most));
    }
    let columns = names.iter().zip(ranges);
    Ok(columns.map(|(name, range)| column(name, range)).collect())
}

/// The spread of values; sums are taken relative to the first value so that they stay small.
#[derive(Clone, Copy, Debug, Default)]
struct Spread {
    count: f64,
    first: f64,
    sum: f64,
    squares: f64,
    least: f64,
    most: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        if self.count == 0.0 {
            (self.first, self.least, self.most) = (value, value, value);
        }
        let distance = value - self.first;
        self.count += 1.0;
        self.sum += distance;
        self.squares += distance * distance;
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Returns the first and the last value of the fitted scale.
    fn range(&self) -> (f64, f64) {
        let mean = self.sum / self.count;
        let variance = (self.squares / self.count - mean * mean).max(0.0);
        let (middle, reach) = (self.first + mean, REACH * variance.sqrt());
        (
            self.least.max(middle - reach),
            self.most.min(middle + reach),
        )
    }
}

fn column(name: &str, (least, most): (f64, f64)) -> Column {
    let scale = ((most - least) / 255.0) as f32;
    Column {
        name: name.to_owned(),
        // A constant column becomes byte 0.
        scale: if scale >= f32::MIN_POSITIVE {
            scale
        } else {
            1.0
        },
        offset: least as f32,
    }
}

/// Writes the scales of a set as the table that [`Scaling::File`] reads.
#[must_use]
pub fn write_scale(header: &Header) -> String {
    let mut text = "column,scale,offset\n".to_owned();
    for column in &header.columns {
        let name = column.name.replace('"', "\"\"");
        // Writing to a string does not fail.
        let _ = writeln!(text, "\"{name}\",{:?},{:?}", column.scale, column.offset);
    }
    text
}

fn read_scale(path: &Path, names: &[String]) -> Result<Vec<Column>, ImportError> {
    let file = std::fs::File::open(path).map_err(gleaner_files::at(path))?;
    let mut table = Table::new(path, file, b',');
    let mut columns: Vec<Option<Column>> = vec![None; names.len()];
    let wrong = |line, what: String| ImportError::at(path, Place::Line(line), what);
    let mut first = true;
    while table.next()? {
        let line = table.line();
        let cells: Vec<&[u8]> = table.cells().collect();
        if std::mem::take(&mut first) {
            if cells != [&b"column"[..], b"scale", b"offset"] {
                return Err(wrong(line, "`column,scale,offset` is expected".to_owned()));
            }
            continue;
        }
        let [name, scale, offset] = cells[..] else {
            return Err(wrong(line, format!("{} cells instead of 3", cells.len())));
        };
        let name = String::from_utf8_lossy(name).into_owned();
        let Some(at) = names.iter().position(|known| *known == name) else {
            let some: Vec<&str> = names.iter().take(12).map(String::as_str).collect();
            let what = format!(
                "no column is called `{name}`; there are {}",
                some.join(", ")
            );
            return Err(wrong(line, what));
        };
        let number = |cell: &[u8], what: &str| {
            table::number(cell).map_err(|said| wrong(line, format!("the {what} {said}")))
        };
        let (scale, offset) = (number(scale, "scale")?, number(offset, "offset")?);
        if scale <= 0.0 {
            return Err(wrong(
                line,
                format!("the scale is {scale}: must be above 0"),
            ));
        }
        if columns[at].is_some() {
            return Err(wrong(line, format!("column `{name}` has two scales")));
        }
        columns[at] = Some(Column {
            name,
            scale,
            offset,
        });
    }
    let missing = columns.iter().position(Option::is_none);
    if let Some(at) = missing {
        let what = format!("has no scale for column `{}`", names[at]);
        return Err(ImportError::whole(path, what));
    }
    Ok(columns.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: &[f64]) -> Spread {
        let mut spread = Spread::default();
        values.iter().for_each(|&value| spread.add(value));
        spread
    }

    #[test]
    fn bytes_keep_their_values_and_an_outlier_does_not_widen_the_scale() {
        let bytes: Vec<f64> = (0..256).map(f64::from).collect();
        let even = column("x", of(&bytes).range());
        assert_eq!(
            (even.scale.to_bits(), even.offset.to_bits()),
            (1.0f32.to_bits(), 0)
        );
        let mut values: Vec<f64> = (0..1000).map(|at| f64::from(at % 10)).collect();
        values.push(1e6);
        let range = of(&values).range();
        assert!(range.1 < 1e5 && range.0 == 0.0, "{range:?}");
        let flat = column("t", of(&[1.6e9; 5]).range());
        assert_eq!(
            (flat.scale.to_bits(), flat.offset.to_bits()),
            (1.0f32.to_bits(), 1.6e9f32.to_bits())
        );
    }
}
