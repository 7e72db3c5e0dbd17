//! Energy causality: no client spends energy that it has neither stored nor harvested, no order costs
//! more than was stored before it, and no round overflows while it leaves something unpaid, in any
//! preset, under any scheduler, forecast and harvest source. The clients' losses are
//! parabolas; plans, accounts, stores and declined orders are the engine's.

use clap::Parser;
use gleaner_energy::harvest::Forecast;
use gleaner_shared::energy::Phase;
use gleaner_shared::units::PicoJoules;
use gleaner_sim::policy::Scheduler;
use gleaner_sim::round::{
    Broadcast, ClientState, Engine, ExactGradient, Examiner, Fleet, FleetError, Order, Question,
    Reply, RoundLog, Score, Update, environment,
};
use gleaner_sim::scenario::{Override, PRESETS, Scenario, resolve};
use strum::VariantArray;

/// Energy causality over presets, schedulers, sources of income and forecasts.
#[derive(Debug, Parser)]
pub struct Args {
    /// Rounds of every run of a preset without an energy store.
    #[arg(long, default_value_t = 300)]
    rounds: usize,
    /// Simulated days of every run of a preset with an energy store.
    #[arg(long, default_value_t = 7.0)]
    days: f64,
    /// Seeds of every combination.
    #[arg(long, default_value_t = 2)]
    seeds: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    client_rounds: usize,
    violations: usize,
    /// Orders that cost more than was stored before their round.
    beyond_stored: usize,
    /// Rounds with overflow and an unpaid amount.
    both: usize,
    broken_books: usize,
    trained: usize,
    declined: usize,
    brownouts: usize,
}

/// Runs every combination; returns whether no client-round spent what was not there.
pub fn run(args: &Args) -> bool {
    let mut all = Count::default();
    let mut runs = 0;
    for preset in PRESETS {
        let mut of_preset = Count::default();
        for &scheduler in Scheduler::VARIANTS {
            for source in sources(preset.name) {
                for &forecast in Forecast::VARIANTS {
                    for seed in 0..args.seeds {
                        let sets = settings(preset.name, scheduler, source, forecast);
                        let scenario = scenario(preset.name, &sets, seed, args);
                        count(&scenario, &mut of_preset);
                        runs += 1;
                    }
                }
            }
        }
        print(preset.name, &of_preset);
        all.add(&of_preset);
    }
    print("all", &all);
    println!("{runs} runs");
    let wrong = all.violations + all.beyond_stored + all.both + all.broken_books;
    wrong == 0 && all.trained > 0 && all.declined > 0
}

impl Count {
    fn add(&mut self, other: &Self) {
        self.client_rounds += other.client_rounds;
        self.violations += other.violations;
        self.beyond_stored += other.beyond_stored;
        self.both += other.both;
        self.broken_books += other.broken_books;
        self.trained += other.trained;
        self.declined += other.declined;
        self.brownouts += other.brownouts;
    }
}

fn print(name: &str, count: &Count) {
    println!(
        "{name:<24} {:>9} client-rounds: {} spent more than stored + harvested, {} orders cost more \
         than stored, {} overflowed with an unpaid rest, {} books do not add up; {} trained, \
         {} declined, {} browned out",
        count.client_rounds,
        count.violations,
        count.beyond_stored,
        count.both,
        count.broken_books,
        count.trained,
        count.declined,
        count.brownouts
    );
}

/// Sources of income: a preset with its own store keeps its source.
fn sources(preset: &str) -> &'static [&'static str] {
    match has_store(preset) {
        true => &["own"],
        false => &["constant", "bernoulli", "markov", "solar"],
    }
}

fn has_store(preset: &str) -> bool {
    let plain = resolve(preset, &[]).expect("presets resolve");
    plain.harvest.store().is_some()
}

/// Settings of a run: a preset with its own store keeps it, the others get one of four rounds'
/// income that leaks, and powers for waiting, hearing and sending.
fn settings(preset: &str, scheduler: Scheduler, source: &str, forecast: Forecast) -> Vec<Override> {
    let plain = resolve(preset, &[]).expect("presets resolve");
    let device = &plain.device;
    let mut sets = vec![
        Override::new("run.scheduler", scheduler.to_string()),
        Override::new("harvest.forecast", forecast.to_string()),
        Override::new("cre.estimates", "uplink"),
    ];
    if plain.harvest.store().is_some() {
        return sets;
    }
    let active_w = device.energy_coefficient * device.frequency_hz.powi(3);
    let period_s = 2.0 * device.deadline_s;
    let mean_w = device.harvest_j / period_s;
    sets.extend([
        Override::new("harvest.source", source),
        Override::new("harvest.period_s", period_s),
        Override::new("harvest.storage_j", 8.0 * device.harvest_j),
        Override::new("harvest.stored_j", 4.0 * device.harvest_j),
        Override::new("harvest.leakage_w", 0.02 * mean_w),
        Override::new("harvest.charge_efficiency", 0.85),
        Override::new("device.idle_w", (0.3 * mean_w).min(active_w)),
        Override::new("device.sleep_w", (0.05 * mean_w).min(active_w)),
        Override::new("device.receive_w", 0.5 * mean_w),
        Override::new("device.circuit_w", 0.5 * mean_w),
        Override::new("device.amplifier_efficiency", 0.6),
        Override::new("device.apply_cycles", 40_000.0),
        Override::new("device.encode_cycles", 60_000.0),
        Override::new(
            "device.evaluate_cycles_per_sample",
            0.4 * device.cycles_per_sample,
        ),
    ]);
    if source == "solar" {
        // Ten minutes of spring light become a round; the panel brings a round's income on average.
        sets.push(Override::new(
            "harvest.file",
            "builtin:greensboro-spring-week",
        ));
        sets.push(Override::new("harvest.scale", mean_w / 0.04));
    }
    sets
}

