//! Compares lists with the samples they were made of.

use core::ops::Range;

use super::{Lists, SEGMENT, number, write};

impl Lists<'_> {
    /// Says whether the lists are those of these samples.
    pub(super) fn agree(&self, pixels: &[u8]) -> bool {
        self.rows_agree(pixels) && self.columns_agree(pixels)
    }

    fn rows_agree(&self, pixels: &[u8]) -> bool {
        let mut samples = pixels.chunks_exact(self.inputs);
        ranges(self.row_starts).all(|range| {
            let (row, sample) = (self.rows.get(range), samples.next());
            row.zip(sample)
                .is_some_and(|(row, sample)| write::row(sample).eq(row.iter().copied()))
        })
    }

    /// Each pixel that is listed is not zero and listed once, and there are as many as are not zero.
    fn columns_agree(&self, pixels: &[u8]) -> bool {
        let lit = pixels.iter().filter(|&&x| x != 0).count();
        let mut columns = ranges(self.column_starts);
        self.columns.len() == lit
            && (0..self.inputs).all(|pixel| {
                let mut segments = pixels.chunks(self.inputs * SEGMENT);
                segments.all(|segment| {
                    let column = columns.next().and_then(|range| self.columns.get(range));
                    column.is_some_and(|column| self.column_agrees(column, segment, pixel))
                })
            })
    }

    fn column_agrees(&self, column: &[[u8; 2]], segment: &[u8], pixel: usize) -> bool {
        let mut next = 0;
        column.iter().all(|&[at, x]| {
            let at = usize::from(at);
            let ascends = at >= next;
            next = at + 1;
            ascends && x != 0 && segment.get(at * self.inputs + pixel) == Some(&x)
        })
    }
}

/// Returns from where to where each list reaches.
fn ranges(starts: &[[u8; 4]]) -> impl Iterator<Item = Range<usize>> {
    let ends = starts.iter().skip(1);
    starts
        .iter()
        .zip(ends)
        .map(|(from, to)| number(from)..number(to))
}
