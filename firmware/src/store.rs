//! The client's energy: the ledger, what work costs, and the record that keeps both over a reset.

use gleaner_shared::energy::{CostModel, Ledger, Shortfall, Snapshot, Use};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{Provision, RoundMark, RunId};

use crate::retained::{KeptLedger, Record, Retained};
use crate::saved::Kept;

/// The energy store of a provisioned client.
#[derive(Debug)]
pub struct Store<M> {
    memory: M,
    record: Record,
    open: Option<Open>,
}

/// What a provision brought.
#[derive(Clone, Copy, Debug)]
struct Open {
    run: RunId,
    client: u32,
    ledger: Ledger,
    cost: CostModel,
    income: PicoJoules,
    income_round: Option<u32>,
}

/// What one order may cost at most.
#[derive(Clone, Copy, Debug)]
pub struct Estimate {
    /// Full-batch steps.
    pub epochs: u16,
    /// Cycles of one of them.
    pub cycles_per_epoch: Cycles,
    /// Radiated power of the upload.
    pub power: NanoWatts,
    /// Time of the upload on the air.
    pub airtime: Micros,
}

impl<M: Retained> Store<M> {
    /// Reads what a reset left and counts the start; after a power cut the memory is noise, and
    /// `saved` is what the flash still knows.
    pub fn new(memory: M, saved: &Kept) -> Self {
        let record = Record::load(&memory).unwrap_or(Record {
            boots: 0,
            ledger: saved.ledger,
            last_round: saved.last_round,
        });
        let mut store = Self {
            record,
            memory,
            open: None,
        };
        store.record.boots = store.record.boots.wrapping_add(1);
        store.record.store(&mut store.memory);
        store
    }

    /// Returns how often the board started since its memory was noise.
    #[must_use]
    pub const fn boots(&self) -> u32 {
        self.record.boots
    }

    /// Returns the last round the base station closed.
    #[must_use]
    pub const fn last_round(&self) -> Option<RoundMark> {
        self.record.last_round
    }

    /// Returns the ledger as it would go on after a reset.
    #[must_use]
    pub const fn kept(&self) -> Option<KeptLedger> {
        self.record.ledger
    }

    /// Returns the ledger, open or kept.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let kept = self.record.ledger.map(|kept| kept.snapshot);
        self.open.map(|open| open.ledger.snapshot()).or(kept)
    }

    /// Opens the ledger: the kept one if it belongs to the same run and is the newer, otherwise
    /// what the base station last confirmed. `None` if that breaks the ledger's identity.
    pub fn provision(&mut self, provision: &Provision) -> Option<Snapshot> {
        let kept = self.record.ledger.filter(|kept| {
            kept.run == provision.run
                && kept.client == provision.client
                && continues(self.record.last_round, provision.last_round)
                && kept.snapshot.age() > provision.ledger.age()
        });
        let (snapshot, income_round) = match kept {
            Some(kept) => (kept.snapshot, kept.income_round),
            None => (
                provision.ledger,
                provision.last_round.map(|mark| mark.round),
            ),
        };
        let ledger = Ledger::restore(snapshot, provision.storage_cap)?;
        self.open = Some(Open {
            run: provision.run,
            client: provision.client,
            ledger,
            cost: provision.cost,
            income: provision.harvest_per_round,
            income_round,
        });
        self.record.last_round = provision.last_round;
        self.keep();
        Some(snapshot)
    }

    /// Returns the income of every round.
    #[must_use]
    pub fn income(&self) -> PicoJoules {
        self.open.map_or(PicoJoules::ZERO, |open| open.income)
    }

    /// Books the income of a round, once.
    pub fn begin_round(&mut self, round: u32) {
        if let Some(open) = &mut self.open
            && open.income_round != Some(round)
        {
            open.income_round = Some(round);
            open.ledger.settle();
            open.ledger.begin_round(open.income);
            self.keep();
        }
    }

    /// Sets aside what an order may cost, or says what is missing.
    ///
    /// # Errors
    /// The shortfall; without a provision everything is missing.
    pub fn reserve(&mut self, estimate: &Estimate) -> Result<PicoJoules, Shortfall> {
        let Some(open) = &mut self.open else {
            return Err(Shortfall {
                needed: PicoJoules::MAX,
                available: PicoJoules::ZERO,
            });
        };
        // One forward pass more than the epochs: the loss of the trained model is reported.
        let cycles = Cycles(
            (estimate.cycles_per_epoch.0).saturating_mul(2 * u64::from(estimate.epochs) + 1) / 2,
        );
        let compute = open.cost.compute.energy(cycles, estimate.epochs.into());
        let radio = open.cost.radio.energy(estimate.power, estimate.airtime);
        let needed = compute.saturating_add(radio);
        open.ledger.settle();
        open.ledger.reserve(needed).map(|()| needed)
    }

    /// Pays for computing; returns what was paid, and whether the store held it.
    pub fn pay_compute(&mut self, cycles: Cycles, epochs: u32) -> (PicoJoules, bool) {
        let cost = self
            .open
            .map(|open| open.cost.compute.energy(cycles, epochs));
        self.pay(Use::Compute, cost.unwrap_or_default())
    }

    /// Pays for an upload; returns what was paid, and whether the store held it.
    pub fn pay_radio(&mut self, power: NanoWatts, airtime: Micros) -> (PicoJoules, bool) {
        let cost = self.open.map(|open| open.cost.radio.energy(power, airtime));
        self.pay(Use::Radio, cost.unwrap_or_default())
    }

    fn pay(&mut self, on: Use, cost: PicoJoules) -> (PicoJoules, bool) {
        let Some(open) = &mut self.open else {
            return (PicoJoules::ZERO, false);
        };
        let payment = open.ledger.spend(on, cost);
        self.keep();
        (payment.paid, payment.unpaid == PicoJoules::ZERO)
    }

    /// Ends an order: what it did not need is available again.
    pub fn settle(&mut self) {
        if let Some(open) = &mut self.open {
            open.ledger.settle();
        }
    }

    /// Remembers the round the base station closed.
    pub fn close_round(&mut self, mark: RoundMark) {
        self.record.last_round = Some(mark);
        self.keep();
    }

    fn keep(&mut self) {
        if let Some(open) = &self.open {
            self.record.ledger = Some(KeptLedger {
                run: open.run,
                client: open.client,
                snapshot: open.ledger.snapshot(),
                capacity: open.ledger.capacity(),
                income_round: open.income_round,
            });
        }
        self.record.store(&mut self.memory);
    }
}

