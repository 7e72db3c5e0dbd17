//! Simulated clients that run the firmware's own code, on models as coarse as the air makes them.
//!
//! Both directions carry the difference to the model both ends hold, the broadcast in 8 bits and an upload
//! in the code of the run. Everybody hears every
//! broadcast, so there is one such model; boards that take part in its place decode the same
//! bytes to the same parameters.

use gleaner_shared::mlp::code::{Draw, memory_bytes};
use gleaner_shared::mlp::{Clip, CodeError, LearningRate, Shape, UploadCode};
use gleaner_shared::rng::{Purpose, Rng};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::FloatFleet;
use super::memories::Memories;
use crate::ClientId;
use crate::round::{
    Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, RoundLog, Update,
};
use gleaner_learn::train::{Engine, FixedClient, FixedModel, Tensor};

/// Reported losses are in units of 2^-16.
const LOSS_UNITS: f64 = 65_536.0;

/// Clients that train in integers.
pub struct FixedFleet {
    seed: u64,
    rate: LearningRate,
    clients: Vec<FixedClient>,
    /// Answers questions about exact gradients, which a board could not.
    oracle: FloatFleet,
    /// The model both ends hold.
    held: FixedModel,
    /// The coded change that led to it.
    change: Vec<u8>,
    /// The code of uploads.
    code: UploadCode,
    memories: Memories,
    pool: ThreadPool,
}

impl FixedFleet {
    /// Gathers clients; `oracle` are the same clients in floating point.
    ///
    /// # Errors
    /// When the system refuses the threads.
    pub fn new(
        engine: &Engine,
        seed: u64,
        learning_rate: f64,
        clients: Vec<FixedClient>,
        oracle: FloatFleet,
        mut held: FixedModel,
    ) -> Result<Self, ThreadPoolBuildError> {
        let pool = ThreadPoolBuilder::new()
            .num_threads(engine.threads())
            .build()?;
        held.initialise(seed);
        Ok(Self {
            seed,
            rate: LearningRate::from_real(learning_rate),
            clients,
            oracle,
            held,
            change: Vec::new(),
            code: UploadCode::Q8,
            memories: Memories::default(),
            pool,
        })
    }

    /// Sends updates in another code than `q8`, with or without error feedback.
    #[must_use]
    pub fn with_uploads(mut self, code: UploadCode, error_feedback: bool) -> Self {
        let bytes = match error_feedback {
            true => memory_bytes(&self.held.shape()),
            false => 0,
        };
        self.memories = Memories::new(self.clients.len(), bytes);
        self.code = code;
        self
    }

    /// Returns whether clients remember what uploads left out.
    #[must_use]
    pub const fn has_feedback(&self) -> bool {
        self.memories.are_kept()
    }

    /// Returns the code of uploads.
    #[must_use]
    pub const fn code(&self) -> UploadCode {
        self.code
    }

    /// Returns the first model, which every client draws from the seed by itself.
    #[must_use]
    pub fn first_model(&self) -> Vec<f32> {
        self.held.real()
    }

    /// Returns the model both ends hold.
    #[must_use]
    pub const fn held(&self) -> &FixedModel {
        &self.held
    }

