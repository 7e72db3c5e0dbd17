//! A user's application that runs beside the client: reads sensors, classifies, gathers samples.
//!
//! An image is a `main` that passes an [`App`] to [`Runner::run`](crate::runner::Runner::run);
//! `src/bin/app_*.rs` has one for each board with an application. The client keeps serving the link
//! and carrying out orders.

pub mod replay;
pub mod window;

use gleaner_shared::mlp::{self, Guess};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::ModelHash;

use crate::gather::Gathered;
use crate::model::{INPUTS, Memory};

/// An application that runs beside the client.
pub trait App {
    /// Whether the client also trains on gathered and labelled samples. Nobody else has those
    /// samples, so the base station is told that its updates cannot be recomputed.
    const LEARNS: bool = false;

    /// Runs the application and returns when to call it again, or `None` for never. A call may take
    /// about ten milliseconds, during which the link waits; it is not called during training.
    fn tick(&mut self, desk: &mut Desk<'_>) -> Option<Micros>;

    /// Returns the gathered samples, if the application gathers any.
    fn gathered(&mut self) -> Option<&mut dyn Gathered>;
}

/// Time and model as an application sees them during one call.
pub struct Desk<'a> {
    now: Micros,
    memory: &'a mut Memory,
    model: Option<ModelHash>,
}

impl<'a> Desk<'a> {
    pub(crate) const fn new(now: Micros, memory: &'a mut Memory, model: Option<ModelHash>) -> Self {
        Self { now, memory, model }
    }

    /// Returns the time since the board started.
    pub const fn now(&self) -> Micros {
        self.now
    }

    /// Returns the hash of the global model, if the board holds one.
    pub const fn model(&self) -> Option<ModelHash> {
        self.model
    }

    /// Classifies a sample with the global model; `None` while the board has no model.
    pub fn classify(&mut self, sample: &[u8; INPUTS]) -> Option<Guess> {
        self.model?;
        Some(classify(self.memory, sample))
    }
}

/// Classifies a sample with the parameters in memory, whatever they are.
pub fn classify(memory: &mut Memory, sample: &[u8; INPUTS]) -> Guess {
    mlp::classify(&memory.global, sample, &mut memory.work.pass)
}

/// No application: runs the client alone.
pub struct NoApp;

impl App for NoApp {
    fn tick(&mut self, _desk: &mut Desk<'_>) -> Option<Micros> {
        None
    }

    fn gathered(&mut self) -> Option<&mut dyn Gathered> {
        None
    }
}
