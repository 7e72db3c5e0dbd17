//! `cargo figures aborts`: runs interrupted at random moments, each followed on the same boards by a
//! run with other settings or by the continued run.

use std::time::Instant;

use gleaner_tests::attack::aborts;
use gleaner_tests::progress;

/// Options of `cargo figures aborts`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of runs to interrupt.
    #[arg(long, default_value_t = 1_000)]
    aborts: u64,
    /// Seed of moments and settings.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the figure; returns whether every complete run ends with the model of its own settings.
pub fn run(args: &Args) -> bool {
    let bar = progress("aborts", args.aborts);
    let begin = Instant::now();
    let campaign = aborts::campaign(args.aborts, args.seed, &bar);
    bar.finish_and_clear();
    println!(
        "{} aborts of {} runs on {} boards, {} continued, in {:.0} s",
        campaign.aborts,
        campaign.runs,
        aborts::BOARDS,
        campaign.resumed,
        begin.elapsed().as_secs_f64()
    );
    println!(
        "  complete runs with the simulated model and a replay to it   {} of {}",
        campaign.verified, campaign.complete
    );
    campaign.wrong.iter().for_each(|what| println!("  {what}"));
    campaign.wrong.is_empty()
}
