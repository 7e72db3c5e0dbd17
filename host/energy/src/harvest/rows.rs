//! Comma-separated tables as meters and weather archives write them.
//!
//! A byte order mark, CRLF, quotes around fields, empty lines and lines that begin with `#` are
//! accepted. Archives mix prefaces, tables and legends of different widths in one file, so rows are
//! split here and not by a CSV reader.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::settings::HarvestError;
use crate::InputError;

/// Largest accepted file, in bytes.
pub(super) const MAX_BYTES: u64 = 64 << 20;

/// Characters of a value that an error message repeats.
const SHOWN: usize = 40;

/// One line, counted from 1, and its fields without spaces and quotes.
pub(super) struct Row<'a> {
    pub line: usize,
    pub fields: Vec<&'a str>,
}

/// Reads a file up to one byte more than [`MAX_BYTES`].
pub(super) fn read_file(path: &str) -> Result<Vec<u8>, HarvestError> {
    let failed = |source| HarvestError::Read {
        name: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    File::open(Path::new(path))
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(failed)?;
    Ok(bytes)
}

/// Returns the rows that are neither empty nor comments.
pub(super) fn rows<'a>(
    name: &'a str,
    bytes: &'a [u8],
) -> Result<impl Iterator<Item = Result<Row<'a>, HarvestError>>, HarvestError> {
    if bytes.len() as u64 > MAX_BYTES {
        let problem = format!(
            "more than {} MiB; average it to fewer rows, or cut out the days that are needed",
            MAX_BYTES >> 20
        );
        return Err(whole(name, problem));
    }
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let lines = bytes.split(|&byte| byte == b'\n').enumerate();
    Ok(lines.filter_map(move |(at, bytes)| {
        let line = at + 1;
        let Ok(text) = std::str::from_utf8(bytes) else {
            let problem = "not text; is it a compressed or a binary file?";
            return Some(Err(at_line(name, line, problem)));
        };
        let text = text.trim();
        if text.is_empty() || text.starts_with('#') {
            return None;
        }
        let field = |field: &'a str| field.trim().trim_matches('"').trim();
        let fields = text.split(',').map(field).collect();
        Some(Ok(Row { line, fields }))
    }))
}

impl Row<'_> {
    /// Returns the index of a column, this being the row of headings.
    pub(super) fn column(&self, heading: &str) -> Option<usize> {
        self.fields.iter().position(|&field| field == heading)
    }

    /// Returns the row as text for messages, cut to [`SHOWN`] characters.
    pub(super) fn shown(&self) -> String {
        cut(&self.fields.join(","))
    }

    /// Checks that the row has as many fields as the heading.
    pub(super) fn expect_fields(&self, count: usize) -> Result<(), InputError> {
        match self.fields.len() {
            found if found == count => Ok(()),
            found => Err(InputError(format!(
                "{found} fields in `{}`, the heading has {count}; is the line cut off?",
                self.shown()
            ))),
        }
    }

    /// Reads a finite number.
    pub(super) fn number(&self, column: usize, heading: &str) -> Result<f64, InputError> {
        let text = self.fields[column];
        Err(InputError(match text.parse::<f64>() {
            Ok(number) if number.is_finite() => return Ok(number),
            Ok(_) => format!("{heading} `{}` is not finite", cut(text)),
            Err(_) if text.is_empty() => format!("{heading} is missing"),
            Err(_) => format!("{heading} `{}` is not a number", cut(text)),
        }))
    }
}

/// Cuts a value to [`SHOWN`] characters.
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the error of one line.
pub(super) fn at_line(name: &str, line: usize, problem: impl Into<String>) -> HarvestError {
    HarvestError::File {
        name: name.to_owned(),
        line: Some(line),
        problem: problem.into(),
    }
}

/// Returns the error of a whole file.
pub(super) fn whole(name: &str, problem: impl Into<String>) -> HarvestError {
    HarvestError::File {
        name: name.to_owned(),
        line: None,
        problem: problem.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(bytes: &[u8]) -> Vec<(usize, Vec<String>)> {
        let read = rows("t.csv", bytes).unwrap().map(Result::unwrap);
        read.map(|row| (row.line, row.fields.iter().map(|&f| f.to_owned()).collect()))
            .collect()
    }

    #[test]
    fn byte_order_marks_quotes_and_crlf_are_accepted() {
        let read = lines(b"\xEF\xBB\xBFt_s,p_w\r\n\r\n# a remark\r\n \"0\" , 1.5 \r\n");
        let expected = [(1, vec!["t_s", "p_w"]), (4, vec!["0", "1.5"])];
        assert_eq!(read.len(), expected.len());
        for ((line, fields), (expected_line, expected_fields)) in read.iter().zip(expected) {
            assert_eq!(*line, expected_line);
            assert_eq!(*fields, expected_fields);
        }
    }

    #[test]
    fn a_line_that_is_not_utf8_is_named() {
        let mut read = rows("t.csv", b"t_s,p_w\n0,\xFF\n").unwrap();
        assert!(read.next().unwrap().is_ok());
        let error = read.next().unwrap().err().unwrap().to_string();
        assert!(error.starts_with("t.csv:2: not text"), "{error}");
    }

    #[test]
    fn a_file_that_is_too_long_is_refused_unread() {
        let bytes = vec![b'\n'; MAX_BYTES as usize + 1];
        let error = rows("t.csv", &bytes).err().unwrap().to_string();
        assert!(error.contains("more than 64 MiB"), "{error}");
    }

    #[test]
    fn messages_repeat_little_of_a_long_line() {
        let text = "é".repeat(1_000);
        assert_eq!(cut(&text).chars().count(), SHOWN + 1);
    }
}
