//! The `gleaner` command: parses, runs, and maps the result to an exit code.
#![forbid(unsafe_code)]

#[macro_use]
mod cli;
mod view;

use std::process::ExitCode;

use cli::Cli;
use cli::print::{self, OutputError};

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) if is_unread(&error) => ExitCode::SUCCESS,
        Err(error) => {
            errln!("error: {}", explain(&error));
            ExitCode::FAILURE
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    let code = match Cli::parse_arguments() {
        Ok(cli) => cli.run()?,
        Err(answer) => {
            print::answer(&answer)?;
            ExitCode::from(u8::try_from(answer.exit_code()).unwrap_or(2))
        }
    };
    print::finish()?;
    Ok(code)
}

/// Tells whether all that went wrong is that the reader of the output has gone, as `head` does.
fn is_unread(error: &anyhow::Error) -> bool {
    let output = error.downcast_ref::<OutputError>();
    output.is_some_and(OutputError::is_unread)
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
        let quoted = anyhow::anyhow!("no such file").context("fleet.toml: no such file");
        assert_eq!(explain(&quoted), "fleet.toml: no such file");
        let plain = anyhow::anyhow!("no such file").context("cannot read fleet.toml");
        assert_eq!(explain(&plain), "cannot read fleet.toml: no such file");
    }
}
