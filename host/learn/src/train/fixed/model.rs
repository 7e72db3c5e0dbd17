//! A fixed-point model of any sizes, in the smallest of a few memories of constant size.
//!
//! The firmware's code has constant sizes. A network smaller than its memory gives the same bits (see
//! [`gleaner_shared::mlp`]), so a few memories serve all networks.

use gleaner_shared::mlp::code::{self, Between, Change, Code, Draw, Memory};
use gleaner_shared::mlp::forward::Pass;
use gleaner_shared::mlp::{Clip, CodeError, Guess, Params, Shape, UploadCode, Width, classify};
use gleaner_shared::rng::Rng;

/// The parameters of a network in the units of devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FixedModel(pub(super) Room);

/// The memories, the smallest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Room {
    Small(Box<Params<256, 64, 16>>),
    Paper(Box<Params<784, 50, 10>>),
    Medium(Box<Params<1024, 64, 16>>),
    Many(Box<Params<1024, 64, 256>>),
    Broad(Box<Params<512, 256, 64>>),
    Large(Box<Params<1024, 128, 64>>),
    Long(Box<Params<4096, 64, 64>>),
}

/// Evaluates an expression on the parameters of a model, in any memory.
macro_rules! within {
    ($room:expr, $params:ident => $done:expr) => {
        match $room {
            Room::Paper($params) => $done,
            Room::Small($params) => $done,
            Room::Medium($params) => $done,
            Room::Many($params) => $done,
            Room::Broad($params) => $done,
            Room::Large($params) => $done,
            Room::Long($params) => $done,
        }
    };
}
pub(super) use within;

/// A network larger than every memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no fixed-point network of {0}: 256 hidden units go with up to 512 inputs, 128 with 1024, 64 with 4096, \
     each with 2 to 64 classes, and up to 256 classes with 64 units and 1024 inputs; no board holds more"
)]
pub struct TooLarge(pub Shape);

impl FixedModel {
    /// Returns a model of these sizes, all zero.
    ///
    /// # Errors
    /// When it is too large.
    pub fn new(shape: Shape) -> Result<Self, TooLarge> {
        let rooms: [fn() -> Room; 7] = [
            || Room::Small(Box::new(Params::new())),
            || Room::Paper(Box::new(Params::new())),
            || Room::Medium(Box::new(Params::new())),
            || Room::Many(Box::new(Params::new())),
            || Room::Broad(Box::new(Params::new())),
            || Room::Large(Box::new(Params::new())),
            || Room::Long(Box::new(Params::new())),
        ];
        let shape = shape.check().map_err(|_| TooLarge(shape))?;
        let fitting = rooms.iter().find_map(|room| {
            let mut room = room();
            within!(&mut room, params => params.reshape(shape)).then_some(room)
        });
        fitting.map(Self).ok_or(TooLarge(shape))
    }

    /// Returns the sizes of the network.
    #[must_use]
    pub fn shape(&self) -> Shape {
        within!(&self.0, params => params.shape())
    }

    /// Returns the inputs of a sample in this memory.
    pub(super) fn stride(&self) -> usize {
        fn of<const IN: usize, const HID: usize, const OUT: usize>(
            _: &Params<IN, HID, OUT>,
        ) -> usize {
            IN
        }
        within!(&self.0, params => of(params))
    }

    /// Draws initial parameters from the run's stream, as every client does.
    pub fn initialise(&mut self, seed: u64) {
        within!(&mut self.0, params => params.initialise(seed));
    }

    /// Reads real numbers, rounding to the nearest unit.
    pub fn read_real(&mut self, values: &[f32]) {
        within!(&mut self.0, params => params.read_f32(values));
    }

    /// Returns the parameters as real numbers, in wire order.
    #[must_use]
    pub fn real(&self) -> Vec<f32> {
        let mut values = vec![0.0; self.shape().parameters()];
        within!(&self.0, params => params.write_f32(&mut values));
        values
    }

