//! Everything that carries over from one round to the next.

use serde::{Deserialize, Serialize};

use super::account::Account;
use super::anomaly::Unusable;
use super::bound::Lengths;
use super::energy::StoreState;
use super::knowledge::Knowledge;
use super::privacy::Spent;
use super::watch::Watch;
use crate::policy::Attendance;
use gleaner_cre::estimate::DivergenceRule;
use gleaner_learn::server;

/// The state between two rounds; with scenario and clients it determines the rest of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    pub(super) round: u32,
    pub(super) introduced: bool,
    pub(super) model: Vec<f32>,
    pub(super) accounts: Vec<Account>,
    pub(super) store_states: Vec<StoreState>,
    /// Whether each client holds the model that was announced last.
    pub(super) holds_model: Vec<bool>,
    pub(super) knowledge: Knowledge,
    pub(super) unusable: Unusable,
    /// The lengths that the norm bound follows.
    pub(super) lengths: Lengths,
    pub(super) attendance: Vec<Attendance>,
    pub(super) server: server::State,
    pub(super) watch: Watch,
    pub(super) privacy: Spent,
    /// Memory of the scheduler program.
    pub(super) memory: String,
    fleet: Vec<u8>,
}

impl State {
    /// The state before round 1, under a server that remembers nothing.
    #[must_use]
    pub fn new(model: Vec<f32>, clients: usize, rule: DivergenceRule) -> Self {
        Self {
            round: 0,
            introduced: false,
            model,
            accounts: vec![Account::default(); clients],
            store_states: Vec::new(),
            holds_model: vec![false; clients],
            knowledge: Knowledge::new(clients, rule),
            unusable: Unusable::nobody(clients),
            lengths: Lengths::none(clients),
            attendance: vec![Attendance::default(); clients],
            server: server::State::default(),
            watch: Watch::default(),
            privacy: Spent::default(),
            memory: String::new(),
            fleet: Vec::new(),
        }
    }

    /// Returns the number of finished rounds.
    #[must_use]
    pub const fn round(&self) -> u32 {
        self.round
    }

    /// Returns the global model.
    #[must_use]
    pub fn model(&self) -> &[f32] {
        &self.model
    }

    /// Returns the model that stays if the run ends here: the global one, or under early stopping the
    /// one with the best validation score.
    #[must_use]
    pub fn kept_model(&self) -> &[f32] {
        self.watch.best().map_or(&self.model, |best| &best.model)
    }

    /// Returns the round after which [`State::kept_model`] was the global one.
    #[must_use]
    pub fn kept_round(&self) -> u32 {
        self.watch.best().map_or(self.round, |best| best.round)
    }

    /// Returns the energy account of every client.
    #[must_use]
    pub fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Returns the store of every client; empty without stores.
    #[must_use]
    pub fn stores(&self) -> &[StoreState] {
        &self.store_states
    }

    /// Says whether the clients have reported once.
    #[must_use]
    pub const fn is_introduced(&self) -> bool {
        self.introduced
    }

    /// Returns what the fleet kept for itself.
    #[must_use]
    pub fn fleet(&self) -> &[u8] {
        &self.fleet
    }

    pub(super) fn with_fleet(&self, fleet: Vec<u8>) -> Self {
        Self {
            fleet,
            ..self.clone()
        }
    }
}
