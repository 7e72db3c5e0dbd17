//! Writer of archives, including the overview that the application draws.

use std::io::{self, Seek, Write};

use serde::Serialize;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::super::sink::Sink;
use super::super::{About, Block};
use super::{
    ALL_LOW, Addition, FORMAT, FRAME, LOST_UA, METADATA, MINIMAP, Metadata, Recording, SESSION,
    is_lost, pairs, shown,
};

/// Size from which an entry needs the ZIP64 form.
const LARGE: u64 = u32::MAX as u64 - (1 << 20);

/// Writer of an archive.
///
/// `metadata.json` also holds the voltage, which the application ignores and Gleaner reads back.
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
    /// Starts the archive of a trace; `packed` about halves the file and takes several times as long.
    ///
    /// # Errors
    /// Returns the error of the operating system.
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

/// Returns the current that is read back as exactly this power, if there is one.
fn stored(watts: f32, volts: f64, levels: u8, bits: u16) -> f32 {
    let nearest = shown(f64::from(watts) / volts * 1e6, levels);
    let read = |current_ua: f32| (f64::from(current_ua) * (volts * 1e-6)) as f32;
    [nearest, nearest.next_up(), nearest.next_down()]
        .into_iter()
        .find(|&current_ua| read(current_ua) == watts && !is_lost(current_ua, bits))
        .unwrap_or(nearest)
}

/// Largest number of stretches in the overview.
const MOST: usize = 10_000;

/// Lower end of the logarithmic scale on which the application draws.
const LEAST_NA: f64 = 200.0;

/// The overview that the application draws below a recording: minimum and maximum of ever longer
/// stretches, halved in number when there are [`MOST`]. Fields have the names of the file.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Minimap {
    last_element_fold_count: u32,
    data: Data,
    max_number_of_elements: usize,
    number_of_times_to_fold: u32,
}

#[derive(Clone, Debug, Default, Serialize)]
struct Data {
    length: usize,
    min: Vec<Point>,
    max: Vec<Point>,
}

/// A time in microseconds and a current in nanoamperes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Point {
    x: f64,
    y: f64,
}

impl Minimap {
    fn new() -> Self {
        Self {
            last_element_fold_count: 0,
            data: Data::default(),
            max_number_of_elements: MOST,
            number_of_times_to_fold: 1,
        }
    }

    fn push(&mut self, current_ua: f32, time_us: f64) {
        let value = (f64::from(current_ua) * 1e3).max(LEAST_NA);
        if self.last_element_fold_count == 0 {
            let point = Point {
                x: time_us,
                y: value,
            };
            self.data.min.push(point);
            self.data.max.push(point);
            self.data.length += 1;
        }
        self.last_element_fold_count += 1;
        let share = 1.0 / f64::from(self.last_element_fold_count);
        let last = self.data.length - 1;
        let (least, most) = (&mut self.data.min[last], &mut self.data.max[last]);
        let x = time_us * share + least.x * (1.0 - share);
        *least = Point {
            x,
            y: value.min(least.y),
        };
        *most = Point {
            x,
            y: value.max(most.y),
        };
        if self.last_element_fold_count == self.number_of_times_to_fold {
            self.last_element_fold_count = 0;
        }
        if self.data.length == MOST {
            self.fold();
        }
    }

    fn fold(&mut self) {
        self.number_of_times_to_fold *= 2;
        self.data.length /= 2;
        halve(&mut self.data.min, f64::min);
        halve(&mut self.data.max, f64::max);
    }
}

fn halve(points: &mut Vec<Point>, choose: fn(f64, f64) -> f64) {
    *points = points
        .chunks_exact(2)
        .map(|pair| Point {
            x: f64::midpoint(pair[0].x, pair[1].x),
            y: choose(pair[0].y, pair[1].y),
        })
        .collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_keeps_extremes_and_stays_small() {
        let mut map = Minimap::new();
        for sample in 0..1_000_000_u32 {
            let current = if sample == 777_777 { 9_000.0 } else { 10.0 };
            map.push(current, f64::from(sample) * 10.0);
        }
        assert!(map.data.length < MOST && map.data.length >= MOST / 2);
        assert_eq!(map.data.length, map.data.min.len());
        let top = map.data.max.iter().max_by(|a, b| a.y.total_cmp(&b.y));
        let top = top.unwrap();
        assert_eq!(top.y, 9e6);
        assert!((top.x - 7_777_770.0).abs() < 2_000.0, "{}", top.x);
        assert!(map.data.min.iter().all(|point| point.y == 10_000.0));
        assert!(map.data.min.windows(2).all(|pair| pair[0].x < pair[1].x));
    }
}
