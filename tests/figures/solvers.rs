//! Time and optimality gap of the solvers on random rounds of the paper's presets.

use std::error::Error;
use std::time::Instant;

use gleaner_cre::optim::{
    Instance, Solution, SolveError, Solver, nobody_objective, random_instance,
};
use gleaner_sim::round::settings;
use gleaner_sim::scenario::resolve;
use strum::VariantArray;

/// Time the solvers and measure how good their answers are.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size and preset.
    #[arg(long, default_value_t = 200)]
    instances: u32,
    /// Only this size, as `U/C`.
    #[arg(long, value_name = "U/C")]
    only: Option<String>,
    /// Only this solver; may be given more than once.
    #[arg(long)]
    solver: Vec<Solver>,
}

const SIZES: [(u32, usize); 6] = [(10, 3), (30, 3), (30, 10), (100, 10), (100, 20), (1000, 50)];

/// Exact is measured up to this size; beyond, its proof may take minutes.
const EXACT_UP_TO: u32 = 30;
/// The printed algorithms are measured up to this size; a round takes them seconds.
const PAPER_UP_TO: u32 = 30;
/// Rounds at the largest size, where one takes a second.
const INSTANCES_AT_1000: u32 = 5;

/// Prints one line per preset, size and solver and tells whether no solver found a better plan than
/// `exact`.
pub fn run(args: &Args) -> bool {
    measure(args).unwrap_or_else(|error| {
        println!("{error}");
        false
    })
}

fn measure(args: &Args) -> Result<bool, Box<dyn Error>> {
    let mut holds = true;
    println!("gap: (J - LB) / (J(nobody) - LB); excess: (J - best J) / (J(nobody) - best J)");
    println!(
        "{:<10} {:>8} {:<7} {:>6}  {:>10} {:>10}  {:>9} {:>9}  {:>11} {:>9} {:>7}",
        "preset",
        "U/C",
        "solver",
        "rounds",
        "median ms",
        "worst ms",
        "gap med",
        "gap max",
        "excess mean",
        "max",
        "nobody"
    );
    for preset in ["paper-mlp", "paper-cnn"] {
        let system = settings::system(&resolve(preset, &[])?);
        for (clients, channels) in SIZES {
            if args
                .only
                .as_ref()
                .is_some_and(|only| *only != format!("{clients}/{channels}"))
            {
                continue;
            }
            let count = if clients > 100 {
                args.instances.min(INSTANCES_AT_1000)
            } else {
                args.instances
            };
            let instances: Vec<Instance> = (0..count)
                .map(|seed| random_instance(&system, clients, channels, u64::from(seed)))
                .collect();
            holds &= measure_size(preset, (clients, channels), &args.solver, &instances)?;
        }
    }
    Ok(holds)
}

/// Measures every solver that applies; the best J of all is the reference of the excess.
fn measure_size(
    preset: &str,
    size: (u32, usize),
    only: &[Solver],
    instances: &[Instance],
) -> Result<bool, SolveError> {
    let solvers = Solver::VARIANTS.iter().copied().filter(|solver| {
        let applies = match solver {
            Solver::Exact => size.0 <= EXACT_UP_TO,
            Solver::Paper => size.0 <= PAPER_UP_TO,
            Solver::Large | Solver::Anneal => true,
            Solver::Auto => false,
        };
        applies && (only.is_empty() || only.contains(solver))
    });
    let runs: Vec<Run> = solvers
        .map(|solver| Run::measure(solver, instances))
        .collect::<Result<_, _>>()?;
    let best: Vec<f64> = (0..instances.len())
        .map(|at| {
            runs.iter()
                .map(|run| run.solutions[at].evaluation.total)
                .fold(f64::NAN, f64::min)
        })
        .collect();
    let mut holds = true;
    for run in &runs {
        holds &= run.print(preset, size, instances, &best);
    }
    Ok(holds)
}

struct Run {
    solver: Solver,
    solutions: Vec<Solution>,
    times_ms: Vec<f64>,
}

impl Run {
    fn measure(solver: Solver, instances: &[Instance]) -> Result<Self, SolveError> {
        let (mut solutions, mut times_ms) = (Vec::new(), Vec::new());
        for (seed, instance) in (0..).zip(instances) {
            let start = Instant::now();
            solutions.push(solver.solve(instance, seed)?);
            times_ms.push(start.elapsed().as_secs_f64() * 1e3);
        }
        Ok(Self {
            solver,
            solutions,
            times_ms,
        })
    }

    fn print(
        &self,
        preset: &str,
        size: (u32, usize),
        instances: &[Instance],
        best: &[f64],
    ) -> bool {
        let rounds = instances.iter().zip(&self.solutions);
        let gaps: Option<Vec<f64>> = rounds.map(|(i, solution)| solution.gap(i)).collect();
        let excess: Vec<f64> = (instances.iter().zip(&self.solutions))
            .zip(best)
            .map(|((instance, solution), best)| {
                let over = solution.evaluation.total - best;
                if over <= 0.0 {
                    0.0
                } else {
                    over / (nobody_objective(instance) - best)
                }
            })
            .collect();
        let nobody = self.solutions.iter().filter(|s| s.plan.epochs == 0).count();
        let (gap_median, gap_most) = gaps.map_or(("-".into(), "-".into()), |gaps| {
            (percent(median(&gaps)), percent(most(&gaps)))
        });
        println!(
            "{:<10} {:>8} {:<7} {:>6}  {:>10.4} {:>10.4}  {gap_median:>9} {gap_most:>9}  {:>11} \
             {:>9} {nobody:>7}",
            preset,
            format!("{}/{}", size.0, size.1),
            self.solver,
            instances.len(),
            median(&self.times_ms),
            most(&self.times_ms),
            percent(excess.iter().sum::<f64>() / excess.len() as f64),
            percent(most(&excess)),
        );
        self.solver != Solver::Exact || most(&excess) <= 1e-9
    }
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

fn most(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

fn percent(part: f64) -> String {
    format!("{:.3} %", 100.0 * part)
}
