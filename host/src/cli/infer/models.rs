//! The models of a run as boards hold them: the final one, and the one its boards trained on last.

use std::path::Path;

use anyhow::Context;
use gleaner_learn::train::FixedModel;
use gleaner_shared::mlp::{Guess, Shape};
use gleaner_shared::wire::message::ModelHash;
use gleaner_sim::run::{Checkpoint, RunDirectory, decode_model};

/// A model by its hash.
pub struct Known {
    hash: ModelHash,
    model: FixedModel,
}

impl Known {
    fn new(model: FixedModel) -> Self {
        let hash = ModelHash::of(&model.exact());
        Self { hash, model }
    }

    /// Returns it as it travels whole.
    pub fn bytes(&self) -> Vec<u8> {
        self.model.exact()
    }

    /// Tells whether it is the model of that hash.
    pub fn is(&self, hash: ModelHash) -> bool {
        self.hash == hash
    }

    /// Asks it; `None` if these are no pixels of its size.
    pub fn classify(&self, pixels: &[u8]) -> Option<Guess> {
        let fits = pixels.len() == self.model.shape().inputs;
        fits.then(|| self.model.classify(pixels))
    }
}

/// Reads the models of a run, the final one first; `network` is that of the boards.
pub fn of_run(path: &Path, network: Shape) -> anyhow::Result<Vec<Known>> {
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
    // What the fleet kept is the model that was announced last, where it trains in integers.
    let (checkpoint, _) = Checkpoint::read(&directory);
    if checkpoint.is_some_and(|it| held.read_exact(it.state.fleet())) {
        known.push(Known::new(held));
    }
    Ok(known)
}
