//! Puts firmware and samples into boards' flash: through a debug probe (`crate::device::probe`,
//! feature `probe`) or the drive that a board shows in boot mode.

pub mod drive;
pub mod program;
pub mod silicon;
pub mod target;
pub mod uf2;
pub mod update;

use gleaner_shared::board::Shape;
use gleaner_shared::shard::ShardHeader;

use crate::device::Board;
use crate::device::error::EmulatorError;
use crate::device::shard::with_lists;
use target::Part;

/// Why a shard does not go to a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShardRefused {
    /// It has too many samples.
    #[error(
        "client {client} has {samples} samples, {} trains on at most {most}: lower \
         partition.mean_samples or partition.std_samples with --set",
        board.name(),
    )]
    TooLarge {
        /// The board it was meant for.
        board: Board,
        /// The number of the client whose shard it is.
        client: u32,
        /// Samples of its shard.
        samples: u32,
        /// Samples the board takes.
        most: usize,
    },
    /// The board is not for the network at all.
    #[error(transparent)]
    Board(#[from] EmulatorError),
}

/// Checks that a board can hold a shard and train a network on it.
///
/// # Errors
/// When it has too many samples, or the board is not for the network.
pub fn check_room(board: Board, network: Shape, shard: &[u8]) -> Result<(), ShardRefused> {
    let built = board.built_for(network)?;
    let header = ShardHeader::from_bytes(shard);
    let (client, samples) = header.map_or((0, 0), |header| (header.client, header.samples));
    let most = built.most_samples;
    if samples as usize > most || shard.len() > built.shard().bytes as usize {
        return Err(ShardRefused::TooLarge {
            board,
            client,
            samples,
            most,
        });
    }
    Ok(())
}

/// Returns a shard as the part of a board's flash it is for, with lists where it trains faster with them.
///
/// # Errors
/// As [`check_room`].
pub fn shard_part(board: Board, network: Shape, shard: Vec<u8>) -> Result<Part, ShardRefused> {
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
    fn a_shard_beyond_a_boards_memory_is_refused_with_the_keys_to_lower() {
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
        let message = error.to_string();
        for words in ["client 2", "1101 samples", "at most 1000", "mean_samples"] {
            assert!(message.contains(words), "{words} in {message}");
        }
        assert_eq!(
            shard_part(Board::Stm32l4r5, Shape::PAPER, shard.clone())
                .unwrap()
                .address,
            0x0806_0000
        );
        let wide = "784-100-10".parse().unwrap();
        let error = shard_part(Board::Rp2040, wide, shard)
            .unwrap_err()
            .to_string();
        assert!(error.contains("784-100-10 needs"), "{error}");
    }
}
