//! The walk over samples that lists error rows under the pixels of a block.
#![allow(unsafe_code)]

#[cfg(not(target_has_atomic = "32"))]
use core::arch::naked_asm;

use super::super::super::list::List;
use super::super::chosen::ErrorRow;
#[cfg(target_has_atomic = "32")]
use super::super::chosen::walk_samples;
use super::super::{Entry, common};

/// Lists rows of errors, from the `start`th on, under each of the pixels `first..first + 4` that is
/// not zero in their image: a stretch of rows, for which every list must have room, and more as
/// long as there is room for a whole stretch. Returns the row to go on with.
pub(crate) fn list_block<
    const IN: usize,
    const HID: usize,
    const ROOM: usize,
    const STRETCH: usize,
>(
    images: &[[u8; IN]],
    first: usize,
    rows: &[ErrorRow<HID>],
    start: usize,
    lists: &mut [List<'_, ROOM>; 4],
) -> usize {
    let count = images.len().min(rows.len());
    let aligned = IN.is_multiple_of(4) && images.as_ptr().addr().is_multiple_of(4);
    if !aligned || first + 4 > IN {
        return common::list_block::<_, _, _, STRETCH>(images, first, rows, start, lists);
    }
    let begun = lists.each_mut().map(List::next);
    // Past these a list is full.
    let ends = lists.each_ref().map(|list| list.last(0));
    let image = images.as_ptr().wrapping_add(start).cast::<u8>();
    let mut stretch = Stretch {
        row: rows.as_ptr().wrapping_add(start).cast(),
        lists: begun,
        word: image.wrapping_add(first).cast(),
        image_bytes: IN as u32,
        row_bytes: size_of::<ErrorRow<HID>>() as u32,
        end: core::ptr::null(),
        shift_at: core::mem::offset_of!(ErrorRow<HID>, shift) as u32,
        skipped: 0,
    };
    let mut next = start;
    while next < count {
        // As many whole stretches as every list has room for: no list would lack room for a
        // stretch between two of them, so lists are cut where single stretches would cut them.
        let room = |lane: usize| ends[lane].addr() - stretch.lists[lane].addr();
        let least = (room(0).min(room(1))).min(room(2).min(room(3))) / size_of::<Entry>();
        if least < STRETCH {
            break;
        }
        let samples = (count - next).min(least / STRETCH * STRETCH);
        next += samples;
        stretch.end = rows.as_ptr().wrapping_add(next).cast();
        stretch.skipped = samples.wrapping_neg() as u32 & 3;
        // SAFETY: the images and rows up to `next` exist, the words are aligned because the
        // images are and their size is a multiple of four, and every list has room for that many.
        unsafe { walk_samples(&mut stretch) };
    }
    for (lane, list) in lists.iter_mut().enumerate() {
        let more = (stretch.lists[lane].addr() - begun[lane].addr()) / size_of::<Entry>();
        list.extend(|_, length| length + more);
    }
    next
}

/// A stretch of samples to walk over.
#[repr(C)]
pub(crate) struct Stretch {
    row: *const u8,
    lists: [*mut Entry; 4],
    word: *const u32,
    image_bytes: u32,
    row_bytes: u32,
    end: *const u8,
    shift_at: u32,
    /// How many of the first four samples of a turn the first turn leaves out.
    skipped: u32,
}

/// Lists the live rows of samples under each of four pixels that is not zero. A word of zeros
/// takes 7 cycles, any other about 43.
///
/// # Safety
/// `row` must be below `end` and every row have a word of pixels; all words are aligned, and
/// every list has room for as many entries as there are rows.
#[cfg(not(target_has_atomic = "32"))]
#[unsafe(naked)]
unsafe extern "C" fn walk_samples(stretch: &mut Stretch) {
    // 10 bytes: leaves for `$found` if the word is not zero, comes back to `$next`.
    macro_rules! look {
        ($found:literal, $next:literal) => {
            concat!(
                "ldr r6, [r7]\n",
                "add r7, r9\n",
                "cmp r6, #0\n",
                "bne ",
                $found,
                "f\n",
                $next,
                ":\n",
                "add r1, r10\n",
            )
        };
    }
    macro_rules! found {
        ($found:literal, $next:literal) => {
            concat!(
                $found,
                ":\n",
                "mov r8, r7\n",
                "mov r7, r12\n",
                "ldrb r7, [r1, r7]\n",
                "cmp r7, #255\n",
                "beq 6f\n",
                "lsls r0, r6, #24\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r2!, {{r0, r1}}\n",
                "5:\n",
                "lsls r0, r6, #16\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r3!, {{r0, r1}}\n",
                "5:\n",
                "lsls r0, r6, #8\n",
                "lsrs r0, r0, #24\n",
                "beq 5f\n",
                "lsls r0, r7\n",
                "stm r4!, {{r0, r1}}\n",
                "5:\n",
                "lsrs r0, r6, #24\n",
                "beq 6f\n",
                "lsls r0, r7\n",
                "stm r5!, {{r0, r1}}\n",
                "6:\n",
                "mov r7, r8\n",
                "b ",
                $next,
                "b\n",
            )
        };
    }
    naked_asm!(
        "push {{r0, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "mov r5, r9",
        "mov r6, r10",
        "mov r7, r11",
        "push {{r4, r5, r6, r7}}",
        "movs r1, r0",
        "adds r1, #24",
        "ldm r1!, {{r3, r4, r5, r6, r7}}",
        "mov r9, r3",
        "mov r10, r4",
        "mov r11, r5",
        "mov r12, r6",
        "movs r6, #10",
        "muls r6, r7, r6",
        "mov r8, r6",
        "movs r7, r0",
        "ldm r7!, {{r1, r2, r3, r4, r5}}",
        "ldr r7, [r7]",
        "add pc, r8",
        "nop",
        "2:",
        look!("40", "30"),
        look!("41", "31"),
        look!("42", "32"),
        look!("43", "33"),
        "cmp r1, r11",
        "bne 2b",
        "ldr r0, [sp, #16]",
        "stm r0!, {{r1, r2, r3, r4, r5}}",
        "str r7, [r0]",
        "pop {{r4, r5, r6, r7}}",
        "mov r8, r4",
        "mov r9, r5",
        "mov r10, r6",
        "mov r11, r7",
        "pop {{r0, r4, r5, r6, r7, pc}}",
        found!("40", "30"),
        found!("41", "31"),
        found!("42", "32"),
        found!("43", "33"),
    )
}
