//! Shares that fit: how far the clients' sample counts must shrink for a data set.

use super::{Plan, Scheme};

/// Standard deviations of the drawn sizes that fitting shares leave room for.
const MARGIN: f64 = 4.0;

impl Plan {
    /// Tells whether the clients want more than `samples` training samples in `classes` equal classes
    /// can give, whatever the seed.
    #[must_use]
    pub fn overdraws(&self, samples: usize, classes: usize) -> bool {
        self.demand(samples, classes, 0.0) > 1.0
    }

    /// Returns the plan with mean and deviation lowered alike, to two digits, until the shares fit a
    /// set of `samples` training samples in `classes` equal classes; the same plan if they do already.
    #[must_use]
    pub fn fitted(&self, samples: usize, classes: usize) -> Self {
        let demand = self.demand(samples, classes, MARGIN);
        match demand > 1.0 {
            true => self.scaled(1.0 / demand),
            false => *self,
        }
    }

    /// Returns the plan with mean and deviation multiplied by `factor` and cut to two digits.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            mean_samples: two_digits(self.mean_samples * factor),
            deviation_samples: two_digits(self.deviation_samples * factor),
            ..*self
        }
    }

    /// Returns the wanted over the available samples, in the pool with the least room; `margin`
    /// standard deviations are added to what is wanted and taken from what is there.
    fn demand(&self, samples: usize, classes: usize, margin: f64) -> f64 {
        let total = samples as f64;
        let wanted = |clients: f64| {
            clients * self.mean_samples + margin * self.deviation_samples * libm::sqrt(clients)
        };
        let clients = self.clients as f64;
        match self.scheme {
            Scheme::Natural => 0.0,
            Scheme::Iid | Scheme::Dirichlet { .. } => wanted(clients) / total,
            // A client owns an equal part of the sorted samples.
            Scheme::Shards { .. } => wanted(1.0) * clients / total,
            Scheme::Degree { degree } => {
                let of_one_class = self.clients.div_ceil(classes.max(1)) as f64;
                let class = total / classes.max(1) as f64;
                // Which half a sample falls into is drawn: half the root is the deviation.
                let particular = (class - margin * libm::sqrt(class)).max(1.0) / 2.0;
                let common = (1.0 - degree) * wanted(clients) / (total / 2.0);
                common.max(degree * wanted(of_one_class) / particular)
            }
        }
    }
}

/// Cuts a number to its two leading digits.
fn two_digits(number: f64) -> f64 {
    let mut unit = 1.0;
    while number / unit >= 100.0 {
        unit *= 10.0;
    }
    libm::floor(number / unit) * unit
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::{labels, schemes};
    use crate::partition::{PartitionError, split};

    const TWENTY: Plan = Plan {
        clients: 20,
        ..Plan::PAPER
    };

    #[test]
    fn numbers_are_cut_to_two_digits() {
        for (number, cut) in [
            (849.9, 840.0),
            (99.9, 99.0),
            (5.5, 5.0),
            (12_345.0, 12_000.0),
        ] {
            assert_eq!(two_digits(number), cut);
        }
    }

    #[test]
    fn fitted_shares_are_dealt_with_every_seed_and_scheme() {
        let labels = labels(22_000);
        for scheme in schemes() {
            for clients in [10, 20, 33, 200, 1_000] {
                let plan = Plan {
                    scheme,
                    clients,
                    ..Plan::PAPER
                };
                let fitted = plan.fitted(22_000, 10);
                assert!(
                    (fitted == plan) == (clients == 10) || clients == 20,
                    "{scheme:?}"
                );
                for seed in 0..10 {
                    let dealt = split(&fitted, &labels, 10, seed);
                    assert!(dealt.is_ok(), "{scheme:?} {clients} {seed}: {dealt:?}");
                }
            }
        }
    }

    #[test]
    fn the_paper_fits_the_embedded_digits_and_twenty_clients_overdraw_them() {
        assert!(!Plan::PAPER.overdraws(22_000, 10));
        assert!(TWENTY.overdraws(22_000, 10));
        assert!(!TWENTY.overdraws(60_000, 10));
    }

    #[test]
    fn an_error_names_shares_that_fit() {
        let labels = labels(22_000);
        let refused = split(&TWENTY, &labels, 10, 0).unwrap_err();
        let PartitionError::TooLarge {
            mean, deviation, ..
        } = refused
        else {
            panic!("{refused}");
        };
        assert_eq!((mean, deviation), (840.0, 84.0));
        // One class is rare: what fits equal classes does not fit these.
        let rare: Vec<u8> = (0..22_000).map(|at| if at < 100 { 0 } else { 1 }).collect();
        let refused = split(&TWENTY, &rare, 2, 0).unwrap_err();
        let PartitionError::TooLarge {
            mean, deviation, ..
        } = refused
        else {
            panic!("{refused}");
        };
        let fits = Plan {
            mean_samples: mean,
            deviation_samples: deviation,
            ..TWENTY
        };
        assert!(split(&fits, &rare, 2, 0).is_ok());
    }
}
