//! Records of a table in text, each with the line on which it begins, and the numbers in their cells.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ErrorKind, Reader, ReaderBuilder, Terminator};
use gleaner_files::printable;
use memchr::memchr_iter;

use super::{ImportError, Place};

/// Bytes that are read at once.
const BUFFER: usize = 1 << 18;

/// Bytes of the longest record, give or take a buffer: 65,535 long numbers stay below.
const LONGEST: usize = 4 << 20;

/// A table that is being read.
pub(super) struct Table<R> {
    path: PathBuf,
    reader: Reader<Limited<R>>,
    record: ByteRecord,
}

impl<R: Read> Table<R> {
    /// Reads a table whose cells are separated by `delimiter`; `path` names it in errors.
    pub(super) fn new(path: &Path, input: R, delimiter: u8) -> Self {
        let input = Limited {
            input,
            left: LONGEST,
            ended: false,
        };
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter)
            // With either of `\r` and `\n`, a record would begin on the line of the `\n` before it.
            .terminator(Terminator::Any(b'\n'))
            .buffer_capacity(BUFFER)
            .from_reader(input);
        Self {
            path: path.to_owned(),
            reader,
            record: ByteRecord::new(),
        }
    }

    /// Returns the line on which the record begins, the first is 1.
    pub(super) fn line(&self) -> u64 {
        let inside = memchr_iter(b'\n', self.record.as_slice()).count() as u64;
        // Only the last record can end without an end of line.
        let ended = u64::from(!self.reader.get_ref().ended);
        self.reader.position().line() - inside - ended
    }

    /// Goes to the next record that is not empty; `false` when there is none.
    ///
    /// # Errors
    /// When a record is longer than any table has, or the system refuses.
    pub(super) fn next(&mut self) -> Result<bool, ImportError> {
        loop {
            let line = self.reader.position().line();
            self.reader.get_mut().left = LONGEST;
            match self.reader.read_byte_record(&mut self.record) {
                Ok(false) => return Ok(false),
                Ok(true) if self.record.as_slice() == b"\r" => {}
                Ok(true) => return Ok(true),
                Err(error) => return Err(self.failed(error, line)),
            }
        }
    }

    fn failed(&self, error: csv::Error, line: u64) -> ImportError {
        let wrong = |what| ImportError::at(&self.path, Place::Line(line), what);
        match error.into_kind() {
            ErrorKind::Io(source) if source.kind() == io::ErrorKind::InvalidData => wrong(format!(
                "a record of more than {LONGEST} bytes begins here: is a quote never closed?"
            )),
            ErrorKind::Io(source) => gleaner_files::at(&self.path)(source).into(),
            other => wrong(format!("{other:?}")),
        }
    }

    /// Iterates over the cells of the record.
    pub(super) fn cells(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        let cells = self.record.iter();
        cells.map(|cell| cell.strip_suffix(b"\r").unwrap_or(cell))
    }
}

/// Input that refuses to be read beyond a limit, which each record sets anew: an unclosed quote in a
/// large file must not fill the memory.
struct Limited<R> {
    input: R,
    left: usize,
    ended: bool,
}

impl<R: Read> Read for Limited<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let count = self.input.read(buffer)?;
        self.left = self.left.saturating_sub(count);
        self.ended = count == 0;
        Ok(count)
    }
}

/// Parses a finite number; the error says what the cell is instead.
pub(super) fn number(cell: &[u8]) -> Result<f32, String> {
    let cell = cell.trim_ascii();
    if cell.is_empty() {
        return Err("is empty".to_owned());
    }
    let value: Option<f64> = std::str::from_utf8(cell)
        .ok()
        .and_then(|text| text.parse().ok());
    let problem = match value {
        Some(value) if value.abs() <= f64::from(f32::MAX) => return Ok(value as f32),
        Some(value) if value.is_finite() => "beyond 3.4e38",
        Some(_) => "not a finite number",
        None => "not a number",
    };
    let shown: String = String::from_utf8_lossy(cell).chars().take(40).collect();
    Err(format!("is `{}`, {problem}", printable(&shown)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, ImportError> {
        let mut table = Table::new(Path::new("t.csv"), text, b',');
        let mut rows = Vec::new();
        while table.next()? {
            let cells = table.cells();
            let cells = cells.map(|cell| String::from_utf8_lossy(cell).into_owned());
            rows.push((table.line(), cells.collect()));
        }
        Ok(rows)
    }

    #[test]
    fn rows_have_their_lines_whatever_quotes_ends_of_line_and_empty_lines_there_are() {
        let text =
            b"\xef\xbb\xbfa,b\r\n\r\n\"1,5\",\"say \"\"x\"\"\"\r\n\n\"two\nlines\",4\n5,\"\"\n6,";
        let rows = all(text).unwrap();
        let row = |line, cells: [&str; 2]| (line, cells.map(str::to_owned).to_vec());
        assert_eq!(
            rows,
            [
                row(1, ["a", "b"]),
                row(3, ["1,5", "say \"x\""]),
                row(5, ["two\nlines", "4"]),
                row(7, ["5", ""]),
                row(8, ["6", ""]),
            ]
        );
        assert_eq!(all(b"").unwrap(), []);
        assert_eq!(all(b"\n\r\n").unwrap(), []);
    }

    #[test]
    fn a_record_without_end_does_not_fill_the_memory() {
        let endless = Read::chain(&b"a,b\n\""[..], io::repeat(b'x'));
        let mut table = Table::new(Path::new("t.csv"), endless, b',');
        assert!(table.next().unwrap());
        let refused = table.next().unwrap_err();
        let line = Place::Line(2);
        assert!(matches!(refused, ImportError::At { place, .. } if place == line));
        assert!(table.record.as_slice().len() <= 2 * LONGEST);
    }

    #[test]
    fn only_finite_numbers_that_a_single_holds_are_parsed() {
        for (text, value) in [
            ("-0", -0.0),
            ("+1.5", 1.5),
            (" -.5 ", -0.5),
            ("1E6", 1e6f32),
        ] {
            assert_eq!(
                number(text.as_bytes()).map(f32::to_bits),
                Ok(value.to_bits())
            );
        }
        for text in [
            "", "  ", ".", "1.2.3", "0x10", "NaN", "-inf", "1e39", "1e400", "\u{e9}",
        ] {
            assert!(number(text.as_bytes()).is_err(), "{text}");
        }
    }
}
