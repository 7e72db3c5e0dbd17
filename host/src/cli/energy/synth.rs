//! `gleaner energy synth`.

use std::process::ExitCode;

/// Which trace.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs `gleaner energy synth`.
pub fn run(_: &Args) -> anyhow::Result<ExitCode> {
    anyhow::bail!("the readers of traces are not in this build yet")
}
