//! Lines and rows of a table.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::super::columns::{Layout, Role};
use super::super::error::Kind;

/// Longest accepted line, in bytes.
const LONGEST: usize = 1 << 16;

/// Reads a file line by line.
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

    /// Returns the next line without its end, and whether it had one; `None` at the end of the file.
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

    /// Returns the number of the last line, from 1.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// One row; values without a column are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) time_s: f64,
    pub(super) current_a: f64,
    pub(super) voltage_v: f64,
    pub(super) power_w: f64,
    pub(super) pins: u8,
}

impl Row {
    /// Parses a row; inputs of unknown level keep their level of `before`.
    pub(super) fn parse(line: &[u8], layout: &Layout, before: u8) -> Result<Self, Kind> {
        let mut row = Self {
            pins: before,
            ..Self::default()
        };
        let mut width = 0;
        for cell in line.split(|byte| *byte == layout.separator) {
            if let Some(role) = layout.role(width) {
                row.take(trim(cell), role, width)?;
            }
            width += 1;
            if width == layout.width() {
                return Ok(row);
            }
        }
        Err(Kind::Column(format!(
            "{width} cells, expected {}; the file was cut off or is damaged",
            layout.width()
        )))
    }

    fn take(&mut self, cell: &[u8], role: Role, column: usize) -> Result<(), Kind> {
        let wrong = |expected| Kind::Cell {
            column: (column + 1).to_string(),
            text: String::from_utf8_lossy(&cell[..cell.len().min(40)]).into_owned(),
            expected,
        };
        let value = || fast_float2::parse::<f64, _>(cell).map_err(|_| wrong("a number"));
        match role {
            Role::Time(factor) => self.time_s = value()? * factor,
            Role::Current(factor) => self.current_a = value()? * factor,
            Role::Voltage(factor) => self.voltage_v = value()? * factor,
            Role::Power(factor) => self.power_w = value()? * factor,
            Role::Mask => {
                let mask = value()?;
                if !(0.0..=255.0).contains(&mask) || mask.fract() != 0.0 {
                    return Err(wrong("a number from 0 to 255"));
                }
                self.pins = mask as u8;
            }
            Role::Word => {
                if cell.len() != 8 {
                    return Err(wrong("eight levels"));
                }
                for (input, level) in cell.iter().enumerate() {
                    self.level(input as u8, *level)
                        .ok_or_else(|| wrong("eight of 0, 1, X and -"))?;
                }
            }
            Role::Pin(input) => {
                let &[level] = cell else {
                    return Err(wrong("one of 0, 1, X and -"));
                };
                self.level(input, level)
                    .ok_or_else(|| wrong("one of 0, 1, X and -"))?;
            }
        }
        Ok(())
    }

    fn level(&mut self, input: u8, level: u8) -> Option<()> {
        match level {
            b'0' => self.pins &= !(1 << input),
            b'1' => self.pins |= 1 << input,
            // Both levels within one sample, or unknown.
            b'X' | b'-' => {}
            _ => return None,
        }
        Some(())
    }
}

fn trim(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    match cell {
        [b'"', inner @ .., b'"'] => inner,
        _ => cell,
    }
}

#[cfg(test)]
mod tests {

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for text in [
            "0",
            "-0",
            "1",
            "+1.5",
            "0.001",
            "123456.789",
            "99999.99999",
            "3.3000e-3",
            "1e6",
            "12345678901234567890",
            "0.1234567890123456789",
            "-.5",
            "5.",
            "1E-9",
            "0.200",
            "4503599627370497.5",
            "9007199254740993",
            "NaN",
            "inf",
        ] {
            let expected: f64 = text.parse().unwrap();
            let found: f64 = fast_float2::parse(text).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        for text in ["", ".", "-", "1,5", "1.2.3", "0x10", "abc", "1 "] {
            assert!(fast_float2::parse::<f64, _>(text).is_err(), "{text}");
        }
    }
}
