//! Logs of boards: defmt records, read from the chip's memory by SEGGER's Real-Time Transfer (RTT)
//! while the chip runs, and decoded with the strings of its ELF file.
//!
//! RTT is a ring buffer in the chip's RAM. Its control block begins with a mark of 16 bytes and two
//! counts of channels; the chip's first channel follows as six words: name, buffer, size, write and
//! read positions, flags.

use std::fmt;
use std::path::{Path, PathBuf};

use defmt_decoder::{DecodeError, Frame, Locations, StreamDecoder, Table};
use gleaner_files::FileError;
use object::{Object, ObjectSymbol};

use crate::device::flash::target::{Fault, Memory};

const MARK: &[u8; 16] = b"SEGGER RTT\0\0\0\0\0\0";
const FIRST_CHANNEL: u32 = 24;
const BUFFER: u32 = FIRST_CHANNEL + 4;
const SIZE: u32 = FIRST_CHANNEL + 8;
const WRITE: u32 = FIRST_CHANNEL + 12;
const READ: u32 = FIRST_CHANNEL + 16;
/// No supported chip has more RAM than this.
const LARGEST_BUFFER: u32 = 1 << 20;

/// The first RTT channel of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpChannel {
    block: u32,
}

impl UpChannel {
    /// Returns the channel of the control block at an address.
    #[must_use]
    pub const fn at(block: u32) -> Self {
        Self { block }
    }

    /// Takes the bytes that the chip wrote since the last call; before its start-up code ran there are
    /// none.
    ///
    /// The positions are read every time, so a reset in between does no harm.
    ///
    /// # Errors
    /// Returns an error if the chip does not answer.
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

/// Error reading the log strings of an ELF file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is no ELF file with a log.
    #[error("{}: {what}", path.display())]
    Format { path: PathBuf, what: String },
    /// The firmware was built without a log.
    #[error(
        "{}: built without a log; `gleaner flash --logs` builds and flashes one with it",
        path.display()
    )]
    Silent { path: PathBuf },
}

/// The log strings of one build of the firmware.
pub struct Dictionary {
    table: Table,
    locations: Locations,
    block: u32,
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary")
            .field("block", &self.block)
            .finish_non_exhaustive()
    }
}

impl Dictionary {
    /// Reads the strings of the ELF file that the board runs.
    ///
    /// # Errors
    /// Names the file and what is wrong with it.
    pub fn read(path: &Path) -> Result<Self, LogError> {
        let format = |what: String| LogError::Format {
            path: path.to_owned(),
            what,
        };
        let file = std::fs::read(path).map_err(gleaner_files::at(path))?;
        let elf = object::File::parse(&*file).map_err(|error| format(error.to_string()))?;
        let block = elf
            .symbols()
            .find(|symbol| symbol.name() == Ok("_SEGGER_RTT"))
            .and_then(|symbol| u32::try_from(symbol.address()).ok());
        let table = Table::parse(&file).map_err(|error| format(error.to_string()))?;
        let (Some(table), Some(block)) = (table, block) else {
            return Err(LogError::Silent {
                path: path.to_owned(),
            });
        };
        // Without debug information lines have no location.
        let locations = table.get_locations(&file).unwrap_or_default();
        Ok(Self {
            table,
            locations,
            block,
        })
    }

    /// Returns the address of the log's control block in RAM.
    #[must_use]
    pub const fn block(&self) -> u32 {
        self.block
    }

    /// Starts to decode a stream of bytes.
    #[must_use]
    pub fn lines(&self) -> Lines<'_> {
        Lines {
            dictionary: self,
            stream: self.table.new_stream_decoder(),
        }
    }

    fn line(&self, frame: &Frame<'_>) -> Line {
        let location = self.locations.get(&frame.index());
        Line {
            time: frame.display_timestamp().map(|time| time.to_string()),
            level: frame.level().map(|level| level.as_str().to_uppercase()),
            message: frame.display_message().to_string(),
            location: location.map(|place| format!("{}:{}", place.file.display(), place.line)),
        }
    }
}

/// A decoder of a stream of bytes.
pub struct Lines<'a> {
    dictionary: &'a Dictionary,
    stream: Box<dyn StreamDecoder + Send + Sync + 'a>,
}

impl Lines<'_> {
    /// Takes bytes and returns the lines they complete. Records that the board overwrote before they
    /// were read are lost, and decoding continues with the next record.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Line> {
        let recovers = self.dictionary.table.encoding().can_recover();
        self.stream.received(bytes);
        let mut lines = Vec::new();
        loop {
            match self.stream.decode() {
                Ok(frame) => lines.push(self.dictionary.line(&frame)),
                Err(DecodeError::Malformed) if recovers => {}
                Err(_) => return lines,
            }
        }
    }
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Time by the board's clock.
    pub time: Option<String>,
    /// Level in capital letters.
    pub level: Option<String>,
    /// The message, as the board formatted it.
    pub message: String,
    /// File and line in the source.
    pub location: Option<String>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.time.as_deref().unwrap_or("-");
        let level = self.level.as_deref().unwrap_or("");
        write!(f, "{time:>10}  {level:<5}  {}", self.message)?;
        match &self.location {
            Some(location) => write!(f, "  ({location})"),
            None => Ok(()),
        }
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
    fn the_ring_is_read_once_and_around_its_end() {
        let channel = UpChannel::at(BLOCK);
        let mut ram = Ram::new(8, 5, 2);
        assert_eq!(channel.take(&mut ram).unwrap(), b"cde");
        assert_eq!(channel.take(&mut ram).unwrap(), b"");
        let mut wrapped = Ram::new(8, 2, 6);
        assert_eq!(channel.take(&mut wrapped).unwrap(), b"ghab");
        assert_eq!(wrapped.word(BLOCK + READ).unwrap(), 2);
    }

    #[test]
    fn invalid_control_blocks_give_nothing() {
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
