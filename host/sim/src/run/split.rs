//! Energy of a run by source and phase, summed row by row.

use std::collections::BTreeMap;

use gleaner_shared::energy::{Phase, Spent};
use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};

use crate::ClientId;
use crate::round::EnergyRow;

/// Energy of all clients by source and phase, in joules.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergySplit {
    /// Harvested, whatever became of it.
    #[serde(alias = "harvested_j")]
    pub harvest_j: f64,
    /// Losses of charging the stores.
    pub conversion_j: f64,
    /// Lost to full stores.
    pub overflow_j: f64,
    /// Self-discharge of the stores.
    pub leaked_j: f64,
    /// Energy spent, by phase.
    pub spent_j: BTreeMap<String, f64>,
    /// In the stores at the end, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_j: Option<f64>,
    /// Client-rounds in which a store could not pay for all that was due.
    pub brownouts: usize,
}

/// Running sums of an [`EnergySplit`], exact in picojoules.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitTally {
    harvested: u128,
    conversion: u128,
    overflow: u128,
    leaked: u128,
    spent: [u128; Phase::COUNT],
    stored: BTreeMap<ClientId, u64>,
    brownouts: usize,
}

impl SplitTally {
    /// Adds a row of `energy.csv`.
    pub(super) fn add(&mut self, row: &EnergyRow) {
        let record = row.record();
        let Spent(phases) = record.spent;
        for (sum, PicoJoules(amount)) in self.spent.iter_mut().zip(phases) {
            *sum += u128::from(amount);
        }
        self.harvested += u128::from(row.harvest_pj);
        self.conversion += u128::from(row.conversion_pj);
        self.overflow += u128::from(row.overflow_pj);
        self.leaked += u128::from(row.leaked_pj);
        self.stored
            .extend(row.stored_pj.map(|stored| (row.client, stored)));
        self.brownouts += usize::from(row.unpaid_pj > 0);
    }

    /// Returns the sums so far.
    pub(super) fn split(&self) -> EnergySplit {
        let joules = |sum: u128| sum as f64 / 1e12;
        let spent = Phase::ALL.into_iter().zip(self.spent);
        let stored: u128 = self.stored.values().map(|&it| u128::from(it)).sum();
        EnergySplit {
            harvest_j: joules(self.harvested),
            conversion_j: joules(self.conversion),
            overflow_j: joules(self.overflow),
            leaked_j: joules(self.leaked),
            spent_j: spent
                .map(|(phase, sum)| (phase.name().to_owned(), joules(sum)))
                .collect(),
            stored_j: (!self.stored.is_empty()).then(|| joules(stored)),
            brownouts: self.brownouts,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_add_up_and_the_last_store_of_each_client_counts() {
        let mut tally = SplitTally::default();
        for (round, stored) in [(1, 5e11), (2, 2e11)] {
            for client in 0..2 {
                tally.add(&EnergyRow {
                    round,
                    client: ClientId(client),
                    harvest_pj: u64::MAX / 2,
                    sleep_pj: 1_000_000_000_000,
                    unpaid_pj: u64::from(client == 1),
                    stored_pj: Some(stored as u64),
                    ..EnergyRow::default()
                });
            }
        }
        let split = tally.split();
        assert_eq!(split.spent_j["sleep"], 4.0);
        assert_eq!(split.spent_j["train"], 0.0);
        assert_eq!(split.stored_j, Some(0.4));
        assert_eq!(split.brownouts, 2);
        // More than one ledger counts, and still no overflow.
        assert!(split.harvest_j > 3.6e7);
    }
}
