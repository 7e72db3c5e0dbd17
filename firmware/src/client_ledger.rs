//! The client's ledger with its cost model, and the record that preserves it over a reset.

use gleaner_shared::energy::{
    Activity, CostModel, Ledger, Pace, Phase, Shortfall, Snapshot, Spent,
};
use gleaner_shared::units::{Cycles, PicoJoules};
use gleaner_shared::wire::message::{Order, Provision, RoundMark, RunId};

use crate::retained::{RECORD_BYTES, Record, Retained, SavedLedger};
use crate::round_energy::RoundEnergy;
use crate::saved::SavedState;

/// The ledger of a client; empty until the client is provisioned.
#[derive(Debug)]
pub struct ClientLedger<M> {
    memory: M,
    record: Record,
    open: Option<Open>,
}

/// The ledger as provisioned by the base station.
#[derive(Clone, Copy, Debug)]
struct Open {
    run: RunId,
    client: u32,
    ledger: Ledger,
    cost: CostModel,
    pace: Pace,
    income_round: Option<u32>,
    /// The current round, until it is ended.
    round: Option<RoundEnergy>,
    /// Energy spent before the round.
    before: Spent,
}

/// The shortfall of a client that is not provisioned.
const NOT_PROVISIONED: Shortfall = Shortfall {
    needed: PicoJoules::MAX,
    available: PicoJoules::ZERO,
};

impl Open {
    /// Charges the work since the last charge; returns false if the store could not pay for all of
    /// it.
    fn charge(&mut self) -> bool {
        let due = self.round.as_mut().map(|round| round.charge(&self.cost));
        self.pay(&due.unwrap_or_default())
    }

    fn pay(&mut self, due: &Spent) -> bool {
        self.ledger.pay(due).unpaid == PicoJoules::ZERO
    }
}

