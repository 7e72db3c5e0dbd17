//! Closes a round on a board whose power fails inside an operation of its flash, and runs the next
//! round.

use gleaner_shared::energy::{Flows, Ledger};
use gleaner_shared::mlp::PaperParams;
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::{
    DeclineReason, HostToDevice, ModelHash, Order, Payload, Provision, RoundMark,
};

use crate::reference::{coded, exact, initial, trained};
use crate::reset::digits;
use crate::station::{INCOME, RUN, Station, generous, training_order};
use crate::wire::{LockstepWire, Wire};

const CLIENT: u32 = 3;
const SEED: u64 = 5;
/// Flash that is idle for this long has finished.
const PAUSE: Micros = Micros(500_000);

/// State of the board after its power returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restart {
    /// To a provisioned session; from the closing of the round, cut included, or of a recorded one
    /// from the cut.
    pub after: Micros,
    /// Whether it remembered the closed round.
    pub knew_the_round: bool,
    /// Whether it still held the model, if the test asked.
    pub held_the_model: bool,
}

/// Closes a round, waits for the board to start again and does another round.
///
/// # Panics
/// When the closed round is lost, an income comes twice, or the update is not the reference's.
pub fn close_and_fail<W: Wire>(station: &mut Station<W>) -> Restart {
    let round = FirstRound::work(station);
    let begin = station.wire.now();
    round.close(station);
    let mut restart = round.find(station, begin);
    restart.held_the_model = round.go_on(station, 0);
    restart
}

/// Closes a round in which the board rested, and waits for it to start again.
///
/// # Panics
/// When the closed round is lost or an income comes twice.
pub fn rest_and_fail<W: Wire>(station: &mut Station<W>) -> Restart {
    let round = FirstRound::rest(station);
    let begin = station.wire.now();
    round.close(station);
    round.find(station, begin)
}

/// A round that was closed once on a board in lockstep: its power can fail in one operation of the
/// flash after another without the round being done again.
pub struct Recorded {
    /// The board's base station.
    pub station: Station<LockstepWire>,
    round: FirstRound,
    operations: u32,
}

impl Recorded {
    /// Does a round and closes it.
    ///
    /// # Panics
    /// When the emulator ends.
    #[must_use]
    pub fn close(wire: LockstepWire) -> Self {
        let mut station = Station::new(wire);
        let round = FirstRound::work(&mut station);
        let recording = station.wire.board().record_flash();
        let before = recording.expect("the emulator runs");
        round.close(&mut station);
        let mut done = 0;
        let operations = loop {
            let later = station.wire.now().saturating_add(PAUSE);
            station.run_until(later, |_, _| None::<()>);
            let stat = station.wire.stat();
            let all = stat.flash_erases + stat.flash_programs;
            if all == done {
                break all - before.flash_erases - before.flash_programs;
            }
            done = all;
        };
        Self {
            station,
            round,
            operations: operations as u32,
        }
    }

    /// Returns how many operations closing the round took.
    #[must_use]
    pub const fn operations(&self) -> u32 {
        self.operations
    }

    /// Cuts the power inside an operation, counted from 1, and waits for the board to be in step;
    /// if asked it does the work of another round.
    ///
    /// # Panics
    /// As [`close_and_fail`].
    pub fn cut(&mut self, operation: u32, and_work: bool) -> Restart {
        let Self { station, round, .. } = self;
        station.wire.cut_again(operation);
        let begin = station.wire.now();
        let mut restart = round.find(station, begin);
        if and_work {
            // An update that is here already would not come again.
            station.updates.clear();
            restart.held_the_model = round.go_on(station, operation.into());
        }
        restart
    }
}

/// The round that is closed, as the base station knows it.
struct FirstRound {
    global: Box<PaperParams>,
    model: ModelHash,
    order: Order,
    mark: RoundMark,
    /// What a board is told that comes back.
    provision: Provision,
}

impl FirstRound {
    /// Does the work of it.
    fn work<W: Wire>(station: &mut Station<W>) -> Self {
        let mut round = Self::begin(station);
        station.deliver(Payload::Model, &exact(&round.global));
        assert_eq!(station.order(round.order).declined, None);
        round.provision.ledger = station.report(round.order.round).ledger;
        station.update(round.order.round);
        round
    }

    /// Takes no part in it.
    fn rest<W: Wire>(station: &mut Station<W>) -> Self {
        let mut round = Self::begin(station);
        round.order.participate = false;
        assert_eq!(station.order(round.order).declined, None);
        let Order { income, period, .. } = round.order;
        let Provision { ledger, store, .. } = &mut round.provision;
        let mut rested = Ledger::new(ledger.stored, *store);
        let _ = rested.end_round(&Flows {
            income,
            period,
            ..Flows::default()
        });
        *ledger = rested.snapshot();
        round
    }

    fn begin<W: Wire>(station: &mut Station<W>) -> Self {
        let global = initial(SEED);
        let model = ModelHash::of(&exact(&global));
        let order = training_order(1, 1, model);
        let mut provision = generous(CLIENT, SEED);
        station.connect();
        station.provision(provision);
        let mark = RoundMark {
            run: RUN,
            round: order.round,
            model,
        };
        provision.last_round = Some(mark);
        Self {
            global,
            model,
            order,
            mark,
            provision,
        }
    }

    fn close<W: Wire>(&self, station: &mut Station<W>) {
        station.say(HostToDevice::Commit {
            mark: self.mark,
            counted: true,
        });
    }

    /// Finds the board after a cut and gives it what it lost.
    fn find<W: Wire>(&self, station: &mut Station<W>, begin: Micros) -> Restart {
        let about = station.connect();
        assert!(about.last_round.is_none_or(|found| found == self.mark));
        let ledger = station.provision(self.provision);
        assert_eq!(ledger, self.provision.ledger, "{:?}", about.ledger);
        Restart {
            after: station.wire.now().saturating_sub(begin),
            knew_the_round: about.last_round.is_some(),
            held_the_model: false,
        }
    }

    /// Does the round after it with an order of its own; tells whether the board held the model.
    fn go_on<W: Wire>(&self, station: &mut Station<W>, seed: u64) -> bool {
        let stale = DeclineReason::Stale {
            newest: self.order.round,
        };
        assert_eq!(station.order(self.order).declined, Some(stale));
        let mut second = training_order(2, 1, self.model);
        second.seed = second.seed.wrapping_add(seed);
        let held_the_model = match station.order(second).declined {
            None => true,
            declined => {
                assert_eq!(declined, Some(DeclineReason::Model));
                station.deliver(Payload::Model, &exact(&self.global));
                assert_eq!(station.order(second).declined, None);
                false
            }
        };
        let report = station.report(second.round);
        let twice = 2 * INCOME.0;
        assert_eq!(
            (report.ledger.rounds, report.ledger.harvested.0),
            (2, twice)
        );
        let local = trained(&self.global, &digits(), CLIENT, &second);
        let expected = coded(&local, &self.global, CLIENT, &second);
        assert!(station.update(second.round) == expected, "another update");
        held_the_model
    }
}
