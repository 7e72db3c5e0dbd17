//! What every client earns in a round, and what the base station expects of it.

use gleaner_energy::harvest::{Forecast, Harvest, Source};
use gleaner_shared::units::PicoJoules;

use crate::scenario::{ClientDevice, Scenario};

/// The incomes of a run.
pub(in crate::round) struct Incomes {
    harvest: Harvest,
    forecast: Forecast,
    /// What each client earns in every round, where that is always the same.
    constant_j: Option<Vec<f64>>,
}

impl Incomes {
    pub(in crate::round) fn new(
        scenario: &Scenario,
        devices: &[ClientDevice],
        harvest: Harvest,
    ) -> Self {
        let constant = scenario.harvest.source == Source::Constant;
        Self {
            harvest,
            forecast: scenario.harvest.forecast,
            constant_j: constant.then(|| devices.iter().map(|it| it.harvest_j).collect()),
        }
    }

    /// Returns what a client earns in a round. The introduction, round 0, comes before any trace
    /// begins: it is paid from what is stored, unless income is constant.
    pub(in crate::round) fn of(&self, client: usize, round: u32) -> PicoJoules {
        match &self.constant_j {
            Some(constant_j) => PicoJoules::from_joules(constant_j[client]),
            None => self.harvest.income(client, round as usize),
        }
    }

    /// Returns what the base station expects a client to earn in a round.
    pub(in crate::round) fn expected(&self, client: usize, round: u32) -> PicoJoules {
        match (&self.constant_j, round) {
            (Some(_), _) | (None, 0) => self.of(client, round),
            (None, _) => self.forecast.expect(&self.harvest, client, round as usize),
        }
    }

    /// Returns the same as a real number; a constant income is as the scenario writes it.
    pub(in crate::round) fn expected_j(&self, client: usize, round: u32) -> f64 {
        match &self.constant_j {
            Some(constant_j) => constant_j[client],
            None => self.expected(client, round).as_joules(),
        }
    }
}
