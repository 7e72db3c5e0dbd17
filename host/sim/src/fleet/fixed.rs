//! Simulated clients that run the firmware's own code, on models as coarse as the air makes them.
//!
//! Both directions carry the 8-bit difference to the model both ends hold. Everybody hears every
//! broadcast, so there is one such model; boards that take part in its place decode the same
//! bytes to the same parameters.

use gleaner_shared::mlp::{Clip, CodeError, LearningRate, Shape};
use gleaner_shared::rng::{Purpose, Rng};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::FloatFleet;
use crate::round::{Broadcast, ExactGradient, Fleet, FleetError, Order, Question, Reply, Update};
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
            pool,
        })
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
        received.apply(update)?;
        Ok(received.real())
    }

    fn carry_out(&self, order: &Order, broadcast: &Broadcast<'_>) -> Reply {
        let client = &self.clients[order.client.index()];
        let id = order.client.0;
        let mut parameters = self.held.clone();
        let rounding = Rng::stream(self.seed, Purpose::Training, id, broadcast.round);
        let epochs = match client.train(&mut parameters, order.epochs, self.rate, rounding) {
            Ok(epochs) => epochs,
            Err(error) => return Reply::Lost(error.to_string()),
        };
        let mut rounding = Rng::stream(self.seed, Purpose::Uplink, id, broadcast.round);
        match over_the_air(&parameters, &self.held, broadcast.clip, &mut rounding) {
            Ok((_, received)) => Reply::Trained(Update {
                model: received.real(),
                loss_before: epochs
                    .first()
                    .map_or(f64::NAN, |epoch| f64::from(epoch.mean_loss()) / LOSS_UNITS),
                loss_after: broadcast
                    .wants_loss_after
                    .then(|| as_reported(client.evaluate(&parameters).loss)),
            }),
            Err(error) => Reply::Lost(error.to_string()),
        }
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
        let replies: Vec<Reply> = this
            .pool
            .install(|| orders.par_iter().map(|order| train(order)).collect());
        Ok(broadcast.with_declined(replies))
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        self.oracle.gradients(questions)
    }

    fn save(&self) -> Vec<u8> {
        self.held.exact()
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), FleetError> {
        if self.held.read_exact(state) {
            Ok(())
        } else {
            Err(FleetError::Restore(format!(
                "{} bytes are no model",
                state.len()
            )))
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
