//! The round engine: plan, broadcast, collect, aggregate, report, for clients of any kind.
//!
//! A round is a chain of phases, one file each in `phase`: every phase takes what the one
//! before it produced, so none can be skipped or repeated. Modelled time (cycles over clock,
//! airtime from the channel) decides deadlines and energy; wall time is no business of this
//! module. Where clients live is behind [`Fleet`], what becomes of the records behind the caller.

mod account;
mod anomaly;
mod bound;
mod energy;
pub mod environment;
mod fleet;
mod introduction;
mod knowledge;
mod phase;
pub mod prices;
mod privacy;
mod record;
mod rows;
pub mod settings;
mod state;
mod watch;
mod weigh;

use crate::ClientId;
use crate::policy::{Policy, PolicyError};
use crate::scenario::{ClientDevice, Load, Scenario, StopRule};
use gleaner_cre::channel::{ChannelSource, TraceError};
use gleaner_cre::optim::{Instance, SolveError};
use gleaner_cre::units::Bits;
use gleaner_files::Prefix;
use gleaner_learn::server::{Server, StateError};
use gleaner_shared::units::PicoJoules;

use self::energy::{EnergyCosts, SimulatedStore};
use self::phase::Planned;
use self::privacy::Privacy;

pub use crate::policy::Order;
pub use account::{Account, rest};
pub use energy::micros;
pub use energy::{EnergyRow, Incomes, Listening, StoreState};
pub use environment::{Environment, EnvironmentError};
pub use fleet::{
    Broadcast, ExactGradient, Examiner, Fleet, FleetError, Question, Reply, Score, Update,
};
pub use knowledge::{Knowledge, Seen, Trial};
pub use privacy::NoiseKey;
pub use record::{Absence, Anomaly, Cause, ClientRow, ClientState, Ending, PrivacyRow, RoundRow};
pub use state::State;

/// Error that stops a run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// The clients failed as a whole.
    #[error(transparent)]
    Fleet(#[from] FleetError),
    /// The saved state is that of another server.
    #[error(transparent)]
    Server(#[from] StateError),
    /// The gains of a round are not there.
    #[error(transparent)]
    Channel(#[from] TraceError),
    /// The round's problem has no meaning.
    #[error("round {round} cannot be planned")]
    Solve {
        /// The round that failed.
        round: u32,
        /// Error of the solver.
        source: SolveError,
    },
    /// The scheduler's decision cannot be used.
    #[error("round {round}: {what}")]
    Scheduler {
        /// The round that failed.
        round: u32,
        /// Name of the scheduler, and its error.
        what: String,
    },
    /// Training left the range of numbers.
    #[error(
        "round {round}: the updates of most clients are no longer finite; lower \
         learning.learning_rate = {rate}"
    )]
    Diverged {
        /// The round that failed.
        round: u32,
        /// The learning rate in use.
        rate: f64,
    },
}

/// Log entries of one round.
#[derive(Clone, Debug, PartialEq)]
pub struct RoundLog {
    /// The line of the round.
    pub round: RoundRow,
    /// One row per client.
    pub clients: Vec<ClientRow>,
    /// One row per client with its energy by phase.
    pub energy: Vec<EnergyRow>,
    /// The problem as it was stated to the scheduler; the introduction has none.
    pub problem: Option<Instance>,
}

/// An update, or why it cannot be used.
type Sorted = Result<Update, String>;

/// The round engine: plans, collects, aggregates and reports round by round.
pub struct Engine<'a> {
    scenario: &'a Scenario,
    fleet: &'a mut dyn Fleet,
    examiner: &'a dyn Examiner,
    policy: Box<dyn Policy>,
    /// Whether the scheduler has been told that rounds begin.
    begun: bool,
    channel: ChannelSource,
    incomes: Incomes,
    costs: EnergyCosts,
    /// The stores of simulated clients, where they have any; those of boards as the model has them.
    stores: Vec<SimulatedStore>,
    samples: Vec<u32>,
    loads: Vec<Load>,
    devices: Vec<ClientDevice>,
    weights: Vec<f64>,
    server: Server,
    /// Differential privacy, where the scenario asks for it.
    privacy: Option<Privacy>,
    /// The length of the broadcast.
    model_bits: Bits,
    /// The length of an upload.
    upload_bits: Bits,
    state: State,
}

