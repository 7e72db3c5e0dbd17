//! The number of samples of each client, and the normal deviates it is drawn from.

use gleaner_shared::rng::{Purpose, Rng};

use super::Plan;

/// Draws D_i ~ N(mean, sigma²), rounded, at least 1; every client from a stream of its own.
pub(super) fn draw(plan: &Plan, seed: u64) -> Vec<usize> {
    (0..plan.clients)
        .map(|client| {
            let mut rng = Rng::stream(seed, Purpose::DatasetSize, client as u32, 0);
            let drawn = plan.mean_samples + plan.deviation_samples * normal(&mut rng);
            // The cast saturates, so a deviate far below the mean gives 0 and then 1.
            (libm::round(drawn) as usize).max(1)
        })
        .collect()
}

/// Returns a standard normal deviate (Box and Muller, 1958).
pub(super) fn normal(rng: &mut Rng) -> f64 {
    // 1 - u is in (0, 1], so the logarithm is finite.
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - rng.uniform()));
    radius * libm::cos(2.0 * std::f64::consts::PI * rng.uniform())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_mean_and_spread_asked_for() {
        let plan = Plan {
            clients: 20_000,
            ..Plan::PAPER
        };
        let sizes = draw(&plan, 3);
        let mean = sizes.iter().sum::<usize>() as f64 / 20_000.0;
        let variance = sizes
            .iter()
            .map(|&size| (size as f64 - mean).powi(2))
            .sum::<f64>()
            / 20_000.0;
        assert!((mean - 1000.0).abs() < 3.0, "{mean}");
        assert!((variance.sqrt() - 100.0).abs() < 2.0, "{variance}");
    }

    #[test]
    fn every_client_has_a_sample_and_sizes_are_independent_of_other_clients() {
        let wild = Plan {
            deviation_samples: 5000.0,
            clients: 100,
            ..Plan::PAPER
        };
        let sizes = draw(&wild, 1);
        assert!(sizes.contains(&1));
        let few = Plan {
            clients: 10,
            ..wild
        };
        assert_eq!(draw(&few, 1), sizes[..10]);
    }
}
