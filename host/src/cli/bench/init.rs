//! `gleaner bench init`: writes a bench.toml from what is plugged in.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;

use crate::bench::{from_ports, template};

/// Where to write.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The file to write; an existing one is left alone.
    #[arg(long, value_name = "FILE", default_value = "bench.toml")]
    out: PathBuf,
}

/// Runs `gleaner bench init`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let file = args.out.display();
    anyhow::ensure!(
        !args.out.exists(),
        "{file} exists; move it away or use --out"
    );
    let ports = tokio_serial::available_ports().context("the system does not list its ports")?;
    let found = from_ports(&ports)?;
    let (bench, head) = if found.clients.is_empty() {
        let head = "# Nothing is plugged in: two emulated boards and a simulated client, to start \
                    with.\n\n";
        (template(), head)
    } else {
        let head =
            "# Who takes part. Keys are secret: every board gets its own with its shard.\n\n";
        (found, head)
    };
    std::fs::write(&args.out, format!("{head}{}", bench.to_toml()))
        .with_context(|| format!("cannot write {file}"))?;
    for entry in &bench.clients {
        let place = entry
            .place()
            .map_or_else(|| "no port".to_owned(), |place| place.to_string());
        println!("client {}  {:<12} {place}", entry.id, entry.name);
    }
    println!("{file} is written; run it with `gleaner run --bench {file}`");
    Ok(ExitCode::SUCCESS)
}
