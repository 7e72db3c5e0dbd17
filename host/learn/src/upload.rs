//! Uploads of models in floating point, through the coder of the firmware.
//!
//! A change is counted in units of 2^-24, up to 64 either way, and then coded and decoded as a board's
//! change is: what arrives is what the code carries, and nothing else.

use gleaner_shared::mlp::code::{Change, Draw, LayerSize, Layers, Memory, memory_bytes, write_f32};
use gleaner_shared::mlp::{Clip, CodeError, UploadCode};

use crate::train::Tensor;

/// Units of a change that make one.
const UNITS: u32 = 1 << 24;
/// Differences saturate here.
const LARGEST: f64 = (1u32 << 30) as f64;

/// The code of the uploads of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Uploads {
    code: UploadCode,
    sizes: Vec<LayerSize>,
}

impl Uploads {
    /// Codes the changes of a network of these tensors. One of two or more dimensions is a matrix whose
    /// columns are its last dimension, and a vector has one row, as on boards.
    #[must_use]
    pub fn new(code: UploadCode, tensors: &[Tensor]) -> Self {
        let size = |tensor: &Tensor| {
            let columns = tensor.shape.last().copied().unwrap_or_default().max(1);
            LayerSize {
                rows: tensor.len() / columns,
                columns,
            }
        };
        Self {
            code,
            sizes: tensors.iter().map(size).collect(),
        }
    }

    /// Returns the bytes of an upload.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.code.encoded_len(&&self.sizes[..])
    }

    /// Returns the bytes that a client with error feedback remembers.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        memory_bytes(&&self.sizes[..])
    }

    /// Replaces a trained model by the one that arrives, and what the client remembers by what it
    /// remembers if the upload counts.
    ///
    /// # Errors
    /// If the model or the memory has another length than the network's.
    pub fn carry(
        &self,
        start: &[f32],
        model: &mut [f32],
        draw: Draw,
        memory: Option<&mut [u8]>,
    ) -> Result<(), CodeError> {
        let sizes = &self.sizes[..];
        let expected = sizes.parameters();
        for bytes in [start.len(), model.len()] {
            if bytes != expected {
                return Err(CodeError::Length { bytes, expected });
            }
        }
        let change = Real::new(sizes, start, model);
        let bytes = match memory {
            None => self.encode(&change, draw)?,
            Some(bytes) => {
                let (expected, length) = (self.memory_bytes(), bytes.len());
                let memory = Memory::new(sizes, bytes);
                let mut memory = memory.ok_or(CodeError::Length {
                    bytes: length,
                    expected,
                })?;
                let coded = self.encode(&memory.with(&change), draw)?;
                memory.advance(&change, &self.code.decode(sizes, &coded)?);
                coded
            }
        };
        let mut moved = vec![0.0; expected];
        write_f32(&self.code.decode(sizes, &bytes)?, |_| UNITS, &mut moved);
        for ((x, &origin), moved) in model.iter_mut().zip(start).zip(moved) {
            *x = origin + moved;
        }
        Ok(())
    }

    fn encode(&self, change: &impl Change, draw: Draw) -> Result<Vec<u8>, CodeError> {
        let mut work = vec![0; self.code.work_words(change)];
        let mut bytes = vec![0; self.code.encoded_len(change)];
        (self.code).encode(change, Clip::NONE, draw, &mut work, &mut bytes)?;
        Ok(bytes)
    }
}

/// A change in units.
struct Real<'a> {
    sizes: &'a [LayerSize],
    numbers: Vec<i32>,
    /// Place of each layer's first number, and the bits of its largest one.
    layers: Vec<(usize, u32)>,
}

impl<'a> Real<'a> {
    fn new(sizes: &'a [LayerSize], start: &[f32], model: &[f32]) -> Self {
        let units = |(&x, &origin): (&f32, &f32)| {
            let units = (f64::from(x) - f64::from(origin)) * f64::from(UNITS);
            // A number that is none becomes zero.
            units.clamp(-LARGEST, LARGEST).round_ties_even() as i32
        };
        let numbers: Vec<i32> = model.iter().zip(start).map(units).collect();
        let mut end = 0;
        let layers = sizes.iter().map(|size| {
            let first = end;
            end += size.parameters();
            let magnitudes = numbers[first..end].iter().map(|it| it.unsigned_abs());
            let largest = magnitudes.max().unwrap_or(0);
            (first, (u32::BITS - largest.leading_zeros()).min(30))
        });
        Self {
            sizes,
            layers: layers.collect(),
            numbers,
        }
    }
}

