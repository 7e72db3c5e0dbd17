//! One model through the pair of state machines, with every byte counted.

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::Micros;
use gleaner_shared::wire::message::Payload;
use gleaner_shared::wire::{Event, Key};

use crate::line::Faults;
use crate::pair::{Happened, KEY, Pair, device};

/// Bytes of the paper's MLP at 8 bits a parameter.
pub const MODEL_BYTES: usize = 39_760;

/// Cost of one transfer, from the offer to the sender's last acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Bytes from host to device: the model's direction.
    pub down: u64,
    /// Bytes from device to host.
    pub up: u64,
    /// Number of retransmitted chunks.
    pub repeated: u32,
    /// Virtual time of the transfer.
    pub elapsed: Micros,
    /// Whether the bytes received are those sent.
    pub identical: bool,
}

/// Sends a random model over lines with `faults`; `None` if it did not arrive.
#[must_use]
pub fn send_model(faults: Faults, seed: u64) -> Option<Outcome> {
    let limit = Micros(600_000_000);
    let mut pair: Pair<Key> = Pair::new(KEY, device(KEY, 1), faults, seed);
    pair.run_until(limit, |happened| {
        matches!(happened, Happened::Host(Event::Connected(_)))
    })?;
    // The last acknowledgements belong to the handshake.
    while !(pair.host.is_idle() && pair.device.is_idle()) {
        pair.tick();
    }
    let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
    pair.host_source = (0..MODEL_BYTES).map(|_| rng.next_u32() as u8).collect();
    let (down, up, start) = (pair.down.bytes, pair.up.bytes, pair.now);
    let repeated = pair.host.counters().repeated;
    pair.host
        .offer(pair.now, Payload::Model, None, &pair.host_source)
        .ok()?;
    pair.run_until(limit, |happened| {
        matches!(happened, Happened::Host(Event::Delivered(_)))
    })?;
    Some(Outcome {
        down: pair.down.bytes - down,
        up: pair.up.bytes - up,
        repeated: pair.host.counters().repeated - repeated,
        elapsed: Micros(pair.now.0 - start.0),
        identical: pair.device_store[..MODEL_BYTES] == pair.host_source,
    })
}
