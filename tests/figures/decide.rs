//! Time that each scheduler takes to decide a round.

use std::error::Error;

use gleaner_check::{Decisions, time_decisions};
use gleaner_sim::policy::Scheduler;
use gleaner_sim::scenario::{Override, resolve};
use strum::VariantArray;

/// Time the decision of a round, scheduler by scheduler.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    instances: u32,
    /// Only this scheduler; may be given more than once.
    #[arg(long)]
    scheduler: Vec<Scheduler>,
    /// Change one key, e.g. `--set cre.epochs=per-client`; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<Override>,
    /// Print one JSON object per line instead of a table.
    #[arg(long)]
    json: bool,
}

const SIZES: [(u32, usize); 4] = [(10, 3), (50, 5), (100, 20), (1000, 50)];
/// CRE proves its plans; beyond this size that takes seconds (`cargo figures solvers`).
const CRE_UP_TO: u32 = 50;

/// Prints one line per size and scheduler and tells whether all decided.
pub fn run(args: &Args) -> bool {
    let measured = measure_all(args);
    if let Err(error) = &measured {
        println!("{error}");
    }
    measured.is_ok()
}

fn measure_all(args: &Args) -> Result<(), Box<dyn Error>> {
    if !args.json {
        println!(
            "{:<17} {:>8} {:>7} {:>11} {:>11}  orders a round",
            "scheduler", "U/C", "rounds", "median us", "worst us"
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
    Ok(())
}

fn measure(args: &Args, size: (u32, usize), scheduler: Scheduler) -> Result<(), Box<dyn Error>> {
    let named = Override::new("run.scheduler", scheduler.to_string());
    let scenario = resolve("paper-mlp", &[&args.set[..], &[named]].concat())?;
    let Decisions {
        median_us,
        worst_us,
        orders,
    } = time_decisions(&scenario, size.0, size.1, args.instances)?;
    if args.json {
        println!(
            "{}",
            serde_json::json!({
                "scheduler": scheduler, "clients": size.0, "channels": size.1,
                "rounds": args.instances, "median_us": median_us, "worst_us": worst_us,
                "orders": orders,
            })
        );
    } else {
        println!(
            "{:<17} {:>8} {:>7} {median_us:>11.1} {worst_us:>11.1}  {orders:.2}",
            scheduler,
            format!("{}/{}", size.0, size.1),
            args.instances,
        );
    }
    Ok(())
}
