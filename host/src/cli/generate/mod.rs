//! `gleaner generate`: manual pages and shell completions.

mod completions;
mod man;

use std::process::ExitCode;

/// Generate manual pages or shell completions.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    kind: Kind,
}

#[derive(Debug, clap::Subcommand)]
enum Kind {
    /// Print a script that completes gleaner's commands in a shell.
    Completions(completions::Args),
    /// Print the manual page, or write the pages of all commands.
    Man(man::Args),
}

pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.kind {
        Kind::Completions(args) => completions::run(args),
        Kind::Man(args) => man::run(args),
    }
}
