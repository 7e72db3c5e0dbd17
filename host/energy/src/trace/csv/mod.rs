//! Tables of samples: exports of the PPK2's and the Joulescope's applications, and any other table
//! whose columns are declared.
//!
//! The PPK2's columns are `Timestamp(ms),Current(uA),D0-D7,D0,...,D7` with any of them left out
//! (`src/actions/exportChartAction.ts` of `pc-nrfconnect-ppk`); the application leaves
//! out rows of lost samples, so time leaps there. The Joulescope's columns are
//! `#time (s),current (A),voltage (V)` of its user interface and `time,current,voltage,...` of
//! `downsample_logging.py` and of its statistics, in SI units.

mod clock;
mod row;
mod writer;

pub use writer::CsvWriter;

use std::collections::VecDeque;
use std::fs::File;
use std::path::Path;

use super::columns::{Author, Layout};
use super::error::{Kind, Place, TraceError};
use super::watch::{self, Watch};
use super::{About, Block, Options, Trace};

use clock::{Clock, Suspect};
use row::{Lines, Row};

const BLOCK: usize = 1 << 15;

/// Rows from which the sample rate is determined.
const FIRST: usize = 4096;

/// Reader of a table.
pub struct CsvReader {
    about: About,
    layout: Layout,
    lines: Lines,
    /// Rows that were read ahead, with their lines.
    ahead: VecDeque<(u64, Row)>,
    /// The row behind a gap that is not reported yet.
    behind: Option<Row>,
    clock: Option<Clock>,
    suspect: Suspect,
    watch: Watch,
    volts: Option<f64>,
    pins: u8,
    first_v: Option<f64>,
    line: u64,
    trouble: Option<(u64, Kind)>,
    ended: bool,
}

impl CsvReader {
    /// Opens a table.
    ///
    /// # Errors
    /// Returns an error if the header or the options are invalid.
    pub fn try_new(path: &Path, options: &Options) -> Result<Self, TraceError> {
        let source = path.display().to_string();
        Self::begin(path, &source, options).map_err(|(line, kind)| match line {
            0 => TraceError::of(&source, kind),
            line => TraceError::at(&source, Place::Line(line), kind),
        })
    }

    fn begin(path: &Path, source: &str, options: &Options) -> Result<Self, (u64, Kind)> {
        let whole = |kind: Kind| (0, kind);
        let mut lines = Lines::new(File::open(path).map_err(|e| whole(e.into()))?);
        let (layout, first) = layout(&mut lines, options)?;
        let volts = options.voltage_v.map(watch::voltage).transpose();
        let volts = volts.map_err(whole)?;
        match (layout.has_voltage(), layout.has_power(), volts) {
            (true, _, Some(_)) => {
                let what = "the table has its own voltage; leave --voltage out, or its column";
                return Err(whole(Kind::Column(what.to_owned())));
            }
            (false, false, None) => return Err(whole(Kind::NoVoltage)),
            _ => {}
        }
        let rate_hz = options.rate_hz.map(watch::rate).transpose();
        let mut reader = Self {
            about: About {
                source: source.to_owned(),
                rate_hz: rate_hz.map_err(whole)?.unwrap_or(0.0),
                samples: None,
                has_pins: layout.has_pins(),
            },
            watch: Watch::new(layout.unit(), options.trust_units),
            suspect: Suspect::new(layout.author == Author::Ppk2 && layout.has_pins()),
            layout,
            lines,
            ahead: VecDeque::new(),
            behind: None,
            clock: None,
            volts,
            pins: 0,
            first_v: None,
            line: 0,
            trouble: None,
            ended: false,
        };
        if let Some((number, line)) = first {
            let row = Row::parse(line.as_bytes(), &reader.layout, 0);
            let row = row.map_err(|kind| (number, kind))?;
            reader.pins = row.pins;
            reader.ahead.push_back((number, row));
        }
        reader.look_ahead()?;
        Ok(reader)
    }

    /// Reads the first rows, and finds the rate in their stamps.
    fn look_ahead(&mut self) -> Result<(), (u64, Kind)> {
        while self.ahead.len() < FIRST {
            let Some(row) = self.fetch().map_err(|kind| (self.lines.number(), kind))? else {
                break;
            };
            self.ahead.push_back((self.lines.number(), row));
        }
        self.first_v = self.ahead.front().map(|(_, row)| row.voltage_v);
        if !self.layout.has_time() {
            let missing = self.about.rate_hz == 0.0;
            return if missing {
                Err((0, Kind::NoRate))
            } else {
                Ok(())
            };
        }
        if self.about.rate_hz == 0.0 {
            let stamps: Vec<f64> = self.ahead.iter().map(|(_, row)| row.time_s).collect();
            let rate_hz = clock::rate(&stamps).ok_or_else(|| {
                let stuck = stamps.len() > 1;
                let kind = if stuck { Kind::Rate(0.0) } else { Kind::Empty };
                (0, kind)
            })?;
            self.about.rate_hz = watch::rate(rate_hz).map_err(|kind| (0, kind))?;
        }
        self.clock = Some(Clock::new(1.0 / self.about.rate_hz));
        Ok(())
    }

    /// Returns the supply voltage: as stated, or at the first sample.
    #[must_use]
    pub fn voltage_v(&self) -> Option<f64> {
        self.volts
            .or(self.first_v.filter(|_| self.layout.has_voltage()))
    }