impl Layers for Real<'_> {
    fn count(&self) -> usize {
        self.sizes.len()
    }

    fn size(&self, layer: usize) -> LayerSize {
        self.sizes.size(layer)
    }
}

impl Change for Real<'_> {
    fn read(
        &self,
        layer: usize,
        row: usize,
        first: usize,
        out: &mut [i32],
        convert: impl Fn(i32) -> i32,
    ) {
        let at = self.layers[layer].0 + row * self.sizes[layer].columns + first;
        for (out, &number) in out.iter_mut().zip(&self.numbers[at..]) {
            *out = convert(number);
        }
    }

    fn bits(&self, layer: usize) -> u32 {
        self.layers[layer].1
    }

    fn exceeded(&self, _: Clip) -> Option<(u32, u32)> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    fn draw(round: u32) -> Draw {
        Draw {
            seed: 1,
            client: 2,
            round,
        }
    }

    fn network() -> [Tensor; 3] {
        [
            Tensor::new("conv", &[5, 5, 4, 16], 1.0),
            Tensor::new("dense", &[90, 70], 1.0),
            Tensor::new("bias", &[70], 1.0),
        ]
    }

    fn models() -> (Vec<f32>, Vec<f32>) {
        let mut rng = Rng::stream(3, Purpose::Synthetic, 0, 0);
        let start: Vec<f32> = (0..7_970).map(|_| rng.uniform() as f32 - 0.5).collect();
        let moved = |x: &f32| x + (rng.uniform() as f32 - 0.5) * 1e-3;
        let model = start.iter().map(moved).collect();
        (start, model)
    }

    fn error(found: &[f32], wanted: &[f32], start: &[f32]) -> f64 {
        let square = |a: &[f32], b: &[f32]| -> f64 {
            let pairs = a.iter().zip(b);
            pairs.map(|(a, b)| f64::from(a - b).powi(2)).sum()
        };
        square(found, wanted) / square(wanted, start)
    }

    #[test]
    fn what_arrives_is_as_close_as_the_code_says() {
        let (start, model) = models();
        for (name, most, bytes) in [
            ("q16", 1e-8, 12 + 15_940),
            ("q8", 1e-3, 12 + 7_970),
            ("q6", 2e-3, 12 + 1200 + 4725 + 53),
            ("q4", 0.02, 4 + 900 + 4 + 3330 + 4 + 37),
            ("rank-8", 0.7, 4 + 1600 + 1 + 16 + 1280 + 74),
        ] {
            let uploads = Uploads::new(UploadCode::named(name).unwrap(), &network());
            assert_eq!(uploads.bytes(), bytes, "{name}");
            let mut arrived = model.clone();
            uploads.carry(&start, &mut arrived, draw(1), None).unwrap();
            let error = error(&arrived, &model, &start);
            assert!(error < most, "{name} {error}");
        }
    }

    #[test]
    fn a_memory_sends_later_what_is_left_out() {
        let (start, model) = models();
        let uploads = Uploads::new(UploadCode::named("rank-2").unwrap(), &network());
        let mut memory = vec![0; uploads.memory_bytes()];
        let mut sums = vec![0.0; start.len()];
        for round in 0..100 {
            let mut arrived = model.clone();
            uploads
                .carry(&start, &mut arrived, draw(round), Some(&mut memory))
                .unwrap();
            let moved = arrived.iter().zip(&start).map(|(x, origin)| x - origin);
            sums.iter_mut()
                .zip(moved)
                .for_each(|(sum, it)| *sum += it / 100.0);
        }
        let mean: Vec<f32> = sums.iter().zip(&start).map(|(sum, x)| sum + x).collect();
        let (with, mut once) = (error(&mean, &model, &start), model.clone());
        uploads.carry(&start, &mut once, draw(1), None).unwrap();
        let alone = error(&once, &model, &start);
        assert!(with < 0.35 && alone > 0.8, "{with} {alone}");
    }

    #[test]
    fn other_lengths_are_refused_and_numbers_that_are_none_become_zero() {
        let (start, mut model) = models();
        let uploads = Uploads::new(UploadCode::Q8, &network());
        assert!(
            uploads
                .carry(&start[1..], &mut model, draw(1), None)
                .is_err()
        );
        let short = Some(&mut [0; 5][..]);
        assert!(uploads.carry(&start, &mut model, draw(1), short).is_err());
        (model[0], model[1]) = (f32::NAN, f32::INFINITY);
        uploads.carry(&start, &mut model, draw(1), None).unwrap();
        assert_eq!(model[0], start[0]);
        assert!((model[1] - start[1] - 64.0).abs() < 1.0, "{}", model[1]);
    }
}