impl<'a> Engine<'a> {
    /// Prepares round 1 from a first model, in an environment.
    pub fn new(
        scenario: &'a Scenario,
        fleet: &'a mut dyn Fleet,
        examiner: &'a dyn Examiner,
        environment: Environment,
        model: Vec<f32>,
    ) -> Self {
        let clients = fleet.samples().len();
        let mut state = State::new(model, clients, scenario.cre.delta_rule);
        if let Some(store) = scenario.harvest.store() {
            let stored = PicoJoules::from_joules(scenario.harvest.stored_j);
            state.store_states = vec![StoreState::new(stored, store); clients];
        }
        let mut engine = Self::assemble(scenario, fleet, examiner, environment, state);
        engine.state.server = engine.server.start(&engine.state.model, clients);
        engine
    }

    /// Continues from a saved state.
    ///
    /// # Errors
    /// When the clients or the server do not fit the state.
    pub fn resume(
        scenario: &'a Scenario,
        fleet: &'a mut dyn Fleet,
        examiner: &'a dyn Examiner,
        environment: Environment,
        state: State,
    ) -> Result<Self, EngineError> {
        fleet.restore(state.fleet())?;
        let engine = Self::assemble(scenario, fleet, examiner, environment, state);
        let clients = engine.samples.len();
        engine.check_stores()?;
        engine.server.check(&engine.state.server, clients)?;
        Ok(engine)
    }

    fn assemble(
        scenario: &'a Scenario,
        fleet: &'a mut dyn Fleet,
        examiner: &'a dyn Examiner,
        environment: Environment,
        state: State,
    ) -> Self {
        let samples = fleet.samples().to_vec();
        let nonzeros = fleet.nonzeros();
        let load = |(client, &samples): (usize, &u32)| Load {
            samples,
            nonzero: nonzeros.get(client).copied().unwrap_or_default(),
        };
        let loads: Vec<Load> = samples.iter().enumerate().map(load).collect();
        let mut devices = scenario.devices();
        devices.resize(samples.len(), scenario.device.common());
        let store = scenario.harvest.store();
        let model_bits = settings::model_bits(scenario, fleet.tensors());
        let listening = Listening::new(scenario, model_bits.0);
        let store_states = state.store_states.iter();
        let stores = store.map_or(Vec::new(), |store| {
            store_states
                .filter_map(|it| SimulatedStore::open(*it, store))
                .collect()
        });
        Self {
            scenario,
            examiner,
            policy: settings::policy(scenario),
            begun: false,
            channel: environment.channel,
            incomes: Incomes::new(scenario, &devices, environment.harvest),
            costs: EnergyCosts::new(scenario, &devices, &loads, listening),
            stores,
            weights: gleaner_cre::bound::weights(&samples),
            samples,
            loads,
            devices,
            server: settings::server(scenario, fleet.tensors(), state.model.len()),
            privacy: Privacy::of(scenario, environment.noise),
            model_bits,
            upload_bits: settings::upload_bits(scenario, fleet.tensors()),
            fleet,
            state,
        }
    }

    /// Makes sure that the saved stores are those of the scenario.
    fn check_stores(&self) -> Result<(), EngineError> {
        let has_stores = self.scenario.harvest.store().is_some();
        let expected = if has_stores { self.samples.len() } else { 0 };
        if self.stores.len() == expected && self.state.store_states.len() == expected {
            return Ok(());
        }
        Err(FleetError::Restore(format!(
            "{} usable stores, the clients have {expected}",
            self.stores.len()
        ))
        .into())
    }

    /// Lets another scheduler decide than the scenario's, say one that is being measured.
    #[must_use]
    pub fn with_policy(mut self, policy: Box<dyn Policy>) -> Self {
        self.policy = policy;
        self
    }

