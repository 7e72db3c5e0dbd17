//! Forged, replayed and reflected frames against both ends of real links, while they agree on a
//! session and within one: none may be taken, and the honest ends go on as if nothing had been.

use std::fmt;

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::wire::frame::{DELIMITER, HEADER_BYTES, MAX_PAYLOAD};
use gleaner_shared::wire::message::{self, DeviceId, DeviceToHost, Hello, HostToDevice, Version};
use gleaner_shared::wire::{Direction, FrameBuffer, Header, Key, Kind, auth};
use indicatif::ProgressBar;

use super::conversation::{Conversation, Record, Side, line_of, readdress};
use crate::in_batches;

/// Frames against one pair of ends.
const BATCH: u64 = 10_000;

/// Every so many frames strikes while the ends agree on a session; the others strike within one.
const HANDSHAKE_EVERY: u64 = 5;

/// The key of the ends under attack, and that of another device.
const KEYS: [Key; 2] = [Key::new([0x42; 32]), Key::new([0x43; 32])];

/// A way to make a frame without knowing the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ruse {
    /// Random bytes with a checksum that fits.
    Noise,
    /// The header that is due, behind it random bytes.
    Invented,
    /// A recorded frame with a bit flipped, its checksum recomputed.
    Flipped,
    /// A recorded frame with a bit flipped, its checksum left.
    Damaged,
    /// A recorded frame cut short, its checksum recomputed.
    Truncated,
    /// The head of one recorded frame and the tail of another.
    Spliced,
    /// A greeting with the host's nonce, signed with another key.
    Greeting,
    /// A frame of this session once more.
    Replayed,
    /// A frame of this session under a sequence number that is due.
    Renumbered,
    /// A frame of an earlier session of the same device, as it was or under this one's number.
    Earlier,
    /// A frame of another device's session, as it was or under this one's number.
    Foreign,
    /// An end's own frame, sent back.
    Reflected,
    /// An end's own frame, sent back with the other direction and a sequence number that is due.
    Turned,
}

impl Ruse {
    /// Every variant, in order.
    pub const ALL: [Self; 13] = [
        Self::Noise,
        Self::Invented,
        Self::Flipped,
        Self::Damaged,
        Self::Truncated,
        Self::Spliced,
        Self::Greeting,
        Self::Replayed,
        Self::Renumbered,
        Self::Earlier,
        Self::Foreign,
        Self::Reflected,
        Self::Turned,
    ];
}

impl fmt::Display for Ruse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Noise => "forged: random bytes",
            Self::Invented => "forged: header that is due",
            Self::Flipped => "forged: a bit flipped",
            Self::Damaged => "forged: a bit flipped, checksum left",
            Self::Truncated => "forged: cut short",
            Self::Spliced => "forged: spliced from two",
            Self::Greeting => "forged: greeting of another key",
            Self::Replayed => "replayed: this session",
            Self::Renumbered => "replayed: under a new number",
            Self::Earlier => "replayed: an earlier session",
            Self::Foreign => "replayed: another device's session",
            Self::Reflected => "reflected: as it was",
            Self::Turned => "reflected: direction turned",
        })
    }
}

/// What became of the frames of one ruse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames brought to an end.
    pub tried: u64,
    /// Frames that were taken: must be zero.
    pub accepted: u64,
    /// Counted as made with another key, or changed since.
    pub forged: u64,
    /// Counted as not newer than the newest.
    pub replayed: u64,
    /// Counted as of a session nobody knows.
    pub stray: u64,
    /// Counted as no frame or no message.
    pub damaged: u64,
    /// Answered with a refusal, or told as one.
    pub refused: u64,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.tried += other.tried;
        self.accepted += other.accepted;
        self.forged += other.forged;
        self.replayed += other.replayed;
        self.stray += other.stray;
        self.damaged += other.damaged;
        self.refused += other.refused;
    }
}

