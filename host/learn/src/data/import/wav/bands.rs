//! The loudness of sixteen bands, frame by frame.
//!
//! A frame is the largest power of two of samples within 32 ms, weighted with Hann's window; frames do
//! not overlap. Bands are equally wide on the mel scale (O'Shaughnessy, "Speech communication", 1987)
//! from 100 Hz to half the sample rate. A value is the mean power of a band in dB of full scale, -100 at
//! least.

use std::f64::consts::PI;

const BANDS: usize = 16;
const FRAME_S: f64 = 0.032;
const LOWEST_HZ: f64 = 100.0;
/// Added to every power, so that silence has a logarithm.
const FLOOR: f64 = 1e-10;

/// The analysis of sounds of one sampling rate.
pub(super) struct Bands {
    weights: Vec<f64>,
    /// Cosine and sine of every fraction of a turn.
    turns: Vec<(f64, f64)>,
    /// The first bin of every band, and the one after the last.
    edges: Vec<usize>,
    rate_hz: u32,
}

impl Bands {
    /// Prepares the analysis of sounds of `rate_hz`.
    ///
    /// # Errors
    /// When the rate is outside 4 to 192 kHz.
    pub(super) fn new(rate_hz: u32) -> Result<Self, String> {
        if !(4_000..=192_000).contains(&rate_hz) {
            return Err(format!(
                "has a rate of {rate_hz} Hz: must be 4000 to 192000 Hz"
            ));
        }
        let rate = f64::from(rate_hz);
        let length = 1 << (rate * FRAME_S).log2().floor() as u32;
        let mel = |hertz: f64| 2595.0 * libm::log10(1.0 + hertz / 700.0);
        let hertz = |mel: f64| 700.0 * (libm::pow(10.0, mel / 2595.0) - 1.0);
        let (low, high) = (mel(LOWEST_HZ), mel(rate / 2.0));
        let mut edges: Vec<usize> = Vec::with_capacity(BANDS + 1);
        for band in 0..=BANDS {
            let frequency = hertz(low + (high - low) * band as f64 / BANDS as f64);
            let bin = libm::round(frequency * length as f64 / rate) as usize;
            // Every band has at least one bin.
            edges.push(edges.last().map_or(bin.max(1), |last| bin.max(last + 1)));
        }
        let angle = |at: usize| 2.0 * PI * at as f64 / length as f64;
        Ok(Self {
            weights: (0..length)
                .map(|at| 0.5 - 0.5 * libm::cos(angle(at)))
                .collect(),
            turns: (0..length / 2)
                .map(|at| (libm::cos(angle(at)), -libm::sin(angle(at))))
                .collect(),
            edges,
            rate_hz,
        })
    }

    /// Returns the names of the columns: `band from 344 Hz` and so on.
    pub(super) fn names(&self) -> Vec<String> {
        let bin_hz = f64::from(self.rate_hz) / self.weights.len() as f64;
        let name = |pair: &[usize]| format!("band from {:.0} Hz", pair[0] as f64 * bin_hz);
        self.edges.windows(2).map(name).collect()
    }

    /// Passes on the bands of every whole frame.
    ///
    /// # Errors
    /// When there is no whole frame, or what `each` says.
    pub(super) fn frames(
        &self,
        samples: &[f32],
        mut each: impl FnMut(&[f32]) -> Result<(), String>,
    ) -> Result<(), String> {
        let length = self.weights.len();
        if samples.len() < length {
            let count = samples.len();
            return Err(format!(
                "has {count} samples, fewer than the {length} of a frame"
            ));
        }
        let mut spectrum = vec![(0.0, 0.0); length];
        for frame in samples.chunks_exact(length) {
            for ((bin, &sample), weight) in spectrum.iter_mut().zip(frame).zip(&self.weights) {
                *bin = (f64::from(sample) * weight, 0.0);
            }
            self.transform(&mut spectrum);
            let power = |&(re, im): &(f64, f64)| (re * re + im * im) / (length * length) as f64;
            let values: [f32; BANDS] = std::array::from_fn(|band| {
                let bins = &spectrum[self.edges[band]..self.edges[band + 1].min(length)];
                let mean = bins.iter().map(power).sum::<f64>() / bins.len() as f64;
                (10.0 * libm::log10(mean + FLOOR)) as f32
            });
            each(&values)?;
        }
        Ok(())
    }

    /// The Fourier transform of a power of two of values, in place (Cooley and Tukey, 1965).
    fn transform(&self, values: &mut [(f64, f64)]) {
        let length = values.len();
        let bits = length.trailing_zeros();
        for at in 0..length {
            let other = at.reverse_bits() >> (usize::BITS - bits);
            if at < other {
                values.swap(at, other);
            }
        }
        let mut half = 1;
        while half < length {
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for (at, (a, b)) in low.iter_mut().zip(high).enumerate() {
                    let (cos, sin) = self.turns[at * (length / (2 * half))];
                    let turned = (b.0 * cos - b.1 * sin, b.0 * sin + b.1 * cos);
                    *b = (a.0 - turned.0, a.1 - turned.1);
                    *a = (a.0 + turned.0, a.1 + turned.1);
                }
            }
            half *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tone_is_loudest_in_its_own_band_and_silence_is_silent_at_every_rate() {
        for rate in [4_000, 8_000, 16_000, 44_100, 48_000, 192_000] {
            let bands = Bands::new(rate).unwrap();
            assert!(bands.edges.is_sorted_by(|a, b| a < b));
            assert!(bands.edges[BANDS] <= bands.weights.len(), "{rate}");
            let length = bands.weights.len();
            for band in 0..BANDS {
                let bin = (bands.edges[band] + bands.edges[band + 1]) / 2;
                let wave = |at: usize| (2.0 * PI * (bin * at) as f64 / length as f64).sin() as f32;
                let tone: Vec<f32> = (0..length).map(wave).collect();
                let mut found = Vec::new();
                bands
                    .frames(&tone, |values| {
                        found = values.to_vec();
                        Ok(())
                    })
                    .unwrap();
                let loudest = (0..BANDS)
                    .max_by(|&a, &b| found[a].total_cmp(&found[b]))
                    .unwrap();
                assert!(
                    loudest.abs_diff(band)
                        <= usize::from(bands.edges[band + 1] - bands.edges[band] < 3),
                    "{rate}: {band} {found:?}"
                );
            }
            bands
                .frames(&vec![0.0; length], |values| {
                    assert_eq!(values, [-100.0; BANDS]);
                    Ok(())
                })
                .unwrap();
        }
        assert!(Bands::new(0).is_err());
    }
}
