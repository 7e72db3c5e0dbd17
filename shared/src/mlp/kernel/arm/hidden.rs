//! The activations of the hidden units, in instructions every Cortex-M has.
#![allow(unsafe_code)]

use core::arch::naked_asm;

use super::super::super::forward::SUM_MAX;
use super::super::Entry;
use super::super::common::{self, Activity};
use super::locate;

/// Turns hidden sums into activations and lists the live units with their rows of W2, as many as
/// the list has room for.
pub(crate) fn activate<const HID: usize, const OUT: usize>(
    units: &mut [i32; HID],
    w2: &[[i16; OUT]; HID],
    entries: &mut [Entry; 256],
) -> Activity {
    if HID == 0 || HID > entries.len() {
        return common::activate(units, w2, entries);
    }
    let first = entries.as_mut_ptr();
    let mut layer = Layer {
        entry: first,
        limit: SUM_MAX,
        row: locate(w2, 0),
        stride: size_of::<[i16; OUT]>() as u32,
        largest: 0,
        total: 0,
    };
    // SAFETY: there is a unit, and an entry for each of them.
    unsafe { walk_sums(units.as_mut_ptr(), units.as_ptr_range().end, &mut layer) };
    Activity {
        live: (layer.entry.addr() - first.addr()) / size_of::<Entry>(),
        total: layer.total,
        largest: layer.largest,
    }
}

/// How far a walk over hidden sums has come.
#[repr(C)]
struct Layer {
    entry: *mut Entry,
    limit: i32,
    row: u32,
    stride: u32,
    largest: u32,
    total: u32,
}

/// Activates units: a dead one takes 12 cycles, a live one 25.
///
/// # Safety
/// `unit` must be below `end`, and `entry` have room for as many entries as there are units.
#[unsafe(naked)]
unsafe extern "C" fn walk_sums(unit: *mut i32, end: *const i32, layer: &mut Layer) {
    naked_asm!(
        "push {{r2, r4, r5, r6, r7, lr}}",
        "mov r4, r8",
        "push {{r4}}",
        "mov lr, r1",
        "movs r4, #1",
        "lsls r4, r4, #15",
        "mov r8, r4",
        "movs r3, r2",
        "ldm r3!, {{r1, r4, r6, r7}}",
        "mov r12, r7",
        "movs r3, #0",
        "movs r7, #0",
        "2:",
        "ldr r5, [r0]",
        "cmp r5, #0",
        "ble 5f",
        "cmp r5, r4",
        "bgt 6f",
        "3:",
        "lsrs r5, r5, #4",
        "lsls r2, r5, #8",
        "adds r5, r5, r2",
        "add r5, r8",
        "lsrs r5, r5, #16",
        "beq 5f",
        "stm r1!, {{r5, r6}}",
        "adds r7, r7, r5",
        "cmp r5, r3",
        "bls 4f",
        "movs r3, r5",
        "4:",
        "stm r0!, {{r5}}",
        "add r6, r12",
        "cmp r0, lr",
        "bne 2b",
        "b 7f",
        "5:",
        "movs r5, #0",
        "stm r0!, {{r5}}",
        "add r6, r12",
        "cmp r0, lr",
        "bne 2b",
        "b 7f",
        "6:",
        "movs r5, r4",
        "b 3b",
        "7:",
        "ldr r0, [sp, #4]",
        "str r1, [r0]",
        "str r3, [r0, #16]",
        "str r7, [r0, #20]",
        "pop {{r4}}",
        "mov r8, r4",
        "pop {{r2, r4, r5, r6, r7, pc}}",
    )
}
