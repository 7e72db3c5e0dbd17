//! Naked assembly with DSP instructions: an ARMv8-M may lack them, so that for one the assembler is
//! told the core. (The compiler's `target-cpu` and `target-feature` do not reach naked functions.)

#[cfg(feature = "cortex-m33")]
macro_rules! naked_asm {
    ($($part:tt)*) => {
        core::arch::naked_asm!(".cpu cortex-m33", $($part)*)
    };
}

#[cfg(not(feature = "cortex-m33"))]
macro_rules! naked_asm {
    ($($part:tt)*) => {
        core::arch::naked_asm!($($part)*)
    };
}

pub(super) use naked_asm;
