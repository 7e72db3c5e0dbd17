//! Writes firmware and samples to boards' flash, through a debug probe (`crate::device::probe`,
//! feature `probe`) or the drive that a board shows in boot mode.

pub mod drive;
pub mod program;
pub mod silicon;
pub mod target;
pub mod uf2;
pub mod update;

use std::fmt;
use std::io;
use std::path::PathBuf;

use gleaner_shared::board::Shape;
use gleaner_shared::shard::ShardHeader;

use crate::device::Board;
use crate::device::error::EmulatorError;
use crate::device::row::Uf2Drive;
use crate::device::shard::with_lists;
use silicon::Identity;
use target::{Fault, Part};

/// Error writing firmware or samples to a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the fields are the values in the message")]
pub enum FlashError {
    /// The shard has more samples than the board can hold or train on.
    #[error(
        "client {client} has {samples} samples, {} trains on at most {most}: lower \
         partition.mean_samples or partition.std_samples with --set",
        board.name(),
    )]
    TooLarge {
        board: Board,
        client: u32,
        samples: u32,
        most: usize,
    },
    /// The board is too small for the network.
    #[error(transparent)]
    Board(#[from] EmulatorError),
    /// No drive was found.
    #[error(
        "no {} in boot mode: hold BOOTSEL while plugging it in and mount its drive {}, or name \
         where it is mounted with --drive",
        .0.product,
        .0.label
    )]
    NoDrive(Uf2Drive),
    /// Several boards are in boot mode.
    #[error(
        "several {product}s are in boot mode, at {}; choose one with --drive",
        list(folders)
    )]
    SeveralDrives {
        product: &'static str,
        folders: Vec<PathBuf>,
    },
    /// The folder is not such a drive.
    #[error("{} is not the drive of a {product} in boot mode: {what}", path.display())]
    NotADrive {
        path: PathBuf,
        product: &'static str,
        what: String,
    },
    /// The copy to the drive failed.
    #[error("{}: {source}; unplug the {product} and try again", path.display())]
    Copy {
        path: PathBuf,
        product: &'static str,
        source: io::Error,
    },
    /// The program's file cannot be read.
    #[error("{}: {source}; `{command}` builds the client", path.display())]
    File {
        path: PathBuf,
        source: io::Error,
        command: String,
    },
    /// The file is not a program for a microcontroller.
    #[error("{}: {what}; `{command}` builds the client", path.display())]
    Format {
        path: PathBuf,
        what: &'static str,
        command: String,
    },
    /// The program was linked for other addresses; `end` is the address after its last.
    #[error(
        "{}: {start:#010x} to {end:#010x} is not the program flash of an {board}, {} to {}; \
         `{command}` builds the client for it",
        path.display(),
        Hex(board.program_flash().start),
        Hex(board.program_flash().end)
    )]
    WrongMemory {
        path: PathBuf,
        board: Board,
        start: u32,
        end: u64,
        command: String,
    },
    /// The program was linked for a board of the same addresses with another flash.
    #[error(
        "{}: built for another board: it keeps keys at {keys:#010x}, an {board} at {}; `{command}` \
         builds the client for it",
        path.display(),
        Hex(board.row().built.keys().start)
    )]
    OtherBoard {
        path: PathBuf,
        board: Board,
        keys: u32,
        command: String,
    },
    /// The program has instructions that the board's core does not have.
    #[error(
        "{}: compiled for a Cortex-M4 or larger, but an {board} is a {}; `{command}` builds the \
         client for it",
        path.display(),
        board.row().core.title
    )]
    WrongCore {
        path: PathBuf,
        board: Board,
        command: String,
    },
    /// The chip is not the one that `fleet.toml` names.
    #[error(
        "the probe is wired to {found}, but `chip` says {expected}; correct `chip` or `probe` in \
         fleet.toml, or the wiring"
    )]
    WrongChip { expected: Board, found: Identity },
    /// The chip stopped answering, or refused.
    #[error("{what}: {fault}; check wiring and power, then flash again")]
    Chip { what: String, fault: Fault },
}

fn list(paths: &[PathBuf]) -> String {
    let paths = paths.iter().map(|path| path.display().to_string());
    paths.collect::<Vec<_>>().join(", ")
}

/// An address in an error.
struct Hex(u32);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

/// Checks that a board can hold a shard and train a network on it.
///
/// # Errors
/// Returns an error if the shard is too large, or the board too small for the network.
pub fn check_room(board: Board, network: Shape, shard: &[u8]) -> Result<(), FlashError> {
    let built = board.built_for(network)?;
    let header = ShardHeader::from_bytes(shard);
    let (client, samples) = header.map_or((0, 0), |header| (header.client, header.samples));
    let most = built.most_samples;
    if samples as usize > most || shard.len() > built.shard().bytes as usize {
        return Err(FlashError::TooLarge {
            board,
            client,
            samples,
            most,
        });
    }
    Ok(())
}

/// Returns a shard as a part of the board's flash, with lists where the board trains faster with them.
///
/// # Errors
/// As [`check_room`].
pub fn shard_part(board: Board, network: Shape, shard: Vec<u8>) -> Result<Part, FlashError> {
    check_room(board, network, &shard)?;
    let flash = board.built_for(network)?.shard();
    Ok(Part {
        what: "shard",
        address: flash.start,
        bytes: with_lists(shard, board, flash.bytes as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::shard::{ClientSamples, image};

    #[test]
    fn a_shard_beyond_a_boards_memory_is_refused() {
        let pixels = vec![0; 784 * 1_101];
        let samples = ClientSamples {
            client: 2,
            inputs: 784,
            classes: 10,
            pixels: &pixels,
            labels: &[0; 1_101],
            key: None,
        };
        let shard = image(&samples).unwrap();
        let error = shard_part(Board::Rp2040, Shape::PAPER, shard.clone()).unwrap_err();
        assert!(matches!(
            error,
            FlashError::TooLarge {
                client: 2,
                samples: 1_101,
                most: 1_000,
                ..
            }
        ));
        assert_eq!(
            shard_part(Board::Stm32l4r5, Shape::PAPER, shard.clone())
                .unwrap()
                .address,
            0x0806_0000
        );
        let wide = "784-100-10".parse().unwrap();
        let error = shard_part(Board::Rp2040, wide, shard);
        assert!(matches!(error, Err(FlashError::Board(_))));
    }
}