impl<M: Retained<RECORD_BYTES>> ClientLedger<M> {
    /// Reads the record that survived the reset and counts the start. After a power cut the RAM
    /// holds noise, and the state from flash is used.
    pub fn new(memory: M, saved: &SavedState) -> Self {
        let record = Record::load(&memory).unwrap_or(Record {
            ledger: saved.ledger,
            last_round: saved.last_round,
            ..Record::default()
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

    /// Returns the number of starts since the last power cut.
    pub const fn boots(&self) -> u32 {
        self.record.boots
    }

    /// Returns the number of brown-outs of the ledger since the last power cut.
    pub const fn brownouts(&self) -> u32 {
        self.record.brownouts
    }

    /// Returns the last round that the base station closed.
    pub const fn last_round(&self) -> Option<RoundMark> {
        self.record.last_round
    }

    /// Returns the ledger as it is saved for the next start.
    pub const fn saved(&self) -> Option<SavedLedger> {
        self.record.ledger
    }

    /// Returns the counters of the open ledger, or of the saved one.
    pub fn snapshot(&self) -> Option<Snapshot> {
        let saved = self.record.ledger.map(|saved| saved.snapshot);
        self.open.map(|open| open.ledger.snapshot()).or(saved)
    }

    /// Returns the energy spent in the round; after a reset within the round, since the reset.
    pub fn spent(&self) -> Spent {
        let spent = |open: Open| open.ledger.snapshot().spent.saturating_sub(&open.before);
        self.open.map(spent).unwrap_or_default()
    }

    /// Opens the ledger: the saved one if it belongs to the same run and is newer and the base
    /// station has not refused it, otherwise the one the base station last confirmed. Returns `None` if that breaks the ledger's identity.
    pub fn provision(&mut self, provision: &Provision) -> Option<Snapshot> {
        let saved = self.record.ledger.filter(|saved| {
            !provision.adopt
                && saved.run == provision.run
                && saved.client == provision.client
                && continues(self.record.last_round, provision.last_round)
                && saved.snapshot.age() > provision.ledger.age()
        });
        let (snapshot, income_round, round) = match saved {
            Some(saved) => {
                let unfinished = self.record.unfinished.as_ref();
                let round = unfinished.map(RoundEnergy::resume);
                (saved.snapshot, saved.income_round, round)
            }
            None => {
                let closed = provision.last_round.map(|mark| mark.round);
                (provision.ledger, closed, None)
            }
        };
        let ledger = Ledger::restore(snapshot, provision.store)?;
        self.open = Some(Open {
            run: provision.run,
            client: provision.client,
            ledger,
            cost: provision.cost,
            pace: provision.pace,
            income_round,
            round,
            before: snapshot.spent,
        });
        self.record.last_round = provision.last_round;
        self.save();
        Some(snapshot)
    }

    /// Returns the expected cycles of the client's work, as provisioned.
    pub fn pace(&self) -> Pace {
        self.open.map(|open| open.pace).unwrap_or_default()
    }

    /// Expects epochs of so many cycles, on more samples than the base station knows of.
    pub fn expect_epoch(&mut self, cycles: Cycles) {
        if let Some(open) = &mut self.open {
            open.pace.epoch = cycles;
        }
    }

    /// Begins the round of an order, once, and ends the previous one. The round's harvest is booked
    /// when it ends.
    pub fn begin_round(&mut self, order: &Order) {
        if self
            .open
            .is_none_or(|it| it.income_round == Some(order.round))
        {
            return;
        }
        self.finish();
        if let Some(open) = &mut self.open {
            open.income_round = Some(order.round);
            open.before = open.ledger.snapshot().spent;
            open.round = Some(RoundEnergy::open(
                order.listening,
                order.period,
                order.income,
            ));
            self.save();
        }
    }

    /// Reserves the expected cost of an order from what is stored; `apply` are the cycles of
    /// receiving its model.
    ///
    /// A round that has ended, for example after a cancelled order, is not charged for
    /// listening, saving and sleep again.
    ///
    /// # Errors
    /// Returns the shortfall; without a provision everything is missing.
    pub fn reserve(&mut self, order: &Order, apply: Cycles) -> Result<PicoJoules, Shortfall> {
        let (needed, mut round, ordered) = self.expected(order, apply)?;
        let Some(open) = &mut self.open else {
            return Err(NOT_PROVISIONED);
        };
        open.ledger.settle();
        open.ledger.reserve(needed)?;
        round.take(&ordered);
        round.count(|done| done.apply = done.apply.saturating_add(apply));
        open.round = Some(round);
        self.charge();
        Ok(needed)
    }

    /// Checks that the store can pay for an order, before its model is received.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub fn check(&self, order: &Order, apply: Cycles) -> Result<(), Shortfall> {
        let (needed, ..) = self.expected(order, apply)?;
        let mut ledger = self.open.ok_or(NOT_PROVISIONED)?.ledger;
        ledger.settle();
        ledger.reserve(needed)
    }

    fn expected(
        &self,
        order: &Order,
        apply: Cycles,
    ) -> Result<(PicoJoules, RoundEnergy, Activity), Shortfall> {
        let open = self.open.as_ref().ok_or(NOT_PROVISIONED)?;
        let round = open.round.unwrap_or(RoundEnergy::reopen());
        let ordered = round.ordered(order);
        let needed = round.expected(&ordered, &open.pace, apply, &open.cost);
        Ok((needed, round, ordered))
    }

    /// Counts work of the round; it is charged later.
    pub fn count(&mut self, work: impl FnOnce(&mut Activity)) {
        if let Some(round) = self.open.as_mut().and_then(|open| open.round.as_mut()) {
            round.count(work);
        }
    }

    /// Charges the counted work; returns false if the store could not pay for all of it. Without a
    /// provision, as in a measurement, work is free.
    pub fn charge(&mut self) -> bool {
        let held = self.open.as_mut().is_none_or(Open::charge);
        self.save();
        held
    }

    /// Ends a round, once: charges the counted work, then nets listening, sleep and leakage with the
    /// harvest. The unused part of the reservation is available again.
    pub fn finish(&mut self) {
        let Some(open) = &mut self.open else { return };
        open.charge();
        let round = open.round.take();
        if let Some(flows) = round.and_then(|round| round.end(&open.cost)) {
            let unpaid = open.ledger.end_round(&flows).unpaid;
            let browned_out = u32::from(unpaid > PicoJoules::ZERO);
            self.record.brownouts = self.record.brownouts.saturating_add(browned_out);
        }
        open.ledger.settle();
        self.save();
    }

    /// Pays for computing outside of an order, such as a classification.
    pub fn pay_aside(&mut self, cycles: Cycles) {
        if let Some(open) = &mut self.open {
            let mut due = Spent::ZERO;
            due[Phase::Evaluate] = open.cost.compute.energy(cycles, 0);
            open.pay(&due);
            self.save();
        }
    }

    /// Records the round that the base station closed.
    pub fn close_round(&mut self, mark: RoundMark) {
        self.record.last_round = Some(mark);
        self.save();
    }

    fn save(&mut self) {
        if let Some(open) = &self.open {
            self.record.ledger = Some(SavedLedger {
                run: open.run,
                client: open.client,
                snapshot: open.ledger.snapshot(),
                income_round: open.income_round,
            });
            self.record.unfinished = open.round.map(|round| round.unfinished());
        }
        self.record.store(&mut self.memory);
    }
}

/// Returns whether the base station's history contains the device's last closed round, as far as
/// the device can know: the same mark, or an older one of the same run.
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
    use gleaner_shared::energy::{ComputeModel, EnergyStore};
    use gleaner_shared::units::{HertzInt, Micros, NanoWatts};
    use gleaner_shared::wire::message::ModelHash;

    use super::*;

    const CAPACITY: EnergyStore = EnergyStore::lossless(PicoJoules(1_000_000_000));

    fn provision(run: u8, last_round: Option<u32>) -> Provision {
        Provision {
            run: RunId([run; 16]),
            client: 3,
            seed: 1,
            store: CAPACITY,
            cost: CostModel {
                compute: ComputeModel {
                    femtojoules_per_cycle: 2_500_000,
                    per_epoch: PicoJoules::ZERO,
                },
                receive: NanoWatts(3_000),
                sleep: NanoWatts(1_000),
                save: PicoJoules(70),
                clock: HertzInt(1_000_000),
                ..CostModel::default()
            },
            pace: Pace {
                epoch: Cycles(100),
                evaluate: Cycles(50),
                encode: Cycles(20),
                seal: Cycles(5),
                ..Pace::default()
            },
            ledger: Ledger::new(PicoJoules(1_000_000), CAPACITY).snapshot(),
            last_round: last_round.map(|round| mark(run, round)),
            adopt: false,
        }
    }

    fn order(round: u32) -> Order {
        Order {
            run: RunId([1; 16]),
            round,
            participate: true,
            channel: 0,
            code: gleaner_shared::mlp::UploadCode::Q8,
            epochs: 1,
            power: NanoWatts(1),
            drawn: NanoWatts(1),
            airtime: Micros(1),
            learning_rate_q24: 1,
            seed: 1,
            model: ModelHash::default(),
            period: Micros(1_000),
            listening: Micros(10),
            receiving: Micros::ZERO,
            income: PicoJoules(400),
            clip_q16: 0,
        }
    }

    fn mark(run: u8, round: u32) -> RoundMark {
        RoundMark {
            run: RunId([run; 16]),
            round,
            model: ModelHash([round as u8; 16]),
        }
    }

    fn spent<M: Retained<RECORD_BYTES>>(store: &ClientLedger<M>, phase: Phase) -> u64 {
        store.snapshot().unwrap().spent.of(phase).0
    }

    #[test]
    fn a_reset_keeps_what_was_spent_and_books_no_income_twice() {
        let mut memory = [0xFF; RECORD_BYTES];
        let mut before = ClientLedger::new(&mut memory, &SavedState::default());
        before.provision(&provision(1, None));
        before.begin_round(&order(1));
        before.reserve(&order(1), Cycles::ZERO).unwrap();
        before.count(|done| done.train = Cycles(100));
        assert!(before.charge());
        let spent = before.snapshot().unwrap();
        assert_eq!(spent.spent.of(Phase::Train), PicoJoules(250_000));

        let mut after = ClientLedger::new(&mut memory, &SavedState::default());
        assert_eq!((after.snapshot(), after.boots()), (Some(spent), 2));
        assert_eq!(after.provision(&provision(1, None)), Some(spent));
        after.begin_round(&order(1));
        assert_eq!(after.snapshot(), Some(spent));
        after.begin_round(&order(2));
        assert_eq!(after.snapshot().unwrap().harvested, PicoJoules(400));
        after.finish();
        assert_eq!(after.snapshot().unwrap().harvested, PicoJoules(800));
    }

    #[test]
    fn a_round_is_ended_once_however_it_ends() {
        // The model is saved once; of 1,000 us, 10 are listened and 100 computed.
        let expected = (70, 890);
        let mut memory = [0xFF; RECORD_BYTES];
        let started = |memory: &mut [u8; RECORD_BYTES]| {
            memory.fill(0xFF);
            let mut store = ClientLedger::new(memory, &SavedState::default());
            store.provision(&provision(1, None));
            store.begin_round(&order(1));
            store.reserve(&order(1), Cycles::ZERO).unwrap();
            store.count(|done| done.train = Cycles(100));
            store.charge();
            assert_eq!(spent(&store, Phase::Idle), 0);
        };
        let waiting = |store: &ClientLedger<&mut [u8; RECORD_BYTES]>| {
            (spent(store, Phase::Idle), spent(store, Phase::Sleep))
        };
        for reset in [false, true] {
            started(&mut memory);
            let mut store = ClientLedger::new(&mut memory, &SavedState::default());
            store.provision(&provision(1, None));
            store.finish();
            assert_eq!(waiting(&store), expected);
            if reset {
                store = ClientLedger::new(&mut memory, &SavedState::default());
                store.provision(&provision(1, None));
            }
            store.finish();
            store.begin_round(&order(1));
            store.begin_round(&order(2));
            assert_eq!(waiting(&store), expected);
        }
        // The order of the next round arrives before the round has ended.
        started(&mut memory);
        let mut store = ClientLedger::new(&mut memory, &SavedState::default());
        store.provision(&provision(1, None));
        store.begin_round(&order(2));
        assert_eq!(waiting(&store), expected);
        assert_eq!(spent(&store, Phase::Receive), 30);
    }

    #[test]
    fn a_round_without_work_hears_the_broadcast_and_sleeps() {
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        store.provision(&provision(1, None));
        store.begin_round(&order(1));
        store.finish();
        assert_eq!(spent(&store, Phase::Receive), 30);
        assert_eq!(spent(&store, Phase::Sleep), 990);
        assert_eq!(store.spent().total(), PicoJoules(1_020));
        // Another order of a charged round costs its work alone.
        let needed = store.reserve(&order(1), Cycles(25)).unwrap();
        assert_eq!(needed, PicoJoules(500_000));
        assert_eq!(spent(&store, Phase::Receive), 30);
    }

    #[test]
    fn sleep_that_the_store_cannot_pay_is_a_brown_out() {
        let mut poor = provision(1, None);
        poor.ledger = Ledger::new(PicoJoules(1), CAPACITY).snapshot();
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        store.provision(&poor);
        store.begin_round(&order(1));
        store.finish();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.stored, PicoJoules::ZERO);
        assert_eq!(snapshot.spent.total(), PicoJoules(401));
        assert!(snapshot.is_consistent() && !snapshot.off);
        assert_eq!(store.brownouts(), 1);
    }

