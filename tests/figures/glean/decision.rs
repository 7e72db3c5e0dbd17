//! `cargo figures glean decision`: the median time of a decision, on random rounds: below 20 us with
//! 10 clients on 3 channels, below 20 ms with 1,000 on 50.

use std::error::Error;

use gleaner_check::time_decisions;
use gleaner_sim::report::table::Table;
use gleaner_sim::scenario::{Override, resolve};

use super::all_hold;

/// Clients, channels, and microseconds that are claimed.
const SIZES: [(u32, usize, f64); 2] = [(10, 3, 20.0), (1000, 50, 20_000.0)];

/// Number of random rounds to decide.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Random rounds per size.
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
}

/// Times decisions and tells whether the claim holds.
pub fn run(args: &Args) -> Result<bool, Box<dyn Error>> {
    let scenario = resolve("paper-mlp", &[Override::new("run.scheduler", "glean")])?;
    let mut table = Table::new(&["clients", "channels", "median us", "worst us", "orders"]);
    let mut sentences = Vec::new();
    for (clients, channels, claimed_us) in SIZES {
        let found = time_decisions(&scenario, clients, channels, args.rounds)?;
        let median_us = found.median_us;
        table.row(vec![
            clients.to_string(),
            channels.to_string(),
            format!("{median_us:.1}"),
            format!("{:.1}", found.worst_us),
            format!("{:.2}", found.orders),
        ]);
        sentences.push((
            format!(
                "{clients} clients, {channels} channels: {median_us:.1} us, below {claimed_us} \
                 claimed"
            ),
            median_us < claimed_us,
        ));
    }
    print!("{}", table.to_text());
    Ok(all_hold(&sentences))
}
