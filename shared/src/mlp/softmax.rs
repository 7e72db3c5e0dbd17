//! Softmax and cross-entropy in integers: a table of 2^-f, and one division a sample.

/// One in the unit of probabilities and output errors, 2^-12.
pub const PROBABILITY_ONE: i32 = 1 << 12;

/// 2^(-i/64) in units of 2^-15.
const EXP2: [u16; 65] = exp2_table();

const fn exp2_table() -> [u16; 65] {
    // 2^(-1/64) in units of 2^-62.
    const RATIO: u128 = 4_562_008_997_483_360_349;
    let mut table = [0; 65];
    let mut value: u128 = 1 << 62;
    let mut index = 0;
    while index < table.len() {
        table[index] = ((value + (1 << 46)) >> 47) as u16;
        value = (value * RATIO) >> 62;
        index += 1;
    }
    table
}

/// Returns 2^-y in units of 2^-15 for y in units of 2^-16, by linear interpolation in a table of
/// 64 intervals; within two units.
const fn exp2_negative(y: u32) -> u32 {
    let whole = y >> 16;
    if whole > 15 {
        return 0;
    }
    let index = (y >> 10 & 63) as usize;
    let upper = EXP2[index] as u32;
    let lower = EXP2[index + 1] as u32;
    (upper - (((upper - lower) * (y & 1023) + 512) >> 10)) >> whole
}

/// Returns log2(value) in units of 2^-16, from above by at most 2^-12; zero for zero.
const fn log2(value: u32) -> u32 {
    if value == 0 {
        return 0;
    }
    let whole = 31 - value.leading_zeros();
    // The mantissa in [1, 2), squared once for every further binary digit.
    let mut mantissa = if whole > 15 {
        value >> (whole - 15)
    } else {
        value << (15 - whole)
    };
    let mut log = whole;
    let mut digits = 0;
    while digits < 12 {
        mantissa = (mantissa * mantissa) >> 15;
        let digit = mantissa >> 16;
        mantissa >>= digit;
        log = log << 1 | digit;
        digits += 1;
    }
    log << 4
}

/// Returns (largest - value) log2(e) in units of 2^-16 for sums in units of 2^-22. The distance is
/// cut at 32, where e^-32 is far below one unit of anything.
const fn distance(largest: i32, value: i32) -> u32 {
    // log2(e) in units of 2^-14.
    const LOG2_E: u32 = 23_637;
    let nats = largest.wrapping_sub(value) as u32 >> 10;
    let nats = if nats < (1 << 17) {
        nats
    } else {
        (1 << 17) - 1
    };
    (nats * LOG2_E) >> 10
}

/// Loss and correctness of the output for one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Cross-entropy -ln p(label) in nats, units of 2^-16; at most about 32 + ln(classes).
    pub loss: u32,
    /// Whether the label has the largest sum (the first of equals counts).
    pub correct: bool,
}

/// Returns the verdict on output `sums` (units of 2^-22) and replaces them by the output error
/// d2 = softmax(sums) - onehot(label) in units of 2^-12.
#[inline(always)]
pub fn softmax_error(sums: &mut [i32], label: usize) -> Verdict {
    let (mut best, mut largest) = (0, sums[0]);
    for (class, &sum) in sums.iter().enumerate() {
        if sum > largest {
            (best, largest) = (class, sum);
        }
    }
    let label_distance = distance(largest, sums[label]);
    let mut total = 0u32;
    for sum in sums.iter_mut() {
        let power = exp2_negative(distance(largest, *sum));
        total += power;
        *sum = power as i32;
    }
    // The largest contributes 2^15, so 2^31 / total is at most 2^16 and its product with a power
    // of at most 2^15 stays within 32 bits.
    let inverse = (1u32 << 31) / total;
    for sum in sums.iter_mut() {
        *sum = ((*sum as u32 * inverse + (1 << 18)) >> 19) as i32;
    }
    sums[label] -= PROBABILITY_ONE;
    Verdict {
        loss: nats(label_distance + log2(total) - (15 << 16)),
        correct: best == label,
    }
}

