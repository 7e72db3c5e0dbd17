//! Who this board says it is.

use gleaner_shared::wire::message::{DeviceId, Hello, ShardStatus, Version};
use heapless::String;

use crate::model::{SHAPE, STORE_BYTES};
use crate::platform::Platform;

/// Which image this is: commit and features.
pub const BUILD: &str = env!("GLEANER_BUILD");

/// Returns the greeting; the link fills in the nonces, the runner the ledger.
#[must_use]
pub fn hello<P: Platform>(device: DeviceId, shard: ShardStatus) -> Hello {
    Hello {
        version: Version::OURS,
        device,
        host_nonce: [0; 16],
        device_nonce: [0; 16],
        secure: false,
        build: cut(BUILD),
        board: cut(P::NAME),
        shape: SHAPE,
        largest_transfer: STORE_BYTES as u32,
        shard,
        ledger: None,
        last_round: None,
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
