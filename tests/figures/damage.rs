//! Randomly damaged frames against the decoder: none is accepted altered, and the frame after
//! the next delimiter is always received.

use std::sync::LazyLock;

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::{
    Arrival, Direction, FrameBuffer, FrameDecoder, Header, Key, Kind, SessionKey,
};
use gleaner_tests::{in_batches, progress};

static KEY: LazyLock<SessionKey> =
    LazyLock::new(|| Key::new([0x5A; 32]).session(&[1; 16], &[2; 16]));
/// Frames damaged per random stream.
const BATCH: u64 = 10_000;
const KINDS: [Kind; 5] = [
    Kind::Open,
    Kind::Greeting,
    Kind::Message,
    Kind::Reliable,
    Kind::Chunk,
];

/// Options of `cargo figures damage`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Number of frames to damage.
    #[arg(long, default_value_t = 10_000_000)]
    frames: u64,
    /// Seed of frames and damage.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Numbers of damaged frames by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    damaged: u64,
    /// Times the damage left a whole frame unaltered.
    intact: u64,
    /// Frames thrown away by length, stuffing or checksum.
    thrown: u64,
    /// Altered frames whose checksum fits, left to the tag.
    checksum_fooled: u64,
    /// Altered frames accepted: must be zero.
    accepted_altered: u64,
    /// Good frames after the next delimiter that were missed: must be zero.
    missed: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.damaged += other.damaged;
        self.intact += other.intact;
        self.thrown += other.thrown;
        self.checksum_fooled += other.checksum_fooled;
        self.accepted_altered += other.accepted_altered;
        self.missed += other.missed;
    }

    const fn holds(&self) -> bool {
        self.accepted_altered == 0 && self.missed == 0
    }
}

/// Damages the frames; returns whether none was accepted altered or hid the next one.
pub fn run(args: &Args) -> bool {
    let bar = progress("frames", args.frames);
    let tallies = in_batches(args.frames, BATCH, &bar, |batch, count| {
        damage_batch(args.seed, batch, count)
    });
    let mut tally = Tally::default();
    tallies.iter().for_each(|other| tally.add(other));
    bar.finish_and_clear();
    println!(
        "{} frames damaged: {} accepted altered, {} times the frame after the next delimiter was \
         missed ({} thrown away, {} left intact by the damage, {} fooled the checksum and were \
         stopped by the tag)",
        tally.damaged,
        tally.accepted_altered,
        tally.missed,
        tally.thrown,
        tally.intact,
        tally.checksum_fooled,
    );
    tally.holds()
}

fn damage_batch(seed: u64, batch: u64, count: u64) -> Tally {
    let mut rng = Rng::stream(seed, Purpose::Faults, batch as u32, (batch >> 32) as u32);
    // A few frames per batch, damaged many times: sealing is not what is measured.
    let frames: Vec<Sent> = (0..32).map(|_| Sent::random(&mut rng)).collect();
    let mut decoder = FrameDecoder::new();
    let mut line = Vec::new();
    let mut tally = Tally::default();
    for _ in 0..count {
        let pick = |rng: &mut Rng| &frames[rng.below(frames.len() as u32) as usize];
        let (first, second, good) = (pick(&mut rng), pick(&mut rng), pick(&mut rng));
        line.clear();
        damage(&mut rng, &first.wire, &second.wire, &mut line);
        let damaged = line.len();
        line.push(0);
        line.extend_from_slice(&good.wire);
        tally.damaged += 1;
        let mut received = false;
        let mut rest = &line[..];
        while let Some(arrival) = decoder.next_in(&mut rest) {
            let in_damaged_part = line.len() - rest.len() <= damaged + 1;
            match arrival {
                Arrival::Damaged(_) if in_damaged_part => tally.thrown += 1,
                Arrival::Damaged(_) => {}
                Arrival::Frame(frame) => {
                    let header = frame.header;
                    let opened = frame.open(&KEY);
                    let is =
                        |sent: &Sent| sent.header == header && opened == Some(&sent.payload[..]);
                    if !in_damaged_part {
                        received = is(good);
                    } else if is(first) || is(second) {
                        tally.intact += 1;
                    } else if opened.is_some() {
                        tally.accepted_altered += 1;
                    } else {
                        tally.checksum_fooled += 1;
                    }
                }
            }
        }
        tally.missed += u64::from(!received);
    }
    tally
}

/// A frame before damage.
struct Sent {
    header: Header,
    payload: Vec<u8>,
    wire: Vec<u8>,
}

impl Sent {
    fn random(rng: &mut Rng) -> Self {
        let header = Header {
            direction: match rng.below(2) {
                0 => Direction::HostToDevice,
                _ => Direction::DeviceToHost,
            },
            kind: KINDS[rng.below(KINDS.len() as u32) as usize],
            session: rng.next_u32(),
            sequence: rng.next_u32(),
        };
        // Most frames are short; some are as long as frames get.
        let longest = [16, 64, 256, 1024][rng.below(4) as usize];
        let zeros = rng.below(4) == 0;
        let payload: Vec<u8> = (0..rng.below(longest + 1))
            .map(|_| match zeros {
                true => (rng.next_u32() % 3) as u8,
                false => rng.next_u32() as u8,
            })
            .collect();
        let mut buffer = FrameBuffer::new();
        buffer.payload()[..payload.len()].copy_from_slice(&payload);
        let wire = buffer.seal(&header, payload.len(), &KEY).to_vec();
        Self {
            header,
            payload,
            wire,
        }
    }
}

/// Writes a damaged `first` (and `second` following it) to `line`.
fn damage(rng: &mut Rng, first: &[u8], second: &[u8], line: &mut Vec<u8>) {
    let place = |rng: &mut Rng, bytes: &[u8]| rng.below(bytes.len() as u32) as usize;
    match rng.below(5) {
        // Flip up to eight bits.
        0 => {
            line.extend_from_slice(first);
            for _ in 0..=rng.below(8) {
                let at = place(rng, first);
                line[at] ^= 1 << rng.below(8);
            }
        }
        // Cut a piece out.
        1 => {
            let (a, b) = (place(rng, first), place(rng, first));
            line.extend_from_slice(&first[..a.min(b)]);
            line.extend_from_slice(&first[a.max(b) + 1..]);
        }
        // Insert up to sixteen bytes.
        2 => {
            let at = place(rng, first);
            line.extend_from_slice(&first[..at]);
            for _ in 0..=rng.below(16) {
                line.push(rng.next_u32() as u8);
            }
            line.extend_from_slice(&first[at..]);
        }
        // Splice the head of one to the tail of another.
        3 => {
            line.extend_from_slice(&first[..place(rng, first)]);
            line.extend_from_slice(&second[place(rng, second)..]);
        }
        // Merge two by losing the delimiter between them.
        _ => {
            line.extend_from_slice(&first[..first.len() - 1]);
            line.extend_from_slice(second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_damaged_frame_is_accepted_and_the_next_one_always_arrives() {
        let tally = damage_batch(1, 0, 50_000);
        assert!(tally.holds(), "{tally:?}");
        assert!(tally.thrown > 45_000, "the damage must be felt: {tally:?}");
    }
}
