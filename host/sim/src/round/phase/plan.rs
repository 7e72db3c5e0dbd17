//! Phase 1: channel gains, the round's optimisation problem and the scheduler's decision.

use crate::ClientId;
use crate::policy::{Attendance, Decision, EnergyBudget, GradientNorms, View, turn_rounds};
use crate::round::fleet::Question;
use crate::round::{Engine, EngineError, settings, unplanned};
use gleaner_cre::channel::RoundState;
use gleaner_cre::optim::Instance;

/// A round that is planned and not yet announced.
pub(in crate::round) struct Planned {
    pub(in crate::round) round: u32,
    pub(in crate::round) instance: Instance,
    pub(in crate::round) decision: Decision,
    /// Mean energy per round that each client can spend on orders.
    pub(in crate::round) budgets_j: Vec<f64>,
}

impl Planned {
    /// Says whether this is round 0, in which every client reports before the model changes.
    pub(in crate::round) const fn is_introduction(&self) -> bool {
        self.round == 0
    }
}

impl Engine<'_> {
    pub(in crate::round) fn plan(&mut self) -> Result<Planned, EngineError> {
        let round = self.state.round + 1;
        let instance = self.instance(round, &self.channel.round(round)?);
        let fresh = self.scenario.baselines.gradient_norms == GradientNorms::Fresh;
        if fresh && self.policy.wants_gradient_norms() {
            let questions: Vec<Question<'_>> = (0..self.samples.len())
                .map(|client| Question {
                    client: ClientId::at(client),
                    model: &self.state.model,
                })
                .collect();
            let gradients = self.fleet.gradients(&questions)?;
            self.state.knowledge.refresh_norms(&gradients);
        }
        let budgets: Vec<EnergyBudget> = (0..self.samples.len())
            .map(|client| self.budget(client, round, &instance))
            .collect();
        let turn = turn_rounds(budgets.len(), instance.channels);
        if (round - 1).is_multiple_of(turn) {
            Attendance::begin_turn(&mut self.state.attendance, &budgets);
        }
        let seed = self.scenario.run.seed;
        let privacy = self.privacy.as_ref();
        let view = View {
            seed: privacy.map_or(seed, |privacy| privacy.draw_seed(seed)),
            round,
            instance: &instance,
            gradient_norms: self.state.knowledge.norms(),
            budgets: &budgets,
            attendance: &self.state.attendance,
            losses: self.state.knowledge.losses(),
        };
        let decision = self.policy.decide(&view);
        let decision = decision.map_err(|error| unplanned(round, error))?;
        self.state.memory = self.policy.memory();
        Ok(Planned {
            round,
            instance,
            decision,
            budgets_j: budgets.iter().map(|budget| budget.surplus_j).collect(),
        })
    }

    /// Returns the energy budget of a client for this round: what is in its store, or without one its
    /// balance and the expected income.
    fn budget(&self, client: usize, round: u32, instance: &Instance) -> EnergyBudget {
        let store = self.stores.get(client);
        let spendable_j = match store {
            Some(store) => store.available().as_joules(),
            None => {
                let income = self.incomes.expected(client, round);
                self.state.accounts[client].balance_j() + income.as_joules()
            }
        };
        let costs = &instance.costs[client];
        let budget = (self.costs).budget(client, costs, spendable_j, store.is_some());
        EnergyBudget {
            surplus_j: self.mean_arrival_j(client) - instance.costs[client].standing_j,
            ..budget
        }
    }

    /// Returns what an average round brings into a client's store, less what leaks from it.
    fn mean_arrival_j(&self, client: usize) -> f64 {
        let harvest = &self.scenario.harvest;
        let income_j = self.incomes.mean_j(client);
        match self.stores.get(client) {
            Some(_) => {
                income_j * harvest.charge_efficiency - harvest.leakage_w * self.scenario.period_s()
            }
            None => income_j,
        }
    }

    /// States the round's problem under the given gains.
    pub(in crate::round) fn instance(&self, round: u32, gains: &RoundState) -> Instance {
        let (scenario, knowledge) = (self.scenario, &self.state.knowledge);
        let everybody = 0..self.samples.len();
        let epochs = everybody.clone().map(|client| {
            let epoch = settings::epoch_cost(&self.devices[client], self.loads[client]);
            self.costs.above_sleep(client, epoch)
        });
        let (epoch_s, epoch_j) = epochs.unzip();
        let mut system = settings::system(scenario);
        system.round.model_bits = self.upload_bits;
        let mut instance = Instance::paper(&system, gains.clone(), self.samples.clone());
        instance.rate = scenario.rate_model();
        let broadcast = (instance.rate).downlink_time(&system.radio, gains, self.model_bits);
        // A broadcast that some client cannot receive at any rate takes the whole round.
        instance.downlink_s = match broadcast.0.is_finite() {
            true => broadcast.0,
            false => instance.deadline_s,
        };
        (instance.epoch_s, instance.epoch_j) = (epoch_s, epoch_j);
        let accounts = self.state.accounts.iter();
        instance.queue_j = accounts.map(|account| account.queue_j()).collect();
        instance.delta = knowledge.delta().to_vec();
        instance.bound.rho = knowledge.rho();
        instance.bound.beta = knowledge.beta();
        instance.bound.gap = knowledge.gap(&self.weights, scenario.cre.best_loss);
        let devices = self.devices.iter();
        instance.reserve_s = devices.map(|it| it.deadline_slack_s).collect();
        let downlink_s = instance.downlink_s;
        let costs = |it: usize| {
            self.costs
                .costs(it, downlink_s, !self.state.holds_model[it])
        };
        let costs = everybody.clone().map(costs);
        instance.costs = costs.collect();
        let incomes = everybody.map(|client| self.incomes.expected_j(client, round));
        instance.income_j = incomes.collect();
        instance
    }
}
