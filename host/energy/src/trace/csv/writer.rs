//! Writer of tables in the format of the PPK2's application.

use std::io::{self, Write};

use super::super::sink::Sink;
use super::super::{About, Block};

/// Writer of a table; rows of lost samples are left out.
pub struct CsvWriter<W: Write> {
    target: W,
    volts: f64,
    rate_hz: f64,
    has_pins: bool,
    sample: u64,
}

impl<W: Write> CsvWriter<W> {
    /// Writes the header of a trace's table; `target` should be buffered.
    ///
    /// # Errors
    /// Returns the error of the operating system.
    pub fn try_new(mut target: W, about: &About, voltage_v: f64) -> io::Result<Self> {
        let levels = if about.has_pins { ",D0-D7" } else { "" };
        writeln!(target, "Timestamp(ms),Current(uA){levels}")?;
        Ok(Self {
            target,
            volts: voltage_v,
            rate_hz: about.rate_hz,
            has_pins: about.has_pins,
            sample: 0,
        })
    }
}

impl<W: Write> Sink for CsvWriter<W> {
    fn push(&mut self, block: &Block) -> io::Result<()> {
        for (at, &watts) in block.power_w.iter().enumerate() {
            let time_ms = 1e3 * self.sample as f64 / self.rate_hz;
            let current_ua = f64::from(watts) / self.volts * 1e6;
            write!(self.target, "{time_ms},{current_ua:.3}")?;
            if self.has_pins {
                let pins = block.pins.get(at).copied().unwrap_or(0);
                let levels: [u8; 8] = std::array::from_fn(|input| b'0' + (pins >> input & 1));
                self.target.write_all(b",")?;
                self.target.write_all(&levels)?;
            }
            self.target.write_all(b"\n")?;
            self.sample += 1;
        }
        Ok(())
    }

    fn lose(&mut self, samples: u64) -> io::Result<()> {
        self.sample += samples;
        Ok(())
    }

    fn finish(mut self) -> io::Result<()> {
        self.target.flush()
    }
}
