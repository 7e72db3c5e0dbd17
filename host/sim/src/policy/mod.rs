//! The schedulers: one file each, one trait above them, one enum that names them.
//!
//! A scheduler sees a round's problem and answers with orders. It keeps no state of its own: what
//! looks like state follows from seed and round (whose turn it is, which clients were drawn) or is
//! handed to it (when a client was last ordered), so a resumed run decides as the uninterrupted one
//! would have. A program of the user's ([`Process`]) may have one: it is a text that checkpoints keep.

mod attendance;
mod baseline;
mod channel_allocate;
mod cre;
mod decider;
mod drawn;
mod fednova;
#[cfg(test)]
mod fixture;
mod glean;
mod importance_aware;
mod offer;
pub mod process;
mod random;
mod rivals;
mod round_robin;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumMessage, EnumString, IntoStaticStr, VariantArray};

use crate::ClientId;
use gleaner_cre::optim::{Instance, SolveError, Solver};
use process::ProcessError;

pub use attendance::{Attendance, turn_rounds};
pub use baseline::{BaselinePower, GradientNorms};
pub use channel_allocate::ChannelAllocate;
pub use cre::{Cre, CreEpochs};
pub use decider::{CommandLine, Decider, DeciderError};
pub use fednova::FedNova;
pub use glean::{Claim, Glean};
pub use importance_aware::{FixedChannels, Importance, ImportanceAware};
pub use process::Process;
pub use random::{CommonEpochs, Random};
pub use rivals::{Eafl, FedBacys, Greedy, Ocean, Sustainable, UniformEhfl, VersionAge};
pub use round_robin::RoundRobin;

/// The schedulers that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[derive(Display, EnumMessage, EnumString, IntoStaticStr, VariantArray)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Scheduler {
    /// as many random clients as there are channels, common epochs
    Random,
    /// the same number of clients in rotation, common epochs
    RoundRobin,
    /// clients, channels, powers and epochs that minimise the round objective P2
    Cre,
    /// random clients, each as many epochs as it has time for, normalised averaging
    #[serde(rename = "fednova")]
    #[strum(serialize = "fednova")]
    FedNova,
    /// channels assigned to the largest weighted gradient norms, fixed epochs
    ChannelAllocate,
    /// per fixed channel the client with the largest weighted gradient norm, fixed epochs
    ImportanceAware,
    /// one epoch at the power of least energy; channels by age against cost, among clients that can pay
    Glean,
    /// rival: random clients among those that can pay, one per channel
    Greedy,
    /// rival: each client once in every cycle of rounds that pays for an order (Guler and Yener)
    Sustainable,
    /// rival: a constant number of clients that the income of all sustains (Shen, Yang and Xu)
    UniformEhfl,
    /// rival: groups by stored energy, the fullest first, in turn (Jeong and Pappas)
    #[serde(rename = "fedbacys")]
    #[strum(serialize = "fedbacys")]
    FedBacys,
    /// rival: as fedbacys, each client taking every second chance
    #[serde(rename = "fedbacys-odd")]
    #[strum(serialize = "fedbacys-odd")]
    FedBacysOdd,
    /// rival: of the clients that can pay, those with the oldest model (Jeong et al.)
    VersionAge,
    /// rival: as many clients as their energy-deficit queues allow (Xu and Wang)
    Ocean,
    /// rival: energy left in the store against the client's loss (Arouj and Abdelmoniem)
    Eafl,
}

/// Settings of the schedulers; each uses those that concern it.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Transmit power of the baselines.
    pub power: BaselinePower,
    /// Epochs of the baselines that do not choose them.
    pub epochs: u32,
    /// Solver of CRE's round problem.
    pub solver: Solver,
    /// Common epochs of `random` and `round-robin`.
    pub common_epochs: CommonEpochs,
    /// Measure of importance of `importance-aware`.
    pub importance: Importance,
    /// How `importance-aware` fills its channels.
    pub fixed_channels: FixedChannels,
    /// Whether CRE decides epochs per client.
    pub cre_epochs: CreEpochs,
    /// Whether CRE must schedule at least one client.
    pub require_participants: bool,
    /// Settings of the scheduler glean.
    pub glean: Glean,
}

