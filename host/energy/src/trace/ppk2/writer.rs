//! Writes an archive that the application opens.

use std::io::{self, Seek, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::sink::Sink;
use super::super::{About, Block};
use super::minimap::Minimap;
use super::{
    ALL_LOW, Addition, FORMAT, FRAME, LOST_UA, METADATA, MINIMAP, Metadata, Recording, SESSION,
    is_lost, pairs, shown,
};

/// From here on a ZIP needs its later form.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);

/// An archive that is being written.
///
/// `metadata.json` also says the voltage, which the application ignores, so that Gleaner need not
/// be told it again.
pub struct Writer<W: Write + Seek> {
    zip: ZipWriter<W>,
    minimap: Minimap,
    volts: f64,
    period_us: f64,
    sample: u64,
    has_pins: bool,
    frames: Vec<u8>,
}

impl<W: Write + Seek> Writer<W> {
    /// Begins an archive of a trace; `packed` about halves the file and takes several times as long.
    ///
    /// # Errors
    /// Whatever the system refuses.
    pub fn try_new(target: W, about: &About, voltage_v: f64, packed: bool) -> io::Result<Self> {
        let mut zip = ZipWriter::new(target);
        let bytes = about.samples.map(|samples| samples * FRAME as u64);
        let options = options(packed).large_file(bytes.is_none_or(|bytes| bytes > LARGE));
        zip.start_file(METADATA, SimpleFileOptions::default())?;
        let metadata = Metadata {
            metadata: Recording {
                samples_per_second: about.rate_hz,
                start_system_time: None,
            },
            format_version: FORMAT,
            gleaner: Some(Addition { voltage_v }),
        };
        serde_json::to_writer(&mut zip, &metadata)?;
        zip.start_file(SESSION, options)?;
        Ok(Self {
            zip,
            minimap: Minimap::new(),
            volts: voltage_v,
            period_us: 1e6 / about.rate_hz,
            sample: 0,
            has_pins: about.has_pins,
            frames: Vec::new(),
        })
    }

    fn frame(&mut self, current_ua: f32, pairs: u16) {
        self.frames.extend_from_slice(&current_ua.to_le_bytes());
        self.frames.extend_from_slice(&pairs.to_be_bytes());
        let time_us = self.sample as f64 * self.period_us;
        self.minimap.push(current_ua, time_us);
        self.sample += 1;
    }

    fn flush(&mut self) -> io::Result<()> {
        self.zip.write_all(&self.frames)?;
        self.frames.clear();
        Ok(())
    }
}

impl<W: Write + Seek> Sink for Writer<W> {
    fn push(&mut self, block: &Block) -> io::Result<()> {
        for (at, &watts) in block.power_w.iter().enumerate() {
            let levels = block.pins.get(at).copied().unwrap_or(0);
            let bits = if self.has_pins { pairs(levels) } else { 0 };
            let current_ua = stored(watts, self.volts, levels, bits);
            self.frame(current_ua, bits);
        }
        self.flush()
    }

    fn lose(&mut self, samples: u64) -> io::Result<()> {
        for _ in 0..samples {
            self.frame(LOST_UA, ALL_LOW);
        }
        self.flush()
    }

    fn finish(mut self) -> io::Result<()> {
        self.zip.start_file(MINIMAP, options(true))?;
        serde_json::to_writer(&mut self.zip, &self.minimap)?;
        self.zip.finish()?.flush()
    }
}

fn options(packed: bool) -> SimpleFileOptions {
    SimpleFileOptions::default().compression_method(if packed {
        CompressionMethod::Deflated
    } else {
        CompressionMethod::Stored
    })
}

/// The current that gives this very power back when it is read, if there is one.
fn stored(watts: f32, volts: f64, levels: u8, bits: u16) -> f32 {
    let nearest = shown(f64::from(watts) / volts * 1e6, levels);
    let read = |current_ua: f32| (f64::from(current_ua) * (volts * 1e-6)) as f32;
    [nearest, nearest.next_up(), nearest.next_down()]
        .into_iter()
        .find(|&current_ua| read(current_ua) == watts && !is_lost(current_ua, bits))
        .unwrap_or(nearest)
}
