//! The models of a run as boards hold them: the final one, and the one its boards trained on last.

use std::path::Path;

use anyhow::Context;
use gleaner_host::run::{Checkpoint, RunDirectory, decode_model};
use gleaner_shared::mlp::{Guess, PaperParams, classify, forward::Pass};
use gleaner_shared::wire::message::ModelHash;

/// A model by its hash.
pub struct Known {
    hash: ModelHash,
    params: Box<PaperParams>,
}

impl Known {
    fn new(params: Box<PaperParams>) -> Self {
        let mut known = Self {
            hash: ModelHash::default(),
            params,
        };
        known.hash = ModelHash::of(&known.bytes());
        known
    }

    /// Returns it as it travels whole.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; PaperParams::EXACT_BYTES];
        let fits = self.params.write_exact(&mut bytes);
        debug_assert!(fits, "the buffer has the length of the exact form");
        bytes
    }

    /// Tells whether it is the model of that hash.
    pub fn is(&self, hash: ModelHash) -> bool {
        self.hash == hash
    }

    /// Asks it; `None` if these are no pixels of its size.
    pub fn classify(&self, pixels: &[u8]) -> Option<Guess> {
        let pixels = pixels.try_into().ok()?;
        Some(classify(&self.params, pixels, &mut Pass::new()))
    }
}

/// Reads the models of a run, the final one first.
pub fn of_run(path: &Path) -> anyhow::Result<Vec<Known>> {
    let directory = RunDirectory::new(path);
    let file = directory.file(RunDirectory::MODEL);
    let bytes = std::fs::read(&file).with_context(|| {
        format!(
            "cannot read {}: give the directory of a run that is complete",
            file.display()
        )
    })?;
    let real = decode_model(&bytes).with_context(|| format!("{} is no model", file.display()))?;
    anyhow::ensure!(
        real.len() == PaperParams::COUNT,
        "{} has {} parameters, the boards' network {}: run a scenario with their perceptron",
        file.display(),
        real.len(),
        PaperParams::COUNT
    );
    let mut params = Box::new(PaperParams::new());
    params.read_f32(&real);
    let mut known = vec![Known::new(params)];
    // What the fleet kept is the model that was announced last, where it trains in integers.
    let (checkpoint, _) = Checkpoint::read(&directory);
    let mut held = Box::new(PaperParams::new());
    if checkpoint.is_some_and(|it| held.read_exact(it.state.fleet())) {
        known.push(Known::new(held));
    }
    Ok(known)
}
