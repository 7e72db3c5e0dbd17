//! `gleaner config`: shows scenarios and explains their keys.

use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Subcommand;

use super::print::OutputError;
use super::scenario::ScenarioArgs;
use gleaner_sim::scenario::{PRESETS, Scenario, keys};

/// Show and explain scenarios.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print the resolved scenario as TOML, every line with its meaning.
    Show {
        #[command(flatten)]
        scenario: ScenarioArgs,
        /// Leave the comments out.
        #[arg(long)]
        plain: bool,
    },
    /// Explain one key, or list them all.
    Explain {
        /// The key, as `section.key` or as the bare key if it is unique.
        key: Option<String>,
        /// Write the list as the Markdown of docs/reference/scenario.md.
        #[arg(long, conflicts_with = "key")]
        markdown: bool,
    },
    /// List the presets with their descriptions.
    Presets,
}

/// Runs `gleaner config`.
///
/// # Errors
/// An unknown key or preset, with the nearest known one.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.command {
        Command::Show { scenario, plain } => {
            let scenario = scenario.resolve()?;
            out!(
                "{}",
                if *plain {
                    scenario.to_toml()
                } else {
                    scenario.to_commented_toml()
                }
            );
        }
        Command::Explain { key: Some(key), .. } => explain(key)?,
        Command::Explain { markdown: true, .. } => outln!("{}", keys::markdown().trim()),
        Command::Explain { .. } => list()?,
        Command::Presets => {
            for preset in PRESETS {
                outln!("{:<14} {}", preset.name, preset.about);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn explain(path: &str) -> anyhow::Result<()> {
    let Some(key) = keys::look_up(path) else {
        match keys::suggest(path) {
            Some(near) => bail!("unknown or ambiguous key `{path}`; did you mean `{near}`?"),
            None => bail!("unknown key `{path}`; `gleaner config explain` lists all keys"),
        }
    };
    outln!("{}", key.path());
    outln!("  {}", key.doc);
    let unit = if key.unit.is_empty() {
        String::new()
    } else {
        format!(", in {}", key.unit)
    };
    outln!("  type:    {}{unit}", key.kind);
    for (word, meaning) in (key.choices)() {
        outln!("           {word}: {meaning}");
    }
    if !key.ranges.is_empty() {
        let ranges: Vec<String> = key.ranges.iter().map(ToString::to_string).collect();
        outln!("  range:   {}", ranges.join(", "));
    }
    outln!("  default: {}", key.default_text());
    for preset in PRESETS.iter().skip(1) {
        let scenario = gleaner_sim::scenario::resolve(preset.name, &[])
            .with_context(|| format!("preset {}", preset.name))?;
        let value = key.value_in(&scenario);
        if value != key.value_in(&Scenario::default()) {
            outln!("  {}: {value}", preset.name);
        }
    }
    Ok(())
}

fn list() -> Result<(), OutputError> {
    for key in keys::all() {
        let unit = if key.unit.is_empty() {
            String::new()
        } else {
            format!("[{}] ", key.unit)
        };
        let value = key.default_text();
        outln!("{:<32} {value:<16} {unit}{}", key.path(), key.doc);
    }
    Ok(())
}
