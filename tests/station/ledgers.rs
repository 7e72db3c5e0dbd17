//! The base station's booking against the firmware's own ledger: resets, power cuts, cancelled and
//! declined orders, lost lines and a base station that starts again never make a true ledger look
//! false, and a ledger that is better for the board than the truth is refused.

use gleaner_shared::energy::{
    ComputeModel, CostModel, EnergyStore, Pace, Phase, RadioModel, Snapshot,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};
use gleaner_shared::wire::message::{
    DeclineReason, DeviceToHost, HostToDevice, ModelHash, Order, Payload, Provision, Report,
    RoundMark, RunId, SamplePlace,
};
use gleaner_station::board::booking::Booking;
use gleaner_station::board::bounds::{Bounds, Work};
use gleaner_station::board::{Closing, ConfirmedState};
use gleaner_station::event::EventKind;
use gleaner_tests::in_process::InProcess;
use gleaner_tests::reference::{exact, initial};
use gleaner_tests::shard::Digits;
use gleaner_tests::station::{Station, training_order};
use gleaner_tests::wire::Wire;

const CLIENT: u32 = 4;
const SAMPLES: usize = 6;
/// Rounds of a run; then stores and costs are others.
const ROUNDS: u32 = 12;
const RUNS: u32 = 12;

/// What the base station and a board went through.
#[derive(Debug, Default)]
struct Seen {
    trained: u32,
    declined: u32,
    cancelled: u32,
    resets: u32,
    power_cuts: u32,
    lost: u32,
    restarts: u32,
    unexpected: u32,
    empty: u32,
    lies: u32,
}

/// A board, and the base station's booking of it.
struct Pair {
    station: Station<InProcess>,
    booking: Booking,
    bounds: Bounds,
    run: RunId,
    model: Vec<u8>,
    /// The state before the last round was closed, as in a checkpoint.
    checkpoint: ConfirmedState,
    /// A ledger that arrives after its round is closed.
    late: Option<Snapshot>,
    /// Whether the line is gone until the round is closed.
    gone: bool,
    seen: Seen,
}

fn below(rng: &mut Rng, most: u32) -> u64 {
    rng.below(most).into()
}

impl Pair {
    fn start(rng: &mut Rng, run: u32) -> Self {
        let shard = Digits::take(0, SAMPLES).shard(CLIENT, None);
        let store = EnergyStore {
            capacity: PicoJoules(3_000_000_000 << rng.below(8)),
            charge_permille: 700 + rng.below(301) as u16,
            leakage: NanoWatts(below(rng, 5_000)),
            restart: PicoJoules(below(rng, 400_000_000)),
        };
        let clock = HertzInt(1_000_000 + below(rng, 150_000_000));
        // At least 10 mW of computing, and at most 1 mW of sleep.
        let cycle_fj = 10_000_000_000_000 / clock.0 + below(rng, 1_000_000);
        let cost = CostModel {
            compute: ComputeModel {
                femtojoules_per_cycle: cycle_fj,
                per_epoch: PicoJoules(below(rng, 1_000_000)),
            },
            radio: RadioModel {
                efficiency_permille: 1 + rng.below(1_000) as u16,
                circuit: NanoWatts(below(rng, 1_000_000)),
                per_upload: PicoJoules(below(rng, 1_000_000)),
            },
            receive: NanoWatts(below(rng, 60_000_000)),
            idle: NanoWatts(below(rng, 30_000_000)),
            sleep: NanoWatts(below(rng, 1_000_000)),
            save: PicoJoules(below(rng, 100_000_000)),
            boot: PicoJoules(below(rng, 100_000_000)),
            clock,
        };
        // Training of six samples takes some 4,000 cycles of the virtual board.
        let pace = Pace {
            epoch: Cycles(1_000 + below(rng, 2_000)),
            evaluate: Cycles(below(rng, 1_000)),
            apply_change: Cycles(below(rng, 1_000)),
            apply_whole: Cycles(below(rng, 1_000)),
            encode: Cycles(below(rng, 1_000)),
            open_change: Cycles(below(rng, 100_000)),
            open_whole: Cycles(below(rng, 100_000)),
            seal: Cycles(below(rng, 100_000)),
        };
        let bounds = Bounds { store, cost, pace };
        let stored = PicoJoules(store.capacity.0 / (1 + below(rng, 4)));
        let confirmed = ConfirmedState::new(stored, store);
        let mut pair = Self {
            station: Station::new(InProcess::start(&shard)),
            booking: Booking::new(confirmed, bounds),
            bounds,
            run: RunId([run as u8 + 1; 16]),
            model: exact(&initial(1)),
            checkpoint: confirmed,
            late: None,
            gone: false,
            seen: Seen::default(),
        };
        pair.greet();
        pair
    }

