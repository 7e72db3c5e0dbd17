//! Brings a chip's flash up to date: identifies the chip, compares, and writes the difference.

use super::FlashError;
use super::silicon::identify;
use super::target::{Fault, Part, Step, Target, Watch};
use crate::device::Board;

/// Bytes compared at a time; a difference ends the comparison.
const CHUNK_BYTES: usize = 4_096;

/// The result for a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartState {
    /// The flash held it already.
    Kept,
    /// It was written and verified.
    Written,
}

/// Writes the parts that the flash does not hold yet, and restarts the chip if any was written.
///
/// # Errors
/// Returns an error if the chip is another one, before anything is written, or refuses.
pub fn bring_up_to_date(
    target: &mut dyn Target,
    board: Board,
    parts: &[Part],
    watch: &mut dyn Watch,
) -> Result<Vec<PartState>, FlashError> {
    let failed = |what: String| move |fault| FlashError::Chip { what, fault };
    let found = identify(target).map_err(failed("reading the chip's number".to_owned()))?;
    if found.board != Some(board) {
        return Err(FlashError::WrongChip {
            expected: board,
            found,
        });
    }
    let mut states = Vec::new();
    for part in parts {
        let holds = holds(target, part, watch);
        let state = if holds.map_err(failed(format!("comparing the {part}")))? {
            PartState::Kept
        } else {
            let written = target.program(part, watch);
            written.map_err(failed(format!("writing the {part}")))?;
            PartState::Written
        };
        states.push(state);
    }
    if states.contains(&PartState::Written) {
        let restarted = target.restart();
        restarted.map_err(failed("restarting".to_owned()))?;
    }
    Ok(states)
}

/// Compares a part with the flash; the running program is not disturbed.
fn holds(target: &mut dyn Target, part: &Part, watch: &mut dyn Watch) -> Result<bool, Fault> {
    watch.begin(part, Step::Compare, part.bytes.len() as u64);
    let mut buffer = [0; CHUNK_BYTES];
    for (index, expected) in (0..).zip(part.bytes.chunks(CHUNK_BYTES)) {
        let found = &mut buffer[..expected.len()];
        target.read(part.address + index * CHUNK_BYTES as u32, found)?;
        if found != expected {
            return Ok(false);
        }
        watch.advance(expected.len() as u64);
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::super::target::{Memory, Unwatched};
    use super::*;

    const FLASH: u32 = 0x1000_0000;

    /// A chip with 64 KB of flash that counts what is done to it.
    struct FakeChip {
        id: u32,
        flash: Vec<u8>,
        refuses: bool,
        written: Vec<&'static str>,
        restarts: u32,
    }

    impl FakeChip {
        fn rp2040() -> Self {
            Self {
                id: 0x2000_2927,
                flash: vec![0xFF; 1 << 16],
                refuses: false,
                written: Vec::new(),
                restarts: 0,
            }
        }
    }

    impl Memory for FakeChip {
        fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
            match address {
                0xE000_ED00 => bytes.copy_from_slice(&0x410C_C601_u32.to_le_bytes()),
                0x4000_0000 => bytes.copy_from_slice(&self.id.to_le_bytes()),
                _ => {
                    let at = (address - FLASH) as usize;
                    bytes.copy_from_slice(&self.flash[at..at + bytes.len()]);
                }
            }
            Ok(())
        }

        fn write(&mut self, _address: u32, _bytes: &[u8]) -> Result<(), Fault> {
            Err(Fault("RAM is not touched".to_owned()))
        }
    }

    impl Target for FakeChip {
        fn program(&mut self, part: &Part, watch: &mut dyn Watch) -> Result<(), Fault> {
            if self.refuses {
                return Err(Fault("sector locked".to_owned()));
            }
            watch.begin(part, Step::Write, part.bytes.len() as u64);
            let at = (part.address - FLASH) as usize;
            self.flash[at..at + part.bytes.len()].copy_from_slice(&part.bytes);
            self.written.push(part.what);
            Ok(())
        }

        fn restart(&mut self) -> Result<(), Fault> {
            self.restarts += 1;
            Ok(())
        }
    }

    fn parts() -> [Part; 2] {
        let part = |what, address, bytes| Part {
            what,
            address,
            bytes,
        };
        [
            part("firmware", FLASH, vec![1; 10_000]),
            part("shard", FLASH + 0x8000, vec![2; 5_000]),
        ]
    }

    #[test]
    fn what_matches_is_skipped_and_the_rest_written_once() {
        let mut fake = FakeChip::rp2040();
        let update = |fake: &mut FakeChip, parts: &[Part]| {
            bring_up_to_date(fake, Board::Rp2040, parts, &mut Unwatched).unwrap()
        };
        let mut parts = parts();
        assert_eq!(update(&mut fake, &parts), [PartState::Written; 2]);
        assert_eq!(fake.restarts, 1);
        assert_eq!(update(&mut fake, &parts), [PartState::Kept; 2]);
        assert_eq!(
            fake.restarts, 1,
            "a board that is up to date is not restarted"
        );
        // The last byte of the last chunk differs.
        parts[1].bytes[4_999] = 3;
        assert_eq!(
            update(&mut fake, &parts),
            [PartState::Kept, PartState::Written]
        );
        assert_eq!(fake.written, ["firmware", "shard", "shard"]);
        assert_eq!(fake.restarts, 2);
    }

    #[test]
    fn a_wrong_chip_is_refused_before_writing() {
        let mut fake = FakeChip::rp2040();
        let update = |fake: &mut FakeChip, board| {
            bring_up_to_date(fake, board, &parts(), &mut Unwatched).unwrap_err()
        };
        let error = update(&mut fake, Board::Stm32l4r5);
        assert!(
            matches!(error, FlashError::WrongChip { found, .. } if found.board == Some(Board::Rp2040))
        );
        fake.id = 0x1234_5678;
        let error = update(&mut fake, Board::Rp2040);
        assert!(
            matches!(error, FlashError::WrongChip { found, .. } if found.id == Some(0x1234_5678))
        );
        assert!(fake.written.is_empty() && fake.restarts == 0);
    }

    #[test]
    fn a_chip_that_refuses_is_named_with_the_part() {
        let mut fake = FakeChip::rp2040();
        fake.refuses = true;
        let error = bring_up_to_date(&mut fake, Board::Rp2040, &parts(), &mut Unwatched);
        let Err(FlashError::Chip { what, fault }) = error else {
            panic!("{error:?}");
        };
        assert!(what.contains("firmware"), "{what}");
        assert_eq!(fault.0, "sector locked");
    }
}
