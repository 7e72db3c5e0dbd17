//! Licences of all dependencies against the list in `deny.toml`, without a network.
//!
//! `cargo deny`, where it is installed, checks more from the same file: advisories too, once it has fetched their database.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::process;

/// Checks that every dependency offers a licence on the list.
pub fn check() -> Result<()> {
    let allowed = allowed()?;
    let metadata = process::output(process::cargo().args([
        "metadata",
        "--locked",
        "--all-features",
        "--format-version",
        "1",
    ]))
    .context("`cargo metadata --locked` failed")?;
    let metadata: Value = serde_json::from_str(&metadata)?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata has no packages")?;
    let refused: Vec<String> = packages
        .iter()
        .filter(|package| !permits(package["license"].as_str().unwrap_or(""), &allowed))
        .map(|package| {
            format!(
                "{} {}: {}",
                package["name"], package["version"], package["license"]
            )
        })
        .collect();
    if !refused.is_empty() {
        bail!(
            "licences outside deny.toml's list:\n  {}",
            refused.join("\n  ")
        );
    }
    println!(
        "licences: {} packages, all on deny.toml's list",
        packages.len()
    );
    let database = advisory_database();
    if database.is_none() {
        println!(
            "advisories: not checked (no database: `cargo deny check advisories` fetches one)"
        );
    }
    if process::exists("cargo-deny") {
        let advisories = database.map(|_| "advisories");
        process::run(
            Command::new("cargo")
                .args(["deny", "--offline", "check", "bans", "sources"])
                .args(advisories),
        )?;
    }
    Ok(())
}

/// Returns the folder in which `cargo deny` keeps databases of advisories, if it has fetched one.
fn advisory_database() -> Option<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")))?;
    Some(home.join("advisory-dbs")).filter(|folder| folder.is_dir())
}

fn allowed() -> Result<BTreeSet<String>> {
    let text = std::fs::read_to_string("deny.toml").context("cannot read deny.toml")?;
    let table: toml::Table = text.parse().context("deny.toml is not TOML")?;
    table["licenses"]["allow"]
        .as_array()
        .context("deny.toml: licenses.allow is not a list")?
        .iter()
        .map(|name| {
            name.as_str()
                .map(str::to_owned)
                .context("deny.toml: licence is not a string")
        })
        .collect()
}

/// Evaluates an SPDX expression: `OR` needs one side, `AND` both, `WITH` names an exception that
/// only ever permits more, and the old `/` means `OR`.
fn permits(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression
        .replace('(', " ( ")
        .replace(')', " ) ")
        .replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let permitted = any_of(&mut rest, allowed);
    permitted && rest.is_empty()
}

fn any_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut permitted = all_of(words, allowed);
    while let [word, rest @ ..] = *words
        && word.eq_ignore_ascii_case("or")
    {
        *words = rest;
        permitted |= all_of(words, allowed);
    }
    permitted
}

fn all_of(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    let mut permitted = one(words, allowed);
    while let [word, rest @ ..] = *words
        && word.eq_ignore_ascii_case("and")
    {
        *words = rest;
        permitted &= one(words, allowed);
    }
    permitted
}

fn one(words: &mut &[&str], allowed: &BTreeSet<String>) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let permitted = any_of(words, allowed);
            match *words {
                [")", rest @ ..] => {
                    *words = rest;
                    permitted
                }
                _ => false,
            }
        }
        [name, "WITH", _, rest @ ..] | [name, rest @ ..] => {
            let permitted = allowed.contains(*name);
            *words = rest;
            permitted
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_spdx_expressions() {
        let allowed = BTreeSet::from(["MIT".to_owned(), "Zlib".to_owned()]);
        for good in [
            "MIT",
            "MIT OR GPL-3.0",
            "GPL-3.0/MIT",
            "MIT AND Zlib",
            "(MIT OR X) AND Zlib",
        ] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "(MIT OR X",
            "MIT Zlib",
            "X OR (MIT AND Y)",
        ] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
        assert!(permits("MIT WITH LLVM-exception OR X", &allowed));
    }
}