/// Brings so many frames to real links; the same frames for the same seed.
///
/// # Panics
/// When two honest ends cannot go on after an attack.
#[must_use]
pub fn strike(frames: u64, seed: u64, bar: &ProgressBar) -> Vec<(Ruse, Tally)> {
    let mut all = Ruse::ALL.map(|ruse| (ruse, Tally::default()));
    for tallies in in_batches(frames, BATCH, bar, |batch, count| {
        Enemy::new(seed, batch).strike(count)
    }) {
        for ((_, sum), tally) in all.iter_mut().zip(tallies) {
            sum.add(&tally);
        }
    }
    all.to_vec()
}

/// Somebody on the line who heard everything and knows no key.
struct Enemy {
    rng: Rng,
    boot: u64,
    earlier: [Record; 2],
    foreign: [Record; 2],
}

impl Enemy {
    fn new(seed: u64, batch: u64) -> Self {
        let boot = seed.wrapping_mul(0x9E37_79B9).wrapping_add(4 * batch);
        Self {
            rng: Rng::stream(seed, Purpose::Synthetic, 12, batch as u32),
            boot,
            earlier: Conversation::held(KEYS[0], boot + 1).said,
            foreign: Conversation::held(KEYS[1], boot + 2).said,
        }
    }

    fn strike(mut self, frames: u64) -> [Tally; Ruse::ALL.len()] {
        let mut tallies = [Tally::default(); Ruse::ALL.len()];
        let mut talk = Conversation::new(KEYS[0], self.boot);
        // The host has asked, the device has greeted, and the greeting is on its way.
        while let Some(line) = talk.next_line(Side::Host) {
            talk.deliver(Side::Device, &line);
        }
        let greeting: Vec<_> = std::iter::from_fn(|| talk.next_line(Side::Device)).collect();
        let early = frames / HANDSHAKE_EVERY;
        // Of this session there is nothing yet that an end has not heard of already.
        self.volley(&mut talk, early, &self.earlier.clone(), &mut tallies);
        greeting
            .iter()
            .for_each(|line| talk.deliver(Side::Host, line));
        talk.agree();
        talk.chat();
        let said = talk.said.clone();
        self.volley(&mut talk, frames - early, &said, &mut tallies);
        talk.agree();
        let before = talk.heard;
        talk.say();
        assert_eq!(talk.heard, before.map(|heard| heard + 1), "honest messages");
        tallies
    }

    fn volley(
        &mut self,
        talk: &mut Conversation,
        frames: u64,
        said: &[Record; 2],
        tallies: &mut [Tally],
    ) {
        for _ in 0..frames {
            let ruse = self.rng.below(Ruse::ALL.len() as u32) as usize;
            let at = match (Ruse::ALL[ruse], self.rng.below(2)) {
                (Ruse::Greeting, _) | (_, 0) => Side::Host,
                _ => Side::Device,
            };
            let line = self.line(Ruse::ALL[ruse], at, talk, said);
            let struck = talk.strike(at, &line);
            tallies[ruse].add(&Tally {
                tried: 1,
                accepted: struck.accepted.into(),
                forged: struck.forged.into(),
                replayed: struck.replayed.into(),
                stray: struck.stray.into(),
                damaged: struck.damaged.into(),
                refused: struck.refused.into(),
            });
        }
    }

