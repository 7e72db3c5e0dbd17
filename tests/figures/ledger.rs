//! The ledger's identity after every step of random lives, against sums kept apart: incomes as a
//! trace brings them, charging losses, leaks, orders that are declined and stores that run dry.

use gleaner_shared::energy::{
    Activity, ComputeModel, CostModel, EnergyQueue, EnergyStore, Flows, Ledger, Pace, RadioModel,
    Spent,
};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, HertzInt, Micros, NanoWatts, PicoJoules};
use gleaner_tests::progress;

/// Number and seed of the random cases.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of random lives, each of up to 40 rounds.
    #[arg(long, default_value_t = 1_000_000)]
    schedules: u32,
    /// Seed of the lives.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Default)]
struct Tally {
    steps: u64,
    rested: u64,
    declined: u64,
    overflowed: u64,
    leaked: u64,
    brownouts: u64,
}

/// Runs the lives and tells whether the identity held at every step.
pub fn run(args: &Args) -> bool {
    let bar = progress("lives", u64::from(args.schedules));
    let mut tally = Tally::default();
    for schedule in 0..args.schedules {
        if let Err(step) = check(
            &mut Rng::stream(args.seed, Purpose::Synthetic, schedule, 0),
            &mut tally,
        ) {
            bar.abandon();
            println!("life {schedule}: the identity broke at {step}");
            return false;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "ledger identity exact over {} lives, {} steps ({} rounds rested, {} orders declined, \
         {} incomes overflowed, {} stores leaked, {} rounds beyond the store)",
        args.schedules,
        tally.steps,
        tally.rested,
        tally.declined,
        tally.overflowed,
        tally.leaked,
        tally.brownouts
    );
    true
}

/// One device's life; the error names the step.
fn check(rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let store = EnergyStore {
        capacity: PicoJoules(rng.next_u64() >> (rng.below(40) + 10)),
        charge_permille: [1_000, 850, 1, 0][rng.below(4) as usize],
        leakage: NanoWatts(u64::from(rng.below(20_000)) * u64::from(rng.below(2))),
        restart: PicoJoules(rng.next_u64() >> (rng.below(40) + 12)),
    };
    let mut ledger = Ledger::new(PicoJoules(rng.next_u64() >> 20), store);
    let mut apart = Apart {
        stored: i128::from(ledger.snapshot().initial.0),
        owed: 0,
        off: false,
        store,
        tally,
    };
    let (mut queue, mut expected_queue) = (EnergyQueue::default(), 0i128);
    let cost = cost(rng);
    for round in 0..=rng.below(40) {
        let before = ledger.snapshot();
        let order = order(rng);
        // A trace: dark, dim or bright.
        let income = PicoJoules(rng.next_u64() >> (34 + rng.below(30)));
        let done = live(rng, &mut ledger, &cost, &order, apart.tally);
        let (work, standing) = cost.round(&done).split();
        apart.pay(&mut ledger, &work);
        apart
            .agree(&ledger)
            .ok_or(format!("round {round}, order"))?;
        let flows = Flows {
            income,
            standing,
            period: order.period,
            boot: cost.boot,
        };
        apart.end(&mut ledger, &flows)?;
        apart
            .agree(&ledger)
            .ok_or(format!("round {round}, its end"))?;

        let record = ledger.snapshot().since(&before);
        queue.update(&record);
        let q = i128::from(record.harvested.0) - i128::from(record.spent.total().0);
        expected_queue = (expected_queue - q).max(0);
        if i128::from(queue.0.0) != expected_queue {
            return Err(format!("round {round}, queue"));
        }
    }
    Ok(())
}

fn cost(rng: &mut Rng) -> CostModel {
    CostModel {
        compute: ComputeModel {
            femtojoules_per_cycle: u64::from(rng.below(3_000_000)),
            per_epoch: PicoJoules(rng.below(1_000).into()),
        },
        radio: RadioModel {
            efficiency_permille: 1 + rng.below(1_000) as u16,
            circuit: NanoWatts(rng.below(1_000_000).into()),
            per_upload: PicoJoules(rng.below(1_000).into()),
        },
        receive: NanoWatts(rng.below(60_000_000).into()),
        idle: NanoWatts(rng.below(30_000_000).into()),
        sleep: NanoWatts(rng.below(100_000).into()),
        save: PicoJoules(rng.below(1_000_000).into()),
        boot: PicoJoules(rng.below(1_000_000).into()),
        clock: HertzInt(rng.below(150_000_000).into()),
    }
}

fn order(rng: &mut Rng) -> Activity {
    Activity {
        epochs: rng.below(8),
        drawn: NanoWatts(rng.below(200_000_000).into()),
        airtime: Micros(rng.below(10_000).into()),
        saves: true,
        ..Activity::resting(
            Micros(rng.below(5_000).into()),
            Micros(rng.below(200_000).into()),
        )
    }
}

/// Returns what the device does of an order: all, nothing, or more than it expected.
fn live(
    rng: &mut Rng,
    ledger: &mut Ledger,
    cost: &CostModel,
    order: &Activity,
    tally: &mut Tally,
) -> Activity {
    let resting = Activity::resting(order.listening, order.period);
    let pace = Pace {
        epoch: Cycles(rng.below(100_000).into()),
        encode: Cycles(rng.below(10_000).into()),
        ..Pace::default()
    };
    let expected = order.at_pace(&pace, Cycles(rng.below(10_000).into()));
    if rng.below(4) == 0 {
        tally.rested += 1;
        return resting;
    }
    if ledger.reserve(cost.round(&expected).total()).is_err() {
        tally.declined += 1;
        return resting;
    }
    // Measured cycles exceed what was expected now and then.
    let overrun = u64::from(rng.below(10) == 0) * u64::from(rng.below(1 << 28));
    Activity {
        train: Cycles(expected.train.0 + overrun),
        ..expected
    }
}

/// The same books in plain sums.
struct Apart<'a> {
    stored: i128,
    owed: i128,
    off: bool,
    store: EnergyStore,
    tally: &'a mut Tally,
}

