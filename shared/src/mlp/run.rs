//! Collects the sparse list of a row sum and sums it whenever it could no longer stay exact.

use super::kernel::{self, Entry, ErrorRow, SCALE_LIMIT};

/// A list of at most `ROOM` scaled rows, `ROOM` being no more than 256.
#[derive(Clone, Debug)]
pub(super) struct Run<const ROOM: usize> {
    entries: [Entry; ROOM],
    length: usize,
    scales: u32,
}

impl<const ROOM: usize> Run<ROOM> {
    pub(super) const EMPTY: Self = Self {
        entries: [Entry { scale: 0, at: 0 }; ROOM],
        length: 0,
        scales: 0,
    };

    /// Adds `scale` times row `index` to `sums`, now or at the next [`Run::finish_rows`].
    #[inline]
    pub(super) fn add_row<const W: usize>(
        &mut self,
        rows: &[[i16; W]],
        index: usize,
        scale: u32,
        sums: &mut [i32; W],
    ) {
        if self.length == ROOM || self.scales + scale > SCALE_LIMIT {
            self.finish_rows(rows, sums);
        }
        self.push(scale, kernel::locate(rows, index));
        self.scales += scale;
    }

    /// Adds what is still listed to `sums`.
    #[inline]
    pub(super) fn finish_rows<const W: usize>(&mut self, rows: &[[i16; W]], sums: &mut [i32; W]) {
        kernel::sum_rows(rows, &self.entries[..self.length], sums);
        self.length = 0;
        self.scales = 0;
    }

    /// Adds `pixel` times error row `index` to `sums`, now or at the next
    /// [`Run::finish_errors`].
    #[inline]
    pub(super) fn add_error<const HID: usize>(
        &mut self,
        rows: &[ErrorRow<HID>],
        index: usize,
        pixel: u32,
        sums: &mut [i32; HID],
    ) {
        if self.length == ROOM {
            self.finish_errors(rows, sums);
        }
        self.push(rows[index].scale(pixel), kernel::locate(rows, index));
    }

    /// Adds what is still listed to `sums`.
    #[inline]
    pub(super) fn finish_errors<const HID: usize>(
        &mut self,
        rows: &[ErrorRow<HID>],
        sums: &mut [i32; HID],
    ) {
        kernel::sum_errors(rows, &self.entries[..self.length], sums);
        self.length = 0;
    }

    #[inline(always)]
    fn push(&mut self, scale: u32, at: u32) {
        self.entries[self.length] = Entry { scale, at };
        self.length += 1;
    }
}
