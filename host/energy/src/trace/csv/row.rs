//! One row of a table.

use super::super::error::Kind;
use super::columns::{Layout, Role};
use super::number;

/// What a row says; what its table has no column for is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Row {
    pub(super) time_s: f64,
    pub(super) current_a: f64,
    pub(super) voltage_v: f64,
    pub(super) power_w: f64,
    pub(super) pins: u8,
}

impl Row {
    /// Reads a row; inputs whose level it does not know keep that of `before`.
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
            "{width} cells where {} belong; the file was cut off or is damaged",
            layout.width()
        )))
    }

    fn take(&mut self, cell: &[u8], role: Role, column: usize) -> Result<(), Kind> {
        let wrong = |expected| Kind::Cell {
            column: (column + 1).to_string(),
            text: String::from_utf8_lossy(&cell[..cell.len().min(40)]).into_owned(),
            expected,
        };
        let value = || number::parse(cell).ok_or_else(|| wrong("a number"));
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
            // Both within one sample, or unknown.
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