    /// Checks an event of the booking.
    #[track_caller]
    fn hear(&mut self, event: Option<EventKind>) {
        match event {
            Some(EventKind::LedgerDiffers { .. }) => self.seen.unexpected += 1,
            None => {}
            Some(refused) => panic!(
                "a true ledger is refused: {refused:?}\nconfirmed {:?}\n{:?}",
                self.booking.confirmed(),
                self.seen
            ),
        }
    }

    fn provision(&self) -> Provision {
        let confirmed = self.booking.confirmed();
        Provision {
            run: self.run,
            client: CLIENT,
            seed: 1,
            store: self.bounds.store,
            cost: self.bounds.cost,
            pace: self.bounds.pace,
            ledger: confirmed.ledger,
            last_round: confirmed.last_round,
            adopt: self.booking.is_refused(),
        }
    }

    /// Waits for a session and provisions the board in it.
    fn greet(&mut self) {
        self.station.connect();
        self.booking.start_session();
        let found = self.station.provision(self.provision());
        let event = self.booking.compare(found);
        self.hear(event);
        if self.booking.must_correct() {
            let found = self.station.provision(self.provision());
            let event = self.booking.compare(found);
            self.hear(event);
        }
    }

    /// Lets some time pass; what the board says is lost.
    fn pass(&mut self, time: u64) {
        let until = self.station.wire.now().saturating_add(Micros(time));
        self.station.run_until(until, |_, _| None::<()>);
    }

    fn reset(&mut self) {
        self.station.wire.reset();
        self.seen.resets += 1;
    }

    fn cut_power(&mut self) {
        self.station.wire.power_cycle();
        self.seen.power_cuts += 1;
    }

    /// Begins another session on the same line.
    fn call_again(&mut self) {
        self.station.link.connect();
        self.seen.lost += 1;
    }

    /// Returns the order of a round, the same however often it is given.
    fn order(&self, round: u32) -> Order {
        let mut rng = Rng::stream(self.run.0[0].into(), Purpose::Synthetic, 1, round);
        let rng = &mut rng;
        Order {
            run: self.run,
            participate: rng.below(5) > 0,
            drawn: NanoWatts(below(rng, 200_000_000)),
            airtime: Micros(below(rng, 20_000)),
            period: Micros(below(rng, 2_000_000)),
            listening: Micros(below(rng, 30_000)),
            receiving: Micros(below(rng, 100_000)),
            income: PicoJoules(rng.next_u64() >> (32 + rng.below(14))),
            ..training_order(round, 1 + rng.below(3) as u16, ModelHash::of(&self.model))
        }
    }

    /// Notes the ledger of a cancelled order.
    fn note(&mut self, found: Snapshot) {
        let event = self.booking.note(found);
        self.hear(event);
        if self.booking.must_correct() {
            let found = self.station.provision(self.provision());
            let event = self.booking.compare(found);
            self.hear(event);
        }
    }

    /// Gives the order until it is accepted or declined for lack of energy, and returns which.
    fn is_accepted(&mut self, order: Order) -> bool {
        loop {
            match self.station.order(order).declined {
                None => return true,
                Some(DeclineReason::Energy(_)) => return false,
                Some(DeclineReason::Model) => {
                    let model = self.model.clone();
                    self.station.deliver(Payload::Model, &model);
                }
                Some(other) => panic!("{other:?}"),
            }
        }
    }

