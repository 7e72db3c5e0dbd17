//! From a board's bytes to lines, with the words its ELF file holds: the board sends numbers only.

use std::fmt;
use std::path::{Path, PathBuf};

use defmt_decoder::{DecodeError, Frame, Locations, StreamDecoder, Table};
use gleaner_files::FileError;
use object::{Object, ObjectSymbol};

/// Why a file cannot explain a board's log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LogError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no such file.
    #[error("{}: {what}", path.display())]
    Format {
        /// The program that should explain the log.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// The firmware was built without a log.
    #[error(
        "{}: built without a log; `gleaner flash --logs` builds and flashes one with it",
        path.display()
    )]
    Silent {
        /// The program that should explain the log.
        path: PathBuf,
    },
}

/// The words of one build of the firmware.
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
    /// Reads the words out of the ELF file that the board runs.
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
        // Without debug information lines have no location, which is no reason to refuse them.
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

    /// Starts to read a stream of bytes.
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

/// A stream of bytes on its way to lines.
pub struct Lines<'a> {
    dictionary: &'a Dictionary,
    stream: Box<dyn StreamDecoder + Send + Sync + 'a>,
}

impl Lines<'_> {
    /// Takes bytes and returns the lines they complete; what the board overwrote before it was
    /// read is lost, and decoding goes on with the next record.
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
    /// When, by the board's clock.
    pub time: Option<String>,
    /// How grave.
    pub level: Option<String>,
    /// What it says.
    pub message: String,
    /// Where in the source.
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