    /// Returns the charge so far, if currents are known.
    #[must_use]
    pub fn charge_c(&self) -> Option<f64> {
        let known = self.layout.has_current() || self.voltage_v().is_some();
        known.then(|| self.watch.sum_a() / self.about.rate_hz)
    }

    /// Returns the number of bytes read so far.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.lines.bytes()
    }

    fn fetch(&mut self) -> Result<Option<Row>, Kind> {
        loop {
            let Some((text, whole)) = self.lines.next()? else {
                return Ok(None);
            };
            if text.trim_ascii().is_empty() || text.first() == Some(&b'#') {
                continue;
            }
            // The applications end every line, so a last line without an end was cut off.
            if !whole && self.layout.author != Author::Other {
                let what = "the last line has no end; the file was cut off, export it again";
                return Err(Kind::Column(what.to_owned()));
            }
            let row = Row::parse(text, &self.layout, self.pins)?;
            self.pins = row.pins;
            return Ok(Some(row));
        }
    }

    /// Returns the next row and puts the number of its line into `self.line`.
    fn next(&mut self) -> Result<Option<Row>, Kind> {
        if let Some((line, row)) = self.ahead.pop_front() {
            self.line = line;
            return Ok(Some(row));
        }
        let row = self.fetch();
        self.line = self.lines.number();
        row
    }

    /// Adds a row to the block.
    fn take(&mut self, row: Row, block: &mut Block) -> Result<(), Kind> {
        let volts = match self.volts {
            Some(volts) => volts,
            None if self.layout.has_voltage() => checked(row.voltage_v)?,
            None => 0.0,
        };
        let watts = if self.layout.has_power() {
            row.power_w
        } else {
            row.current_a * volts
        };
        let current_a = match (self.layout.has_current(), volts > 0.0) {
            (true, _) => row.current_a,
            (false, true) => watts / volts,
            // Without a voltage the check can only reject a power that is not a number.
            (false, false) => watts,
        };
        self.watch.currents([current_a]).map_err(|(_, kind)| kind)?;
        if !watts.is_finite() {
            return Err(Kind::NotFinite {
                what: "the power",
                value: watts,
            });
        }
        block.power_w.push(watts as f32);
        if self.about.has_pins {
            block.pins.push(row.pins);
        }
        Ok(())
    }

    fn advance(&mut self, block: &mut Block) -> Result<bool, (u64, Kind)> {
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        if let Some(row) = self.behind.take() {
            self.take(row, block).map_err(|kind| (self.line, kind))?;
        }
        while block.power_w.len() < BLOCK {
            let next = self.next();
            let Some(row) = next.map_err(|kind| (self.line, kind))? else {
                self.end().map_err(|kind| (self.line, kind))?;
                break;
            };
            let line = self.line;
            let leap = match &mut self.clock {
                Some(clock) => clock.next(row.time_s).err().map(|kind| (line, kind)),
                None => None,
            };
            if let Some(found) = leap.or_else(|| self.suspect.next(line, &row)) {
                if !matches!(found.1, Kind::Gap { .. }) {
                    return Err(found);
                }
                self.trouble = Some(found);
                self.behind = Some(row);
                break;
            }
            self.take(row, block).map_err(|kind| (line, kind))?;
        }
        Ok(!block.power_w.is_empty() || self.trouble.is_some())
    }

    fn end(&self) -> Result<(), Kind> {
        self.watch.end()?;
        self.clock.as_ref().map_or(Ok(()), Clock::end)
    }
}

fn checked(volts: f64) -> Result<f64, Kind> {
    // A recorded voltage of zero is a supply that is switched off.
    if volts == 0.0 {
        return Ok(0.0);
    }
    if volts.is_nan() {
        return Err(Kind::NotFinite {
            what: "the voltage",
            value: volts,
        });
    }
    watch::voltage(volts)
}

/// A first line that is data and no header, with its number.
type First = Option<(u64, String)>;

/// Determines the role of each column.
fn layout(lines: &mut Lines, options: &Options) -> Result<(Layout, First), (u64, Kind)> {
    loop {
        let text = match lines.next() {
            Ok(Some((text, _))) => String::from_utf8_lossy(text).into_owned(),
            Ok(None) => return Err((0, Kind::Empty)),
            Err(kind) => return Err((lines.number(), kind)),
        };
        let text = text.trim_start_matches('\u{feff}').trim().to_owned();
        let number = lines.number();
        if let Some(columns) = &options.columns {
            if text.is_empty() {
                continue;
            }
            let (layout, is_header) =
                Layout::declared(columns, &text).map_err(|kind| (number, kind))?;
            return Ok((layout, (!is_header).then_some((number, text))));
        }
        if let Some(layout) = Layout::recognise(&text) {
            return Ok((layout, None));
        }
        // A Joulescope's log may begin with remarks.
        if !text.starts_with('#') {
            let start: String = text.chars().take(40).collect();
            return Err((number, Kind::Unknown(start)));
        }
    }
}

impl Trace for CsvReader {
    type Error = TraceError;

    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.clear();
        if self.ended {
            return Ok(false);
        }
        let mut read = self.advance(block);
        // Between two adjacent gaps there are no samples: continue with the second.
        if matches!(read, Ok(true)) && block.power_w.is_empty() {
            read = self.advance(block);
        }
        let read = read
            .map_err(|(line, kind)| TraceError::at(&self.about.source, Place::Line(line), kind));
        self.ended = TraceError::is_end(&read);
        read
    }
}

#[cfg(test)]
mod tests;
