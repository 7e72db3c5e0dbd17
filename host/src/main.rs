//! The `gleaner` command: parses, runs, and maps the result to an exit code.

use std::process::ExitCode;

use clap::Parser;
use gleaner_host::cli::Cli;

fn main() -> ExitCode {
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", explain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Joins an error and its causes; a cause that the words before it already quote is left out.
fn explain(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_said_once() {
        let quoted = anyhow::anyhow!("no such file").context("bench.toml: no such file");
        assert_eq!(explain(&quoted), "bench.toml: no such file");
        let plain = anyhow::anyhow!("no such file").context("cannot read bench.toml");
        assert_eq!(explain(&plain), "cannot read bench.toml: no such file");
    }
}
