//! The client's energy: the ledger, what work costs, and the record that keeps both over a reset.

use gleaner_shared::energy::{
    Activity, CostModel, Ledger, Pace, Phase, Shortfall, Snapshot, Spent,
};
use gleaner_shared::units::{Cycles, Micros, PicoJoules};
use gleaner_shared::wire::message::{Order, Provision, RoundMark, RunId};

use crate::retained::{Record, Retained, SavedLedger};
use crate::round_energy::RoundEnergy;
use crate::saved::SavedState;

/// The energy store of a provisioned client.
#[derive(Debug)]
pub struct ClientLedger<M> {
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
    income_round: Option<u32>,
    /// The round whose waiting is not charged yet.
    books: Option<RoundEnergy>,
    /// What was spent before the round.
    before: Spent,
}

impl Open {
    /// Charges what was done since the last time; false if the store could not pay for all of it.
    fn charge(&mut self) -> bool {
        let due = self.books.as_mut().map(|books| books.charge(&self.cost));
        self.pay(&due.unwrap_or_default())
    }

    fn pay(&mut self, due: &Spent) -> bool {
        self.ledger.pay(due).unpaid == PicoJoules::ZERO
    }
}

impl<M: Retained> ClientLedger<M> {
    /// Reads what a reset left and counts the start; after a power cut the memory is noise, and
    /// `saved` is what the flash still knows.
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

    /// Returns how often the board started since its memory was noise.
    #[must_use]
    pub const fn boots(&self) -> u32 {
        self.record.boots
    }

    /// Returns how often the books ran dry since the memory was noise.
    #[must_use]
    pub const fn brownouts(&self) -> u32 {
        self.record.brownouts
    }

    /// Returns the last round the base station closed.
    #[must_use]
    pub const fn last_round(&self) -> Option<RoundMark> {
        self.record.last_round
    }

    /// Returns the ledger as it would go on after a reset.
    #[must_use]
    pub const fn kept(&self) -> Option<SavedLedger> {
        self.record.ledger
    }

