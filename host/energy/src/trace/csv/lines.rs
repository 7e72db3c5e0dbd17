//! Lines of a file of any length, none of them long.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::super::error::Kind;

/// Longest line.
const LONGEST: usize = 1 << 16;

/// A file, line by line.
pub(super) struct Lines {
    source: BufReader<File>,
    text: Vec<u8>,
    number: u64,
    bytes: u64,
}

impl Lines {
    pub(super) fn new(file: File) -> Self {
        Self {
            source: BufReader::with_capacity(1 << 18, file),
            text: Vec::new(),
            number: 0,
            bytes: 0,
        }
    }

    /// The next line, without its end, and whether it has one; nothing at the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(&[u8], bool)>, Kind> {
        self.text.clear();
        self.number += 1;
        let read = self
            .source
            .by_ref()
            .take(LONGEST as u64)
            .read_until(b'\n', &mut self.text)?;
        self.bytes += read as u64;
        if read == 0 {
            return Ok(None);
        }
        let whole = self.text.pop_if(|byte| *byte == b'\n').is_some();
        if !whole && read == LONGEST {
            return Err(Kind::LongLine(LONGEST));
        }
        self.text.pop_if(|byte| *byte == b'\r');
        Ok(Some((&self.text, whole)))
    }

    /// The number of the line that was read last, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes were read.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
