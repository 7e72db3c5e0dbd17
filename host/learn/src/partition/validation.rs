//! Validation samples: training samples that no client owns, so that test samples stay unused.
//!
//! They are drawn after the split from the samples it left over, by a generator of their own, so the
//! clients' samples do not depend on the number of validation samples. Within a class, the samples left
//! over are as random as those in the split. Between classes they are not (the paper's rule uses up some
//! classes sooner), so every class gives the same number; where one has too few, the others give more.

use gleaner_shared::rng::{Purpose, Rng};

use super::{Partition, PartitionError};

/// Draws `wanted` samples that no client of the partition owns, in ascending order.
///
/// # Errors
/// When the clients leave too few.
pub fn draw(
    wanted: usize,
    partition: &Partition,
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Vec<u32>, PartitionError> {
    if wanted == 0 {
        return Ok(Vec::new());
    }
    let mut unowned = unowned(partition, labels, classes);
    let left: Vec<usize> = unowned.iter().map(Vec::len).collect();
    let shares = shares(wanted, &left).ok_or(PartitionError::Unowned {
        wanted,
        left: left.iter().sum(),
        total: labels.len(),
    })?;
    let mut drawn = Vec::with_capacity(wanted);
    for (class, (samples, share)) in (0..).zip(unowned.iter_mut().zip(shares)) {
        Rng::stream(seed, Purpose::Validation, class, 0).shuffle(samples);
        drawn.extend(&samples[..share]);
    }
    drawn.sort_unstable();
    Ok(drawn)
}

/// Returns the samples of each class that no client owns.
fn unowned(partition: &Partition, labels: &[u8], classes: usize) -> Vec<Vec<u32>> {
    let mut owned = vec![false; labels.len()];
    for &sample in partition.clients.iter().flatten() {
        owned[sample as usize] = true;
    }
    let mut of_class = vec![Vec::new(); classes];
    for ((sample, &label), owned) in (0..).zip(labels).zip(owned) {
        if !owned {
            of_class[usize::from(label)].push(sample);
        }
    }
    of_class
}

/// Divides `wanted` among classes with `left` samples each: the same number for each, or all it has; the
/// first classes give the remainder. `None` if there are too few.
fn shares(wanted: usize, left: &[usize]) -> Option<Vec<usize>> {
    let mut shares = vec![0; left.len()];
    let mut missing = wanted;
    while missing > 0 {
        let open: Vec<usize> = (0..left.len())
            .filter(|&class| shares[class] < left[class])
            .collect();
        let each = missing.checked_div(open.len())?.max(1);
        for class in open {
            let more = each.min(left[class] - shares[class]).min(missing);
            shares[class] += more;
            missing -= more;
        }
    }
    Some(shares)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::{labels, schemes};
    use crate::partition::{Plan, Scheme, split};

    #[test]
    fn no_client_owns_any_whatever_the_scheme_the_seed_and_the_number() {
        let labels = labels(22_000);
        for scheme in schemes() {
            for seed in 0..4 {
                let plan = Plan {
                    scheme,
                    ..Plan::PAPER
                };
                let partition = split(&plan, &labels, 10, seed).unwrap();
                let owned: usize = partition.clients.iter().map(Vec::len).sum();
                for wanted in [0, 1, 1000, 4321, labels.len() - owned] {
                    let drawn = draw(wanted, &partition, &labels, 10, seed).unwrap();
                    assert_eq!(drawn.len(), wanted, "{scheme:?}");
                    assert!(drawn.is_sorted_by(|a, b| a < b), "{scheme:?}: one is twice");
                    let mut all = [partition.clients.concat(), drawn].concat();
                    all.sort_unstable();
                    all.dedup();
                    assert_eq!(all.len(), owned + wanted, "{scheme:?}");
                }
            }
        }
    }

    #[test]
    fn every_class_gives_the_same_number_though_clients_left_more_of_some() {
        let labels = labels(22_000);
        // One client with samples of class 0 alone.
        let plan = Plan {
            scheme: Scheme::Degree { degree: 1.0 },
            clients: 1,
            ..Plan::PAPER
        };
        let partition = split(&plan, &labels, 10, 3).unwrap();
        let drawn = draw(1000, &partition, &labels, 10, 3).unwrap();
        let mut counts = [0; 10];
        drawn
            .iter()
            .for_each(|&at| counts[usize::from(labels[at as usize])] += 1);
        assert_eq!(counts, [100; 10]);
    }

    #[test]
    fn a_class_that_has_too_few_gives_all_and_the_others_the_rest_alike() {
        assert_eq!(shares(30, &[2, 90, 14, 90]), Some(vec![2, 10, 9, 9]));
        assert_eq!(shares(5, &[9, 9, 9]), Some(vec![2, 2, 1]));
        assert_eq!(shares(2, &[0, 9, 9, 9]), Some(vec![0, 1, 1, 0]));
        assert_eq!(shares(106, &[2, 90, 14]), Some(vec![2, 90, 14]));
        assert_eq!(shares(107, &[2, 90, 14]), None);
        assert_eq!(shares(0, &[]), Some(Vec::new()));
        assert_eq!(shares(1, &[]), None);
        assert_eq!(shares(usize::MAX, &[1]), None);
    }

    #[test]
    fn the_seed_decides_and_a_larger_number_contains_the_smaller() {
        let labels = labels(22_000);
        let partition = split(&Plan::PAPER, &labels, 10, 0).unwrap();
        let of = |wanted, seed| draw(wanted, &partition, &labels, 10, seed).unwrap();
        assert_eq!(of(500, 1), of(500, 1));
        assert_ne!(of(500, 1), of(500, 2));
        let larger = of(1000, 1);
        assert!(of(500, 1).iter().all(|sample| larger.contains(sample)));
    }

    #[test]
    fn more_than_are_left_are_refused() {
        let clients = vec![vec![0, 1, 2], vec![3]];
        let (wanted, left, total) = (7, 6, 10);
        assert_eq!(
            draw(wanted, &Partition { clients }, &labels(total), 10, 0),
            Err(PartitionError::Unowned {
                wanted,
                left,
                total
            })
        );
    }
}
