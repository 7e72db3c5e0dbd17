//! Random bytes for nonces: raw bits of a noise source, tested, then hashed.
//!
//! The tests are those of NIST SP 800-90B, 4.4 (repetition count and adaptive proportion), on the
//! bits themselves and on how they differ from those just before, so that a source that follows a
//! short pattern fails as one that is stuck does. No test can show that bits are random; these
//! show that a source is broken.

/// Raw bits of one attempt. A quarter of a bit of entropy is assumed in each, which makes 512: more
/// than the 256 + 64 that SP 800-90C requires for 256 output bits.
pub const RAW_BITS: usize = 8 * RAW_BYTES;
const RAW_BYTES: usize = 256;

/// A run of this many equal bits fails the repetition test. A bit with a quarter of a bit of
/// entropy is predicted with probability at most 2^-0.25, and 30 / 0.25 correct predictions after a
/// first bit have probability 2^-30.
const TOO_MANY_ALIKE: usize = 121;
/// Window of the adaptive proportion test.
const WINDOW_BITS: usize = 1024;
/// This many equal bits in a window fail the test: of 1,024 bits at 2^-0.25 each, as many are equal
/// once in 2^30 windows (binomial distribution).
const TOO_MANY_IN_WINDOW: usize = 928;
/// Largest distance of compared bits: patterns of up to this many bits are found.
const FARTHEST: usize = 8;

/// Number of attempts before a source is given up.
const TRIES: usize = 4;

/// Returns 32 bytes hashed from raw bits, or `None` if the source fails its tests.
pub fn from_raw_bits(mut bit: impl FnMut() -> bool) -> Option<[u8; 32]> {
    let mut raw = [0; RAW_BYTES];
    for _ in 0..TRIES {
        for byte in &mut raw {
            *byte = (0..8).fold(0, |bits, _| bits << 1 | u8::from(bit()));
        }
        if is_healthy(&raw) {
            return Some(*blake3::hash(&raw).as_bytes());
        }
    }
    None
}

/// Returns 32 bytes of a generator that tests and conditions its own noise and returns zero on
/// failure, or `None` if every attempt has a zero or two equal words in a row.
pub fn from_words(mut word: impl FnMut() -> u32) -> Option<[u8; 32]> {
    (0..TRIES).find_map(|_| {
        let words: [u32; 8] = core::array::from_fn(|_| word());
        let stuck = words.windows(2).any(|pair| pair[0] == pair[1]);
        let bytes = core::array::from_fn(|at| words[at / 4].to_le_bytes()[at % 4]);
        (!stuck && !words.contains(&0)).then_some(bytes)
    })
}

fn is_healthy(raw: &[u8; RAW_BYTES]) -> bool {
    let bit = |at: usize| raw[at / 8] >> (7 - at % 8) & 1 == 1;
    // At distance 0 bits are compared with zero, otherwise with the bit that many positions before.
    (0..=FARTHEST).all(|back| match back {
        0 => varies((0..RAW_BITS).map(bit)),
        _ => varies((back..RAW_BITS).map(|at| bit(at) ^ bit(at - back))),
    })
}

/// Runs both tests for both values of a bit.
fn varies(bits: impl Iterator<Item = bool>) -> bool {
    let (mut last, mut alike) = (false, 0);
    let (mut ones, mut seen) = (0, 0);
    for bit in bits {
        alike = if bit == last { alike + 1 } else { 1 };
        last = bit;
        ones += usize::from(bit);
        seen += 1;
        if alike >= TOO_MANY_ALIKE {
            return false;
        }
        if seen == WINDOW_BITS {
            if ones.max(seen - ones) >= TOO_MANY_IN_WINDOW {
                return false;
            }
            (ones, seen) = (0, 0);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use gleaner_shared::rng::{Purpose, Rng};

    use super::*;

    /// Bits of which `per_mille` in a thousand are ones.
    fn biased(seed: u64, per_mille: u32) -> impl FnMut() -> bool {
        let mut rng = Rng::stream(seed, Purpose::Synthetic, 0, 0);
        move || rng.below(1000) < per_mille
    }

    #[test]
    fn a_healthy_source_is_accepted_and_does_not_repeat() {
        let drawn: std::collections::HashSet<_> = (0..500)
            .map(|seed| from_raw_bits(biased(seed, 500)).expect("healthy"))
            .collect();
        assert_eq!(drawn.len(), 500);
    }

    #[test]
    fn a_source_with_the_assumed_bias_is_accepted() {
        // A bias of two to one is possible for the duty cycle of a ring oscillator.
        for (seed, per_mille) in [(1, 667), (2, 333), (3, 800), (4, 200)] {
            assert!(from_raw_bits(biased(seed, per_mille)).is_some());
        }
    }

    #[test]
    fn a_stuck_source_is_refused() {
        assert_eq!(from_raw_bits(|| false), None);
        assert_eq!(from_raw_bits(|| true), None);
    }

    #[test]
    fn a_source_with_more_bias_than_assumed_is_refused() {
        for (seed, per_mille) in [(1, 950), (2, 50), (3, 990), (4, 10)] {
            assert_eq!(from_raw_bits(biased(seed, per_mille)), None);
        }
    }

    #[test]
    fn a_short_pattern_is_refused_though_half_its_bits_are_ones() {
        for period in 2..=FARTHEST {
            let mut at = 0;
            let pattern = || {
                at += 1;
                at % period < period / 2
            };
            assert_eq!(from_raw_bits(pattern), None, "period {period}");
        }
    }

    /// A core whose clock is near a multiple of the oscillator's reads long stretches of a pattern
    /// with an occasional slip.
    #[test]
    fn a_pattern_that_slips_now_and_then_is_refused() {
        let (mut at, mut slips) = (0, biased(5, 20));
        let beat = || {
            at += 1 + usize::from(slips());
            at % 4 < 2
        };
        assert_eq!(from_raw_bits(beat), None);
    }

    #[test]
    fn a_source_that_stops_is_refused() {
        let mut healthy = biased(6, 500);
        let mut drawn = 0;
        let dying = || {
            drawn += 1;
            healthy() && drawn < RAW_BITS - TOO_MANY_ALIKE
        };
        assert_eq!(from_raw_bits(dying), None);
    }

    #[test]
    fn a_source_that_starts_late_is_accepted() {
        let mut healthy = biased(7, 500);
        let mut drawn = 0;
        let waking = || {
            drawn += 1;
            healthy() && drawn > RAW_BITS
        };
        assert!(from_raw_bits(waking).is_some());
    }

    #[test]
    fn a_generator_with_zero_or_repeated_words_is_refused() {
        let mut rng = Rng::stream(8, Purpose::Synthetic, 0, 0);
        assert!(from_words(|| rng.next_u32()).is_some());
        assert_eq!(from_words(|| 0), None);
        assert_eq!(from_words(|| 0x1234_5678), None);
        let mut at = 0;
        let failing = || {
            at += 1;
            if at % 8 == 0 { 0 } else { at }
        };
        assert_eq!(from_words(failing), None);
    }
}