    /// Returns the ledger, open or kept.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let kept = self.record.ledger.map(|kept| kept.snapshot);
        self.open.map(|open| open.ledger.snapshot()).or(kept)
    }

    /// Returns what the round has cost; of one that a reset broke off, what it cost since.
    #[must_use]
    pub fn spent(&self) -> Spent {
        let spent = |open: Open| open.ledger.snapshot().spent.saturating_sub(&open.before);
        self.open.map(spent).unwrap_or_default()
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
        let (snapshot, income_round, books) = match kept {
            Some(kept) => {
                let unfinished = self.record.unfinished.as_ref();
                let books = unfinished.map(RoundEnergy::resume);
                (kept.snapshot, kept.income_round, books)
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
            income_round,
            books,
            before: snapshot.spent,
        });
        self.record.last_round = provision.last_round;
        self.keep();
        Some(snapshot)
    }

    /// Begins the round of an order, once: charges what is left of the round before, then books
    /// the income and what leaks away.
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
            open.ledger.begin_round(order.income, order.period);
            open.books = Some(RoundEnergy::open(order.listening, order.period));
            self.keep();
        }
    }

    /// Sets aside what an order is expected to cost, or says what is missing.
    ///
    /// A round that is charged already, whose order was cancelled perhaps, has no waiting left.
    ///
    /// # Errors
    /// The shortfall; without a provision everything is missing.
    pub fn reserve(&mut self, order: &Order, pace: &Pace) -> Result<PicoJoules, Shortfall> {
        let Some(open) = &mut self.open else {
            return Err(Shortfall {
                needed: PicoJoules::MAX,
                available: PicoJoules::ZERO,
            });
        };
        let ordered = match open.books {
            Some(_) => order.activity(),
            None => Activity {
                listening: Micros::ZERO,
                window: Micros::ZERO,
                period: Micros::ZERO,
                ..order.activity()
            },
        };
        let mut books = (open.books).unwrap_or(RoundEnergy::open(Micros::ZERO, Micros::ZERO));
        let needed = books.expected(&ordered, pace, &open.cost);
        open.ledger.settle();
        open.ledger.reserve(needed)?;
        books.take(&ordered);
        books.count(|done| done.apply = done.apply.saturating_add(pace.apply));
        open.books = Some(books);
        self.charge();
        Ok(needed)
    }

    /// Counts work of the round; it is charged with the next that is, or with what is left.
    pub fn count(&mut self, work: impl FnOnce(&mut Activity)) {
        if let Some(books) = self.open.as_mut().and_then(|open| open.books.as_mut()) {
            books.count(work);
        }
    }

    /// Charges what was counted; false if the store could not pay for all of it. Work that nobody
    /// pays for, such as a measurement's, is free.
    pub fn charge(&mut self) -> bool {
        let held = self.open.as_mut().is_none_or(Open::charge);
        self.record.brownouts = self.record.brownouts.saturating_add(u32::from(!held));
        self.keep();
        held
    }

    /// Ends a round: charges what was counted and the waiting until the next, once. What its order
    /// did not need is available again.
    pub fn finish(&mut self) {
        let Some(open) = &mut self.open else { return };
        if let Some(mut books) = open.books.take() {
            books.wait();
            let held = open.pay(&books.charge(&open.cost));
            self.record.brownouts = self.record.brownouts.saturating_add(u32::from(!held));
        }
        open.ledger.settle();
        self.keep();
    }

    /// Pays for computing that no order asked for, such as a class somebody wants to know.
    pub fn pay_aside(&mut self, cycles: Cycles) {
        if let Some(open) = &mut self.open {
            let mut due = Spent::ZERO;
            due[Phase::Evaluate] = open.cost.compute.energy(cycles, 0);
            let held = open.pay(&due);
            self.record.brownouts = self.record.brownouts.saturating_add(u32::from(!held));
            self.keep();
        }
    }

    /// Remembers the round the base station closed.
    pub fn close_round(&mut self, mark: RoundMark) {
        self.record.last_round = Some(mark);
        self.keep();
    }

    fn keep(&mut self) {
        if let Some(open) = &self.open {
            self.record.ledger = Some(SavedLedger {
                run: open.run,
                client: open.client,
                snapshot: open.ledger.snapshot(),
                income_round: open.income_round,
            });
            self.record.unfinished = open.books.map(|books| books.unfinished());
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
    use gleaner_shared::energy::{ComputeModel, EnergyStore};
    use gleaner_shared::units::{HertzInt, NanoWatts};
    use gleaner_shared::wire::message::ModelHash;

    use super::*;
    use crate::retained::RECORD_BYTES;

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
                idle: NanoWatts(2_000),
                sleep: NanoWatts(1_000),
                clock: HertzInt(1_000_000),
                ..CostModel::default()
            },
            ledger: Ledger::new(PicoJoules(1_000_000), CAPACITY).snapshot(),
            last_round: last_round.map(|round| mark(run, round)),
        }
    }

    fn order(round: u32) -> Order {
        Order {
            run: RunId([1; 16]),
            round,
            participate: true,
            channel: 0,
            uplink_bits: 8,
            epochs: 1,
            power: NanoWatts(1),
            airtime: Micros(1),
            learning_rate_q24: 1,
            seed: 1,
            model: ModelHash::default(),
            deadline: Micros(500),
            period: Micros(1_000),
            listening: Micros(10),
            income: PicoJoules(400),
        }
    }

    fn pace(cycles: u64) -> Pace {
        Pace {
            epoch: Cycles(cycles),
            ..Pace::default()
        }
    }

    fn mark(run: u8, round: u32) -> RoundMark {
        RoundMark {
            run: RunId([run; 16]),
            round,
            model: ModelHash([round as u8; 16]),
        }
    }

    fn spent<M: Retained>(store: &ClientLedger<M>, phase: Phase) -> u64 {
        store.snapshot().unwrap().spent.of(phase).0
    }

    #[test]
    fn a_reset_keeps_what_was_spent_and_pays_no_income_twice() {
        let mut memory = [0xFF; RECORD_BYTES];
        let mut before = ClientLedger::new(&mut memory, &SavedState::default());
        before.provision(&provision(1, None));
        before.begin_round(&order(1));
        before.reserve(&order(1), &pace(100)).unwrap();
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
        assert_eq!(after.snapshot().unwrap().harvested, PicoJoules(800));
    }

    #[test]
    fn a_rounds_waiting_is_charged_once_however_the_round_ends() {
        // Awake for 500 us, less 10 of hearing and 100 of computing; asleep for the other 500.
        let expected = (780, 500);
        let mut memory = [0xFF; RECORD_BYTES];
        let started = |memory: &mut [u8; RECORD_BYTES]| {
            memory.fill(0xFF);
            let mut store = ClientLedger::new(memory, &SavedState::default());
            store.provision(&provision(1, None));
            store.begin_round(&order(1));
            store.reserve(&order(1), &pace(100)).unwrap();
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
        // The next round's order comes over one that never ended.
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
        // Another order of a round that is charged costs its work alone.
        let needed = store.reserve(&order(1), &pace(100)).unwrap();
        assert_eq!(needed, PicoJoules(375_000));
        assert_eq!(spent(&store, Phase::Receive), 30);
    }

    #[test]
    fn waiting_that_the_store_cannot_pay_is_counted_and_never_negative() {
        let mut poor = provision(1, None);
        poor.ledger = Ledger::new(PicoJoules(1), CAPACITY).snapshot();
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        store.provision(&poor);
        store.begin_round(&order(1));
        store.finish();
        let snapshot = store.snapshot().unwrap();
        assert_eq!(snapshot.stored, PicoJoules::ZERO);
        assert_eq!(snapshot.spent.total(), PicoJoules(401));
        assert!(snapshot.is_consistent());
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
            // Nothing is left of the other round to wait for.
            after.finish();
            assert_eq!(after.snapshot(), Some(confirmed.ledger));
        }
    }

    #[test]
    fn an_order_beyond_the_store_names_the_shortfall() {
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        store.provision(&provision(1, None));
        store.begin_round(&order(1));
        // An order is paid for half an epoch of evaluation too, and for hearing and waiting: both
        // leave nothing of the window of 500 us.
        let shortfall = store.reserve(&order(1), &pace(1_000)).unwrap_err();
        assert_eq!(shortfall.needed, PicoJoules(3_750_000 + 30));
        assert_eq!(shortfall.available, PicoJoules(1_000_400));
        assert_eq!(store.snapshot().unwrap().spent, Spent::ZERO);
    }

    #[test]
    fn an_impossible_ledger_is_refused() {
        let mut store = ClientLedger::new([0; RECORD_BYTES], &SavedState::default());
        let mut broken = provision(1, None);
        broken.ledger.stored = PicoJoules(7);
        assert_eq!(store.provision(&broken), None);
        assert_eq!(store.snapshot(), None);
    }
}