    /// Returns the sizes of the network.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.held.shape()
    }

    /// Returns the bytes of the last announcement: the change from the model held before.
    #[must_use]
    pub fn change(&self) -> &[u8] {
        &self.change
    }

    /// Returns the rate as clients are told it.
    #[must_use]
    pub const fn learning_rate(&self) -> LearningRate {
        self.rate
    }

    /// Returns the model of a client whose coded update are these bytes.
    ///
    /// # Errors
    /// When they are no update of this network.
    pub fn decode(&self, update: &[u8]) -> Result<Vec<f32>, CodeError> {
        let mut received = self.held.clone();
        received.receive(self.code, update)?;
        Ok(received.real())
    }

    /// Returns the reply to an order, and what the client remembers if its upload counts.
    fn carry_out(&self, order: &Order, broadcast: &Broadcast<'_>) -> (Reply, Option<Vec<u8>>) {
        let client = &self.clients[order.client.index()];
        let id = order.client.0;
        let mut parameters = self.held.clone();
        let rounding = Rng::stream(self.seed, Purpose::Training, id, broadcast.round);
        let epochs = match client.train(&mut parameters, order.epochs, self.rate, rounding) {
            Ok(epochs) => epochs,
            Err(error) => return (Reply::Lost(error.to_string()), None),
        };
        let mut memory = self.memories.of(order.client);
        let draw = Draw {
            seed: self.seed,
            client: id,
            round: broadcast.round,
        };
        let bounds = (broadcast.clip, draw);
        let sent = parameters.upload(&self.held, self.code, bounds, memory.as_deref_mut());
        let reply = match sent.and_then(|bytes| self.decode(&bytes)) {
            Ok(model) => Reply::Trained(Update {
                model,
                loss_before: epochs
                    .first()
                    .map_or(f64::NAN, |epoch| f64::from(epoch.mean_loss()) / LOSS_UNITS),
                loss_after: broadcast
                    .wants_loss_after
                    .then(|| as_reported(client.evaluate(&parameters).loss)),
            }),
            Err(error) => Reply::Lost(error.to_string()),
        };
        (reply, memory)
    }
}

impl Fleet for FixedFleet {
    fn samples(&self) -> &[u32] {
        self.oracle.samples()
    }

    fn nonzeros(&self) -> &[u64] {
        self.oracle.nonzeros()
    }

    fn tensors(&self) -> &[Tensor] {
        self.oracle.tensors()
    }

    fn announce(&mut self, round: u32, model: &[f32]) -> Result<Vec<f32>, FleetError> {
        let mut wanted = self.held.clone();
        wanted.read_real(model);
        let mut rounding = Rng::stream(self.seed, Purpose::Downlink, 0, round);
        (self.change, self.held) = over_the_air(&wanted, &self.held, Clip::NONE, &mut rounding)
            .map_err(|error| FleetError::Failed(error.to_string()))?;
        Ok(self.held.real())
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let this = &*self;
        let train = |order: &Order| this.carry_out(order, broadcast);
        let orders: Vec<&Order> = broadcast.payable().collect();
        let (replies, memories): (Vec<Reply>, Vec<Option<Vec<u8>>>) = this
            .pool
            .install(|| orders.par_iter().map(|order| train(order)).unzip());
        let clients = orders.iter().map(|order| order.client);
        let proposed = clients.zip(memories);
        let proposed: Vec<(ClientId, Vec<u8>)> = proposed
            .filter_map(|(client, memory)| Some((client, memory?)))
            .collect();
        self.memories.propose(proposed);
        Ok(broadcast.with_declined(replies))
    }

    fn settle(&mut self, log: &RoundLog, _: &[f32]) -> Result<(), FleetError> {
        self.memories.settle(log);
        Ok(())
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.oracle.gradients(questions)
    }

    fn save(&self) -> Vec<u8> {
        let mut state = self.held.exact();
        state.extend(self.memories.save());
        state
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        let model = state.split_at_checked(self.shape().exact_bytes());
        match model {
            Some((model, memories)) if self.held.read_exact(model) => {
                self.memories.restore(memories)
            }
            _ => Err(FleetError::Restore(format!(
                "{} bytes are no model",
                state.len()
            ))),
        }
    }
}

/// Returns what is sent and what arrives when `model` travels as an 8-bit difference to `base`, at most as
/// long as `clip`.
fn over_the_air(
    model: &FixedModel,
    base: &FixedModel,
    clip: Clip,
    rounding: &mut Rng,
) -> Result<(Vec<u8>, FixedModel), CodeError> {
    let bytes = model.code(base, clip, rounding)?;
    let mut received = base.clone();
    received.apply(&bytes)?;
    Ok((bytes, received))
}

/// Rounds a mean loss down as a client reports it.
fn as_reported(loss: f64) -> f64 {
    (loss * LOSS_UNITS).floor() / LOSS_UNITS
}