/// Returns the class of the largest of output `sums` (units of 2^-22, the first of equals) and its
/// softmax in units of 2^-16.
#[inline(always)]
pub fn most_likely(sums: &[i32]) -> (usize, u32) {
    let mut best = 0;
    for (class, &sum) in sums.iter().enumerate() {
        if sum > sums[best] {
            best = class;
        }
    }
    let power = |&sum: &i32| exp2_negative(distance(sums[best], sum));
    let total: u32 = sums.iter().map(power).sum();
    // The largest contributes 2^15, so its share is 2^15 / total.
    (best, (1 << 31) / total)
}

/// Converts a binary logarithm to nats, both in units of 2^-16.
const fn nats(bits: u32) -> u32 {
    // ln(2) in units of 2^-16.
    const LN_2: u64 = 45_426;
    ((bits as u64 * LN_2) >> 16) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Purpose, Rng};

    #[test]
    fn powers_and_logarithms_are_within_their_stated_errors() {
        for y in (0..16 << 16).step_by(37) {
            let exact = 32_768.0 * (-f64::from(y) / 65_536.0).exp2();
            assert!((f64::from(exp2_negative(y)) - exact).abs() <= 2.0, "{y}");
        }
        assert_eq!(exp2_negative(16 << 16), 0);
        for value in (1u32 << 15..256 << 15).step_by(997) {
            let error = f64::from(log2(value)) / 65_536.0 - f64::from(value).log2();
            assert!((-0.0004..0.0001).contains(&error), "{value}: {error}");
        }
    }

    #[test]
    fn errors_and_losses_match_real_numbers() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 3, 0);
        for _ in 0..2_000 {
            let spread = 1 + rng.below(8 << 22);
            let sums: [i32; 10] =
                core::array::from_fn(|_| rng.below(2 * spread) as i32 - spread as i32);
            let label = rng.below(10) as usize;
            let real = sums.map(|sum| f64::from(sum) / f64::from(1 << 22));
            let total: f64 = real.iter().map(|o| o.exp()).sum();
            let mut errors = sums;
            let verdict = softmax_error(&mut errors, label);
            for class in 0..10 {
                let exact = real[class].exp() / total - f64::from(u8::from(class == label));
                let got = f64::from(errors[class]) / f64::from(PROBABILITY_ONE);
                assert!((got - exact).abs() < 4e-4, "{class}: {got} {exact}");
            }
            let loss = total.ln() - real[label];
            let got = f64::from(verdict.loss) / 65_536.0;
            assert!((got - loss).abs() < 1e-3, "{got} {loss}");
        }
    }

    #[test]
    fn the_most_likely_class_has_its_share_of_the_real_softmax() {
        let mut rng = Rng::stream(2, Purpose::Synthetic, 3, 0);
        for _ in 0..2_000 {
            let spread = 1 + rng.below(8 << 22);
            let sums: [i32; 10] =
                core::array::from_fn(|_| rng.below(2 * spread) as i32 - spread as i32);
            let (class, confidence) = most_likely(&sums);
            let largest = *sums.iter().max().unwrap();
            assert_eq!(sums.iter().position(|&sum| sum == largest), Some(class));
            let real = sums.map(|sum| f64::from(sum - largest) / f64::from(1 << 22));
            let exact = 1.0 / real.iter().map(|sum| sum.exp()).sum::<f64>();
            let got = f64::from(confidence) / 65_536.0;
            assert!((got - exact).abs() < 4e-4, "{got} {exact}");
        }
        assert_eq!(most_likely(&[i32::MIN, i32::MAX, i32::MIN]), (1, 1 << 16));
        assert_eq!(most_likely(&[7; 4]), (0, 1 << 14));
    }

    #[test]
    fn extreme_sums_neither_overflow_nor_lose_the_label() {
        let mut sums = [i32::MIN, i32::MAX, i32::MIN];
        let verdict = softmax_error(&mut sums, 0);
        assert_eq!(sums, [-PROBABILITY_ONE, PROBABILITY_ONE, 0]);
        assert!(!verdict.correct && (31 << 16..33 << 16).contains(&verdict.loss));
        let mut equal = [7; 3];
        assert!(softmax_error(&mut equal, 0).correct);
    }
}