    /// Has the board carry out an order through all kinds of accidents; tells whether it reported.
    fn work(&mut self, rng: &mut Rng, order: Order) -> bool {
        for _ in 0..6 {
            let event = self.booking.begin(&order);
            self.hear(event);
            let payable = self.booking.check_reserve(&order).is_ok();
            if !self.is_accepted(order) {
                self.seen.declined += 1;
                return false;
            }
            assert!(payable, "a board accepts what its store cannot pay");
            match rng.below(9) {
                0 => {
                    self.pass(below(rng, 6_000));
                    self.reset();
                    self.greet();
                }
                1 => {
                    self.pass(below(rng, 6_000));
                    self.cut_power();
                    self.greet();
                }
                2 => {
                    // The board finishes while it is not heard.
                    self.pass(below(rng, 20_000));
                    self.call_again();
                    self.greet();
                }
                3 => {
                    self.pass(below(rng, 6_000));
                    self.seen.cancelled += 1;
                    let work = order.mark();
                    self.station.say(HostToDevice::Cancel { work });
                    let found = self.station.expect(|message| match message {
                        DeviceToHost::Cancelled { ledger, .. } => Some(*ledger),
                        _ => None,
                    });
                    match rng.below(2) {
                        0 => self.late = Some(found),
                        _ => self.note(found),
                    }
                    return false;
                }
                4 => {
                    // The round is closed without the board, which finishes or not.
                    self.pass(below(rng, 20_000));
                    self.gone = true;
                    return false;
                }
                5 => {
                    let report = self.station.report(order.round);
                    self.report(&report);
                    match rng.below(3) {
                        0 => self.reset(),
                        1 => self.cut_power(),
                        _ => self.call_again(),
                    }
                    self.greet();
                }
                _ => {
                    let report = self.station.report(order.round);
                    return self.report(&report);
                }
            }
        }
        false
    }

    /// Books a report, and checks that no better one would have been booked.
    fn report(&mut self, report: &Report) -> bool {
        self.seen.empty += u32::from(!report.trained);
        let event = match report.trained {
            true => self.booking.trained(report.ledger),
            false => self.booking.note(report.ledger),
        };
        self.hear(event);
        report.trained
    }

    /// Classifies a sample at the cost of the board's store.
    fn classify(&mut self) {
        let (place, number) = (SamplePlace::Flashed, 0);
        self.station.say(HostToDevice::Infer { place, number });
        self.station.expect(|message| match message {
            DeviceToHost::Classified(_) | DeviceToHost::InferRefused(_) => Some(()),
            _ => None,
        });
    }

    /// Closes a round on both sides, or on the base station's alone.
    fn close(&mut self, rng: &mut Rng, order: Order, trained: bool) {
        let mark = RoundMark {
            run: self.run,
            round: order.round,
            model: ModelHash::default(),
        };
        let rest = Order {
            participate: false,
            epochs: 0,
            drawn: NanoWatts::ZERO,
            airtime: Micros::ZERO,
            receiving: Micros::ZERO,
            ..order
        };
        self.checkpoint = self.booking.confirmed();
        let event = self.booking.close(&Closing {
            mark,
            counted: trained,
            income: order.income,
            period: order.period,
            rest: (!trained).then_some(rest),
        });
        self.hear(event);
        let ledger = self.booking.confirmed().ledger;
        assert!(ledger.is_consistent());
        assert_eq!(ledger.rounds, order.round);
        let late = self.late.take();
        // The line may be gone before the board hears of it.
        if std::mem::take(&mut self.gone) || rng.below(4) == 0 {
            self.call_again();
            self.greet();
            return;
        }
        if !trained {
            self.station.order(rest);
        } else if self.booking.is_behind() {
            let found = self.station.provision(self.provision());
            let event = self.booking.compare(found);
            self.hear(event);
        }
        self.station.commit(mark);
        if let Some(found) = late {
            self.note(found);
        }
    }

