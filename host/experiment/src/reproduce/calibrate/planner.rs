//! Rounds that are planned and never trained: gains, the round's problem and the scheduler's decision.

use gleaner_cre::channel::ChannelSource;
use gleaner_cre::optim::Instance;
use gleaner_cre::system::System;
use gleaner_sim::policy::{Attendance, Decision, EnergyBudget, Policy, View};
use gleaner_sim::round::{environment, settings};
use gleaner_sim::scenario::Scenario;

use super::activity::Activity;
use super::printed::sizes;
use crate::error::ExperimentError;

/// A power within this share of the largest is full power.
const FULL: f64 = 1.0 - 1e-9;

/// The channel of a scenario with the printed data sizes.
pub struct Planner {
    seed: u64,
    system: System,
    channel: ChannelSource,
}

impl Planner {
    /// Prepares the rounds of a scenario.
    pub fn new(scenario: &Scenario) -> Result<Self, ExperimentError> {
        Ok(Self {
            seed: scenario.run.seed,
            system: settings::system(scenario),
            channel: environment::channel(scenario)?,
        })
    }

    /// States the problem of a round, with empty queues and placeholders for estimates.
    pub fn instance(&self, round: u32) -> Result<Instance, ExperimentError> {
        let samples = sizes().to_vec();
        Ok(Instance::paper(
            &self.system,
            self.channel.round(round)?,
            samples,
        ))
    }

    /// Has the scheduler decide a round.
    pub fn decide(
        &self,
        policy: &dyn Policy,
        round: u32,
        instance: &Instance,
        norms: &[f64],
    ) -> Result<Decision, ExperimentError> {
        let clients = instance.clients();
        let view = View {
            seed: self.seed,
            round,
            instance,
            gradient_norms: norms,
            budgets: &vec![EnergyBudget::default(); clients],
            attendance: &vec![Attendance::default(); clients],
            losses: &vec![None; clients],
        };
        let undecided = |source| ExperimentError::Undecided { round, source };
        policy.decide(&view).map_err(undecided)
    }
}

/// Counts the participants and epochs of a decision.
pub fn note(activity: &mut Activity, instance: &Instance, decision: &Decision) {
    let orders = || decision.orders.iter();
    let participants: Vec<_> = orders().map(|it| (it.client.index(), it.epochs)).collect();
    let full = orders().any(|order| order.power_w >= FULL * instance.power_max_w);
    activity.note(&participants, full);
}
