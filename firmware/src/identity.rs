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
    ledger: Option<Snapshot>,
    last_round: Option<RoundMark>,
) -> About {
    About {
        build: cut(BUILD),
        board: cut(board),
        shape: SHAPE,
        largest_transfer: STORE_BYTES as u32,
        shard,
        exact: true,
        ledger,
        last_round,
    }
}

/// Returns as much of an ASCII text as fits.
fn cut<const N: usize>(text: &str) -> String<N> {
    text.chars().take(N).collect()
}

/// Mixes what the board gathered with what differs between boards and between starts, so that a
/// board without a source of entropy still never repeats a nonce while its RAM is powered.
#[must_use]
pub fn entropy(gathered: &[u8; 32], device: &DeviceId, boots: u32) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(gathered);
    hasher.update(&device.0);
    hasher.update(&boots.to_le_bytes());
    *hasher.finalize().as_bytes()
}
