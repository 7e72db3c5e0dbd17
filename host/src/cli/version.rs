//! `gleaner version`: of the program, and of the protocol it speaks.

use std::process::ExitCode;

use gleaner_shared::wire::message::Version;

/// Nothing to set.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Prints both.
pub fn run(_args: &Args) -> anyhow::Result<ExitCode> {
    outln!("gleaner {}", env!("CARGO_PKG_VERSION"));
    outln!("{}", Version::OURS);
    Ok(ExitCode::SUCCESS)
}
