//! `gleaner bench decide`: how long the schedulers take to decide a round.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use gleaner_cre::optim::{Instance, random_instance};
use gleaner_host::policy::{Attendance, Policy, Purse, Scheduler, View};
use gleaner_host::round::settings;
use gleaner_host::scenario::{Override, resolve};
use gleaner_shared::rng::{Purpose, Rng};
use strum::VariantArray;

/// Time the decision of a round, scheduler by scheduler.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    instances: u32,
    /// Only this scheduler; may be given more than once.
    #[arg(long, value_parser = crate::cli::word::parser::<Scheduler>())]
    scheduler: Vec<Scheduler>,
    /// Change one key, e.g. `--set cre.epochs=per-client`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

const SIZES: [(u32, usize); 4] = [(10, 3), (50, 5), (100, 20), (1000, 50)];
/// CRE proves its plans; beyond this size that takes seconds (`gleaner bench solve`).
const CRE_UP_TO: u32 = 50;
/// Rounds that precede the one that is decided.
const AGE: u32 = 40;

/// Prints one line per size and scheduler.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if !args.json {
        outln!(
            "{:<17} {:>8} {:>7} {:>11} {:>11}  orders a round",
            "scheduler",
            "U/C",
            "rounds",
            "median us",
            "worst us"
        );
    }
    for size in SIZES {
        for &scheduler in Scheduler::VARIANTS {
            let wanted = args.scheduler.is_empty() || args.scheduler.contains(&scheduler);
            let affordable = scheduler != Scheduler::Cre || size.0 <= CRE_UP_TO;
            if wanted && affordable {
                measure(args, size, scheduler)?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn measure(args: &Args, size: (u32, usize), scheduler: Scheduler) -> anyhow::Result<()> {
    let named = Override::new("run.scheduler", scheduler.to_string());
    let scenario = resolve("paper-mlp", &[&args.set[..], &[named]].concat())?;
    let system = settings::system(&scenario);
    let policy = settings::policy(&scenario);
    let (mut times_us, mut orders) = (Vec::new(), 0);
    for seed in 0..args.instances {
        let instance = random_instance(&system, size.0, size.1, u64::from(seed));
        let (us, made) = time(&*policy, &Surroundings::of(instance, u64::from(seed)))?;
        times_us.push(us);
        orders += made;
    }
    times_us.sort_unstable_by(f64::total_cmp);
    let (median, worst) = (
        times_us[times_us.len() / 2],
        times_us.last().copied().unwrap_or_default(),
    );
    let orders = orders as f64 / f64::from(args.instances);
    if args.json {
        outln!(
            "{}",
            serde_json::json!({
                "scheduler": scheduler, "clients": size.0, "channels": size.1,
                "rounds": args.instances, "median_us": median, "worst_us": worst,
                "orders": orders,
            })
        );
    } else {
        outln!(
            "{:<17} {:>8} {:>7} {median:>11.1} {worst:>11.1}  {orders:.2}",
            scheduler,
            format!("{}/{}", size.0, size.1),
            args.instances,
        );
    }
    Ok(())
}

/// A random round with what a scheduler may ask for beside it.
struct Surroundings {
    instance: Instance,
    norms: Vec<f64>,
    purses: Vec<Purse>,
    attendance: Vec<Attendance>,
}

impl Surroundings {
    /// Ages up to [`AGE`], balances up to ten incomes.
    fn of(instance: Instance, seed: u64) -> Self {
        let (mut norms, mut purses, mut attendance) = (Vec::new(), Vec::new(), Vec::new());
        for (client, &epoch_j) in (0..).zip(&instance.epoch_j) {
            let mut rng = Rng::stream(seed, Purpose::Synthetic, client, 3);
            let mut history = Attendance::default();
            history.note(rng.below(AGE), rng.below(10) > 0);
            attendance.push(history);
            norms.push(rng.uniform());
            purses.push(Purse {
                spendable_j: 4e-3 * rng.uniform(),
                epoch_j,
            });
        }
        Self {
            instance,
            norms,
            purses,
            attendance,
        }
    }
}

/// Returns the median of a few decisions of the same round, in microseconds, and its orders.
fn time(policy: &dyn Policy, round: &Surroundings) -> anyhow::Result<(f64, usize)> {
    let view = View {
        seed: 0,
        round: AGE,
        instance: &round.instance,
        gradient_norms: &round.norms,
        purses: &round.purses,
        attendance: &round.attendance,
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
