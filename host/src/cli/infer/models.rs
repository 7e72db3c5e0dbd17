//! The models of a run in the form that boards hold: the final one, and the last one its boards
//! trained on.

use std::path::Path;

use anyhow::Context;
use gleaner_learn::train::FixedModel;
use gleaner_shared::mlp::{Guess, Shape};
use gleaner_shared::wire::message::ModelHash;
use gleaner_sim::run::{Checkpoint, RunDirectory, decode_model};

/// A model and its hash.
pub struct Known {
    hash: ModelHash,
    model: FixedModel,
}

impl Known {
    fn new(model: FixedModel) -> Self {
        let hash = ModelHash::of(&model.exact());
        Self { hash, model }
    }

    /// Returns the bytes of the whole model, as they are sent.
    pub fn bytes(&self) -> Vec<u8> {
        self.model.exact()
    }

    /// Tells whether the model has this hash.
    pub fn is(&self, hash: ModelHash) -> bool {
        self.hash == hash
    }

    /// Classifies pixels; returns `None` for a wrong number of them.
    pub fn classify(&self, pixels: &[u8]) -> Option<Guess> {
        let fits = pixels.len() == self.model.shape().inputs;
        fits.then(|| self.model.classify(pixels))
    }
}

/// Reads the models of a run, the final one first, for the network of the boards.
pub fn of_run(path: &Path, network: Shape) -> anyhow::Result<Vec<Known>> {
    let directory = RunDirectory::new(path);
    let file = directory.file(RunDirectory::MODEL);
    let bytes = std::fs::read(&file).with_context(|| {
        format!(
            "cannot read {}: give the directory of a complete run",
            file.display()
        )
    })?;
    let real =
        decode_model(&bytes).with_context(|| format!("{} is not a model", file.display()))?;
    anyhow::ensure!(
        real.len() == network.parameters(),
        "{} has {} parameters, the scenario's network {network} has {}: give the scenario of the run",
        file.display(),
        real.len(),
        network.parameters()
    );
    let mut model = FixedModel::new(network)?;
    model.read_real(&real);
    let mut held = model.clone();
    let mut known = vec![Known::new(model)];
    // A fleet that trains in integers saves the last announced model.
    let (checkpoint, _) = Checkpoint::read(&directory);
    if checkpoint.is_some_and(|it| held.read_exact(it.state.fleet())) {
        known.push(Known::new(held));
    }
    Ok(known)
}