impl Scheduler {
    /// The six schedulers of the paper.
    pub const PAPER: [Self; 6] = [
        Self::Random,
        Self::RoundRobin,
        Self::Cre,
        Self::FedNova,
        Self::ChannelAllocate,
        Self::ImportanceAware,
    ];

    /// Those of the energy-harvesting literature; `docs/results/rivals.md` says how each was read.
    pub const RIVALS: [Self; 8] = [
        Self::Greedy,
        Self::Sustainable,
        Self::UniformEhfl,
        Self::FedBacys,
        Self::FedBacysOdd,
        Self::VersionAge,
        Self::Ocean,
        Self::Eafl,
    ];

    /// Returns the scheduler itself.
    #[must_use]
    pub fn policy(self, settings: &Settings) -> Box<dyn Policy> {
        let Settings {
            power,
            epochs,
            solver,
            common_epochs,
            importance,
            fixed_channels,
            cre_epochs,
            require_participants,
            glean,
        } = *settings;
        match self {
            Self::Random => Box::new(Random {
                power,
                epochs: common_epochs,
            }),
            Self::RoundRobin => Box::new(RoundRobin {
                power,
                epochs: common_epochs,
            }),
            Self::Cre => {
                let cre = Cre::new(solver, cre_epochs);
                Box::new(cre.require_participants(require_participants))
            }
            Self::FedNova => Box::new(FedNova { power }),
            Self::ChannelAllocate => Box::new(ChannelAllocate { power, epochs }),
            Self::ImportanceAware => Box::new(ImportanceAware {
                power,
                epochs,
                importance,
                channels: fixed_channels,
            }),
            Self::Glean => Box::new(glean),
            Self::Greedy => Box::new(Greedy { power }),
            Self::Sustainable => Box::new(Sustainable { power }),
            Self::UniformEhfl => Box::new(UniformEhfl { power }),
            Self::FedBacys => Box::new(FedBacys { power, odd: false }),
            Self::FedBacysOdd => Box::new(FedBacys { power, odd: true }),
            Self::VersionAge => Box::new(VersionAge { power }),
            Self::Ocean => Box::new(Ocean { power }),
            Self::Eafl => Box::new(Eafl { power }),
        }
    }

    /// Says whether its orders follow from what clients learned: from their losses, gradients or
    /// estimates. The orders of others follow from channels, energies, numbers of samples and chance.
    #[must_use]
    pub const fn sees_learning(self) -> bool {
        matches!(
            self,
            Self::Cre | Self::ChannelAllocate | Self::ImportanceAware | Self::Eafl
        )
    }

    /// Says whether it is a baseline, which sends at the power of [`Settings::power`].
    #[must_use]
    pub const fn is_baseline(self) -> bool {
        !matches!(self, Self::Cre | Self::Glean)
    }
}

/// The order to one participant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Order {
    /// The client that gets the order.
    pub client: ClientId,
    /// Uplink channel of the upload.
    pub channel: usize,
    /// Transmit power of the upload.
    pub power_w: f64,
    /// Full-batch gradient steps to take, tau.
    pub epochs: u32,
    /// Bit rate of the upload, where the order names one; otherwise the fastest that is received.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bit_rate_bps: Option<f64>,
}

/// The state of a round as a scheduler sees it.
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
    /// The energy budget of every client.
    pub budgets: &'a [EnergyBudget],
    /// When every client was last ordered, how that went, and what else is counted of it.
    pub attendance: &'a [Attendance],
    /// The loss every client last reported, if it has.
    pub losses: &'a [Option<f64>],
}

/// The energy that a client can spend, as its ledger books it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EnergyBudget {
    /// Balance and this round's income, less the cost of resting; spending no more keeps C5 in this
    /// round.
    pub spendable_j: f64,
    /// Cost of one epoch, rounded to whole picojoules.
    pub epoch_j: f64,
    /// Cost of an order beside epochs and upload, rounded to whole picojoules.
    pub order_j: f64,
    /// Mean energy per round left for orders: the income that reaches the store, less leakage and
    /// the cost of resting.
    pub surplus_j: f64,
}

