//! SEGGER's Real-Time Transfer: a ring buffer in the chip's RAM that the chip fills and we empty.
//!
//! The control block begins with a mark of 16 bytes and two counts of channels; the chip's first
//! channel follows as six words: name, buffer, size, write and read positions, flags.

use crate::device::flash::target::{Fault, Memory};

const MARK: &[u8; 16] = b"SEGGER RTT\0\0\0\0\0\0";
const FIRST_CHANNEL: u32 = 24;
const BUFFER: u32 = FIRST_CHANNEL + 4;
const SIZE: u32 = FIRST_CHANNEL + 8;
const WRITE: u32 = FIRST_CHANNEL + 12;
const READ: u32 = FIRST_CHANNEL + 16;
/// No chip of ours has more RAM than this.
const LARGEST_BUFFER: u32 = 1 << 20;

/// The chip's first channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpChannel {
    block: u32,
}

impl UpChannel {
    /// The channel of the control block at an address.
    #[must_use]
    pub const fn at(block: u32) -> Self {
        Self { block }
    }

    /// Takes what the chip wrote since the last time; nothing before its start-up code ran.
    ///
    /// The positions are read anew each time, so a reset in between does no harm.
    ///
    /// # Errors
    /// When the chip does not answer.
    pub fn take(&self, memory: &mut (impl Memory + ?Sized)) -> Result<Vec<u8>, Fault> {
        let mut mark = [0; MARK.len()];
        memory.read(self.block, &mut mark)?;
        let mut word = |offset| memory.word(self.block + offset);
        let (buffer, size) = (word(BUFFER)?, word(SIZE)?);
        let (write, read) = (word(WRITE)?, word(READ)?);
        let sound = mark == *MARK && size <= LARGEST_BUFFER && write < size && read < size;
        if !sound || write == read {
            return Ok(Vec::new());
        }
        let mut bytes = Vec::new();
        let mut piece = |from: u32, to: u32| {
            let start = bytes.len();
            bytes.resize(start + (to - from) as usize, 0);
            memory.read(buffer + from, &mut bytes[start..])
        };
        if read < write {
            piece(read, write)?;
        } else {
            piece(read, size)?;
            piece(0, write)?;
        }
        memory.write(self.block + READ, &write.to_le_bytes())?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCK: u32 = 0x2000_0010;
    const RING: u32 = 0x2000_0080;

    /// 256 bytes of RAM.
    struct Ram([u8; 256]);

    impl Ram {
        fn new(size: u32, write: u32, read: u32) -> Self {
            let mut ram = Self([0; 256]);
            ram.write(BLOCK, MARK).unwrap();
            for (offset, word) in [(BUFFER, RING), (SIZE, size), (WRITE, write), (READ, read)] {
                ram.write(BLOCK + offset, &word.to_le_bytes()).unwrap();
            }
            ram.write(RING, b"abcdefgh").unwrap();
            ram
        }
    }

    impl Memory for Ram {
        fn read(&mut self, address: u32, bytes: &mut [u8]) -> Result<(), Fault> {
            let at = (address - 0x2000_0000) as usize;
            bytes.copy_from_slice(&self.0[at..at + bytes.len()]);
            Ok(())
        }

        fn write(&mut self, address: u32, bytes: &[u8]) -> Result<(), Fault> {
            let at = (address - 0x2000_0000) as usize;
            self.0[at..at + bytes.len()].copy_from_slice(bytes);
            Ok(())
        }
    }

    #[test]
    fn the_ring_is_emptied_once_and_around_its_end() {
        let channel = UpChannel::at(BLOCK);
        let mut ram = Ram::new(8, 5, 2);
        assert_eq!(channel.take(&mut ram).unwrap(), b"cde");
        assert_eq!(channel.take(&mut ram).unwrap(), b"");
        let mut wrapped = Ram::new(8, 2, 6);
        assert_eq!(channel.take(&mut wrapped).unwrap(), b"ghab");
        assert_eq!(wrapped.word(BLOCK + READ).unwrap(), 2);
    }

    #[test]
    fn memory_before_start_up_and_absurd_positions_give_nothing() {
        let channel = UpChannel::at(BLOCK);
        assert_eq!(channel.take(&mut Ram([0; 256])).unwrap(), b"");
        for (size, write, read) in [(8, 9, 0), (8, 0, 8), (u32::MAX, 5, 0)] {
            let mut ram = Ram::new(size, write, read);
            assert_eq!(
                channel.take(&mut ram).unwrap(),
                b"",
                "{size} {write} {read}"
            );
        }
    }
}
