//! The chips that can be flashed: their names, and how they tell who they are.

use std::fmt;

use super::target::{Fault, Memory};
use crate::device::shard::Board;
use crate::fleet::file::Chip;

/// Which core it is (ARM DDI 0403, B3.2.3); at the same address on every Cortex-M.
const CPUID: u32 = 0xE000_ED00;
const CORTEX_M0_PLUS: u32 = 0xC60;
const CORTEX_M4: u32 = 0xC24;

/// SYSINFO_CHIP_ID of the RP2040 (datasheet, 2.20.2): revision, part 2, Raspberry Pi.
const RP2040_CHIP_ID: u32 = 0x4000_0000;
const RP2040_PART: u32 = 0x0000_2927;
const RP2040_PART_MASK: u32 = 0x0FFF_FFFF;

/// DBGMCU_IDCODE of an STM32 (RM0432, 57.6.1); 0x470 is the family of the L4R5.
const STM32_IDCODE: u32 = 0xE004_2000;
const STM32L4R_DEVICE: u32 = 0x470;
const STM32_DEVICE_MASK: u32 = 0xFFF;

impl Chip {
    /// Returns the board of the firmware that carries it.
    #[must_use]
    pub const fn board(self) -> Board {
        match self {
            Self::Rp2040 => Board::Rp2040,
            Self::Stm32l4r5 => Board::Stm32,
            Self::M4 => Board::Emulated,
        }
    }

    /// Returns its name in `bench.toml`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rp2040 => "rp2040",
            Self::Stm32l4r5 => "stm32l4r5",
            Self::M4 => "m4",
        }
    }

    /// Returns its name among the chips that probe-rs knows; the emulated M4 has none.
    #[must_use]
    pub const fn probe_name(self) -> Option<&'static str> {
        match self {
            Self::Rp2040 => Some("RP2040"),
            Self::Stm32l4r5 => Some("STM32L4R5ZITx"),
            Self::M4 => None,
        }
    }
}

impl fmt::Display for Chip {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a chip says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// One of ours, if it is.
    pub chip: Option<Chip>,
    /// Part number of its core.
    pub core: u32,
    /// Its maker's number, where the core told where to look for it.
    pub id: Option<u32>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(chip) = self.chip {
            return write!(f, "{chip}");
        }
        match self.core {
            CORTEX_M0_PLUS => write!(f, "an unknown Cortex-M0+")?,
            CORTEX_M4 => write!(f, "an unknown Cortex-M4")?,
            other => write!(f, "an unknown core, part {other:#05x}")?,
        }
        self.id.map_or(Ok(()), |id| write!(f, " (chip {id:#010x})"))
    }
}

/// Asks a chip who it is. The core decides which register is safe to read next.
///
/// # Errors
/// When it does not answer.
pub fn identify(memory: &mut (impl Memory + ?Sized)) -> Result<Identity, Fault> {
    let core = (memory.word(CPUID)? >> 4) & 0xFFF;
    let (address, mask, expected, chip) = match core {
        CORTEX_M0_PLUS => (RP2040_CHIP_ID, RP2040_PART_MASK, RP2040_PART, Chip::Rp2040),
        CORTEX_M4 => (
            STM32_IDCODE,
            STM32_DEVICE_MASK,
            STM32L4R_DEVICE,
            Chip::Stm32l4r5,
        ),
        _ => {
            return Ok(Identity {
                chip: None,
                core,
                id: None,
            });
        }
    };
    let id = memory.word(address)?;
    Ok(Identity {
        chip: (id & mask == expected).then_some(chip),
        core,
        id: Some(id),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Registers that can be read; any other address faults, as on a bus.
    struct Registers(BTreeMap<u32, u32>);

    impl Memory for Registers {
        fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
            let word = self.0.get(&address);
            let word = word.ok_or_else(|| Fault(format!("bus fault at {address:#x}")))?;
            bytes.copy_from_slice(&word.to_le_bytes());
            Ok(())
        }

        fn write(&mut self, address: u32, _bytes: &[u8]) -> Result<(), Fault> {
            Err(Fault(format!("read-only: {address:#x}")))
        }
    }

    fn says(registers: &[(u32, u32)]) -> String {
        let mut registers = Registers(registers.iter().copied().collect());
        identify(&mut registers).map_or_else(|fault| fault.0, |found| found.to_string())
    }

    #[test]
    fn chips_are_told_apart_by_core_and_number() {
        let m0 = (CPUID, 0x410C_C601);
        let m4 = (CPUID, 0x410F_C241);
        assert_eq!(says(&[m0, (RP2040_CHIP_ID, 0x2000_2927)]), "rp2040");
        assert_eq!(says(&[m4, (STM32_IDCODE, 0x1001_6470)]), "stm32l4r5");
        assert_eq!(
            says(&[m4, (STM32_IDCODE, 0x2003_6415)]),
            "an unknown Cortex-M4 (chip 0x20036415)"
        );
        assert_eq!(says(&[(CPUID, 0x411F_C271)]), "an unknown core, part 0xc27");
        assert_eq!(says(&[m0]), "bus fault at 0x40000000");
    }
}
