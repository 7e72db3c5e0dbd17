//! The `gleaner` command: parses, runs, and maps the result to an exit code.

mod cli;
mod view;

use std::panic;
use std::process::ExitCode;

use clap::Parser;
use cli::Cli;

fn main() -> ExitCode {
    leave_quietly_when_nobody_reads();
    match Cli::parse().run() {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {}", explain(&error));
            ExitCode::FAILURE
        }
    }
}

/// Ends the program without a word when the reader of its output has gone, as `head` does.
fn leave_quietly_when_nobody_reads() {
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if panic.payload_as_str().is_some_and(is_broken_pipe) {
            std::process::exit(0);
        }
        report(panic);
    }));
}

/// Recognises the panic of `println!` on a closed pipe; the library has no other sign of it.
fn is_broken_pipe(panic: &str) -> bool {
    panic.starts_with("failed printing to stdout") && panic.contains("Broken pipe")
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