    #[test]
    fn another_run_starts_from_the_base_stations_ledger() {
        for (run, closed) in [(2, None), (1, Some(5))] {
            let mut memory = [0; RECORD_BYTES];
            let mut before = ClientLedger::new(&mut memory, &SavedState::default());
            before.provision(&provision(1, None));
            before.begin_round(&order(1));
            if let Some(round) = closed {
                before.close_round(mark(1, round));
            }
            let mut after = ClientLedger::new(&mut memory, &SavedState::default());
            let confirmed = provision(run, None);
            assert_eq!(after.provision(&confirmed), Some(confirmed.ledger));
            // Nothing of the other round is left to charge.
            after.finish();
            assert_eq!(after.snapshot(), Some(confirmed.ledger));
        }
    }

    #[test]
    fn a_ledger_to_adopt_replaces_a_newer_one() {
        let mut memory = [0; RECORD_BYTES];
        let mut store = ClientLedger::new(&mut memory, &SavedState::default());
        let confirmed = provision(1, None);
        store.provision(&confirmed);
        store.begin_round(&order(1));
        store.finish();
        let own = store.snapshot();
        assert_eq!(store.provision(&confirmed), own, "its own is newer");
        let adopt = Provision {
            adopt: true,
            ..confirmed
        };
        assert_eq!(store.provision(&adopt), Some(confirmed.ledger));
        // The round is begun again with that ledger, also after a reset.
        store = ClientLedger::new(&mut memory, &SavedState::default());
        assert_eq!(store.provision(&confirmed), Some(confirmed.ledger));
        store.begin_round(&order(1));
        store.finish();
        assert_eq!(store.snapshot(), own);
    }

    #[test]
    fn an_order_beyond_the_store_names_the_shortfall() {
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        store.provision(&provision(1, None));
        store.begin_round(&order(1));
        // 825 cycles of receiving the model and 175 of the rest leave no sleep; the broadcast and the
        // saving remain. The harvest of the round is yet to come.
        let shortfall = store.reserve(&order(1), Cycles(825)).unwrap_err();
        assert_eq!(shortfall.needed, PicoJoules(2_500_000 + 30 + 70));
        assert_eq!(shortfall.available, PicoJoules(1_000_000));
        assert_eq!(store.check(&order(1), Cycles(825)), Err(shortfall));
        assert_eq!(store.check(&order(1), Cycles(1)), Ok(()));
        assert_eq!(store.snapshot().unwrap().spent, Spent::ZERO);
    }

    #[test]
    fn an_inconsistent_ledger_is_refused() {
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        let mut broken = provision(1, None);
        broken.ledger.stored = PicoJoules(7);
        assert_eq!(store.provision(&broken), None);
        assert_eq!(store.snapshot(), None);
    }
}
