//! `gleaner fleet rekey`: rotates the keys of boards over their lines.

use std::process::ExitCode;
use std::time::Duration;

use serde::Serialize;

use super::FleetArgs;
use crate::cli::print::OutputError;
use gleaner_station::fleet_file::{Entry, KeyStore};
use gleaner_station::link::Endpoint;
use gleaner_station::service::ServiceError;
use gleaner_station::service::rekey::rekey;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every board gets a fresh key of its own in a sealed message. The new key is in fleet.toml, as
next_key, before it is sent; the old one is deleted, by the board and in fleet.toml, when a session
under the new one is open. After an interruption at any step, even by a power cut, both sides still
share a key: run the command again to finish. Run it while no `gleaner run` uses the boards.

Runs that were started earlier have the old keys in their directories: continue them with
`gleaner resume DIR --fleet fleet.toml`.

Anybody who holds the old key and records the line can read the new one. If a key has leaked, flash
another one over a cable instead (`gleaner flash`). docs/reference/wire.md, section 2.5, says what rotating protects.")]
pub struct Args {
    #[command(flatten)]
    fleet: FleetArgs,
    /// Name of a board in the fleet; may be repeated [default: all boards]
    #[arg(long, value_name = "NAME")]
    board: Vec<String>,
    /// Wall seconds for the rotation of one key.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    patience_s: u64,
    /// Print the results as JSON.
    #[arg(long)]
    json: bool,
}

/// The result for one board.
#[derive(Debug, Serialize)]
struct Outcome {
    name: String,
    client: u32,
    rekeyed: bool,
    /// Generation of the new key.
    generation: Option<u32>,
    /// Reason, if the key was not rotated.
    reason: Option<String>,
}

/// Runs `gleaner fleet rekey`; exit code 1 means that a board was not rekeyed.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let keys = KeyStore::open(args.fleet.path())?;
    let fleet = keys.read()?;
    let named = args.board.iter().map(|name| fleet.named(name));
    let named = named.collect::<Result<Vec<&Entry>, _>>()?;
    let is_board = |entry: &&Entry| !entry.link.is_simulated();
    let chosen: Vec<&Entry> = match named.is_empty() {
        true => fleet.clients.iter().filter(is_board).collect(),
        false => named,
    };
    anyhow::ensure!(!chosen.is_empty(), "there is no board in this fleet");
    let runtime = tokio::runtime::Runtime::new()?;
    let width = chosen.iter().map(|entry| entry.name.len()).max();
    let width = width.unwrap_or_default();
    let mut outcomes = Vec::new();
    for entry in chosen {
        let name = &entry.name;
        let say = |words: &str| {
            if !args.json {
                outln!("{name:<width$}  {words}");
            }
            Ok::<_, OutputError>(())
        };
        let patience = Duration::from_secs(args.patience_s);
        let rotated = runtime.block_on(rotate(&keys, entry, patience));
        match &rotated {
            Ok(0) => say("rekeyed: it gets the new key at its next start")?,
            Ok(generation) => say(&format!("rekeyed: generation {generation}"))?,
            Err(reason) => say(&format!("NOT rekeyed: {reason}"))?,
        }
        outcomes.push(Outcome {
            name: name.clone(),
            client: entry.id.0,
            rekeyed: rotated.is_ok(),
            generation: rotated.as_ref().ok().copied(),
            reason: rotated.err().map(|reason| reason.to_string()),
        });
    }
    if args.json {
        outjson!(serde_json::to_string_pretty(&outcomes)?);
    }
    Ok(match outcomes.iter().all(|outcome| outcome.rekeyed) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// Rotates one key; an emulated board gets its key from the fleet file at every start.
async fn rotate(keys: &KeyStore, entry: &Entry, patience: Duration) -> anyhow::Result<u32> {
    match entry.place() {
        Some(place) => {
            let endpoint = Endpoint::new(place);
            let mut watch = |step| errln!("{}: {step}", entry.name);
            Ok(rekey(keys, entry, &endpoint, patience, &mut watch).await?)
        }
        None if entry.link.is_simulated() => {
            anyhow::bail!("it is simulated: it has no line and no key")
        }
        None if entry.key.is_none() => Err(ServiceError::Unkeyed.into()),
        None => {
            keys.replace(&entry.name)?;
            Ok(0)
        }
    }
}