fn scenario(preset: &str, sets: &[Override], seed: u64, args: &Args) -> Scenario {
    let seed = i64::try_from(seed).unwrap_or(i64::MAX);
    let rounds = match has_store(preset) {
        true => {
            let period_s = resolve(preset, &[]).expect("presets resolve").period_s();
            (args.days * 86_400.0 / period_s).round() as i64
        }
        false => i64::try_from(args.rounds).unwrap_or(i64::MAX),
    };
    let more = [
        Override::new("run.seed", seed),
        Override::new("run.rounds", rounds),
    ];
    let sets = [sets, &more].concat();
    resolve(preset, &sets).unwrap_or_else(|error| panic!("{preset}: {error}"))
}

/// Runs a scenario and walks every client's store through it.
fn count(scenario: &Scenario, count: &mut Count) {
    let clients = scenario.clients.count;
    let samples = scenario.partition.mean_samples as u32;
    let mut fleet = Parabolas(vec![samples; clients]);
    let environment = environment::of(scenario).expect("a world that is drawn");
    let mut engine = Engine::new(scenario, &mut fleet, &NoTest, environment, vec![0.0; 2]);
    let initial = PicoJoules::from_joules(scenario.harvest.stored_j).0;
    let mut stored = vec![initial; clients];
    while !engine.is_finished() {
        let logs = engine.step().expect("a round that can be planned");
        logs.iter().for_each(|log| walk(log, &mut stored, count));
    }
    let stores = engine.state().stores();
    count.brownouts += stores.iter().map(|it| it.brownouts as usize).sum::<usize>();
    let broken = stores.iter().filter(|it| !it.ledger.is_consistent());
    count.broken_books += broken.count();
}

fn walk(log: &RoundLog, stored: &mut [u64], count: &mut Count) {
    for (row, state) in log.energy.iter().zip(&log.clients) {
        let record = row.record();
        let income = u128::from(stored[row.client.index()]) + u128::from(record.harvested.0);
        let spent = u128::from(record.spent.total().0);
        let losses = [record.conversion, record.overflow, record.leaked];
        let lost: u128 = losses.iter().map(|amount| u128::from(amount.0)).sum();
        let left = row.stored_pj.unwrap_or_default();
        count.client_rounds += 1;
        let work = spent - u128::from(record.spent.of(Phase::Sleep).0);
        let trained = record.spent.of(Phase::Train) > PicoJoules::ZERO;
        let before = u128::from(stored[row.client.index()]);
        count.violations += usize::from(spent > income);
        count.beyond_stored += usize::from(trained && work > before);
        count.both += usize::from(row.unpaid_pj > 0 && row.overflow_pj > 0);
        count.broken_books += usize::from(u128::from(left) + spent + lost != income);
        count.trained += usize::from(state.state == ClientState::Trained);
        count.declined += usize::from(state.state == ClientState::Declined);
        stored[row.client.index()] = left;
    }
}

/// F_i(x) = |x - t_i|^2 / 2 with a target t_i of its own for every client.
pub struct Parabolas(pub Vec<u32>);

fn see(client: usize, model: &[f32]) -> ExactGradient {
    let target = [1.0 + 0.1 * client as f32, 0.05 * client as f32 - 1.0];
    let gradient: Vec<f32> = model.iter().zip(target).map(|(x, t)| x - t).collect();
    let squares = gradient.iter().map(|&g| f64::from(g) * f64::from(g));
    ExactGradient {
        loss: squares.sum::<f64>() / 2.0,
        gradient,
    }
}

impl Fleet for Parabolas {
    fn samples(&self) -> &[u32] {
        &self.0
    }

    fn train(&mut self, broadcast: &Broadcast<'_>) -> Result<Vec<Reply>, FleetError> {
        let reply = |order: &Order| {
            let mut model = broadcast.model.to_vec();
            for _ in 0..order.epochs.min(50) {
                let gradient = see(order.client.index(), &model).gradient;
                model
                    .iter_mut()
                    .zip(gradient)
                    .for_each(|(x, g)| *x -= 0.01 * g);
            }
            Reply::Trained(Update {
                loss_before: see(order.client.index(), broadcast.model).loss,
                loss_after: Some(see(order.client.index(), &model).loss),
                model,
            })
        };
        Ok(broadcast.with_declined(broadcast.payable().map(reply)))
    }

    fn gradients(&mut self, questions: &[Question<'_>]) -> Result<Vec<ExactGradient>, FleetError> {
        let answer = |question: &Question<'_>| see(question.client.index(), question.model);
        Ok(questions.iter().map(answer).collect())
    }
}

pub struct NoTest;

impl Examiner for NoTest {
    fn examine(&self, _model: &[f32]) -> Score {
        Score {
            accuracy: 0.0,
            loss: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_every_preset_hold_for_some_rounds_under_every_scheduler() {
        assert!(run(&Args {
            rounds: 4,
            days: 0.03,
            seeds: 1
        }));
    }
}
