//! The share of one core in an epoch, and its memory: samples of the first pass, blocks of pixels
//! of the second.

use core::ops::Range;

use super::evaluate::EpochResult;
use super::forward::Pass;
use super::kernel::{self, ErrorRow};
use super::list::List;
use super::params::Params;
use super::sample::{Samples, lists_of};
use super::softmax::softmax_error;
use crate::lists::{Lists, SEGMENT};

/// How many pixels the second pass gathers at once.
pub(super) const BLOCK: usize = 4;
/// How many error rows are listed for each of four pixels before they are summed.
const ROOM: usize = kernel::LIST_LIMIT / BLOCK;
/// How many samples are gathered between two looks at how full the lists are.
const STRETCH: usize = 32;

/// Working memory of a trainer beside its scratch: about 9 KB for 784-50-10.
#[derive(Clone, Debug)]
pub struct Work<const HID: usize, const OUT: usize> {
    /// Memory of the forward pass, free for [`super::evaluate()`] between epochs.
    pub pass: Pass<HID, OUT>,
    /// Sums of dW1 of a block.
    pub(super) sums: [[i32; HID]; BLOCK],
    /// How many rows were summed for each pixel of the block.
    pub(super) touched: [u32; BLOCK],
    dw2: [[i32; OUT]; HID],
    /// What was folded out of `dw2`, in units of 2^16.
    dw2_folded: [[i32; OUT]; HID],
    pub(super) db1: [i32; HID],
    pub(super) db2: [i32; OUT],
    pub(super) result: EpochResult,
    /// The sum of the largest activations since dW2 was last folded.
    unfolded: u32,
}

impl<const HID: usize, const OUT: usize> Work<HID, OUT> {
    /// Returns cleared memory, ready for a static.
    pub const fn new() -> Self {
        Self {
            pass: Pass::new(),
            sums: [[0; HID]; BLOCK],
            touched: [0; BLOCK],
            dw2: [[0; OUT]; HID],
            dw2_folded: [[0; OUT]; HID],
            db1: [0; HID],
            db2: [0; OUT],
            result: EpochResult::NOTHING,
            unfolded: 0,
        }
    }

    /// Clears the results of the last epoch.
    pub(super) fn begin(&mut self) {
        self.dw2.as_flattened_mut().fill(0);
        self.dw2_folded.as_flattened_mut().fill(0);
        self.db1.fill(0);
        self.db2.fill(0);
        self.result = EpochResult::NOTHING;
        self.unfolded = 0;
    }

    /// First pass of the samples from `first` on, one a row of `errors`; returns how many rows of W1
    /// were summed.
    pub(super) fn learn<const IN: usize>(
        &mut self,
        params: &Params<IN, HID, OUT>,
        samples: &impl Samples<IN>,
        first: usize,
        errors: &mut [ErrorRow<HID>],
    ) -> u32 {
        let lists = lists_of(samples);
        let mut rows = 0;
        for (index, row) in (first..).zip(errors) {
            let list = lists.as_ref().map_or(&[][..], |lists| lists.row(index));
            rows += self.pass.forward(params, samples.pixels(index), list);
            let label = usize::from(samples.label(index));
            let output = &mut self.pass.output[..params.shape().classes];
            self.result.count(softmax_error(output, label));

            // |h d2| is at most h 2^12, so sums of dW2 fit while the activations add up to less
            // than 2^19 - 16 and 16 bits are left of what was folded.
            let largest = self.pass.largest;
            if self.unfolded + largest >= (1 << 19) - 16 {
                self.fold_dw2();
                self.unfolded = 0;
            }
            self.unfolded += largest;
            self.backward(&params.w2, row);
        }
        rows
    }

    /// Leaves 16 bits of every sum of dW2 and adds the rest to `dw2_folded`: 2^16 samples of
    /// 2^27 at most come to 2^27 units there.
    fn fold_dw2(&mut self) {
        let parts = self.dw2.as_flattened_mut().iter_mut();
        for (folded, part) in self.dw2_folded.as_flattened_mut().iter_mut().zip(parts) {
            *folded += *part >> 16;
            *part &= 0xFFFF;
        }
    }

    /// Adds a sample's part of dW2, db2 and db1, and stores its row of hidden errors: dW2_jk = h_j
    /// d2_k, d1_j = \[h_j > 0\] sum_k W2_jk d2_k.
    fn backward(&mut self, w2: &[[i16; OUT]; HID], row: &mut ErrorRow<HID>) {
        let output = &self.pass.output;
        for (sum, &error) in self.db2.iter_mut().zip(output) {
            *sum += error;
        }
        // Errors are in units of 2^-24. The least power of two with which the largest rounds to
        // at most 127 units of 2^-12:
        let units = &mut self.pass.units;
        let largest = kernel::backward(units, output, w2, &mut self.dw2);
        let mut shift = 0;
        while shift < 7 && (largest + (1 << (11 + shift))) >> (12 + shift) > 127 {
            shift += 1;
        }
        if largest < 1 << 11 {
            row.clear();
        } else {
            kernel::round_errors(units, shift, row, &mut self.db1);
        }
    }

