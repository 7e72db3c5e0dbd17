//! Puts firmware and samples into boards' flash: through a debug probe (`crate::device::probe`,
//! feature `probe`) or the drive that a board shows in boot mode.

pub mod drive;
pub mod program;
pub mod silicon;
pub mod target;
pub mod uf2;
pub mod update;

use gleaner_shared::shard::ShardHeader;

use crate::device::Board;
use crate::device::shard::with_lists;
use target::Part;

/// Why a shard does not go to a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "client {client} has {samples} samples, {} trains on at most {}: lower \
     partition.mean_samples or partition.std_samples with --set",
    board.name(),
    board.most_samples()
)]
pub struct ShardTooLarge {
    /// The board it was meant for.
    pub board: Board,
    /// The number of the client whose shard it is.
    pub client: u32,
    /// Samples of its shard.
    pub samples: u32,
}

/// Checks that a board can hold a shard and train on it.
///
/// # Errors
/// When it has too many samples.
pub fn check_room(board: Board, shard: &[u8]) -> Result<(), ShardTooLarge> {
    let header = ShardHeader::from_bytes(shard);
    let (client, samples) = header.map_or((0, 0), |header| (header.client, header.samples));
    if samples as usize > board.most_samples() || shard.len() > board.shard_flash().len() {
        return Err(ShardTooLarge {
            board,
            client,
            samples,
        });
    }
    Ok(())
}

/// Returns a shard as the part of a board's flash it is for, with lists if there is room.
///
/// # Errors
/// As [`check_room`].
pub fn shard_part(board: Board, shard: Vec<u8>) -> Result<Part, ShardTooLarge> {
    check_room(board, &shard)?;
    let flash = board.shard_flash();
    Ok(Part {
        what: "shard",
        address: flash.start,
        bytes: with_lists(shard, flash.len()),
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
        let error = shard_part(Board::Rp2040, shard.clone()).unwrap_err();
        let message = error.to_string();
        for words in ["client 2", "1101 samples", "at most 1000", "mean_samples"] {
            assert!(message.contains(words), "{words} in {message}");
        }
        assert_eq!(
            shard_part(Board::Stm32l4r5, shard).unwrap().address,
            0x0806_0000
        );
    }
}
