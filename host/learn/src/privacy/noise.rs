//! Gaussian noise from random words.

/// Adds independent Gaussian noise to every value, in order: x + s sqrt(-2 ln u) cos(2 pi v), and the
/// same with sin for the next value (Box and Muller, 1958), with s the `deviation`. `draw` returns 64
/// random bits; u is in (0, 1] and v in [0, 1), with 53 bits each. The functions are those of `libm`, so
/// the noise of a seed is the same on every machine.
///
/// The values are floating-point numbers: the guarantee of the Gaussian mechanism is that of real
/// numbers, and attacks on the lowest bits (Mironov, 2012) are not covered. Released models are rounded to
/// 32 bits, and to 8 bits a change where they are broadcast to boards.
pub fn add_noise(values: &mut [f64], deviation: f64, mut draw: impl FnMut() -> u64) {
    const STEP: f64 = 1.0 / (1u64 << 53) as f64;
    for pair in values.chunks_mut(2) {
        let u = ((draw() >> 11) + 1) as f64 * STEP;
        let v = (draw() >> 11) as f64 * STEP;
        let radius = deviation * (-2.0 * libm::log(u)).sqrt();
        let (sin, cos) = libm::sincos(std::f64::consts::TAU * v);
        for (value, part) in pair.iter_mut().zip([cos, sin]) {
            *value += radius * part;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleaner_shared::rng::{Purpose, Rng};

    fn noise(seed: u64, count: usize, deviation: f64) -> Vec<f64> {
        let mut values = vec![0.0; count];
        let mut rng = Rng::stream(seed, Purpose::Noise, 0, 1);
        add_noise(&mut values, deviation, || rng.next_u64());
        values
    }

    #[test]
    fn the_noise_of_a_seed_is_always_the_same_and_that_of_another_differs() {
        assert_eq!(noise(1, 101, 0.5), noise(1, 101, 0.5));
        assert_eq!(noise(1, 101, 0.5)[..100], noise(1, 100, 0.5));
        assert_ne!(noise(1, 100, 0.5), noise(2, 100, 0.5));
        let golden = [noise(1, 2, 1.0)[0].to_bits(), noise(1, 2, 1.0)[1].to_bits()];
        assert_eq!(
            golden,
            [13_834_194_111_947_660_877, 13_821_720_982_782_959_876]
        );
    }

    #[test]
    fn the_noise_has_the_moments_of_a_gaussian_and_no_correlation() {
        let count = 1 << 20;
        let values = noise(3, count, 2.5);
        let mean = |power: i32| {
            let sum: f64 = values.iter().map(|x| (x / 2.5).powi(power)).sum();
            sum / count as f64
        };
        // Five standard errors of the moments of N(0, 1): sqrt((2n - 1)!! / count).
        let error = |variance: f64| 5.0 * (variance / count as f64).sqrt();
        assert!(mean(1).abs() < error(1.0), "{}", mean(1));
        assert!((mean(2) - 1.0).abs() < error(2.0), "{}", mean(2));
        assert!(mean(3).abs() < error(15.0), "{}", mean(3));
        assert!((mean(4) - 3.0).abs() < error(96.0), "{}", mean(4));
        for lag in [1, 2] {
            let products = values.windows(lag + 1).map(|w| w[0] * w[lag] / 6.25);
            let covariance = products.sum::<f64>() / count as f64;
            assert!(covariance.abs() < error(1.0), "lag {lag}: {covariance}");
        }
        // P(|x| > 3) = 0.0027.
        let tail = values.iter().filter(|x| x.abs() > 7.5).count() as f64 / count as f64;
        assert!((tail - 0.002_699_8).abs() < error(0.0027), "{tail}");
    }

    #[test]
    fn no_draw_gives_anything_but_a_number() {
        for bits in [0, u64::MAX, 1, 1 << 63] {
            let mut values = [1.0; 3];
            add_noise(&mut values, 1.0, || bits);
            assert!(values.iter().all(|x| x.is_finite()), "{bits:x}: {values:?}");
        }
    }
}
