//! Records of a table: found in a large buffer, taken apart only if they have quotes.

use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memchr2;

use super::super::{ImportError, Place};

/// What is read at once.
const BUFFER: usize = 1 << 18;

/// Bytes of the longest record: 65,535 long numbers stay below.
const LONGEST: usize = 4 << 20;

/// A table that is being read.
pub(in crate::data::import) struct Table<R> {
    path: PathBuf,
    input: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// What of the buffer is filled.
    filled: usize,
    /// Where the next record begins.
    next: usize,
    /// The record, without its end of line.
    record: Range<usize>,
    /// The line on which it begins.
    line: u64,
    /// The line on which the next begins.
    next_line: u64,
    /// Its cells without their quotes, and where each ends; empty if there are no quotes.
    unquoted: Vec<u8>,
    ends: Vec<usize>,
    ended: bool,
}

impl<R: Read> Table<R> {
    /// Reads a table whose cells are separated by `delimiter`; `path` names it in errors.
    pub(in crate::data::import) fn new(path: &Path, input: R, delimiter: u8) -> Self {
        Self {
            path: path.to_owned(),
            input,
            delimiter,
            buffer: vec![0; BUFFER],
            filled: 0,
            next: 0,
            record: 0..0,
            line: 0,
            next_line: 1,
            unquoted: Vec::new(),
            ends: Vec::new(),
            ended: false,
        }
    }

    /// Returns the line on which the record begins, the first is 1.
    pub(in crate::data::import) const fn line(&self) -> u64 {
        self.line
    }

    /// Goes to the next record that is not empty; `false` when there is none.
    pub(in crate::data::import) fn next(&mut self) -> Result<bool, ImportError> {
        loop {
            if !self.find()? {
                return Ok(false);
            }
            if !self.record.is_empty() {
                return Ok(true);
            }
        }
    }

    /// Finds the end of the next record: a line's end outside of quotes.
    fn find(&mut self) -> Result<bool, ImportError> {
        self.line = self.next_line;
        self.ends.clear();
        let (mut looked, mut quotes) = (self.next, 0_usize);
        let end = loop {
            match memchr2(b'\n', b'"', &self.buffer[looked..self.filled]) {
                Some(more) => {
                    let at = looked + more;
                    looked = at + 1;
                    if self.buffer[at] == b'"' {
                        quotes += 1;
                        continue;
                    }
                    self.next_line += 1;
                    if quotes.is_multiple_of(2) {
                        break at;
                    }
                }
                None => {
                    let done = self.filled - self.next;
                    if !self.refill()? {
                        if done == 0 {
                            return Ok(false);
                        }
                        looked = self.filled;
                        break self.filled;
                    }
                    looked = self.next + done;
                }
            }
        };
        if !quotes.is_multiple_of(2) {
            return Err(self.wrong("a quote is opened here and never closed"));
        }
        let carriage = end > self.next && self.buffer[end - 1] == b'\r';
        self.record = self.next..end - usize::from(carriage);
        // The mark that says UTF-8.
        if self.line == 1 && self.buffer[self.record.clone()].starts_with(b"\xef\xbb\xbf") {
            self.record.start += 3;
        }
        self.next = looked;
        if quotes > 0 {
            self.unquote()?;
        }
        Ok(true)
    }

