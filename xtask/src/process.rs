//! Running commands, echoed so that a reader can repeat them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Runs `command` with its output shown, and fails if it does.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command
        .status()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", shown(command));
    }
    Ok(())
}

/// Runs `command`, shows every line of its standard output and hands it to `each` as well.
pub fn run_reading(command: &mut Command, mut each: impl FnMut(&str)) -> Result<()> {
    println!("$ {}", shown(command));
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if let Some(stdout) = child.stdout.take() {
        let mut terminal = std::io::stdout().lock();
        for line in BufReader::new(stdout).lines() {
            let line = line?;
            writeln!(terminal, "{line}")?;
            each(&line);
        }
    }
    let status = child.wait()?;
    if !status.success() {
        bail!("`{}` failed with {status}", shown(command));
    }
    Ok(())
}

/// Runs `command` with its errors shown and returns its standard output.
pub fn run_collecting(command: &mut Command) -> Result<String> {
    println!("$ {}", shown(command));
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !output.status.success() {
        bail!("`{}` failed with {}", shown(command), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs `command` quietly and returns its standard output, or `None` if it is absent or fails.
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stderr(Stdio::null()).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Tells whether `program` can be started.
pub fn exists(program: &str) -> bool {
    output(Command::new(program).arg("--version")).is_some()
}

/// The cargo this task was started with.
pub fn cargo_path() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned())
}

/// Starts a command of that cargo.
pub fn cargo() -> Command {
    Command::new(cargo_path())
}

/// The command itself for the superuser, else with sudo before it.
pub fn as_root(command: Command) -> Command {
    let root = output(Command::new("id").arg("-u")).is_some_and(|id| id.trim() == "0");
    if root {
        return command;
    }
    let mut sudo = Command::new("sudo");
    for (name, value) in command.get_envs() {
        if let (Some(name), Some(value)) = (name.to_str(), value.and_then(|v| v.to_str())) {
            sudo.arg(format!("{name}={value}"));
        }
    }
    sudo.arg(command.get_program()).args(command.get_args());
    sudo
}

/// The command as a shell would take it.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}
