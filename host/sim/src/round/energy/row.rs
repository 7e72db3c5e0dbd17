//! One row of `energy.csv`: what a round did to one client's energy, in whole picojoules.

use crate::ClientId;
use gleaner_shared::energy::{Phase, RoundRecord, Spent};
use gleaner_shared::units::PicoJoules;
use serde::{Deserialize, Serialize};

/// One row of `energy.csv`; its fields are the columns, in this order. Energies are in whole
/// picojoules, the costs by phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs)]
pub struct EnergyRow {
    pub round: u32,
    pub client: ClientId,
    /// Harvested, whatever became of it.
    pub harvest_pj: u64,
    pub conversion_pj: u64,
    /// Lost to a full store.
    pub overflow_pj: u64,
    pub leaked_pj: u64,
    pub sleep_pj: u64,
    pub idle_pj: u64,
    /// Spent hearing the broadcast.
    pub receive_pj: u64,
    /// Spent bringing the model up to date.
    pub apply_pj: u64,
    pub train_pj: u64,
    /// Spent finding the loss of the trained model.
    pub evaluate_pj: u64,
    /// Spent coding the update.
    pub encode_pj: u64,
    pub transmit_pj: u64,
    /// Due and not paid, for the store was empty: the device would have browned out.
    pub unpaid_pj: u64,
    /// In the store afterwards, where there is one.
    pub stored_pj: Option<u64>,
}

impl EnergyRow {
    /// Writes down a client's round.
    #[must_use]
    pub const fn new(round: u32, client: ClientId, record: &RoundRecord) -> Self {
        let spent = &record.spent;
        Self {
            round,
            client,
            harvest_pj: record.harvested.0,
            conversion_pj: record.conversion.0,
            overflow_pj: record.overflow.0,
            leaked_pj: record.leaked.0,
            sleep_pj: spent.of(Phase::Sleep).0,
            idle_pj: spent.of(Phase::Idle).0,
            receive_pj: spent.of(Phase::Receive).0,
            apply_pj: spent.of(Phase::Apply).0,
            train_pj: spent.of(Phase::Train).0,
            evaluate_pj: spent.of(Phase::Evaluate).0,
            encode_pj: spent.of(Phase::Encode).0,
            transmit_pj: spent.of(Phase::Transmit).0,
            unpaid_pj: 0,
            stored_pj: None,
        }
    }

    /// Returns whether the client worked for an order: it computed or transmitted.
    #[must_use]
    pub const fn has_order(&self) -> bool {
        let spent = self.record().spent;
        spent.compute().0 > 0 || spent.of(Phase::Transmit).0 > 0
    }

    /// Returns what the round did to the store.
    #[must_use]
    pub const fn record(&self) -> RoundRecord {
        RoundRecord {
            harvested: PicoJoules(self.harvest_pj),
            conversion: PicoJoules(self.conversion_pj),
            overflow: PicoJoules(self.overflow_pj),
            leaked: PicoJoules(self.leaked_pj),
            // In the order of the phases' codes.
            spent: Spent([
                PicoJoules(self.sleep_pj),
                PicoJoules(self.idle_pj),
                PicoJoules(self.receive_pj),
                PicoJoules(self.apply_pj),
                PicoJoules(self.train_pj),
                PicoJoules(self.evaluate_pj),
                PicoJoules(self.encode_pj),
                PicoJoules(self.transmit_pj),
            ]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_gives_back_the_record_it_was_made_of() {
        let mut record = RoundRecord {
            harvested: PicoJoules(1),
            conversion: PicoJoules(2),
            overflow: PicoJoules(3),
            leaked: PicoJoules(4),
            ..RoundRecord::default()
        };
        for phase in Phase::ALL {
            record.spent[phase] = PicoJoules(10 + u64::from(phase.code()));
        }
        assert_eq!(EnergyRow::new(5, ClientId(6), &record).record(), record);
    }
}