    /// Returns the parameters in the exact form of the wire.
    #[must_use]
    pub fn exact(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.shape().exact_bytes()];
        let fits = within!(&self.0, params => params.write_exact(&mut bytes));
        debug_assert!(fits, "the buffer has the length of the exact form");
        bytes
    }

    /// Reads the exact form; returns `false` and changes nothing if `bytes` has the wrong length.
    #[must_use]
    pub fn read_exact(&mut self, bytes: &[u8]) -> bool {
        within!(&mut self.0, params => params.read_exact(bytes))
    }

    /// Codes the difference to a model of the same sizes, at most as long as `clip`, in 8 bits per
    /// parameter.
    ///
    /// # Errors
    /// When `base` is of other sizes.
    pub fn code(&self, base: &Self, clip: Clip, rounding: &mut Rng) -> Result<Vec<u8>, CodeError> {
        let mut bytes = vec![0; Width::Byte.coded_bytes(self.shape().parameters())];
        macro_rules! encode {
            ($($room:ident),*) => {
                match (&self.0, &base.0) {
                    $((Room::$room(model), Room::$room(base)) => {
                        code::encode(model, base, Width::Byte, clip, rounding, &mut bytes)
                    })*
                    _ => Err(CodeError::Length {
                        bytes: bytes.len(),
                        expected: Width::Byte.coded_bytes(base.shape().parameters()),
                    }),
                }
            };
        }
        encode!(Paper, Small, Medium, Many, Broad, Large, Long)?;
        Ok(bytes)
    }

    /// Codes the difference to a model of the same sizes as an upload, at most as long as `clip`. What
    /// a client remembers becomes what it remembers if the upload counts.
    ///
    /// # Errors
    /// When `base` is of other sizes, or the memory of another length.
    pub fn upload(
        &self,
        base: &Self,
        code: UploadCode,
        (clip, draw): (Clip, Draw),
        memory: Option<&mut [u8]>,
    ) -> Result<Vec<u8>, CodeError> {
        macro_rules! upload {
            ($($room:ident),*) => {
                match (&self.0, &base.0) {
                    $((Room::$room(model), Room::$room(base)) => {
                        let change = Between { model: &**model, base: &**base };
                        upload(&change, self.shape(), code, (clip, draw), memory)
                    })*
                    _ => Err(CodeError::Length {
                        bytes: code.encoded_len(&self.shape()),
                        expected: code.encoded_len(&base.shape()),
                    }),
                }
            };
        }
        upload!(Paper, Small, Medium, Many, Broad, Large, Long)
    }

    /// Adds the difference of an upload.
    ///
    /// # Errors
    /// When the bytes are not an upload of this network.
    pub fn receive(&mut self, code: UploadCode, bytes: &[u8]) -> Result<(), CodeError> {
        let shape = self.shape();
        let change = code.decode(shape, bytes)?;
        within!(&mut self.0, params => code::apply(&change, params));
        Ok(())
    }

    /// Adds a coded difference.
    ///
    /// # Errors
    /// When the bytes are not an update of this network.
    pub fn apply(&mut self, code: &[u8]) -> Result<(), CodeError> {
        let shape = self.shape();
        within!(&mut self.0, params => {
            Code::parse_sized(shape, code, Width::Byte)?.apply(params);
        });
        Ok(())
    }

    /// Classifies a sample; one that is too short is filled up with zeros.
    #[must_use]
    pub fn classify(&self, sample: &[u8]) -> Guess {
        fn of<const IN: usize, const HID: usize, const OUT: usize>(
            params: &Params<IN, HID, OUT>,
            sample: &[u8],
        ) -> Guess {
            let mut pixels = [0; IN];
            let count = sample.len().min(IN);
            pixels[..count].copy_from_slice(&sample[..count]);
            classify(params, &pixels, &mut Box::new(Pass::new()))
        }
        within!(&self.0, params => of(params, sample))
    }
}

fn upload(
    change: &impl Change,
    shape: Shape,
    code: UploadCode,
    (clip, draw): (Clip, Draw),
    memory: Option<&mut [u8]>,
) -> Result<Vec<u8>, CodeError> {
    let mut work = vec![0; code.work_words(&shape)];
    let mut bytes = vec![0; code.encoded_len(&shape)];
    let Some(memory) = memory else {
        code.encode(change, clip, draw, &mut work, &mut bytes)?;
        return Ok(bytes);
    };
    let (length, expected) = (memory.len(), code::memory_bytes(&shape));
    let mut memory = Memory::new(shape, memory).ok_or(CodeError::Length {
        bytes: length,
        expected,
    })?;
    code.encode(&memory.with(change), clip, draw, &mut work, &mut bytes)?;
    memory.advance(change, &code.decode(shape, &bytes)?);
    Ok(bytes)
}
