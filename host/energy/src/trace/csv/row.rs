//! Lines, rows and decimal numbers of a table.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};

use super::super::columns::{Layout, Role};
use super::super::error::Kind;

/// Longest accepted line.
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
        let value = || parse_number(cell).ok_or_else(|| wrong("a number"));
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

/// Powers of ten that a double holds exactly.
const TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Parses a decimal number; most of the time of reading a table is spent here.
///
/// Up to 15 digits and 22 places the quotient of two exact doubles is the nearest double (Clinger,
/// 1990); all else is left to the standard library.
fn parse_number(cell: &[u8]) -> Option<f64> {
    quick(cell).or_else(|| std::str::from_utf8(cell).ok()?.parse().ok())
}

fn quick(cell: &[u8]) -> Option<f64> {
    let (negative, digits) = match cell {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, cell),
    };
    // The sign, the point and fifteen digits.
    if digits.len() > 16 {
        return None;
    }
    let mut value = 0_u64;
    let mut places = None;
    for (at, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => value = 10 * value + u64::from(byte - b'0'),
            b'.' if places.is_none() => places = Some(digits.len() - 1 - at),
            _ => return None,
        }
    }
    if digits.len() == usize::from(places.is_some()) || value >= 1 << 53 {
        return None;
    }
    let size = value as f64 / TENS[places.unwrap_or(0)];
    Some(if negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let found = parse_number(text.as_bytes()).unwrap();
            assert_eq!(found.to_bits(), expected.to_bits(), "{text}");
        }
        for text in ["", ".", "-", "1,5", "1.2.3", "0x10", "abc", "1 "] {
            assert_eq!(parse_number(text.as_bytes()), None, "{text}");
        }
        assert_eq!(parse_number(&[0xFF, 0xFE]), None);
    }
}
