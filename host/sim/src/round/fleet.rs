//! The interface between the round engine and its clients, simulated or boards.

use gleaner_files::Prefix;
use gleaner_shared::energy::Shortfall;
use gleaner_shared::mlp::Clip;
use gleaner_shared::units::NanoWatts;
use serde::{Deserialize, Serialize};

use super::RoundLog;
use crate::ClientId;
use crate::policy::Order;
use gleaner_learn::train::Tensor;

/// The broadcast of a round: the model and the orders.
#[derive(Clone, Copy, Debug)]
pub struct Broadcast<'a> {
    /// The round, from 1; 0 is the introduction before it.
    pub round: u32,
    /// The global model as announced.
    pub model: &'a [f32],
    /// Orders to the participants, in client order.
    pub orders: &'a [Order],
    /// Modelled time of the way down.
    pub downlink_s: f64,
    /// Modelled time of each order's upload.
    pub upload_s: &'a [f64],
    /// Power that each order's transmitter draws.
    pub drawn: &'a [NanoWatts],
    /// Shortfall of each order by the engine's account of the client's store: simulated clients
    /// decline by it, boards by their own ledger. Empty without stores.
    pub shortfalls: &'a [Option<Shortfall>],
    /// Longest update; clients shorten theirs to it.
    pub clip: Clip,
    /// Whether clients are to report their loss after training, which costs a forward pass.
    pub wants_loss_after: bool,
}

impl Broadcast<'_> {
    /// Iterates over the orders that their clients can pay for.
    pub fn payable(&self) -> impl Iterator<Item = &Order> {
        let orders = self.orders.iter().enumerate();
        orders
            .filter(|(at, _)| self.shortfall(*at).is_none())
            .map(|(_, order)| order)
    }

    /// Puts the answers to [the payable orders](Self::payable) between those of the clients that
    /// decline.
    pub fn with_declined(&self, answers: impl IntoIterator<Item = Reply>) -> Vec<Reply> {
        let mut answers = answers.into_iter();
        let silent = || Reply::Lost("it had no answer".to_owned());
        let answer = |at| match self.shortfall(at) {
            Some(shortfall) => Reply::Declined(shortfall.to_string()),
            None => answers.next().unwrap_or_else(silent),
        };
        (0..self.orders.len()).map(answer).collect()
    }

    fn shortfall(&self, at: usize) -> Option<&Shortfall> {
        self.shortfalls.get(at)?.as_ref()
    }
}

/// The update of a participant.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Its model after training.
    pub model: Vec<f32>,
    /// Its loss at the model it received.
    pub loss_before: f64,
    /// Its loss at the model it sends, where asked for.
    pub loss_after: Option<f64>,
}

/// The answer to one order.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// The client trained and sent its model.
    Trained(Update),
    /// Nothing usable came back; the round goes on without it.
    Lost(String),
    /// The client declined, because its store cannot pay.
    Declined(String),
}

/// A client and a model whose loss and gradient [`Fleet::gradients`] asks for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The client to be asked.
    pub client: ClientId,
    /// The model it is asked about.
    pub model: &'a [f32],
}

/// A client's exact loss and gradient at a model.
#[derive(Clone, Debug, PartialEq)]
pub struct ExactGradient {
    /// The loss F_i at the model.
    pub loss: f64,
    /// The gradient of F_i there.
    pub gradient: Vec<f32>,
}

/// Error of a fleet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// These clients cannot be asked for exact gradients.
    #[error("{clients} cannot report exact gradients; set {fix}")]
    NoGradients {
        /// Kind of the clients.
        clients: &'static str,
        /// The setting that does without.
        fix: &'static str,
    },
    /// A saved state does not fit.
    #[error("the saved state of the clients does not fit: {0}")]
    Restore(String),
    /// The run was stopped by hand.
    #[error("stopped by hand")]
    Stopped,
    /// The clients could not be set up or run.
    #[error("{0}")]
    Failed(String),
}

/// The clients of a run, simulated or boards.
pub trait Fleet {
    /// Returns the number of samples D_i of every client.
    fn samples(&self) -> &[u32];

    /// Returns the number of non-zero inputs of every client's samples; none where it is not known.
    fn nonzeros(&self) -> &[u64] {
        &[]
    }

    /// Returns the parts of the model they train; none where it is one of no known parts.
    fn tensors(&self) -> &[Tensor] {
        &[]
    }

    /// Tells every client the global model and returns the model they then hold: the same one,
    /// unless the way there loses something.
    ///
    /// # Errors
    /// Errors that stop the whole run.
    fn announce(&mut self, _round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        Ok(model.to_vec())
    }

    /// Carries out a round's orders, starting from the announced model; one reply per order, in the same order.
    ///
    /// # Errors
    /// Errors that stop the whole run; a client that fails is [`Reply::Lost`].
    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError>;

    /// Closes a round, with its log and its final model.
    ///
    /// # Errors
    /// Errors that stop the whole run.
    fn settle(&mut self, _log: &RoundLog, _model: &[f32]) -> Result<(), FleetError> {
        Ok(())
    }

    /// Ends the run: clients learn how the last round ended, as far as they can be reached.
    fn end(&mut self) {}

    /// Writes the clients' own log to the disk and returns its length and hash, for a checkpoint; empty
    /// without such a log.
    ///
    /// # Errors
    /// When the log cannot be written.
    fn logged(&mut self) -> Result<Prefix, FleetError> {
        Ok(Prefix::default())
    }

    /// Asks clients for exact losses and gradients; one answer per question, in the same order.
    ///
    /// # Errors
    /// When these clients have no such channel, as boards do not.
    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError>;

    /// Returns whatever clients remember between rounds, for a checkpoint.
    fn save(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Returns to a saved state.
    ///
    /// # Errors
    /// When the state belongs to other clients.
    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        if state.is_empty() {
            Ok(())
        } else {
            Err(FleetError::Restore(format!(
                "{} bytes for clients without a memory",
                state.len()
            )))
        }
    }
}

/// Loss and accuracy of a model on samples it was not trained on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Score {
    /// Share of the images classified correctly, 0 to 1.
    pub accuracy: f64,
    /// Mean cross-entropy on the images.
    pub loss: f64,
}

/// Judges models at the base station.
pub trait Examiner {
    /// Scores a model on the test set.
    fn examine(&self, model: &[f32]) -> Score;

    /// Scores a model on training images that no client owns, where some were set aside. Whatever a
    /// run chooses, it chooses by this score: the test set is there to judge the choice.
    fn validate(&self, _model: &[f32]) -> Option<Score> {
        None
    }

    /// Trains a model for so many epochs on the images of [`validate`](Self::validate), where there are
    /// any: the update that the rule `fltrust` compares those of clients with.
    fn train(&self, _model: &[f32], _epochs: u32) -> Option<Vec<f32>> {
        None
    }
}
