//! Seeded random streams: one generator per (seed, purpose, client, round).
//!
//! The generator is xoshiro128++ (Blackman and Vigna, "Scrambled linear pseudorandom number
//! generators", 2021): 32-bit adds, shifts and rotates only, so a Cortex-M0+ draws the same
//! stream as the host without a multiply. Streams are told apart by mixing the four keys with
//! the SplitMix64 finaliser, so no stream depends on how many others exist or on their order.

/// The purpose of a stream. The numbers are part of the reproducibility contract: append only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[allow(missing_docs)]
pub enum Purpose {
    /// Initial weights of the global model.
    Initialise = 1,
    /// Stochastic rounding of weights during local training.
    Training = 2,
    /// Stochastic rounding of the 8-bit update a client uploads.
    Uplink = 3,
    /// Stochastic rounding of the 8-bit update the base station broadcasts.
    Downlink = 4,
    /// Positions of the clients.
    Placement = 5,
    Fading = 6,
    /// Number of samples of each client.
    DatasetSize = 7,
    /// Samples of each client.
    Partition = 8,
    Schedule = 9,
    /// Moves of a randomised solver.
    Solver = 10,
    /// Faults injected into a link.
    Faults = 11,
    /// Synthetic inputs of tests and benchmarks.
    Synthetic = 12,
    /// Training samples reserved for validation.
    Validation = 13,
    /// Updates lost on the way.
    LostUpdates = 14,
    /// Resampled seeds of a bootstrap interval.
    Bootstrap = 15,
    /// Assignment of device classes to clients.
    Devices = 16,
    /// Income of a client, if it is drawn.
    Harvest = 17,
    /// Noise, gaps and drift of a synthetic measurement.
    Measurement = 18,
    /// Noise that differential privacy adds to the aggregate of a round.
    Noise = 19,
    /// Signs by which a layer's change is sketched in an upload.
    Sketch = 20,
}

/// A generator for one stream: xoshiro128++.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u32; 4],
}

impl Rng {
    /// Opens the stream of one (seed, purpose, client, round).
    #[must_use]
    pub const fn stream(seed: u64, purpose: Purpose, client: u32, round: u32) -> Self {
        let key = mix(mix(seed) ^ (((purpose as u64) << 32) | client as u64));
        let low = mix(key ^ round as u64);
        let high = mix(low);
        // Four words of two finaliser outputs are all zero with probability 2^-128; the odd
        // constant rules it out.
        Self {
            state: [
                low as u32 | 1,
                (low >> 32) as u32,
                high as u32,
                (high >> 32) as u32,
            ],
        }
    }

    /// Returns the state, for a checkpoint.
    pub const fn state(&self) -> [u32; 4] {
        self.state
    }

    /// Continues from a saved state; the all-zero state, which never occurs, becomes a stream.
    #[must_use]
    pub const fn from_state(state: [u32; 4]) -> Self {
        match state {
            [0, 0, 0, 0] => Self::stream(0, Purpose::Synthetic, 0, 0),
            state => Self { state },
        }
    }

    /// Returns 32 random bits.
    #[inline]
    pub const fn next_u32(&mut self) -> u32 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(7).wrapping_add(s[0]);
        let t = s[1] << 9;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(11);
        result
    }

    /// Returns 64 random bits, the first draw in the low half.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        let low = self.next_u32() as u64;
        low | (self.next_u32() as u64) << 32
    }

    /// Returns a number below `bound` without bias; `bound` zero gives zero.
    #[inline]
    pub const fn below(&mut self, bound: u32) -> u32 {
        // Lemire, "Fast random integer generation in an interval", 2019.
        let mut product = self.next_u32() as u64 * bound as u64;
        if (product as u32) < bound {
            let threshold = bound.wrapping_neg() % bound;
            while (product as u32) < threshold {
                product = self.next_u32() as u64 * bound as u64;
            }
        }
        (product >> 32) as u32
    }

    /// Returns a double uniform in [0, 1) with 53 random bits.
    #[inline]
    pub const fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Shuffles in place (Fisher-Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let bound = u32::try_from(last + 1).unwrap_or(u32::MAX);
            items.swap(last, self.below(bound) as usize);
        }
    }
}

/// The finaliser of SplitMix64, with its increment.
const fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_the_published_generator() {
        // First outputs of xoshiro128++ from state [1, 2, 3, 4], as in the reference C code.
        let mut rng = Rng::from_state([1, 2, 3, 4]);
        let drawn: Vec<u32> = (0..5).map(|_| rng.next_u32()).collect();
        assert_eq!(drawn, [641, 1573767, 3222811527, 3517856514, 836907274]);
    }

    #[test]
    fn streams_differ_in_every_key() {
        let first =
            |seed, purpose, client, round| Rng::stream(seed, purpose, client, round).next_u64();
        let base = first(1, Purpose::Fading, 2, 3);
        assert_eq!(base, first(1, Purpose::Fading, 2, 3));
        assert_ne!(base, first(2, Purpose::Fading, 2, 3));
        assert_ne!(base, first(1, Purpose::Placement, 2, 3));
        assert_ne!(base, first(1, Purpose::Fading, 3, 3));
        assert_ne!(base, first(1, Purpose::Fading, 2, 4));
    }

    #[test]
    fn below_is_uniform_and_bounded() {
        let mut rng = Rng::stream(7, Purpose::Synthetic, 0, 0);
        let mut counts = [0u32; 6];
        for _ in 0..60_000 {
            counts[rng.below(6) as usize] += 1;
        }
        assert!(
            counts.iter().all(|&count| (9_600..10_400).contains(&count)),
            "{counts:?}"
        );
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }

    #[test]
    fn uniform_stays_in_the_half_open_interval() {
        let mut rng = Rng::stream(9, Purpose::Synthetic, 0, 0);
        let mean = (0..100_000)
            .map(|_| rng.uniform())
            .inspect(|u| assert!((0.0..1.0).contains(u)))
            .sum::<f64>()
            / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }
}
