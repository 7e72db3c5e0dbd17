//! The `gleaner` command: parses, runs, and maps the result to an exit code.

use std::process::ExitCode;

use clap::Parser;
use gleaner_host::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
