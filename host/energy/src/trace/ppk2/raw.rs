//! Bytes of a PPK2's serial line, as programs with `ppk2_api.get_data` save them.
//!
//! Four bytes per sample, little-endian: 14 bits of the converter, 3 of the range, 1 unused, 6 of a
//! counter and 8 logic levels (`MEAS_*` in `src/device/serialDevice.ts`).

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use super::super::error::{Kind, Missing, Place, TraceError};
use super::super::sink::Sink;
use super::super::watch::{self, Watch};
use super::super::{About, Block, Trace};
use super::calibration::{Calibration, Filter, RANGES};

const FRAME: usize = 4;

const BLOCK: usize = 1 << 16;

/// Sample rate of every PPK2.
const RATE_HZ: f64 = 100_000.0;

/// Range of the sample counter.
const COUNTER: u8 = 64;

/// Jumps within sixteen samples from which samples count as misaligned.
const SLIP: u32 = 4;

/// Reader of a dump. The counter shows every gap that is not a multiple of 64 samples.
pub struct RawReader {
    about: About,
    file: File,
    calibration: Calibration,
    filter: Filter,
    volts: f64,
    watch: Watch,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    sample: u64,
    due: Option<u8>,
    jumps: u16,
    ended: bool,
}

impl RawReader {
    /// Opens a dump.
    ///
    /// # Errors
    /// Returns an error if the file cannot be opened or the voltage is missing or invalid.
    pub fn try_new(
        path: &Path,
        calibration: Calibration,
        voltage_v: Option<f64>,
        trust_units: bool,
    ) -> Result<Self, TraceError> {
        let source = path.display().to_string();
        let open = || -> Result<(File, u64, f64), Kind> {
            let file = File::open(path)?;
            let bytes = file.metadata()?.len();
            let volts = watch::voltage(voltage_v.ok_or(Kind::NoVoltage)?)?;
            Ok((file, bytes, volts))
        };
        let (file, bytes, volts) = open().map_err(|kind| TraceError::of(&source, kind))?;
        Ok(Self {
            about: About {
                source,
                rate_hz: RATE_HZ,
                samples: Some(bytes / FRAME as u64),
                has_pins: true,
            },
            file,
            calibration,
            filter: Filter::default(),
            volts,
            watch: Watch::new("the PPK2's raw samples", trust_units),
            buffer: vec![0; BLOCK * FRAME],
            at: 0,
            filled: 0,
            sample: 0,
            due: None,
            jumps: 0,
            ended: false,
        })
    }

    /// Returns the supply voltage.
    #[must_use]
    pub const fn voltage_v(&self) -> f64 {
        self.volts
    }

    /// Returns the charge so far.
    #[must_use]
    pub fn charge_c(&self) -> f64 {
        self.watch.sum_a() / RATE_HZ
    }

    /// Refills the buffer if it is empty; returns false at the end.
    fn fill(&mut self) -> Result<bool, Kind> {
        if self.at < self.filled {
            return Ok(true);
        }
        (self.at, self.filled) = (0, 0);
        while self.filled < self.buffer.len() {
            match self.file.read(&mut self.buffer[self.filled..]) {
                Ok(0) => break,
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        match self.filled % FRAME {
            0 => Ok(self.filled > 0),
            torn => Err(Kind::Torn(torn)),
        }
    }

    fn advance(&mut self, block: &mut Block) -> Result<bool, Kind> {
        if !self.fill()? {
            self.watch.end()?;
            return Ok(false);
        }
        for frame in self.buffer[self.at..self.filled].chunks_exact(FRAME) {
            let word = u32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
            let counter = (word >> 18) as u8 % COUNTER;
            let jump = self.due.is_some_and(|due| due != counter);
            if jump && !block.power_w.is_empty() {
                break;
            }
            self.jumps = self.jumps << 1 | u16::from(jump);
            if let Some(due) = self.due.filter(|_| jump) {
                self.due = Some(counter);
                if self.jumps.count_ones() >= SLIP {
                    return Err(Kind::Slipped);
                }
                let missing = Missing::Modulo64(counter.wrapping_sub(due) % COUNTER);
                return Err(Kind::Gap { missing });
            }
            let range = (word >> 14) as u8 & 7;
            if usize::from(range) >= RANGES {
                return Err(Kind::Range(range));
            }
            self.due = Some((counter + 1) % COUNTER);
            let range = usize::from(range);
            let plain = self
                .calibration
                .current(range, word as u16 & 0x3FFF, self.volts);
            let current = self.filter.next(range, plain);
            self.watch.currents([current]).map_err(|(_, kind)| kind)?;
            block.power_w.push((current * self.volts) as f32);
            block.pins.push((word >> 24) as u8);
            self.at += FRAME;
            self.sample += 1;
        }
        Ok(true)
    }
}

impl Trace for RawReader {
    type Error = TraceError;

    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.clear();
        if self.ended {
            return Ok(false);
        }
        let read = self.advance(block).map_err(|kind| {
            let byte = self.sample * FRAME as u64;
            TraceError::at(&self.about.source, Place::Byte(byte), kind)
        });
        self.ended = TraceError::is_end(&read);
        read
    }
}

/// Writer of a dump, with the steps and ranges of the meter.
pub struct RawWriter<W: Write> {
    target: W,
    calibration: Calibration,
    volts: f64,
    counter: u8,
    frames: Vec<u8>,
}

impl<W: Write> RawWriter<W> {
    /// Starts a dump of a kit with this calibration.
    pub const fn new(target: W, calibration: Calibration, voltage_v: f64) -> Self {
        Self {
            target,
            calibration,
            volts: voltage_v,
            counter: 0,
            frames: Vec::new(),
        }
    }
}

impl<W: Write> Sink for RawWriter<W> {
    fn push(&mut self, block: &Block) -> io::Result<()> {
        self.frames.clear();
        for (at, &watts) in block.power_w.iter().enumerate() {
            let pins = block.pins.get(at).copied().unwrap_or(0);
            let (range, code) = self
                .calibration
                .convert(f64::from(watts) / self.volts, self.volts);
            let word = u32::from(code)
                | (range as u32) << 14
                | u32::from(self.counter) << 18
                | u32::from(pins) << 24;
            self.frames.extend_from_slice(&word.to_le_bytes());
            self.counter = (self.counter + 1) % COUNTER;
        }
        self.target.write_all(&self.frames)
    }

    fn lose(&mut self, samples: u64) -> io::Result<()> {
        self.counter = ((u64::from(self.counter) + samples) % u64::from(COUNTER)) as u8;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.target.flush()
    }
}
