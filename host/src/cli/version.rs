//! `gleaner version`.

use std::process::ExitCode;

/// Nothing to set.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints the version.
pub fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    outln!("gleaner {}", env!("CARGO_PKG_VERSION"));
    Ok(ExitCode::SUCCESS)
}
