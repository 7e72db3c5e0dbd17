//! Income of every client in a round, and the forecast of the base station.

use gleaner_energy::harvest::{Forecast, Harvest, Source};
use gleaner_shared::units::PicoJoules;

use crate::scenario::{ClientDevice, Scenario};

/// The incomes of a run.
#[derive(Clone, Debug)]
pub struct Incomes {
    harvest: Harvest,
    forecast: Forecast,
    /// Income of each client, where it is the same in every round.
    constant_j: Option<Vec<f64>>,
}

impl Incomes {
    /// Takes the incomes of clients with these devices from their source.
    #[must_use]
    pub fn new(scenario: &Scenario, devices: &[ClientDevice], harvest: Harvest) -> Self {
        let constant = scenario.harvest.source == Source::Constant;
        Self {
            harvest,
            forecast: scenario.harvest.forecast,
            constant_j: constant.then(|| devices.iter().map(|it| it.harvest_j).collect()),
        }
    }

    /// Returns the income of a client in a round. The introduction, round 0, comes before any trace
    /// begins: it is paid from what is stored, unless income is constant.
    #[must_use]
    pub fn of(&self, client: usize, round: u32) -> PicoJoules {
        match &self.constant_j {
            Some(constant_j) => {
                PicoJoules::from_joules(constant_j.get(client).copied().unwrap_or_default())
            }
            None => self.harvest.income(client, round as usize),
        }
    }

    /// Returns the income that the base station expects of a client in a round.
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

    /// Returns the mean income of a client per round.
    pub(in crate::round) fn mean_j(&self, client: usize) -> f64 {
        match &self.constant_j {
            Some(constant_j) => constant_j[client],
            None => self.harvest.mean(client).as_joules(),
        }
    }
}
