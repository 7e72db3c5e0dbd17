//! `gleaner fleet init`: writes a fleet.toml from what is plugged in.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use gleaner_host::fleet::file::{FILE_NAME, from_ports, template, write_private};
use gleaner_host::station::link::serial;

/// Where to write.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to write; an existing one is left alone.
    #[arg(long, value_name = "FILE", default_value = FILE_NAME)]
    out: PathBuf,
}

/// Runs `gleaner fleet init`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = args.out.display();
    anyhow::ensure!(
        !args.out.exists(),
        "{file} exists; move it away or use --out"
    );
    let found = from_ports(&serial::found()?)?;
    let found_nothing = found.clients.is_empty();
    let (fleet, head) = if found_nothing {
        let head = "# Nothing is plugged in: two emulated boards and a simulated client, to start \
                    with.\n\n";
        (template(), head)
    } else {
        let head =
            "# Who takes part. Keys are secret: every board gets its own with its shard.\n\n";
        (found, head)
    };
    if found_nothing {
        outln!("nothing is plugged in: this fleet emulates its boards");
    }
    write_private(&args.out, format!("{head}{}", fleet.to_toml()))
        .with_context(|| format!("cannot write {file}"))?;
    for entry in &fleet.clients {
        let place = match entry.place() {
            Some(place) => place.to_string(),
            None => entry.link.word().to_owned(),
        };
        outln!("client {}  {:<12} {place}", entry.id, entry.name);
    }
    outln!("{file} is written; run it with `gleaner run --fleet {file}`");
    Ok(ExitCode::SUCCESS)
}
