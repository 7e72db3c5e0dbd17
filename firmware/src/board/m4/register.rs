//! One memory-mapped register of the mps2-an386.

/// A 32-bit register at a fixed address.
#[derive(Clone, Copy)]
pub struct Register(*mut u32);

// SAFETY: the pointer is an address of the machine, the same for everyone; single accesses are
// atomic on the bus, and each register is used by one driver.
unsafe impl Sync for Register {}

impl Register {
    /// Names the register at `address`, which must be a register of the machine.
    pub const fn at(address: usize) -> Self {
        Self(address as *mut u32)
    }

    pub fn read(self) -> u32 {
        // SAFETY: `at` was given the aligned address of an existing register.
        unsafe { self.0.read_volatile() }
    }

    pub fn write(self, value: u32) {
        // SAFETY: as in `read`; the drivers of this board are the only writers.
        unsafe { self.0.write_volatile(value) }
    }
}
