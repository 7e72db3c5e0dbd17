//! Windows: rows become bytes, and as many of them as a window has become a sample.

use std::cell::Cell;

use super::ImportError;
use super::gather::Spool;
use super::options::Options;
use super::stretch::{Cut, Plan};
use crate::data::fetch::Progress;
use crate::data::own::{Header, Record, Writer};

/// Rows kept beyond a window before the first ones are dropped, so that dropping is rare.
const KEPT: usize = 64;

/// Writes every sample; returns how many values lie beyond the scale.
///
/// # Errors
/// Whatever the system refuses.
pub(super) fn write(
    spool: &Spool,
    header: &Header,
    plan: &Plan,
    options: &Options,
    writer: &mut Writer,
    progress: &mut dyn Progress,
) -> Result<u64, ImportError> {
    let scales: Vec<(f32, f32)> = header
        .columns
        .iter()
        .map(|column| (column.offset, column.scale.recip()))
        .collect();
    let window = options.window;
    let mut cutter = plan.cutter();
    let current: Cell<Option<Cut>> = Cell::new(None);
    let mut bytes: Vec<u8> = Vec::new();
    let mut clipped = 0;
    spool.each::<ImportError>(
        |stretch| current.set(Some(cutter.next(stretch))),
        |row, values| {
            progress.advance(4 * values.len() as u64);
            let Some(cut) = current.get() else {
                return Ok(());
            };
            if row == 0 || bytes.len() >= (window + KEPT) * values.len() {
                let keep = if row == 0 {
                    0
                } else {
                    (window - 1) * values.len()
                };
                bytes.drain(..bytes.len() - keep);
            }
            for step in values.chunks_exact(scales.len()) {
                for (&value, &(offset, steps)) in step.iter().zip(&scales) {
                    let level = (value - offset) * steps;
                    clipped += u64::from(!(-0.5..255.5).contains(&level));
                    // The cast ends at 0 and 255.
                    bytes.push((level + 0.5) as u8);
                }
            }
            let Some(first) = (row + 1).checked_sub(window as u32) else {
                return Ok(());
            };
            let Some(number) = plan.starts_at(first) else {
                return Ok(());
            };
            let test = number >= cut.windows - cut.test;
            if !test && number >= cut.train {
                return Ok(());
            }
            Ok(writer.record(&Record {
                features: &bytes[bytes.len() - window * values.len()..],
                label: cut.label,
                test,
                owner: cut.client,
            })?)
        },
    )?;
    Ok(clipped)
}
