//! `gleaner data shard`: writes the samples of one client as its board stores them in flash.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail, ensure};

use crate::cli::board::by_name;
use crate::cli::fleet::OptionalFleetArgs;
use crate::cli::scenario::ScenarioArgs;
use gleaner_sim::fleet;
use gleaner_station::device::board::{self, Board};
use gleaner_station::device::flash::{shard_part, uf2};
use gleaner_station::device::row::Uf2Drive;
use gleaner_station::fleet_file::{SecretKey, write_private};
use gleaner_station::setup::shards;

/// Write the samples of one client as its board stores them in flash.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Number of the client, from 0.
    #[arg(long)]
    client: u32,
    /// Board that will store them [default: that of the fleet file, or rp2040]
    #[arg(long, value_parser = by_name())]
    board: Option<Board>,
    #[command(flatten)]
    fleet: OptionalFleetArgs,
    /// File with the client's key, 64 hexadecimal digits, instead of the fleet file's; a client without a
    /// key accepts any base station.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// Output file: `.bin` for probes and emulators, `.uf2` for a Pico in boot mode.
    #[arg(long, value_name = "FILE.bin|FILE.uf2")]
    out: PathBuf,
}

/// Runs `gleaner data shard`.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (scenario, fleet) = args.fleet.resolve(&args.scenario)?;
    let clients = fleet.iter().flat_map(|fleet| &fleet.clients);
    let entry = clients.into_iter().find(|entry| entry.id.0 == args.client);
    let own = entry.and_then(|entry| Some(entry.key?.0));
    let key = args.key_file.as_deref().map(read_key).transpose()?.or(own);
    let board = args.board.or_else(|| entry?.board());
    let board = board.unwrap_or(Board::Rp2040);
    let format = format_of(&args.out, board)?;
    let data = fleet::load_data(&scenario)?;
    let mut shards = shards(&scenario, &data, |client| {
        key.filter(|_| client == args.client)
    })?;
    ensure!(
        (args.client as usize) < shards.len(),
        "--client {}: use 0 to {}",
        args.client,
        shards.len().saturating_sub(1)
    );
    let network = fleet::shape(&scenario, &data)?;
    let shard = shards.swap_remove(args.client as usize);
    let part = shard_part(board, network, shard)?;
    let file = match format {
        Format::Bin => part.bytes.clone(),
        Format::Uf2 { family } => uf2::file(family, &[(part.address, &part.bytes)]),
    };
    write_private(&args.out, file)
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    outln!(
        "{}: client {}'s {part} of {}",
        args.out.display(),
        args.client,
        board.name(),
    );
    Ok(ExitCode::SUCCESS)
}

/// Format of the output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Bin,
    Uf2 { family: u32 },
}

fn format_of(out: &Path, board: Board) -> anyhow::Result<Format> {
    let extension = out.extension().and_then(|it| it.to_str());
    match (extension, board.row().boot_drive) {
        (Some("bin"), _) => Ok(Format::Bin),
        (Some("uf2"), Some(Uf2Drive { family, .. })) => Ok(Format::Uf2 { family }),
        (Some("uf2"), None) => {
            let takers = board::list(Board::with_boot_drive(), "or").to_uppercase();
            bail!("--out: only an {takers} takes .uf2; use .bin")
        }
        _ => bail!("--out {}: must end in .bin or .uf2", out.display()),
    }
}

fn read_key(path: &Path) -> anyhow::Result<[u8; 32]> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let key: SecretKey = match text.trim().parse() {
        Ok(key) => key,
        Err(error) => bail!("{}: {error}", path.display()),
    };
    Ok(key.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_file_has_64_digits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::fs::write(&path, format!("{}\n", "0f".repeat(32))).unwrap();
        assert_eq!(read_key(&path).unwrap(), [0x0F; 32]);
        for wrong in ["", "0f", &"zz".repeat(32)] {
            std::fs::write(&path, wrong).unwrap();
            let error = read_key(&path).unwrap_err();
            assert!(error.to_string().contains("64 hexadecimal digits"));
        }
        std::fs::write(&path, "0".repeat(64)).unwrap();
        let error = read_key(&path).unwrap_err().to_string();
        assert!(error.contains("all zeros"), "{error}");
    }
}
