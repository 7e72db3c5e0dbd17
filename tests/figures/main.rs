//! Figures that take longer than a test: `cargo figures NAME`. Each prints what it measured and
//! exits with 1 if the claim it checks does not hold; a short run of each is among the tests.

mod ledger;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Measures what Gleaner's documents claim.
#[derive(Debug, Parser)]
#[command(name = "cargo figures", arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    figure: Figure,
}

#[derive(Debug, Subcommand)]
enum Figure {
    /// The energy ledger's identity over random schedules.
    Ledger(ledger::Args),
}

fn main() -> ExitCode {
    let holds = match Cli::parse().figure {
        Figure::Ledger(args) => ledger::run(&args),
    };
    if holds {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
