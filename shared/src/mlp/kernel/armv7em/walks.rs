//! What the row sums of a Cortex-M4 share: they walk over the list for eight columns at a time, then
//! for two, and add what the walks find.
#![allow(unsafe_code)]

use super::super::{Entry, common};

/// A walk that sums eight columns of the rows in a list; where the list ends is said by an `E`.
pub(super) type Eight<E> = unsafe extern "C" fn(*const Entry, E, &mut [i32; 8]);
/// A walk that sums two columns from a byte on.
type Two<E> = unsafe extern "C" fn(*const Entry, E, &mut [i32; 2], u32);

/// Adds to `out`, which saturates, what walks over a list find in rows with `bytes` bytes a column.
///
/// # Safety
/// The list must be one the walks take: not empty, every entry with the address of a row that has
/// `bytes` bytes for every column and, if W is odd, for one more.
#[inline(always)]
pub(super) unsafe fn add_walks<const W: usize, E: Copy>(
    eights: [Eight<E>; 16],
    two: Two<E>,
    bytes: u32,
    list: *const Entry,
    end: E,
    out: &mut [i32; W],
) {
    const { assert!(W <= 128, "a Cortex-M4 trains up to 128 hidden units") };
    let (whole, rest) = out.as_chunks_mut::<8>();
    let mut sums = [0; 8];
    let mut at = bytes * 8 * whole.len() as u32;
    for (walk, out) in eights.into_iter().zip(whole) {
        // SAFETY: each of `whole` stands for eight columns of a row.
        unsafe { walk(list, end, &mut sums) };
        common::add(out, &sums);
    }
    let mut sums = [0; 2];
    for out in rest.chunks_mut(2) {
        // SAFETY: two columns from `at` on lie within a row.
        unsafe { two(list, end, &mut sums, at) };
        common::add(out, &sums);
        at += 2 * bytes;
    }
}
