//! Reader of PPK2 archives.

use std::path::Path;

use super::super::error::{Kind, Missing, Place, TraceError};
use super::super::watch::{self, Watch};
use super::super::{About, Block, Trace};
use super::archive::{self, Session};
use super::{FORMAT, FRAME, is_lost, levels};

const BLOCK: usize = 1 << 16;

/// Reader of an archive.
///
/// A lost sample is found where the application stored its mark (0.2 uA with every input low) or
/// NaN; at less than 100 kS/s that is only where the last of the averaged samples was lost. The
/// archive has neither time stamps nor a counter, so other losses cannot be found.
pub struct Reader {
    about: About,
    session: Session,
    volts: f64,
    watch: Watch,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    sample: u64,
    pairs: u16,
    pins: u8,
    ended: bool,
}

impl Reader {
    /// Opens an archive. Without `voltage_v` the voltage is read from an archive of Gleaner's.
    ///
    /// # Errors
    /// Returns an error if the archive is damaged or the voltage is missing.
    pub fn try_new(
        path: &Path,
        voltage_v: Option<f64>,
        trust_units: bool,
    ) -> Result<Self, TraceError> {
        let source = path.display().to_string();
        Self::begin(path, &source, voltage_v, trust_units)
            .map_err(|kind| TraceError::of(&source, kind))
    }

    fn begin(
        path: &Path,
        source: &str,
        voltage_v: Option<f64>,
        trust_units: bool,
    ) -> Result<Self, Kind> {
        let (metadata, session, bytes) = archive::open(path)?;
        if metadata.format_version != FORMAT {
            return Err(Kind::Metadata(format!(
                "an archive of form {}, and this build reads form {FORMAT}; open and save it with \
                 nRF Connect Power Profiler 4",
                metadata.format_version
            )));
        }
        let stored = metadata.gleaner.map(|addition| addition.voltage_v);
        let volts = voltage_v.or(stored).ok_or(Kind::NoVoltage)?;
        let mut reader = Self {
            about: About {
                source: source.to_owned(),
                rate_hz: watch::rate(metadata.metadata.samples_per_second)?,
                samples: Some(bytes / FRAME as u64),
                has_pins: true,
            },
            session,
            volts: watch::voltage(volts)?,
            watch: Watch::new("microamperes", trust_units),
            buffer: vec![0; BLOCK * FRAME],
            at: 0,
            filled: 0,
            sample: 0,
            pairs: 0,
            pins: 0,
            ended: false,
        };
        // A first sample without any known level means that no inputs were recorded.
        reader.about.has_pins = reader.frame()?.is_none_or(|(_, pairs)| pairs != 0);
        Ok(reader)
    }

    /// Returns the supply voltage.
    #[must_use]
    pub const fn voltage_v(&self) -> f64 {
        self.volts
    }

    /// Returns the charge so far.
    #[must_use]
    pub fn charge_c(&self) -> f64 {
        self.watch.sum_a() / self.about.rate_hz
    }

    /// Returns the next stored sample without consuming it; `None` at the end.
    fn frame(&mut self) -> Result<Option<(f32, u16)>, Kind> {
        if self.at == self.filled {
            self.at = 0;
            self.filled = self.session.fill(&mut self.buffer)?;
            let torn = self.filled % FRAME;
            if torn > 0 {
                return Err(Kind::Torn(torn));
            }
        }
        let frame = self.buffer[self.at..self.filled].first_chunk::<FRAME>();
        Ok(frame.map(|&[a, b, c, d, high, low]| {
            (
                f32::from_le_bytes([a, b, c, d]),
                u16::from_be_bytes([high, low]),
            )
        }))
    }

    /// Reads the samples up to a lost one or to the end of the buffer.
    fn known(&mut self, block: &mut Block) {
        let watts = self.volts * 1e-6;
        let frames = self.buffer[self.at..self.filled].chunks_exact(FRAME);
        for frame in frames {
            let current = f32::from_le_bytes([frame[0], frame[1], frame[2], frame[3]]);
            let pairs = u16::from_be_bytes([frame[4], frame[5]]);
            if is_lost(current, pairs) {
                break;
            }
            block.power_w.push((f64::from(current) * watts) as f32);
            if self.about.has_pins {
                if pairs != self.pairs {
                    self.pairs = pairs;
                    self.pins = levels(pairs, self.pins);
                }
                block.pins.push(self.pins);
            }
        }
        self.at += block.power_w.len() * FRAME;
    }

    /// Skips lost samples and returns their number.
    fn lost(&mut self) -> Result<u64, Kind> {
        let mut lost = 0;
        while let Some((current, pairs)) = self.frame()? {
            if !is_lost(current, pairs) {
                break;
            }
            lost += 1;
            self.at += FRAME;
        }
        Ok(lost)
    }

    fn advance(&mut self, block: &mut Block) -> Result<bool, (u64, Kind)> {
        let here = self.sample;
        if self.frame().map_err(|kind| (here, kind))?.is_none() {
            self.watch.end().map_err(|kind| (here, kind))?;
            return Ok(false);
        }
        self.known(block);
        let read = block.power_w.len() as u64;
        let volts = self.volts;
        let currents = block.power_w.iter().map(|&watts| f64::from(watts) / volts);
        self.watch
            .currents(currents)
            .map_err(|(at, kind)| (here + at as u64, kind))?;
        if read == 0 {
            let lost = self.lost().map_err(|kind| (here, kind))?;
            self.sample += lost;
            let missing = Missing::Exactly(lost);
            return Err((here, Kind::Gap { missing }));
        }
        self.sample += read;
        Ok(true)
    }
}

impl Trace for Reader {
    type Error = TraceError;

    fn about(&self) -> &About {
        &self.about
    }

    fn read(&mut self, block: &mut Block) -> Result<bool, TraceError> {
        block.clear();
        if self.ended {
            return Ok(false);
        }
        let read = self.advance(block).map_err(|(sample, kind)| {
            TraceError::at(&self.about.source, Place::Sample(sample), kind)
        });
        self.ended = TraceError::is_end(&read);
        read
    }
}
