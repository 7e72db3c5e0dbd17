//! The test programs cargo builds, each with the surroundings cargo would run it in.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::Value;

use super::parallel::Program;
use crate::process;

/// Builds the workspace's tests and returns their programs.
pub fn build(features: &[&str]) -> Result<Vec<Program>> {
    let mut cargo = process::cargo();
    cargo.args(["test", "--locked", "--workspace", "--no-run"]);
    cargo.args(features);
    cargo.arg("--message-format=json-render-diagnostics");
    let messages = process::run_collecting(&mut cargo)?;
    messages
        .lines()
        .filter_map(|line| program(line).transpose())
        .collect()
}

/// The program that a message of cargo announces, if it is one of tests.
fn program(message: &str) -> Result<Option<Program>> {
    let message: Value = serde_json::from_str(message).context("cargo's message is not JSON")?;
    let is_test = message["profile"]["test"].as_bool() == Some(true);
    let Some(executable) = message["executable"].as_str().filter(|_| is_test) else {
        return Ok(None);
    };
    let manifest = message["manifest_path"].as_str();
    let manifest = Path::new(manifest.context("cargo's message names no manifest")?);
    let folder = manifest.parent().context("a manifest has a folder")?;
    let package = package(message["package_id"].as_str().unwrap_or_default());
    let target = message["target"]["name"].as_str().unwrap_or_default();
    let kind = message["target"]["kind"][0].as_str().unwrap_or_default();
    let mut command = Command::new(executable);
    command.current_dir(folder);
    command.env("CARGO_MANIFEST_DIR", folder);
    command.env("CARGO_MANIFEST_PATH", manifest);
    command.env("CARGO_PKG_NAME", package);
    let name = match kind {
        "lib" => package.to_owned(),
        _ => format!("{package} {target}"),
    };
    Ok(Some(Program { name, command }))
}

/// The package's name in cargo's `path+file:///folder#name@version`, where a name that is also the
/// folder's is left out.
fn package(id: &str) -> &str {
    let (folder, fragment) = id.rsplit_once('#').unwrap_or(("", id));
    match fragment.split_once('@') {
        Some((name, _)) => name,
        None => folder.rsplit('/').next().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MESSAGE: &str = r#"{"reason":"compiler-artifact",
        "package_id":"path+file:///w/tests#gleaner-tests@0.1.0",
        "manifest_path":"/w/tests/Cargo.toml",
        "target":{"kind":["test"],"name":"emulated"},
        "profile":{"test":true},"executable":"/w/target/debug/deps/emulated-1"}"#;

    #[test]
    fn a_test_program_runs_in_its_packages_folder() {
        let program = program(MESSAGE).unwrap().unwrap();
        assert_eq!(program.name, "gleaner-tests emulated");
        let command = program.command;
        assert_eq!(command.get_program(), "/w/target/debug/deps/emulated-1");
        assert_eq!(command.get_current_dir(), Some(Path::new("/w/tests")));
        let mut variables = command.get_envs();
        assert!(variables.any(|(name, value)| {
            name == "CARGO_MANIFEST_DIR" && value.is_some_and(|value| value == "/w/tests")
        }));
    }

    #[test]
    fn other_messages_announce_no_test_program() {
        for other in [
            r#"{"reason":"build-finished","success":true}"#.to_owned(),
            MESSAGE.replace("true", "false"),
            MESSAGE.replace(r#""/w/target/debug/deps/emulated-1""#, "null"),
        ] {
            assert!(program(&other).unwrap().is_none(), "{other}");
        }
        assert!(program("Compiling").is_err());
    }

    #[test]
    fn a_package_named_like_its_folder_is_named() {
        assert_eq!(package("path+file:///w/xtask#0.1.0"), "xtask");
        assert_eq!(
            package("path+file:///w/host#gleaner-host@0.1.0"),
            "gleaner-host"
        );
    }
}
