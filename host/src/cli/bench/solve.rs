//! `gleaner bench solve`: times the solvers on random rounds of the paper's presets.

use std::process::ExitCode;
use std::time::Instant;

use crate::optim::{Solver, random_instance};
use crate::preset::Preset;

/// Time the solvers.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size and preset.
    #[arg(long, default_value_t = 200)]
    instances: u32,
}

/// Prints the median time of a solve.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    for preset in [Preset::PaperMlp, Preset::PaperCnn] {
        let mut times_us = Vec::new();
        for seed in 0..args.instances {
            let instance = random_instance(preset, 10, 3, u64::from(seed));
            let start = Instant::now();
            Solver::Exact.solve(&instance, 0)?;
            times_us.push(start.elapsed().as_secs_f64() * 1e6);
        }
        times_us.sort_by(f64::total_cmp);
        let median = times_us
            .get(times_us.len() / 2)
            .copied()
            .unwrap_or(f64::NAN);
        println!(
            "{:<10} U/C 10/3  exact  median {median:.1} us",
            preset.name()
        );
    }
    Ok(ExitCode::SUCCESS)
}
