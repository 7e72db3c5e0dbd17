//! `cargo figures glean decision`: the median time of a decision, on random rounds: below 20 us with
//! 10 clients on 3 channels, below 20 ms with 1,000 on 50.

use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

use gleaner_cre::optim::random_instance;
use gleaner_host::policy::{Attendance, Policy, Purse, View};
use gleaner_host::report::table::Table;
use gleaner_host::round::settings;
use gleaner_host::scenario::{Override, resolve};
use gleaner_shared::rng::{Purpose, Rng};

use super::all_hold;

/// Clients, channels, and microseconds that are claimed.
const SIZES: [(u32, usize, f64); 2] = [(10, 3, 20.0), (1000, 50, 20_000.0)];
/// Rounds that precede the one that is decided.
const AGE: u32 = 40;

/// How often.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
}

/// Times decisions and tells whether the claim holds.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let scenario = resolve("paper-mlp", &[Override::new("run.scheduler", "glean")])?;
    let (system, policy) = (settings::system(&scenario), settings::policy(&scenario));
    let mut table = Table::new(&["clients", "channels", "median us", "worst us", "orders"]);
    let mut sentences = Vec::new();
    for (clients, channels, claimed_us) in SIZES {
        let (mut times, mut orders) = (Vec::new(), 0);
        for seed in 0..args.rounds {
            let instance = random_instance(&system, clients, channels, seed);
            let (attendance, purses) = history(clients, seed, &instance.epoch_j);
            let view = View {
                seed: 0,
                round: AGE,
                instance: &instance,
                gradient_norms: &[],
                purses: &purses,
                attendance: &attendance,
            };
            let (us, made) = time(&*policy, &view)?;
            times.push(us);
            orders += made;
        }
        times.sort_unstable_by(f64::total_cmp);
        let (median, worst) = (times[times.len() / 2], times[times.len() - 1]);
        table.row(vec![
            clients.to_string(),
            channels.to_string(),
            format!("{median:.1}"),
            format!("{worst:.1}"),
            format!("{:.2}", orders as f64 / args.rounds as f64),
        ]);
        sentences.push((
            format!(
                "{clients} clients, {channels} channels: {median:.1} us, below {claimed_us} claimed"
            ),
            median < claimed_us,
        ));
    }
    print!("{}", table.to_text());
    Ok(all_hold(&sentences))
}

/// Returns ages up to [`AGE`] and balances up to ten incomes.
fn history(clients: u32, seed: u64, epoch_j: &[f64]) -> (Vec<Attendance>, Vec<Purse>) {
    let one = |client: u32, &epoch_j: &f64| {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, client, 3);
        let mut attendance = Attendance::default();
        attendance.note(rng.below(AGE), rng.below(10) > 0);
        let spendable_j = 4e-3 * rng.uniform();
        (
            attendance,
            Purse {
                spendable_j,
                epoch_j,
            },
        )
    };
    (0..clients)
        .zip(epoch_j)
        .map(|(client, epoch_j)| one(client, epoch_j))
        .unzip()
}

/// Returns the median of three decisions of the same round in microseconds, and its orders.
fn time(policy: &dyn Policy, view: &View<'_>) -> Result<(f64, usize), Box<dyn Error>> {
    let (mut times, mut orders) = ([0.0; 3], 0);
    for time in &mut times {
        let start = Instant::now();
        let decision = black_box(policy.decide(black_box(view)))?;
        *time = 1e6 * start.elapsed().as_secs_f64();
        orders = decision.orders.len();
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times[1], orders))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_are_timed_and_order_somebody() {
        let scenario = resolve("paper-mlp", &[Override::new("run.scheduler", "glean")]).unwrap();
        let instance = random_instance(&settings::system(&scenario), 10, 3, 1);
        let (attendance, purses) = history(10, 1, &instance.epoch_j);
        let view = View {
            seed: 0,
            round: AGE,
            instance: &instance,
            gradient_norms: &[],
            purses: &purses,
            attendance: &attendance,
        };
        let (us, orders) = time(&*settings::policy(&scenario), &view).unwrap();
        assert!(us > 0.0 && (1..=3).contains(&orders), "{us} {orders}");
    }
}
