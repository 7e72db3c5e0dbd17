//! Validates lists before they are used.

use core::ops::Range;

use super::{CRC32, Lists, MOST_LISTED, MOST_WORDS, SEGMENT, number};

impl Lists<'_> {
    /// Returns whether every list stays within the samples and pixels, and the checksum fits. Each
    /// list is summed and checked in one pass, while a cache may hold it.
    pub(super) fn are_sound(&self, checksum: u32) -> bool {
        let mut digest = CRC32.digest();
        digest.update(self.row_starts.as_flattened());
        let rows = ranges(self.row_starts).all(|range| {
            self.rows.get(range).is_some_and(|row| {
                digest.update(row.as_flattened());
                row.len() <= MOST_WORDS && row_is_sound(row, self.inputs)
            })
        });
        digest.update(self.column_starts.as_flattened());
        let segments = (0..self.samples).step_by(SEGMENT);
        let columns = ranges(self.column_starts)
            .zip(segments.cycle())
            .all(|(range, first)| {
                self.columns.get(range).is_some_and(|column| {
                    digest.update(column.as_flattened());
                    column_is_sound(column, self.samples - first)
                })
            });
        digest.update(self.padding.as_flattened());
        rows && columns && digest.finalize() == checksum
    }
}

/// Returns whether a sample's list refers only to its pixels, and has not too many.
fn row_is_sound(row: &[[u8; 4]], inputs: usize) -> bool {
    let (mut pair, mut lit) = (0, 0);
    row.iter().all(|&[gap, first, _, second]| {
        pair += usize::from(gap);
        lit += usize::from(first != 0) + usize::from(second != 0);
        2 * pair + usize::from(second != 0) < inputs
    }) && lit <= MOST_LISTED
}

/// Returns whether a column's places ascend and are below `samples`.
fn column_is_sound(column: &[[u8; 2]], samples: usize) -> bool {
    let mut next = 0;
    column.iter().all(|&[at, _]| {
        let at = usize::from(at);
        let ascends = at >= next;
        next = at + 1;
        ascends
    }) && next <= samples
}

/// Returns the range of each list.
fn ranges(starts: &[[u8; 4]]) -> impl Iterator<Item = Range<usize>> {
    let ends = starts.iter().skip(1);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| number(from)..number(to))
}
