//! `gleaner bench process`: what asking a program adds to a round.

use std::process::ExitCode;

use anyhow::anyhow;

use super::rounds::{measure, median, scenario};
use gleaner_sim::policy::{CommandLine, Decider, Scheduler};
use gleaner_sim::report::table::Table;

/// Measure the time that a scheduler program adds to a round.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The program with its arguments, as behind `--scheduler process:`.
    #[arg(value_name = "COMMAND")]
    command: String,
    /// Number of rounds to time.
    #[arg(long, default_value_t = 200, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Number of clients U.
    #[arg(long, default_value_t = 10, value_name = "U")]
    clients: usize,
    /// Channels C; without it there are 3 for every 10 clients.
    #[arg(long, value_name = "C")]
    channels: Option<usize>,
    /// Print one JSON object per line.
    #[arg(long)]
    json: bool,
}

/// Runs the same rounds with `random` of ours and with the program, and prints what deciding took.
///
/// # Errors
/// Whatever stops a run.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let command: CommandLine = args.command.parse().map_err(|error| anyhow!("{error}"))?;
    let deciders = [Scheduler::Random.into(), Decider::Process(command)];
    let mut table = Table::new(&["scheduler", "start ms", "median ms", "95 % ms", "worst ms"]);
    for decider in deciders {
        let rounds = args.rounds as usize;
        let scenario = scenario(&decider, args.clients, args.channels, rounds)?;
        let measured = measure(&scenario, 1)?;
        let start_ms = 1e3 * measured.iter().map(|round| round.start_s).sum::<f64>();
        let mut ms: Vec<f64> = measured.iter().map(|it| 1e3 * it.scheduling_s).collect();
        ms.sort_by(f64::total_cmp);
        let most = ms[(95 * ms.len()).div_ceil(100).saturating_sub(1)];
        let worst = ms.last().copied().unwrap_or_default();
        let median_ms = median(ms.iter().copied());
        if args.json {
            outln!(
                "{}",
                serde_json::json!({
                    "scheduler": decider, "rounds": rounds, "clients": args.clients,
                    "channels": scenario.radio.channels, "start_ms": start_ms,
                    "median_ms": median_ms, "p95_ms": most, "worst_ms": worst,
                })
            );
            continue;
        }
        let cell = |ms: f64| format!("{ms:.3}");
        let mut cells = vec![decider.to_string(), format!("{start_ms:.1}")];
        cells.extend([median_ms, most, worst].map(cell));
        table.row(cells);
    }
    if !args.json {
        outln!("deciding, {} rounds, U = {}", args.rounds, args.clients);
        out!("{}", table.to_text());
    }
    Ok(ExitCode::SUCCESS)
}