    /// Second pass of the pixels from `first` on: sums dW1 of a block. Of `exact` rows or fewer no
    /// sum of any part saturates, so that it does not matter where lists of them are cut. Returns
    /// how many rows of errors were summed.
    pub(super) fn gather<const IN: usize>(
        &mut self,
        samples: &impl Samples<IN>,
        first: usize,
        errors: &[ErrorRow<HID>],
        exact: usize,
    ) -> u32 {
        let pixels = first..IN.min(first + BLOCK);
        match lists_of(samples) {
            Some(lists)
                if samples.len() == errors.len()
                    && pixels.clone().all(|pixel| lists.count(pixel) <= exact) =>
            {
                self.gather_listed(&lists, pixels, errors)
            }
            _ => self.search(samples, first, errors),
        }
    }

    /// Sums dW1 of a block from the columns of its pixels.
    fn gather_listed(
        &mut self,
        lists: &Lists<'_>,
        pixels: Range<usize>,
        errors: &[ErrorRow<HID>],
    ) -> u32 {
        let entries = &mut self.pass.entries;
        self.touched = [0; BLOCK];
        let lanes = self.sums.iter_mut().zip(&mut self.touched);
        for (pixel, (sums, touched)) in pixels.zip(lanes) {
            sums.fill(0);
            let mut length = 0;
            for (segment, column) in lists.columns(pixel).enumerate() {
                if length + column.len() > entries.len() {
                    kernel::sum_errors(errors, &entries[..length], sums);
                    *touched += length as u32;
                    length = 0;
                }
                length = kernel::list_column(column, errors, segment * SEGMENT, entries, length);
            }
            kernel::sum_errors(errors, &entries[..length], sums);
            *touched += length as u32;
        }
        self.touched.iter().sum()
    }

    /// Sums dW1 of a block by searching the samples.
    fn search<const IN: usize>(
        &mut self,
        samples: &impl Samples<IN>,
        first: usize,
        errors: &[ErrorRow<HID>],
    ) -> u32 {
        let Self {
            pass,
            sums,
            touched,
            ..
        } = self;
        let ([a, b, c, d], []) = pass.entries.as_chunks_mut::<ROOM>() else {
            unreachable!("four lists")
        };
        let lists = &mut [a, b, c, d].map(List::new);
        sums.as_flattened_mut().fill(0);
        *touched = [0; BLOCK];
        let mut sum = |lane: usize, list: &mut List<'_, ROOM>| {
            kernel::sum_errors(errors, list.entries(), &mut sums[lane]);
            touched[lane] += list.entries().len() as u32;
            list.clear();
        };
        let count = errors.len();
        let block = samples.block().and_then(|block| block.get(..count));
        let mut next = 0;
        while next < count {
            for (lane, list) in lists.iter_mut().enumerate() {
                if list.lacks_room(STRETCH) {
                    sum(lane, list);
                }
            }
            if let Some(images) = block {
                next = kernel::list_block::<_, _, _, STRETCH>(images, first, errors, next, lists);
            } else {
                let end = count.min(next + STRETCH);
                for (index, row) in errors.iter().enumerate().take(end).skip(next) {
                    kernel::list_errors(samples.pixels(index), first, row, index, lists);
                }
                next = end;
            }
        }
        for (lane, list) in lists.iter_mut().enumerate() {
            sum(lane, list);
        }
        touched.iter().sum()
    }

    /// Returns the gradient of the weight from a unit to a class.
    pub(super) fn dw2(&self, unit: usize, class: usize) -> i64 {
        (i64::from(self.dw2_folded[unit][class]) << 16) + i64::from(self.dw2[unit][class])
    }
}

/// Returns how many of these rows, scaled by pixels, can be summed without leaving 32 bits.
pub(super) fn exact_rows<const HID: usize>(errors: &[ErrorRow<HID>]) -> usize {
    let most = errors.iter().map(|row| row.shift.most()).max();
    (i32::MAX as u32 / (255 * most.unwrap_or(0).max(1))) as usize
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Shift;
    use super::*;

    struct White<'a>(Option<Lists<'a>>);

    impl Samples<4> for White<'_> {
        fn len(&self) -> usize {
            1200
        }

        fn pixels(&self, _index: usize) -> &[u8; 4] {
            &[255; 4]
        }

        fn label(&self, _index: usize) -> u8 {
            0
        }

        fn lists(&self) -> Option<Lists<'_>> {
            self.0
        }
    }

    #[test]
    fn sums_that_leave_their_range_are_cut_as_without_lists() {
        let pixels = [[255; 4]; 1200];
        let mut bytes = Vec::new();
        crate::lists::write(pixels.as_flattened(), 4, |part| {
            bytes.extend_from_slice(part);
        });
        let lists = Lists::open(&bytes, pixels.len(), 4);
        assert!(lists.is_some());
        // The largest errors there are, of one sign and then of the other: sums leave 32 bits after
        // 518 of them and come back.
        let mut words = vec![0; super::super::scratch_words::<3>(1200)];
        let errors = super::super::scratch::error_rows::<3>(&mut words);
        for (index, row) in errors.iter_mut().enumerate() {
            row.clear();
            row.set(1, if index < 768 { 127 } else { -127 });
            row.shift = Shift::new(7);
        }
        let exact = exact_rows(errors);
        assert_eq!(exact, 518);
        let gather = |samples: &White<'_>, exact| {
            let mut work = Work::<3, 2>::new();
            work.gather(samples, 0, errors, exact);
            work.sums
        };
        let searched = gather(&White(None), exact);
        assert_eq!(searched[0][1], i32::MAX - 432 * 255 * 127 * 128);
        assert_eq!(gather(&White(lists), exact), searched);
        // A sum that is not cut there would differ.
        assert_ne!(gather(&White(lists), usize::MAX), searched);
    }
}
