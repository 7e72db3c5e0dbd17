//! Classifies samples on boards and compares the answers with the host's.

use gleaner_shared::mlp::forward::Pass;
use gleaner_shared::mlp::{Guess, PaperParams, classify};
use gleaner_shared::wire::message::{
    Classified, DeviceToHost, HostToDevice, InferRefusal, ModelHash, Payload, SamplePlace,
};

use crate::reference::exact;
use crate::shard::{Digits, INPUTS};
use crate::station::Station;
use crate::wire::Wire;

/// Classifies a sample on the host.
#[must_use]
pub fn by_host(model: &PaperParams, pixels: &[u8; INPUTS]) -> Guess {
    classify(model, pixels, &mut Pass::new())
}

/// Waits for the board's classification.
///
/// # Errors
/// The board's reason for refusing.
pub fn answer<W: Wire>(station: &mut Station<W>) -> Result<Classified, InferRefusal> {
    station.expect(|message| match message {
        DeviceToHost::Classified(found) => Some(Ok(*found)),
        DeviceToHost::InferRefused(reason) => Some(Err(*reason)),
        _ => None,
    })
}

/// Asks the board to classify a sample that it holds.
///
/// # Errors
/// As [`answer`].
pub fn ask<W: Wire>(
    station: &mut Station<W>,
    place: SamplePlace,
    number: u32,
) -> Result<Classified, InferRefusal> {
    station.say(HostToDevice::Infer { place, number });
    answer(station)
}

/// Totals over many classifications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Number of samples classified.
    pub count: u64,
    /// Answers that name the sample's class.
    pub right: u64,
    /// The most cycles one took, by the board's own count.
    pub most: u64,
    /// The cycles all took.
    pub cycles: u64,
}

impl Answers {
    /// Adds the totals of another board of the same kind.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            right: self.right + other.right,
            most: self.most.max(other.most),
            cycles: self.cycles + other.cycles,
        }
    }
}

/// Sends a board the model and has it classify the samples in its flash; calls `asked` after each.
///
/// # Panics
/// When class, confidence, sample, label or model is not the host's, to the bit.
pub fn as_the_host<W: Wire>(
    station: &mut Station<W>,
    model: &PaperParams,
    digits: &Digits,
    mut asked: impl FnMut(),
) -> Answers {
    station.connect();
    let hash = station.deliver(Payload::Model, &exact(model)).hash;
    let mut answers = Answers::default();
    for (number, (pixels, &label)) in digits.pixels.iter().zip(&digits.labels).enumerate() {
        let found = ask(station, SamplePlace::Flashed, number as u32).expect("an answer");
        let ours = by_host(model, pixels);
        let theirs = (found.class, found.confidence_q16);
        assert_eq!(theirs, (ours.class, ours.confidence_q16), "{number}");
        assert_eq!(found.sample, ModelHash::of(pixels));
        assert_eq!((found.label, found.model), (Some(label), hash));
        answers = answers.and(Answers {
            count: 1,
            right: u64::from(found.class == label),
            most: found.cycles.0,
            cycles: found.cycles.0,
        });
        asked();
    }
    answers
}
