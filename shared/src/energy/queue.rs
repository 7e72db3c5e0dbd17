//! The base station's energy queue, computed from the ledger's records.

use serde::{Deserialize, Serialize};

use crate::energy::RoundRecord;
use crate::units::PicoJoules;

/// The virtual queue Z_i: how far a client has overspent its income.
///
/// `Z <- max(Z - q, 0)` with `q = E_add - (tau E_i + e_up)`. All income counts, even overflow,
/// because the paper's budget C5 has no store; waiting counts as spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnergyQueue(pub PicoJoules);

impl EnergyQueue {
    /// Books one round's record.
    pub const fn update(&mut self, record: &RoundRecord) {
        self.0 = self
            .0
            .saturating_add(record.spent.total())
            .saturating_sub(record.harvested);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::{Phase, Spent};

    fn round(income: u64, compute: u64, radio: u64) -> RoundRecord {
        let mut spent = Spent::ZERO;
        spent[Phase::Train] = PicoJoules(compute);
        spent[Phase::Transmit] = PicoJoules(radio);
        RoundRecord {
            harvested: PicoJoules(income),
            spent,
            ..RoundRecord::default()
        }
    }

    #[test]
    fn grows_with_overspending_and_drains_to_zero() {
        let mut queue = EnergyQueue::default();
        queue.update(&round(100, 150, 30));
        assert_eq!(queue.0, PicoJoules(80));
        queue.update(&round(100, 0, 30));
        assert_eq!(queue.0, PicoJoules(10));
        queue.update(&round(100, 0, 0));
        assert_eq!(queue.0, PicoJoules::ZERO);
    }
}
