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
    /// Energy spent, by phase, round 0 included.
    pub spent_j: BTreeMap<String, f64>,
    /// Energy of it spent in round 0, by phase; empty without a round 0.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub introduction_j: BTreeMap<String, f64>,
    /// In the stores at the end, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stored_j: Option<f64>,
    /// Client-rounds in which a store could not pay for all that was due.
    pub brownouts: usize,
}

/// Energy by its use, from round 1 on, of all clients in joules. A client that carries out an order
/// receives, computes, transmits and idles for it; sleep, and the beacon that clients without an order
/// listen to, are due in any round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields that are named after their phase")]
pub struct EnergyUse {
    pub compute_j: f64,
    pub transmit_j: f64,
    pub idle_j: f64,
    pub receive_j: f64,
    pub beacon_j: f64,
    pub sleep_j: f64,
}

impl EnergyUse {
    /// Returns the energy that orders cost.
    #[must_use]
    pub const fn orders_j(&self) -> f64 {
        self.receive_j + self.compute_j + self.transmit_j + self.idle_j
    }

    /// Returns the energy that is due without orders.
    #[must_use]
    pub const fn standing_j(&self) -> f64 {
        self.beacon_j + self.sleep_j
    }
}

/// Running sums of an [`EnergySplit`], exact in picojoules.
#[derive(Clone, Debug, Default)]
pub(super) struct SplitTally {
    harvested: u128,
    conversion: u128,
    overflow: u128,
    leaked: u128,
    spent: [u128; Phase::COUNT],
    /// Part of `spent` in round 0, if the run has one.
    introduction: Option<[u128; Phase::COUNT]>,
    /// Receiving of clients without an order, from round 1 on.
    beacon: u128,
    stored: BTreeMap<ClientId, u64>,
    brownouts: usize,
}

impl SplitTally {
    /// Adds a row of `energy.csv`.
    pub(super) fn add(&mut self, row: &EnergyRow) {
        let record = row.record();
        let Spent(phases) = record.spent;
        let add = |sums: &mut [u128; Phase::COUNT]| {
            for (sum, PicoJoules(amount)) in sums.iter_mut().zip(phases) {
                *sum += u128::from(amount);
            }
        };
        add(&mut self.spent);
        if row.round == 0 {
            add(self.introduction.get_or_insert_default());
        } else if !row.has_order() {
            self.beacon += u128::from(row.receive_pj);
        }
        self.harvested += u128::from(row.harvest_pj);
        self.conversion += u128::from(row.conversion_pj);
        self.overflow += u128::from(row.overflow_pj);
        self.leaked += u128::from(row.leaked_pj);
        self.stored
            .extend(row.stored_pj.map(|stored| (row.client, stored)));
        self.brownouts += usize::from(row.unpaid_pj > 0);
    }

    /// Returns the sums by use, without round 0.
    pub(super) fn by_use(&self) -> EnergyUse {
        let introduction = self.introduction.unwrap_or_default();
        let joules = |phase: Phase| {
            let at = usize::from(phase.code());
            (self.spent[at] - introduction[at]) as f64 / 1e12
        };
        let beacon_j = self.beacon as f64 / 1e12;
        let computing = [Phase::Apply, Phase::Train, Phase::Evaluate, Phase::Encode];
        EnergyUse {
            compute_j: computing.map(joules).iter().sum(),
            transmit_j: joules(Phase::Transmit),
            idle_j: joules(Phase::Idle),
            receive_j: joules(Phase::Receive) - beacon_j,
            beacon_j,
            sleep_j: joules(Phase::Sleep),
        }
    }

    /// Returns the sums so far.
    pub(super) fn split(&self) -> EnergySplit {
        let joules = |sum: u128| sum as f64 / 1e12;
        let by_phase = |sums: [u128; Phase::COUNT]| {
            let sums = Phase::ALL.into_iter().zip(sums);
            sums.map(|(phase, sum)| (phase.name().to_owned(), joules(sum)))
                .collect()
        };
        let stored: u128 = self.stored.values().map(|&it| u128::from(it)).sum();
        EnergySplit {
            harvest_j: joules(self.harvested),
            conversion_j: joules(self.conversion),
            overflow_j: joules(self.overflow),
            leaked_j: joules(self.leaked),
            spent_j: by_phase(self.spent),
            introduction_j: self.introduction.map(by_phase).unwrap_or_default(),
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

    #[test]
    fn clients_without_an_order_receive_for_the_beacon_alone() {
        let mut tally = SplitTally::default();
        for (round, train_pj) in [(0, 1), (1, 1), (1, 0)] {
            tally.add(&EnergyRow {
                round,
                receive_pj: 2_000_000_000_000,
                train_pj,
                ..EnergyRow::default()
            });
        }
        let by_use = tally.by_use();
        assert_eq!((by_use.receive_j, by_use.beacon_j), (2.0, 2.0));
    }
}
