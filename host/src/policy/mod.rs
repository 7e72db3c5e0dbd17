//! The six schedulers: one file each, one trait above them.
//!
//! A scheduler sees a round's problem and answers with orders. It keeps no state of its own: what
//! looks like state (whose turn it is, which clients were drawn) follows from seed and round, so
//! a resumed run decides as the uninterrupted one would have.

mod channel_allocate;
mod cre;
mod drawn;
mod fednova;
mod hungarian;
mod importance_aware;
mod random;
mod round_robin;

use crate::round::Order;
use crate::scenario::{BaselinePower, Scenario, Scheduler};
use gleaner_cre::optim::epochs::{epoch_limit, whole_epochs};
use gleaner_cre::optim::power::least_power;
use gleaner_cre::optim::{Instance, SolveError, Upload};
use gleaner_learn::aggregate::Averaging;

pub use channel_allocate::ChannelAllocate;
pub use cre::Cre;
pub use fednova::FedNova;
pub use hungarian::heaviest_assignment;
pub use importance_aware::ImportanceAware;
pub use random::Random;
pub use round_robin::RoundRobin;

/// What a scheduler sees of a round.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Seed of the run.
    pub seed: u64,
    /// The round, from 1.
    pub round: u32,
    /// Channels, queues, costs and estimates.
    pub instance: &'a Instance,
    /// Gradient norms ||grad F_i||; zero for schedulers that do not ask for them.
    pub gradient_norms: &'a [f64],
}

/// What a scheduler decides.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Who takes part, in client order.
    pub orders: Vec<Order>,
    /// How their updates are averaged.
    pub averaging: Averaging,
    /// Clients that were drawn but cannot finish one epoch before the deadline.
    pub infeasible: Vec<usize>,
    /// What the plan promises, where the scheduler weighs plans.
    pub promise: Option<Promise>,
}

/// Objective and bound of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The objective J.
    pub objective: f64,
    /// The bound on the loss after the round.
    pub bound: f64,
}

/// A scheduler.
pub trait Policy: Send {
    /// Decides one round.
    ///
    /// # Errors
    /// When the round's problem cannot be solved at all.
    fn decide(&self, view: &View<'_>) -> Result<Decision, SolveError>;

    /// Says whether [`View::gradient_norms`] must be filled in.
    fn wants_gradient_norms(&self) -> bool {
        false
    }

    /// Says whether rho, beta, delta and the loss gap must be kept up to date.
    fn wants_estimates(&self) -> bool {
        false
    }
}

/// Returns the scheduler of a scenario.
#[must_use]
pub fn of(scenario: &Scenario) -> Box<dyn Policy> {
    let power = scenario.baselines.power;
    let epochs = u32::try_from(scenario.baselines.epochs).unwrap_or(u32::MAX);
    match scenario.run.scheduler {
        Scheduler::Random => Box::new(Random { power }),
        Scheduler::RoundRobin => Box::new(RoundRobin { power }),
        Scheduler::Cre => Box::new(Cre::new(scenario.cre.solver)),
        Scheduler::FedNova => Box::new(FedNova { power }),
        Scheduler::ChannelAllocate => Box::new(ChannelAllocate { power, epochs }),
        Scheduler::ImportanceAware => Box::new(ImportanceAware { power, epochs }),
    }
}

/// Returns how many epochs a client can finish on a channel at full power.
fn epochs_at_full_power(instance: &Instance, client: usize, channel: usize) -> u32 {
    let upload = Upload {
        client,
        channel,
        power_w: instance.power_max_w,
    };
    whole_epochs(epoch_limit(instance, &upload))
}

/// Returns the power a baseline sends with.
fn baseline_power(
    instance: &Instance,
    rule: BaselinePower,
    client: usize,
    channel: usize,
    epochs: u32,
) -> f64 {
    match rule {
        BaselinePower::Max => instance.power_max_w,
        BaselinePower::Min => {
            let slack_s = instance.slack_s(client, f64::from(epochs));
            least_power(instance, client, channel, slack_s).min(instance.power_max_w)
        }
    }
}

/// Orders the same epochs on every pair of channel and client.
fn with_fixed_epochs(
    instance: &Instance,
    power: BaselinePower,
    epochs: u32,
    pairs: impl Iterator<Item = (usize, usize)>,
) -> Decision {
    let mut orders: Vec<Order> = pairs
        .map(|(channel, client)| Order {
            client,
            channel,
            power_w: baseline_power(instance, power, client, channel, epochs),
            epochs,
        })
        .collect();
    orders.sort_unstable_by_key(|order| order.client);
    Decision {
        orders,
        averaging: Averaging::Weighted,
        infeasible: Vec::new(),
        promise: None,
    }
}

/// Returns w_i ||grad F_i||, what two baselines rank clients by.
fn importance(view: &View<'_>) -> Vec<f64> {
    gleaner_cre::bound::weights(&view.instance.samples)
        .iter()
        .zip(view.gradient_norms)
        .map(|(weight, norm)| weight * norm)
        .collect()
}

#[cfg(test)]
mod tests;
