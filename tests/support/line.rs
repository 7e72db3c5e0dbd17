//! One direction of an in-memory serial line that loses, repeats and corrupts frames.

use gleaner_shared::rng::{Purpose, Rng};
use gleaner_shared::units::Micros;

/// Fault probabilities of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Probability that a frame vanishes.
    pub loss: f64,
    /// Probability that a frame arrives twice.
    pub duplicate: f64,
    /// Probability that a bit flips.
    pub bit_error: f64,
}

/// One direction of a line at a bit rate, in order, with a delay.
#[derive(Debug)]
pub struct Line {
    faults: Faults,
    bits_per_second: u64,
    delay: Micros,
    rng: Rng,
    free_at: Micros,
    in_flight: std::collections::VecDeque<(Micros, Vec<u8>)>,
    /// Bytes put on the line, lost ones included.
    pub bytes: u64,
    /// Frames put on the line.
    pub frames: u64,
}

impl Line {
    /// Opens a line; `direction` tells the random streams of a pair apart.
    #[must_use]
    pub fn new(faults: Faults, bits_per_second: u64, seed: u64, direction: u32) -> Self {
        Self {
            faults,
            bits_per_second,
            delay: Micros(500),
            rng: Rng::stream(seed, Purpose::Faults, direction, 0),
            free_at: Micros::ZERO,
            in_flight: std::collections::VecDeque::new(),
            bytes: 0,
            frames: 0,
        }
    }

    /// Tells whether the line takes another frame now.
    #[must_use]
    pub fn is_free(&self, now: Micros) -> bool {
        self.free_at <= now
    }

    /// Returns when the line is free and when its next bytes arrive.
    #[must_use]
    pub fn wakes(&self) -> (Micros, Option<Micros>) {
        (self.free_at, self.in_flight.front().map(|(at, _)| *at))
    }

    /// Puts a frame on the line; ten bits a byte.
    pub fn put(&mut self, now: Micros, frame: &[u8]) {
        let len = frame.len() as u64;
        self.bytes += len;
        self.frames += 1;
        self.free_at = Micros(now.0.max(self.free_at.0) + len * 10_000_000 / self.bits_per_second);
        if self.rng.uniform() < self.faults.loss {
            return;
        }
        let at = self.free_at.saturating_add(self.delay);
        let copies = if self.rng.uniform() < self.faults.duplicate {
            2
        } else {
            1
        };
        for _ in 0..copies {
            let damaged = self.flip(frame);
            self.in_flight.push_back((at, damaged));
        }
    }

    fn flip(&mut self, frame: &[u8]) -> Vec<u8> {
        let mut bytes = frame.to_vec();
        if self.faults.bit_error > 0.0 {
            let bits = bytes.len() as f64 * 8.0;
            let mut at = self.gap();
            while at < bits {
                bytes[at as usize / 8] ^= 1 << (at as usize % 8);
                at += 1.0 + self.gap();
            }
        }
        bytes
    }

    /// Returns the number of good bits before the next flipped one (geometric).
    fn gap(&mut self) -> f64 {
        let u = 1.0 - self.rng.uniform();
        (libm::log(u) / libm::log1p(-self.faults.bit_error)).floor()
    }

    /// Takes what has arrived by `now`.
    pub fn get(&mut self, now: Micros) -> Option<Vec<u8>> {
        let (at, _) = self.in_flight.front()?;
        if *at > now {
            return None;
        }
        self.in_flight.pop_front().map(|(_, bytes)| bytes)
    }

    /// Loses what is in flight, as a reset of the receiving end does.
    pub fn flush(&mut self) {
        self.in_flight.clear();
    }
}