    /// Reads more behind what is there; `false` at the end.
    fn refill(&mut self) -> Result<bool, ImportError> {
        if self.ended {
            return Ok(false);
        }
        self.buffer.copy_within(self.next..self.filled, 0);
        self.filled -= self.next;
        self.next = 0;
        if self.filled == self.buffer.len() {
            if self.filled >= LONGEST {
                let what = format!(
                    "a record of more than {LONGEST} bytes begins here: a quote that is not closed, \
                     or no table in text"
                );
                return Err(self.wrong(&what));
            }
            self.buffer.resize(2 * self.filled, 0);
        }
        let count = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                read => break read.map_err(gleaner_files::at(&self.path))?,
            }
        };
        self.filled += count;
        self.ended = count == 0;
        Ok(count > 0)
    }

    /// Takes the record apart into cells without their quotes.
    fn unquote(&mut self) -> Result<(), ImportError> {
        self.unquoted.clear();
        let mut rest = &self.buffer[self.record.clone()];
        let mut trouble = None;
        loop {
            if let [b'"', inside @ ..] = rest {
                rest = inside;
                while let Some(quote) = rest.iter().position(|&byte| byte == b'"') {
                    self.unquoted.extend(&rest[..quote]);
                    rest = &rest[quote + 1..];
                    if rest.first() != Some(&b'"') {
                        break;
                    }
                    self.unquoted.push(b'"');
                    rest = &rest[1..];
                }
            }
            let end = rest.iter().position(|&byte| byte == self.delimiter);
            let (cell, more) = match end {
                Some(end) => (&rest[..end], Some(&rest[end + 1..])),
                None => (rest, None),
            };
            if cell.contains(&b'"') {
                trouble = Some("a quote stands in the middle of a cell");
            }
            self.unquoted.extend(cell);
            self.ends.push(self.unquoted.len());
            match more {
                Some(more) => rest = more,
                None => break,
            }
        }
        match trouble {
            Some(what) => Err(self.wrong(what)),
            None => Ok(()),
        }
    }

    fn wrong(&self, what: &str) -> ImportError {
        ImportError::at(&self.path, Place::Line(self.line), what)
    }

    /// Iterates over the cells of the record.
    pub(in crate::data::import) fn cells(&self) -> impl Iterator<Item = &[u8]> {
        let plain = self.ends.is_empty();
        let record = if plain { self.record.clone() } else { 0..0 };
        let cells = self.buffer[record].split(move |&byte| byte == self.delimiter);
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let unquoted = starts.zip(&self.ends);
        let unquoted = unquoted.map(|(start, &end)| &self.unquoted[start..end]);
        cells.filter(move |_| plain).chain(unquoted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> Result<Vec<(u64, Vec<String>)>, String> {
        let mut table = Table::new(Path::new("t.csv"), text, b',');
        let mut rows = Vec::new();
        while table.next().map_err(|error| error.to_string())? {
            let cells = table.cells();
            let cells = cells.map(|cell| String::from_utf8_lossy(cell).into_owned());
            rows.push((table.line(), cells.collect()));
        }
        Ok(rows)
    }

    #[test]
    fn quotes_ends_of_line_empty_lines_and_a_mark_at_the_beginning() {
        let text =
            b"\xef\xbb\xbfa,b\r\n\r\n\"1,5\",\"say \"\"x\"\"\"\n\n\"two\nlines\",4\n5,\"\"\n6,";
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
    fn quotes_that_do_not_belong_are_refused_with_their_line() {
        assert_eq!(
            all(b"a\n\"b\nc\n").unwrap_err(),
            "t.csv, line 2: a quote is opened here and never closed"
        );
        let said = all(b"a\nx\"b\"\n").unwrap_err();
        assert!(said.starts_with("t.csv, line 2: a quote stands"), "{said}");
        let said = all(b"a\n\"b\"c\"\"\n").unwrap_err();
        assert!(said.starts_with("t.csv, line 2: a quote stands"), "{said}");
    }

    #[test]
    fn a_record_without_end_does_not_fill_the_memory() {
        let endless = Read::chain(&b"a,b\n\""[..], std::io::repeat(b'x'));
        let mut table = Table::new(Path::new("t.csv"), endless, b',');
        assert!(table.next().unwrap());
        let said = table.next().unwrap_err().to_string();
        assert!(
            said.starts_with("t.csv, line 2: a record of more than"),
            "{said}"
        );
        assert!(table.buffer.len() <= 2 * LONGEST);
    }

    #[test]
    fn records_are_the_same_whatever_a_read_brings() {
        struct Few<'a>(&'a [u8], usize);
        impl Read for Few<'_> {
            fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
                let count = self.1.min(self.0.len()).min(buffer.len());
                let (now, later) = self.0.split_at(count);
                buffer[..count].copy_from_slice(now);
                self.0 = later;
                Ok(count)
            }
        }
        let text = b"a,b\r\n\"1\r\n2\",3\r\n4,5\n";
        for few in 1..text.len() {
            let mut table = Table::new(Path::new("t"), Few(text, few), b',');
            let mut seen = Vec::new();
            while table.next().unwrap() {
                seen.push((table.line(), table.cells().collect::<Vec<_>>().join(&b'|')));
            }
            assert_eq!(
                seen,
                [
                    (1, b"a|b".to_vec()),
                    (2, b"1\r\n2|3".to_vec()),
                    (4, b"4|5".to_vec())
                ]
            );
        }
    }
}