    /// Goes back to the state before the last round, as a base station after a crash.
    fn restart(&mut self) {
        self.seen.restarts += 1;
        self.booking.restore(self.checkpoint);
        self.station.link.connect();
        self.greet();
    }

    fn round(&mut self, rng: &mut Rng, round: u32) {
        let order = self.order(round);
        let before = self.booking.confirmed().ledger;
        let trained = order.participate && self.work(rng, order);
        self.seen.trained += u32::from(trained);
        self.close(rng, order, trained);
        if trained {
            self.lie(rng, &before, &order);
        }
        match rng.below(8) {
            0 => self.classify(),
            1 => {
                self.reset();
                self.greet();
            }
            2 => {
                self.cut_power();
                self.greet();
            }
            _ => {}
        }
    }

    /// Checks that ledgers better than the true one of a round are refused, beyond what the tolerance
    /// of computing leaves.
    fn lie(&mut self, rng: &mut Rng, before: &Snapshot, order: &Order) {
        let truth = self.booking.confirmed().ledger;
        if truth.stored == PicoJoules::ZERO || truth.off {
            return;
        }
        let computed = truth.spent.saturating_sub(&before.spent).compute();
        let rounding = self.bounds.cost.sleep.0 / 10 + 100;
        let most = computed.0 + rounding;
        for _ in 0..50 {
            let mut left = most + 1 + (rng.next_u64() >> (20 + rng.below(40)));
            let mut lie = truth;
            lie.stored.0 += left;
            // The gain is taken out of, or put into, other amounts at random.
            for _ in 0..8 {
                let share = rng.next_u64() % (left + 1);
                let phase = Phase::ALL[rng.below(8) as usize];
                let from = match rng.below(6) {
                    0 => &mut lie.overflow.0,
                    1 => &mut lie.leaked.0,
                    2 => &mut lie.conversion.0,
                    _ => &mut lie.spent[phase].0,
                };
                let share = share.min(*from);
                *from -= share;
                left -= share;
            }
            match rng.below(2) {
                0 => lie.initial.0 += left,
                _ => lie.harvested.0 += left,
            }
            assert!(lie.is_consistent());
            let checked = self.bounds.alone(&lie);
            let checked =
                checked.and_then(|()| self.bounds.after_round(before, order, Work::Trained, &lie));
            assert!(checked.is_err(), "{lie:?} in place of {truth:?}");
            self.seen.lies += 1;
        }
    }
}

#[test]
fn no_true_ledger_is_refused_whatever_happens_and_no_better_one_is_taken() {
    let mut all = Seen::default();
    for run in 0..RUNS {
        let mut rng = Rng::stream(3, Purpose::Synthetic, 0, run);
        let mut pair = Pair::start(&mut rng, run);
        let mut round = 1;
        while round <= ROUNDS {
            pair.round(&mut rng, round);
            round += 1;
            if rng.below(8) == 0 {
                pair.restart();
                round -= 1;
            }
        }
        let Seen {
            trained,
            declined,
            cancelled,
            resets,
            power_cuts,
            lost,
            restarts,
            unexpected,
            empty,
            lies,
        } = pair.seen;
        all.trained += trained;
        all.declined += declined;
        all.cancelled += cancelled;
        all.resets += resets;
        all.power_cuts += power_cuts;
        all.lost += lost;
        all.restarts += restarts;
        all.unexpected += unexpected;
        all.empty += empty;
        all.lies += lies;
    }
    println!("{all:?}");
    let each = [
        all.trained,
        all.declined,
        all.cancelled,
        all.resets,
        all.power_cuts,
        all.lost,
        all.restarts,
        all.unexpected,
    ];
    assert!(each.iter().all(|&count| count >= 5), "{all:?}");
    assert!(all.lies > 500, "{all:?}");
}
