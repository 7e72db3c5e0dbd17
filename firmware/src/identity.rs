//! The board's description of itself, and the seed of its nonces.

use gleaner_shared::energy::Snapshot;
use gleaner_shared::mlp::UploadCode;
use gleaner_shared::wire::message::{About, DeviceId, RoundMark, ShardStatus};
use heapless::String;

use crate::client::has_room;
use crate::model::{SHAPE, STORE_BYTES};

/// Commit and features of this image.
pub const BUILD: &str = env!("GLEANER_BUILD");

/// Returns the message that describes the board at the start of a session.
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
        codes: codes(),
        exact,
        ledger,
        last_round,
    }
}

/// Returns the codes whose update, and what coding it takes, fit the memory of the error rows.
fn codes() -> u8 {
    let codes = UploadCode::ALL.into_iter().filter(|code| has_room(*code));
    codes.fold(0, |codes, code| codes | code.bit())
}

/// Returns the beginning of an ASCII text, as much as fits.
fn cut<const N: usize>(text: &str) -> String<N> {
    text.chars().take(N).collect()
}

/// Mixes gathered entropy with values that differ between boards and between starts, so that a
/// source worse than its tests can detect still repeats no nonce while RAM is powered. Returns
/// `None` without gathered entropy: device number and start count can be guessed.
#[must_use]
pub fn entropy(gathered: Option<&[u8; 32]>, device: &DeviceId, boots: u32) -> Option<[u8; 32]> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(gathered?);
    hasher.update(&device.0);
    hasher.update(&boots.to_le_bytes());
    Some(*hasher.finalize().as_bytes())
}