    /// Returns what the scheduler is called: by its own word, or by the scenario's.
    #[must_use]
    pub fn scheduler(&self) -> String {
        let name = self.policy.name();
        name.unwrap_or_else(|| self.scenario.run.scheduler.label())
    }

    /// Returns the non-fatal messages of the scheduler since the last call.
    #[must_use]
    pub fn take_warnings(&self) -> Vec<String> {
        self.policy.take_warnings()
    }

    /// Returns the state after the last finished round.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Returns the state for a checkpoint, with whatever the clients remember.
    #[must_use]
    pub fn checkpoint(&self) -> State {
        self.state.with_fleet(self.fleet.save())
    }

    /// Writes the clients' own log to the disk and returns its length and hash, for a checkpoint.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn logged(&mut self) -> Result<Prefix, EngineError> {
        Ok(self.fleet.logged()?)
    }

    /// Says whether the scheduler divides updates by their epochs.
    #[must_use]
    pub fn wants_nova(&self) -> bool {
        self.policy.wants_nova()
    }

    /// Says whether no round is to follow: all are done, validation says that more are in vain, or the
    /// privacy budget is spent.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.cause().is_some()
    }

    /// Returns why no round is to follow, unless one is.
    fn cause(&self) -> Option<Cause> {
        let run = &self.scenario.run;
        if run.stop == StopRule::Validation && self.state.watch.waited() >= run.patience {
            return Some(Cause::Patience);
        }
        if self.state.round() as usize >= run.rounds {
            return Some(Cause::Rounds);
        }
        self.spends_the_budget().then_some(Cause::Epsilon)
    }

    /// Says whether another round could exceed the privacy budget.
    fn spends_the_budget(&self) -> bool {
        let privacy = self.privacy.as_ref();
        privacy.is_some_and(|privacy| privacy.is_exhausted(&self.state.privacy))
    }

    /// Refuses an unusable update and adds it to the anomalies.
    ///
    /// # Errors
    /// When most clients send such updates.
    fn sort(
        &mut self,
        round: u32,
        client: ClientId,
        update: Update,
        anomalies: &mut Vec<Anomaly>,
    ) -> Result<Sorted, EngineError> {
        let reason = anomaly::unusable(&update.model, self.state.model.len());
        self.state.unusable.note(client.index(), reason.is_some());
        if self.state.unusable.are_most() {
            let rate = self.scenario.learning.learning_rate;
            return Err(EngineError::Diverged { round, rate });
        }
        let Some(what) = reason else {
            return Ok(Ok(update));
        };
        anomalies.push(Anomaly {
            client,
            what: what.clone(),
        });
        Ok(Err(what))
    }

    /// Runs the next round, phase by phase. The first call introduces the clients before that;
    /// where the introduction costs energy it has a log of its own.
    ///
    /// # Errors
    /// Whatever stops the whole run.
    pub fn step(&mut self) -> Result<Vec<RoundLog>, EngineError> {
        let mut logs = Vec::new();
        if !self.begun {
            let begun = self.policy.begin(&self.state.memory);
            begun.map_err(|error| unplanned(self.state.round + 1, error))?;
            self.begun = true;
        }
        if !self.state.is_introduced() {
            logs.extend(self.introduce()?);
        }
        let planned = self.plan()?;
        logs.push(self.play(planned)?);
        Ok(logs)
    }

    /// Runs the phases after planning.
    fn play(&mut self, planned: Planned) -> Result<RoundLog, EngineError> {
        let collected = self.collect(planned)?;
        let aggregated = self.aggregate(collected)?;
        self.report(aggregated)
    }
}

/// Says why a round has no plan.
fn unplanned(round: u32, error: PolicyError) -> EngineError {
    match error {
        PolicyError::Solve(source) => EngineError::Solve { round, source },
        PolicyError::Process { .. } => EngineError::Scheduler {
            round,
            what: error.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;