    /// Makes what a ruse puts on the line to an end.
    fn line(&mut self, ruse: Ruse, at: Side, talk: &Conversation, said: &[Record; 2]) -> Vec<u8> {
        let (from, own) = (&said[at.other() as usize], &said[at as usize]);
        let newest = talk.said.iter().flatten().last();
        let session = newest.and_then(|body| body.get(1..5)?.try_into().ok());
        // Every sequence that is on record is far below.
        let due = 1_000 + self.rng.below(1 << 20);
        let mut body = match ruse {
            Ruse::Noise => {
                let len = self.rng.below(1_100) as usize;
                let mut line = self.random(len);
                line.push(DELIMITER);
                return line;
            }
            Ruse::Invented => {
                let header = Header {
                    direction: match at {
                        Side::Host => Direction::DeviceToHost,
                        Side::Device => Direction::HostToDevice,
                    },
                    kind: [Kind::Message, Kind::Reliable, Kind::Chunk][self.rng.below(3) as usize],
                    session: u32::from_le_bytes(session.unwrap_or_default()),
                    sequence: due,
                };
                let len = auth::TAG_BYTES + self.rng.below(MAX_PAYLOAD as u32 + 1) as usize;
                let mut body = header.to_bytes().to_vec();
                body.extend(self.random(len));
                body
            }
            Ruse::Flipped | Ruse::Damaged => {
                let mut body = self.pick(from);
                let bit = self.rng.below(8 * body.len() as u32) as usize;
                let flip = |bytes: &mut [u8]| bytes[bit / 8] ^= 1 << (bit % 8);
                if ruse == Ruse::Damaged {
                    let mut line = line_of(&body);
                    flip(&mut line);
                    return line;
                }
                flip(&mut body);
                body
            }
            Ruse::Truncated => {
                let mut body = self.pick(from);
                body.truncate(self.rng.below(body.len() as u32) as usize);
                body
            }
            Ruse::Spliced => {
                let (mut head, tail) = (self.pick(from), self.pick(from));
                let cut = self.rng.below(head.len().min(tail.len()) as u32) as usize;
                head.truncate(cut.max(HEADER_BYTES));
                head.extend_from_slice(&tail[cut.max(HEADER_BYTES).min(tail.len())..]);
                readdress(&mut head, session, Some(due));
                head
            }
            Ruse::Greeting => return self.greeting(talk),
            Ruse::Replayed => self.pick(from),
            Ruse::Renumbered => {
                let mut body = self.pick(from);
                readdress(&mut body, None, Some(due));
                body
            }
            Ruse::Earlier | Ruse::Foreign => {
                let record = match ruse {
                    Ruse::Earlier => self.earlier[at.other() as usize].clone(),
                    _ => self.foreign[at.other() as usize].clone(),
                };
                let mut body = self.pick(&record);
                if self.rng.below(2) == 0 {
                    readdress(&mut body, session, Some(due));
                }
                body
            }
            Ruse::Reflected => self.pick(own),
            Ruse::Turned => {
                let mut body = self.pick(own);
                body[0] ^= 0x80;
                readdress(&mut body, None, Some(due));
                body
            }
        };
        body.truncate(HEADER_BYTES + MAX_PAYLOAD + auth::TAG_BYTES);
        line_of(&body)
    }

    fn pick(&mut self, record: &[Vec<u8>]) -> Vec<u8> {
        record[self.rng.below(record.len() as u32) as usize].clone()
    }

    fn random(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.rng.next_u32() as u8).collect()
    }

    /// A greeting that answers the host's newest request, with any key but the right one.
    fn greeting(&mut self, talk: &Conversation) -> Vec<u8> {
        /// Reads the nonce of a request for a session.
        fn nonce_of(request: &[u8]) -> Option<[u8; 16]> {
            let payload = request.get(HEADER_BYTES..request.len() - auth::TAG_BYTES)?;
            match message::decode(payload).ok()? {
                HostToDevice::Connect(connect) => Some(connect.nonce),
                _ => None,
            }
        }
        let mut newest_first = talk.said[Side::Host as usize].iter().rev();
        let host_nonce = newest_first.find_map(|body| nonce_of(body));
        let hello = Hello {
            version: Version::OURS,
            device: DeviceId([7; 12]),
            host_nonce: host_nonce.unwrap_or_default(),
            device_nonce: [self.rng.next_u32() as u8; 16],
            secure: true,
            generation: self.rng.below(3),
        };
        let mut frame = FrameBuffer::new();
        let len = message::encode(&DeviceToHost::Hello(hello), frame.payload()).unwrap_or(0);
        let header = Header {
            direction: Direction::DeviceToHost,
            kind: Kind::Greeting,
            session: 0,
            sequence: 0,
        };
        let wrong = [KEYS[1], Key::PUBLIC][self.rng.below(2) as usize];
        frame.sign(&header, len, &wrong).to_vec()
    }
}
