//! A user's application beside the client: it looks at the world now and then, asks the model, and
//! gathers samples.
//!
//! An image is a `main` that hands [`Runner::run`](crate::runner::Runner::run) an [`App`];
//! `src/bin/app_*.rs` has one for every board. The client goes on as without: the link is served,
//! orders are carried out.

pub mod replay;
pub mod window;

use gleaner_shared::mlp::{self, Guess};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::ModelHash;

use crate::gather::Gathered;
use crate::model::{INPUTS, Memory};

/// What a user adds to the client.
pub trait App {
    /// Whether the client trains on what was gathered and labelled, beside its shard. Nobody else
    /// has those samples: its updates can then not be recomputed, and it says so.
    const LEARNS: bool = false;

    /// Looks at the world; returns when to be called again, or `None` for never. It may take some
    /// ten milliseconds, in which the link waits, and is not called while the client trains.
    fn tick(&mut self, desk: &mut Desk<'_>) -> Option<Micros>;

    /// Returns what it gathered, if it gathers anything.
    fn gathered(&mut self) -> Option<&mut dyn Gathered>;
}

/// What an application works with.
pub struct Desk<'a> {
    now: Micros,
    memory: &'a mut Memory,
    model: Option<ModelHash>,
}

impl<'a> Desk<'a> {
    pub(crate) const fn new(now: Micros, memory: &'a mut Memory, model: Option<ModelHash>) -> Self {
        Self { now, memory, model }
    }

    /// Returns the time since start.
    #[must_use]
    pub const fn now(&self) -> Micros {
        self.now
    }

    /// Returns the model that is asked, if the board holds one.
    #[must_use]
    pub const fn model(&self) -> Option<ModelHash> {
        self.model
    }

    /// Classifies a sample by the global model; `None` as long as there is none.
    pub fn classify(&mut self, sample: &[u8; INPUTS]) -> Option<Guess> {
        self.model?;
        Some(classify(self.memory, sample))
    }
}

/// Classifies a sample by the global model, whatever it is.
pub fn classify(memory: &mut Memory, sample: &[u8; INPUTS]) -> Guess {
    mlp::classify(&memory.global, sample, &mut memory.work.pass)
}

/// The client alone.
pub struct NoApp;

impl App for NoApp {
    fn tick(&mut self, _desk: &mut Desk<'_>) -> Option<Micros> {
        None
    }

    fn gathered(&mut self) -> Option<&mut dyn Gathered> {
        None
    }
}
