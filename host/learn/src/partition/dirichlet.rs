//! Class shares from a Dirichlet distribution (Hsu, Qi and Brown, "Measuring the effects of
//! non-identical data distribution for federated visual classification", 2019).
//!
//! Each client draws its shares from a symmetric Dirichlet(alpha) and then its samples one by
//! one; a class without samples left is skipped and the other shares grow in proportion.

use gleaner_shared::rng::{Purpose, Rng};

use super::size::normal;
use super::{PartitionError, Pool};

/// Returns each client's samples.
pub(super) fn split(
    alpha: f64,
    sizes: &[usize],
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let mut of_class = vec![Vec::new(); classes];
    for sample in order {
        of_class[usize::from(labels[sample as usize])].push(sample);
    }
    let mut pools: Vec<Pool> = of_class
        .into_iter()
        .enumerate()
        .map(|(class, samples)| Pool::new(format!("class {class}"), samples))
        .collect();
    let mut left = labels.len();
    let give = |(client, &size): (usize, &usize)| {
        if size > left {
            return Err(PartitionError::Exhausted {
                client,
                pool: "the training set".to_owned(),
                wanted: size,
                left,
                total: labels.len(),
            });
        }
        left -= size;
        // Stream 0 shuffled; clients follow.
        let mut rng = Rng::stream(seed, Purpose::Partition, client as u32 + 1, 0);
        let mut shares: Vec<f64> = (0..classes).map(|_| gamma(alpha, &mut rng)).collect();
        let mut samples = Vec::with_capacity(size);
        for _ in 0..size {
            let class = draw(&mut shares, &pools, &mut rng);
            samples.extend(pools[class].take(client, 1)?);
        }
        Ok(samples)
    };
    sizes.iter().enumerate().map(give).collect()
}

/// Draws a class that still has samples with probability in proportion to its share.
fn draw(shares: &mut [f64], pools: &[Pool], rng: &mut Rng) -> usize {
    for (share, pool) in shares.iter_mut().zip(pools) {
        if pool.left() == 0 {
            *share = 0.0;
        }
    }
    let total: f64 = shares.iter().sum();
    let mut point = rng.uniform() * total;
    for (class, &share) in shares.iter().enumerate() {
        if point < share {
            return class;
        }
        point -= share;
    }
    // Every share was zero, or rounding carried the point past the end: the fullest class.
    (0..pools.len())
        .max_by_key(|&class| pools[class].left())
        .unwrap_or(0)
}

/// Draws from a Gamma(alpha, 1) distribution (Marsaglia and Tsang, "A simple method for
/// generating gamma variables", 2000; below 1 by their U^(1/alpha) step).
fn gamma(alpha: f64, rng: &mut Rng) -> f64 {
    if alpha < 1.0 {
        let boost = libm::pow(1.0 - rng.uniform(), 1.0 / alpha);
        return gamma(alpha + 1.0, rng) * boost;
    }
    let d = alpha - 1.0 / 3.0;
    let c = 1.0 / libm::sqrt(9.0 * d);
    loop {
        let x = normal(rng);
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        let u = 1.0 - rng.uniform();
        if libm::log(u) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::labels;

    #[test]
    fn gamma_deviates_have_mean_and_variance_alpha() {
        let mut rng = Rng::stream(1, Purpose::Synthetic, 0, 0);
        for alpha in [0.3, 1.0, 4.0] {
            let drawn: Vec<f64> = (0..40_000).map(|_| gamma(alpha, &mut rng)).collect();
            let mean = drawn.iter().sum::<f64>() / 40_000.0;
            let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean / alpha - 1.0).abs() < 0.03, "{alpha}: {mean}");
            assert!((variance / alpha - 1.0).abs() < 0.08, "{alpha}: {variance}");
        }
    }

    #[test]
    fn a_small_alpha_concentrates_and_a_large_one_levels() {
        let labels = labels(40_000);
        let largest_share = |alpha| {
            let clients = split(alpha, &[1000; 10], &labels, 10, 2).unwrap();
            let largest = |samples: &Vec<u32>| {
                let mut counts = [0; 10];
                samples
                    .iter()
                    .for_each(|&s| counts[usize::from(labels[s as usize])] += 1);
                counts.into_iter().max().unwrap()
            };
            clients.iter().map(largest).sum::<i32>() / 10
        };
        assert!(largest_share(0.1) > 500);
        assert!(largest_share(100.0) < 180);
    }

    #[test]
    fn continues_with_the_other_classes_when_one_runs_out() {
        let clients = split(0.01, &[100; 10], &labels(1_000), 10, 4).unwrap();
        assert!(clients.iter().all(|samples| samples.len() == 100));
        let refused = split(1.0, &[600; 2], &labels(1_000), 10, 4).unwrap_err();
        assert!(matches!(
            refused,
            PartitionError::Exhausted {
                client: 1,
                wanted: 600,
                ..
            }
        ));
    }
}
