//! Reads of bounded size: a file is only as long as the reader allows, however long it is.

use std::fs::{self, File};
use std::io::{self, BufRead, Read};
use std::path::Path;

/// Most bytes of a text that is read whole: a scenario, a fleet, a sweep, a profile.
pub const TEXT_MAX: u64 = 4 << 20;

/// Reads a text of at most [`TEXT_MAX`] bytes.
///
/// # Errors
/// As [`read_at_most`]; or the text is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    let bytes = read_at_most(path, TEXT_MAX)?;
    String::from_utf8(bytes).map_err(|error| invalid(format!("not UTF-8: {}", error.utf8_error())))
}

/// Opens a regular file. Devices and pipes, which may have no end or never begin, are refused before
/// they are opened.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] for another kind of file; or an error of the operating system.
pub fn open_regular(path: &Path) -> io::Result<File> {
    match fs::metadata(path)?.is_file() {
        true => File::open(path),
        false => Err(invalid("not a regular file".to_owned())),
    }
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// As [`open_regular`]; [`io::ErrorKind::InvalidData`] for a longer file.
pub fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = open_regular(path)?;
    let too_long = || invalid(format!("longer than {most} bytes"));
    if file.metadata()?.len() > most {
        return Err(too_long());
    }
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(too_long()),
        false => Ok(bytes),
    }
}

/// Reads the next line, including its line feed, into `text`; returns `false` at the end of the file.
///
/// # Errors
/// [`io::ErrorKind::InvalidData`] when the line has more than `longest` bytes, after which reading
/// stops; or an error of the operating system.
pub fn read_line(
    source: &mut impl BufRead,
    text: &mut Vec<u8>,
    longest: usize,
) -> io::Result<bool> {
    text.clear();
    let mut source = source.take(longest as u64 + 1);
    source.read_until(b'\n', text)?;
    if text.len() > longest {
        return Err(invalid(format!("longer than {longest} bytes")));
    }
    Ok(!text.is_empty())
}

/// A reader that fails at a line of more than so many bytes, for parsers that collect whole lines.
#[derive(Debug)]
pub struct BoundedLines<R> {
    source: R,
    longest: usize,
    /// Bytes since the last line feed.
    line: usize,
}

impl<R> BoundedLines<R> {
    /// Limits the lines of a reader.
    pub const fn new(source: R, longest: usize) -> Self {
        Self {
            source,
            longest,
            line: 0,
        }
    }
}

impl<R: Read> Read for BoundedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        for part in buffer[..read].split_inclusive(|byte| *byte == b'\n') {
            self.line += part.len();
            if self.line > self.longest {
                return Err(invalid(format!(
                    "a line is longer than {} bytes",
                    self.longest
                )));
            }
            if part.ends_with(b"\n") {
                self.line = 0;
            }
        }
        Ok(read)
    }
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_limit_and_refused_beyond() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scenario.toml");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let refused = read_at_most(&path, 4).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
        assert_eq!(refused.to_string(), "longer than 4 bytes");
        assert!(read_at_most(folder.path(), 4).is_err());
        fs::write(&path, b"\xff").unwrap();
        assert_eq!(
            read_text(&path).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_without_an_end_are_not_opened_and_a_file_without_a_length_is_bounded() {
        for device in ["/dev/zero", "/dev/full"] {
            let refused = read_at_most(Path::new(device), 9).unwrap_err().to_string();
            assert_eq!(refused, "not a regular file");
        }
        // Its length is 0 by its metadata.
        let refused = read_at_most(Path::new("/proc/self/status"), 9).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_line_without_an_end_fails_and_lines_of_the_limit_pass() {
        let mut text = String::new();
        BoundedLines::new(&b"123\n456\n78"[..], 4)
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "123\n456\n78");
        let endless = BoundedLines::new(io::repeat(b'x'), 1000);
        let read = io::copy(&mut { endless }, &mut io::sink());
        assert_eq!(read.unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