/// Tells whether the device's last closed round is one the base station's history contains, as
/// far as the device can know: the same mark, or an older one whose successor it missed.
fn continues(ours: Option<RoundMark>, theirs: Option<RoundMark>) -> bool {
    match (ours, theirs) {
        (None, _) => true,
        (Some(ours), Some(theirs)) => {
            ours == theirs || (ours.run == theirs.run && ours.round < theirs.round)
        }
        (Some(_), None) => false,
    }
}

#[cfg(test)]
mod tests {
    use gleaner_shared::wire::message::ModelHash;

    use super::*;
    use crate::retained::RECORD_BYTES;

    fn provision(run: u8, last_round: Option<u32>) -> Provision {
        Provision {
            run: RunId([run; 16]),
            client: 3,
            seed: 1,
            storage_cap: PicoJoules(1_000_000_000),
            harvest_per_round: PicoJoules(400),
            cost: CostModel::paper(1e-26, 5e8),
            ledger: Ledger::new(PicoJoules(1_000_000), PicoJoules(1_000_000_000)).snapshot(),
            last_round: last_round.map(|round| mark(run, round)),
        }
    }

    fn mark(run: u8, round: u32) -> RoundMark {
        RoundMark {
            run: RunId([run; 16]),
            round,
            model: ModelHash([round as u8; 16]),
        }
    }

    #[test]
    fn a_reset_keeps_what_was_spent_and_pays_no_income_twice() {
        let mut memory = [0xFF; RECORD_BYTES];
        let mut before = Store::new(&mut memory, &Kept::default());
        before.provision(&provision(1, None));
        before.begin_round(1);
        assert!(before.pay_compute(Cycles(100), 1).1);
        let spent = before.snapshot().unwrap();

        let mut after = Store::new(&mut memory, &Kept::default());
        assert_eq!((after.snapshot(), after.boots()), (Some(spent), 2));
        assert_eq!(after.provision(&provision(1, None)), Some(spent));
        after.begin_round(1);
        assert_eq!(after.snapshot(), Some(spent));
        after.begin_round(2);
        assert_eq!(after.snapshot().unwrap().harvested, PicoJoules(800));
    }

    #[test]
    fn another_run_starts_from_the_base_stations_ledger() {
        for (run, closed) in [(2, None), (1, Some(5))] {
            let mut memory = [0; RECORD_BYTES];
            let mut before = Store::new(&mut memory, &Kept::default());
            before.provision(&provision(1, None));
            before.begin_round(1);
            if let Some(round) = closed {
                before.close_round(mark(1, round));
            }
            let mut after = Store::new(&mut memory, &Kept::default());
            let confirmed = provision(run, None);
            assert_eq!(after.provision(&confirmed), Some(confirmed.ledger));
        }
    }

    #[test]
    fn an_order_beyond_the_store_names_the_shortfall() {
        let mut store = Store::new([0; RECORD_BYTES], &Kept::default());
        store.provision(&provision(1, None));
        let estimate = Estimate {
            epochs: 1,
            cycles_per_epoch: Cycles(1_000),
            power: NanoWatts(1),
            airtime: Micros(1),
        };
        // alpha f^2 is 2,500 pJ a cycle, and an order is paid for half an epoch of evaluation too.
        let shortfall = store.reserve(&estimate).unwrap_err();
        assert_eq!(shortfall.needed, PicoJoules(3_750_000));
        assert_eq!(shortfall.missing(), PicoJoules(2_750_000));
        assert_eq!(store.snapshot().unwrap().stored, PicoJoules(1_000_000));
    }

    #[test]
    fn an_impossible_ledger_is_refused() {
        let mut store = Store::new([0; RECORD_BYTES], &Kept::default());
        let mut broken = provision(1, None);
        broken.ledger.stored = PicoJoules(7);
        assert_eq!(store.provision(&broken), None);
        assert_eq!(store.snapshot(), None);
    }
}