/// The decision of a scheduler.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Orders to the participants, in client order.
    pub orders: Vec<Order>,
    /// Clients that were drawn but cannot finish one epoch before the deadline.
    pub infeasible: Vec<ClientId>,
    /// Objective and bound of the plan, where the scheduler computes them.
    pub promise: Option<Promise>,
    /// Notes to be kept in the [`Attendance`] of clients.
    pub notes: Vec<Note>,
}

/// A note about a client that a scheduler wants kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// The client could have had an order and got none.
    Passed {
        /// The client to be noted.
        client: ClientId,
    },
    /// A cycle of `rounds` rounds begins.
    Renewed {
        /// The client to be noted.
        client: ClientId,
        /// Length of the cycle.
        rounds: u32,
    },
}

/// Objective and bound of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// The objective J of the plan.
    pub objective: f64,
    /// The bound on the loss after the round.
    pub bound: f64,
}

/// Error of a scheduler that cannot decide a round.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The round's problem cannot be solved.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A scheduler that is a program failed or gave an answer that cannot be used.
    #[error("scheduler `{command}`: {source}")]
    Process {
        /// The command that started the program.
        command: String,
        /// The failure of the program or of its answer.
        source: ProcessError,
    },
}

/// A scheduler: decides the orders of each round.
///
/// ```
/// use gleaner_cre::optim::Instance;
/// use gleaner_sim::policy::{
///     Attendance, BaselinePower, CommonEpochs, EnergyBudget, Policy, Random, View,
/// };
/// use gleaner_sim::round::{environment, settings};
/// use gleaner_sim::scenario::Scenario;
///
/// let scenario = Scenario::default();
/// let gains = environment::channel(&scenario)?.round(1)?;
/// let clients = gains.uplink.len();
/// let instance = Instance::paper(&settings::system(&scenario), gains, vec![600; clients]);
/// let view = View {
///     seed: 0,
///     round: 1,
///     instance: &instance,
///     gradient_norms: &vec![0.0; clients],
///     budgets: &vec![EnergyBudget::default(); clients],
///     attendance: &vec![Attendance::default(); clients],
///     losses: &vec![None; clients],
/// };
/// let random = Random {
///     power: BaselinePower::Max,
///     epochs: CommonEpochs::Most,
/// };
/// let decision = random.decide(&view)?;
/// assert_eq!(decision.orders.len() + decision.infeasible.len(), instance.channels);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Policy: Send {
    /// Decides one round.
    ///
    /// # Errors
    /// When the round's problem cannot be solved at all.
    fn decide(&self, view: &View<'_>) -> Result<Decision, PolicyError>;

    /// Says whether [`View::gradient_norms`] must be filled in.
    fn wants_gradient_norms(&self) -> bool {
        false
    }

    /// Says whether rho, beta, delta and the loss gap must be kept up to date.
    fn wants_estimates(&self) -> bool {
        false
    }

    /// Says whether updates are to be divided by their epochs where the scenario leaves the rule of
    /// aggregation to the scheduler.
    fn wants_nova(&self) -> bool {
        false
    }

    /// Prepares for the first round of a session; `memory` is what [`Policy::memory`] returned after
    /// the last round of the session before, empty if there was none.
    ///
    /// # Errors
    /// When it cannot decide rounds at all.
    fn begin(&self, _memory: &str) -> Result<(), PolicyError> {
        Ok(())
    }

    /// Returns what it has to remember of the rounds it has decided, for the checkpoint.
    fn memory(&self) -> String {
        String::new()
    }

    /// Returns what it calls itself, if the scenario does not say.
    fn name(&self) -> Option<String> {
        None
    }

    /// Returns the non-fatal messages since the last call.
    fn take_warnings(&self) -> Vec<String> {
        Vec::new()
    }
}
