//! Who this board says it is.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::wire::message::{About, DeviceId, RoundMark, ShardStatus};
use heapless::String;

use crate::model::{SHAPE, STORE_BYTES};

/// Which image this is: commit and features.
pub const BUILD: &str = env!("GLEANER_BUILD");

/// Returns what the base station is told of the board named `board` when a session opens.
#[must_use]
pub fn about(
    board: &str,
    shard: ShardStatus,
    exact: bool,
    ledger: Option<Snapshot>,
    last_round: Option<RoundMark>,
) -> About {
    About {
        build: cut(BUILD),
        board: cut(board),
        shape: SHAPE,
        largest_transfer: STORE_BYTES as u32,
        shard,
        exact,
        ledger,
        last_round,
    }
}

/// Returns as much of an ASCII text as fits.
fn cut<const N: usize>(text: &str) -> String<N> {
    text.chars().take(N).collect()
}

/// Mixes what the board gathered with what differs between boards and between starts, so that a
/// source that is worse than its tests could tell still repeats no nonce while RAM is powered.
/// Without anything gathered there is nothing to mix: number and count can be guessed.
#[must_use]
pub fn entropy(gathered: Option<&[u8; 32]>, device: &DeviceId, boots: u32) -> Option<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(gathered?);
    hasher.update(&device.0);
    hasher.update(&boots.to_le_bytes());
    Some(*hasher.finalize().as_bytes())
}
