//! What a client must compute, computed on the host from the same code.

use gleaner_shared::mlp::code::{Between, Code, Draw};
use gleaner_shared::mlp::{
    Clip, LearningRate, PaperParams, Scratch, Trainer, Width, Work, scratch_words,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::message::Order;

use crate::shard::Digits;

/// Most samples of a reference run.
const ROOM: usize = 1_200;

/// Returns the model before round 1.
#[must_use]
pub fn initial(seed: u64) -> Box<PaperParams> {
    let mut params = Box::new(PaperParams::new());
    params.initialise(seed);
    params
}

/// Returns the bytes of a model as they travel whole.
///
/// # Panics
/// Never: the buffer has the right length.
#[must_use]
pub fn exact(params: &PaperParams) -> Vec<u8> {
    let mut bytes = vec![0; PaperParams::EXACT_BYTES];
    assert!(params.write_exact(&mut bytes));
    bytes
}

/// Trains as a client with `digits` would and returns its parameters.
///
/// # Panics
/// When there are more samples than the reference has room for.
#[must_use]
pub fn trained(
    global: &PaperParams,
    digits: &Digits,
    client: u32,
    order: &Order,
) -> Box<PaperParams> {
    let mut params = Box::new(global.clone());
    let samples = digits.samples();
    let mut work = Box::new(Work::new());
    let mut scratch = Box::new(Scratch::<{ scratch_words::<50>(ROOM) }>::new());
    let mut trainer = Trainer::try_new(
        &mut *params,
        &samples,
        &mut work,
        scratch.words(),
        LearningRate(order.learning_rate_q24),
        Rng::stream(order.seed, Purpose::Training, client, order.round),
    )
    .expect("samples that fit");
    for _ in 0..order.epochs {
        trainer.epoch();
    }
    params
}

/// Codes the update as that client would.
///
/// # Panics
/// Never: the buffer has the right length.
#[must_use]
pub fn coded(local: &PaperParams, global: &PaperParams, client: u32, order: &Order) -> Vec<u8> {
    let change = Between {
        model: local,
        base: global,
    };
    let draw = Draw {
        seed: order.seed,
        client,
        round: order.round,
    };
    let mut bytes = vec![0; order.code.encoded_len(&change)];
    let mut work = vec![0; order.code.work_words(&change)];
    let clip = Clip(order.clip_q16);
    (order.code)
        .encode(&change, clip, draw, &mut work, &mut bytes)
        .expect("memory of the right length");
    bytes
}

/// Adds an 8-bit update to a model.
///
/// # Panics
/// When the bytes are no update.
pub fn apply(update: &[u8], model: &mut PaperParams) {
    Code::parse(update, Width::Byte)
        .expect("an update")
        .apply(model);
}
