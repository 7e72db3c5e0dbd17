//! Identifies a chip by its registers.

use std::fmt;

use super::target::{Fault, Memory};
use crate::device::Board;

/// Register with the core's part number (ARM DDI 0403, B3.2.3), on every Cortex-M.
const CPUID: u32 = 0xE000_ED00;

/// The identity of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The board, if it is a supported one.
    pub board: Option<Board>,
    /// Part number of the core.
    pub core: u32,
    /// The maker's number, if the core has a known register for it.
    pub id: Option<u32>,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(board) = self.board {
            return write!(f, "{board}");
        }
        let mut cores = Board::all().map(|board| board.row().core);
        match cores.find(|core| core.part_number == self.core) {
            Some(core) => write!(f, "an unknown {}", core.title)?,
            None => write!(f, "an unknown core, part {:#05x}", self.core)?,
        }
        self.id.map_or(Ok(()), |id| write!(f, " (chip {id:#010x})"))
    }
}

/// Identifies a chip. The core decides which registers are safe to read.
///
/// # Errors
/// Returns an error if the chip does not answer.
pub fn identify(memory: &mut (impl Memory + ?Sized)) -> Result<Identity, Fault> {
    let core = (memory.word(CPUID)? >> 4) & 0xFFF;
    let mut answer = Ok(None);
    for board in Board::all().filter(|board| board.row().core.part_number == core) {
        let Some(port) = board.row().debug_port else {
            continue;
        };
        match memory.word(port.id_register) {
            Ok(id) if id & port.id_mask == port.id => {
                return Ok(Identity {
                    board: Some(board),
                    core,
                    id: Some(id),
                });
            }
            Ok(id) => answer = Ok(Some(id)),
            // Another board's register; this chip may have none there.
            Err(fault) if !matches!(answer, Ok(Some(_))) => answer = Err(fault),
            Err(_) => {}
        }
    }
    Ok(Identity {
        board: None,
        core,
        id: answer?,
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Readable registers; any other address faults.
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

    const RP2040_CHIP_ID: u32 = 0x4000_0000;
    const STM32_IDCODE: u32 = 0xE004_2000;

    #[test]
    fn chips_are_told_apart_by_core_and_number() {
        let m0 = (CPUID, 0x410C_C601);
        let m4 = (CPUID, 0x410F_C241);
        assert_eq!(says(&[m0, (RP2040_CHIP_ID, 0x2000_2927)]), "rp2040");
        assert_eq!(says(&[m4, (STM32_IDCODE, 0x1001_6470)]), "stm32l4r5");
        assert_eq!(says(&[m4, (STM32_IDCODE, 0x2000_6461)]), "stm32l496");
        let m33 = (CPUID, 0x411F_D210);
        assert_eq!(says(&[m33, (RP2040_CHIP_ID, 0x2000_4927)]), "rp2350");
        assert_eq!(
            says(&[m4, (STM32_IDCODE, 0x2003_6415)]),
            "an unknown Cortex-M4 (chip 0x20036415)"
        );
        assert_eq!(says(&[(CPUID, 0x411F_C271)]), "an unknown core, part 0xc27");
        assert_eq!(says(&[m0]), "bus fault at 0x40000000");
    }
}
