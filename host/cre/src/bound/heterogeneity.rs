//! Divergence of the participants' data from that of all clients: the weights, A_1 and A_2.

/// Returns the aggregation weights w_i = D_i / D.
#[must_use]
pub fn weights(samples: &[u32]) -> Vec<f64> {
    let total: f64 = samples.iter().map(|&d| f64::from(d)).sum();
    samples.iter().map(|&d| f64::from(d) / total).collect()
}

/// Returns the participation weights of Eq. (3), w~_i = a_i D_i / D^n, over all clients.
#[must_use]
pub fn participation_weights(samples: &[u32], participants: &[usize]) -> Vec<f64> {
    let total: f64 = participants.iter().map(|&i| f64::from(samples[i])).sum();
    let mut weights = vec![0.0; samples.len()];
    for &client in participants {
        weights[client] = f64::from(samples[client]) / total;
    }
    weights
}

/// Returns A_1 = 2 sum (w~_i - w~_i^2) delta_i of Theorem 1.
#[must_use]
pub fn a1(participation: &[f64], delta: &[f64]) -> f64 {
    2.0 * participation
        .iter()
        .zip(delta)
        .map(|(w, d)| w * (1.0 - w) * d)
        .sum::<f64>()
}

/// Returns A_2 = 2 (1 - sum a_j w_j) sum (w~_i + w_i - 2 a_i w_i) delta_i^2 of Theorem 2.
///
/// 1 - sum a_j w_j is summed over the absent, so that it is exactly 0 when nobody is: A_3 takes
/// its square root, and would turn a rounding error of 1e-16 into one of 1e-8.
///
/// Deviation: Lemma 3 prints A_2 without the first factor; its proof and Theorem 2 have it.
#[must_use]
pub fn a2(weights: &[f64], participation: &[f64], delta: &[f64]) -> f64 {
    let absent: f64 = weights
        .iter()
        .zip(participation)
        .filter(|(_, part)| **part == 0.0)
        .map(|(w, _)| w)
        .sum();
    let spread: f64 = weights
        .iter()
        .zip(participation)
        .zip(delta)
        .map(|((w, part), d)| {
            if *part > 0.0 {
                (part - w) * d * d
            } else {
                w * d * d
            }
        })
        .sum();
    2.0 * absent * spread.max(0.0)
}

/// The sums over participants through which alone the bound sees them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Samples, sum of D_i: whole numbers, so exact.
    pub samples: f64,
    /// sum of w_i delta_i^2.
    pub s: f64,
    /// sum of w_i delta_i.
    pub p: f64,
    /// sum of w_i^2 delta_i.
    pub q: f64,
}

impl std::ops::Add for Sums {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            samples: self.samples + other.samples,
            s: self.s + other.s,
            p: self.p + other.p,
            q: self.q + other.q,
        }
    }
}

impl std::ops::Sub for Sums {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self {
            samples: self.samples - other.samples,
            s: self.s - other.s,
            p: self.p - other.p,
            q: self.q - other.q,
        }
    }
}

/// Returns A_1 from the sums: 2 (P/W - Q/W^2).
#[must_use]
pub(crate) fn a1_of_sums(sums: &Sums, total: &Sums) -> f64 {
    let w = sums.samples / total.samples;
    (2.0 * (sums.p - sums.q / w) / w).max(0.0)
}

/// Returns A_2 from the sums: 2 (1 - W) ((1 - W)/W S + S_absent), which is
/// 2 (1 - W)(S/W - 2 S + S_total) without its cancellation.
#[must_use]
pub(crate) fn a2_of_sums(sums: &Sums, total: &Sums) -> f64 {
    let w = sums.samples / total.samples;
    let absent = (total.samples - sums.samples) / total.samples;
    2.0 * absent * (absent / w * sums.s + (total.s - sums.s).max(0.0))
}

/// The two constants of a set of participants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heterogeneity {
    /// A_1, the divergence of the participants from each other.
    pub a1: f64,
    /// A_2, the divergence of the participants from all clients.
    pub a2: f64,
}

impl Heterogeneity {
    /// Returns the constants of a set of participants.
    #[must_use]
    pub fn of(samples: &[u32], delta: &[f64], participants: &[usize]) -> Self {
        let participation = participation_weights(samples, participants);
        Self {
            a1: a1(&participation, delta),
            a2: a2(&weights(samples), &participation, delta),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [u32; 4] = [1200, 700, 1000, 900];
    const DELTA: [f64; 4] = [0.3, 0.8, 0.1, 0.5];

    fn one(client: usize) -> Sums {
        let w = weights(&SAMPLES)[client];
        let d = DELTA[client];
        Sums {
            samples: f64::from(SAMPLES[client]),
            s: w * d * d,
            p: w * d,
            q: w * w * d,
        }
    }

    #[test]
    fn the_four_sums_agree_with_the_definitions() {
        let total = (0..4).map(one).fold(Sums::default(), |a, b| a + b);
        for set in 1u32..16 {
            let clients: Vec<usize> = (0..4).filter(|i| set >> i & 1 == 1).collect();
            let sums = clients
                .iter()
                .map(|&i| one(i))
                .fold(Sums::default(), |a, b| a + b);
            let direct = Heterogeneity::of(&SAMPLES, &DELTA, &clients);
            assert!((a1_of_sums(&sums, &total) - direct.a1).abs() < 1e-14);
            assert!((a2_of_sums(&sums, &total) - direct.a2).abs() < 1e-14);
        }
    }

    #[test]
    fn a2_is_zero_if_all_clients_take_part() {
        assert_eq!(Heterogeneity::of(&SAMPLES, &DELTA, &[0, 1, 2, 3]).a2, 0.0);
    }

    #[test]
    fn a1_is_zero_for_one_participant() {
        assert_eq!(Heterogeneity::of(&SAMPLES, &DELTA, &[2]).a1, 0.0);
    }
}
