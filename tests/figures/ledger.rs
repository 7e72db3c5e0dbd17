//! The ledger's identity after every step of random schedules, against sums kept apart.

use gleaner_shared::energy::{CostModel, EnergyQueue, Ledger, Use};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::{Cycles, Micros, NanoWatts, PicoJoules};
use gleaner_tests::progress;

/// How much to try.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of random schedules, each of up to 40 rounds.
    #[arg(long, default_value_t = 1_000_000)]
    schedules: u32,
    /// Seed of the schedules.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// What was seen.
#[derive(Debug, Default)]
struct Tally {
    steps: u64,
    declined: u64,
    overflowed: u64,
    brownouts: u64,
}

/// Runs the schedules and tells whether the identity held at every step.
pub fn run(args: &Args) -> bool {
    let bar = progress("schedules", u64::from(args.schedules));
    let mut tally = Tally::default();
    for schedule in 0..args.schedules {
        if let Err(step) = check(
            &mut Rng::stream(args.seed, Purpose::Synthetic, schedule, 0),
            &mut tally,
        ) {
            bar.abandon();
            println!("schedule {schedule}: the identity broke at {step}");
            return false;
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    println!(
        "ledger identity exact over {} schedules, {} steps \
         ({} orders declined, {} incomes overflowed, {} overruns beyond the store)",
        args.schedules, tally.steps, tally.declined, tally.overflowed, tally.brownouts
    );
    true
}

/// One device's life; the error names the step.
fn check(rng: &mut Rng, tally: &mut Tally) -> Result<(), String> {
    let capacity = PicoJoules(rng.next_u64() >> (rng.below(40) + 10));
    let mut ledger = Ledger::new(PicoJoules(rng.next_u64() >> 20), capacity);
    let initial = i128::from(ledger.snapshot().initial.0);
    let (mut stored, mut queue, mut expected_queue) = (initial, EnergyQueue::default(), 0i128);
    let cost = CostModel::paper(1e-26, f64::from(rng.below(500) + 1) * 1e6);

    for round in 0..=rng.below(40) {
        let before = ledger.snapshot();
        let income = PicoJoules(u64::from(rng.below(1 << 30)));
        ledger.begin_round(income);
        let room = i128::from(capacity.0) - stored;
        tally.overflowed += u64::from(i128::from(income.0) > room);
        stored += i128::from(income.0).min(room);
        agree(&ledger, stored, tally).ok_or(format!("round {round}, income"))?;

        let epochs = rng.below(8);
        let (power, airtime) = (
            NanoWatts(rng.below(200_000_000).into()),
            Micros(rng.below(10_000).into()),
        );
        let cycles = Cycles(rng.below(100_000).into());
        let order = cost.order(epochs, cycles, power, airtime);
        if ledger.reserve(order).is_err() {
            tally.declined += 1;
        } else {
            // Measured cycles exceed the estimate now and then.
            let overrun = u64::from(rng.below(10) == 0) * u64::from(rng.below(1 << 28));
            for _ in 0..epochs {
                let energy = cost
                    .compute
                    .energy(cycles, 1)
                    .saturating_add(PicoJoules(overrun));
                let payment = ledger.spend(Use::Compute, energy);
                tally.brownouts += u64::from(payment.unpaid > PicoJoules::ZERO);
                stored -= i128::from(energy.0).min(stored);
                agree(&ledger, stored, tally).ok_or(format!("round {round}, epoch"))?;
            }
            let energy = cost.radio.energy(power, airtime);
            let _ = ledger.spend(Use::Radio, energy);
            stored -= i128::from(energy.0).min(stored);
            agree(&ledger, stored, tally).ok_or(format!("round {round}, upload"))?;
            ledger.settle();
        }
        let idle = PicoJoules(u64::from(rng.below(1 << 20)));
        let _ = ledger.spend(Use::Idle, idle);
        stored -= i128::from(idle.0).min(stored);
        agree(&ledger, stored, tally).ok_or(format!("round {round}, idle"))?;

        let record = ledger.snapshot().since(&before);
        queue.update(&record);
        let q = i128::from(record.harvested.0) - i128::from(record.spent().0);
        expected_queue = (expected_queue - q).max(0);
        if i128::from(queue.0.0) != expected_queue {
            return Err(format!("round {round}, queue"));
        }
    }
    Ok(())
}

/// The ledger adds up, and holds what the sums kept apart say.
fn agree(ledger: &Ledger, stored: i128, tally: &mut Tally) -> Option<()> {
    tally.steps += 1;
    let snapshot = ledger.snapshot();
    (snapshot.is_consistent() && i128::from(snapshot.stored.0) == stored).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity_holds_on_a_thousand_schedules() {
        assert!(run(&Args {
            schedules: 1_000,
            seed: 2
        }));
    }
}