impl Apart<'_> {
    /// Pays for work from what is stored; the round owes the rest.
    fn pay(&mut self, ledger: &mut Ledger, due: &Spent) {
        let payment = ledger.pay(due);
        self.tally.brownouts += u64::from(payment.unpaid > PicoJoules::ZERO);
        let total = sum(due);
        self.owed = total - total.min(self.stored);
        self.stored -= total.min(self.stored);
    }

    /// Ends a round; the error says which rule of netting was broken.
    fn end(&mut self, ledger: &mut Ledger, flows: &Flows) -> Result<(), String> {
        let before = ledger.snapshot();
        let unpaid = ledger.end_round(flows).unpaid;
        let overflow = ledger.snapshot().since(&before).overflow;
        if unpaid > PicoJoules::ZERO && overflow > PicoJoules::ZERO {
            return Err(format!("{unpaid} unpaid beside an overflow of {overflow}"));
        }

        let income = i128::from(flows.income.0);
        let kept = i128::from(self.store.charge_permille.min(1_000));
        self.stored += income - income * (1_000 - kept) / 1_000;
        let standing = if self.off { 0 } else { sum(&flows.standing) };
        let due = std::mem::take(&mut self.owed) + standing;
        let missing = due - due.min(self.stored);
        self.stored -= due.min(self.stored);
        let leak = i128::from(self.store.leakage.0) * i128::from(flows.period.0);
        let leak = (leak + 500) / 1_000;
        self.tally.leaked += u64::from(leak > 0);
        self.stored -= leak.min(self.stored);
        let capacity = i128::from(self.store.capacity.0);
        self.tally.overflowed += u64::from(self.stored > capacity);
        self.stored = self.stored.min(capacity);
        self.off |= missing > 0;
        let boot = i128::from(flows.boot.0);
        if self.off && self.stored >= i128::from(self.store.restart.0) + boot {
            self.off = false;
            self.stored -= boot;
        }
        if missing != i128::from(unpaid.0) || self.off != ledger.snapshot().off {
            return Err(format!("unpaid {unpaid}, not {missing} pJ"));
        }
        Ok(())
    }

    /// The ledger adds up, and holds what the sums kept apart say.
    fn agree(&mut self, ledger: &Ledger) -> Option<()> {
        self.tally.steps += 1;
        let snapshot = ledger.snapshot();
        (snapshot.is_consistent() && i128::from(snapshot.stored.0) == self.stored).then_some(())
    }
}

/// Returns the sum over all phases, which may exceed what a ledger holds.
fn sum(spent: &Spent) -> i128 {
    spent.0.iter().map(|amount| i128::from(amount.0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_holds_in_a_thousand_lives() {
        assert!(run(&Args {
            schedules: 1_000,
            seed: 2
        }));
    }
}
