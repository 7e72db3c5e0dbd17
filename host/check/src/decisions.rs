//! Time that a scheduler takes to decide a random round.

use gleaner_sim::ClientId;
use std::hint::black_box;
use std::time::Instant;

use gleaner_cre::optim::{Instance, random_instance};
use gleaner_shared::rng::{Purpose, Rng};
use gleaner_sim::policy::{Attendance, EnergyBudget, Note, Policy, PolicyError, View};
use gleaner_sim::round::settings;
use gleaner_sim::scenario::Scenario;

/// The round that is decided; for ten clients and three channels a turn begins in it.
const AGE: u32 = 41;

/// Times of the decisions of one size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decisions {
    /// The median over the rounds, in microseconds.
    pub median_us: f64,
    /// The slowest of them.
    pub worst_us: f64,
    /// Mean number of orders per round.
    pub orders: f64,
}

/// Times the scheduler of a scenario on random rounds; each round is decided three times, and the
/// median counts.
///
/// # Errors
/// When a round cannot be decided.
pub fn time_decisions(
    scenario: &Scenario,
    clients: u32,
    channels: usize,
    rounds: u32,
) -> Result<Decisions, PolicyError> {
    let (system, policy) = (settings::system(scenario), settings::policy(scenario));
    let (mut times_us, mut orders) = (Vec::new(), 0);
    for seed in 0..u64::from(rounds) {
        let instance = random_instance(&system, clients, channels, seed);
        let (us, placed) = time(&*policy, &Surroundings::of(instance, seed))?;
        times_us.push(us);
        orders += placed;
    }
    times_us.sort_unstable_by(f64::total_cmp);
    Ok(Decisions {
        median_us: times_us.get(times_us.len() / 2).copied().unwrap_or(0.0),
        worst_us: times_us.last().copied().unwrap_or(0.0),
        orders: orders as f64 / f64::from(rounds.max(1)),
    })
}

/// A random round with the other inputs of a scheduler.
struct Surroundings {
    seed: u64,
    instance: Instance,
    norms: Vec<f64>,
    budgets: Vec<EnergyBudget>,
    attendance: Vec<Attendance>,
    losses: Vec<Option<f64>>,
}

impl Surroundings {
    /// Ages up to [`AGE`], balances up to ten incomes; every other client once let a chance pass.
    fn of(instance: Instance, seed: u64) -> Self {
        let (mut norms, mut losses) = (Vec::new(), Vec::new());
        let (mut budgets, mut attendance) = (Vec::new(), Vec::new());
        let costs = instance.epoch_j.iter().zip(&instance.income_j);
        for (client, (&epoch_j, income_j)) in (0..).zip(costs) {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, client, 3);
            let mut history = Attendance::default();
            history.note(rng.below(AGE), rng.below(10) > 0);
            attendance.push(history);
            norms.push(rng.uniform());
            losses.push(Some(2.3 * rng.uniform()));
            budgets.push(EnergyBudget {
                spendable_j: 10.0 * income_j * rng.uniform(),
                epoch_j,
                order_j: instance.costs[client as usize].order_j,
                surplus_j: *income_j,
            });
        }
        let passed: Vec<Note> = (0..attendance.len())
            .step_by(2)
            .map(|client| Note::Passed {
                client: ClientId::at(client),
            })
            .collect();
        Attendance::write_down(&mut attendance, AGE - 1, &passed);
        Attendance::begin_turn(&mut attendance, &budgets);
        Self {
            seed,
            instance,
            norms,
            budgets,
            attendance,
            losses,
        }
    }
}

fn time(policy: &dyn Policy, round: &Surroundings) -> Result<(f64, usize), PolicyError> {
    let view = View {
        seed: round.seed,
        round: AGE,
        instance: &round.instance,
        gradient_norms: &round.norms,
        budgets: &round.budgets,
        attendance: &round.attendance,
        losses: &round.losses,
    };
    let (mut times, mut orders) = ([0.0; 3], 0);
    for time in &mut times {
        let start = Instant::now();
        orders = black_box(policy.decide(black_box(&view))?).orders.len();
        *time = start.elapsed().as_secs_f64() * 1e6;
    }
    times.sort_unstable_by(f64::total_cmp);
    Ok((times[1], orders))
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_sim::policy::Scheduler;
    use gleaner_sim::scenario::{Override, resolve};
    use strum::VariantArray;

    #[test]
    fn every_scheduler_is_timed_and_places_orders() {
        for scheduler in Scheduler::VARIANTS {
            let named = Override::new("run.scheduler", scheduler.to_string());
            let scenario = resolve("paper-mlp", &[named]).unwrap();
            let found = time_decisions(&scenario, 10, 3, 5).unwrap();
            assert!(found.median_us > 0.0 && found.median_us <= found.worst_us);
            assert!(found.orders > 0.0 && found.orders <= 3.0, "{scheduler}");
        }
    }
}
