//! The paper's split by non-IID degree d.
//!
//! The shuffled training set is halved into a common and a particular half. Client i takes
//! round(d D_i) samples of class i mod (number of classes) from the particular half, and the
//! rest of its D_i as a slice of the common half. No sample is given twice.

use gleaner_shared::rng::{Purpose, Rng};

use super::{PartitionError, Pool};

/// Returns each client's samples, those of its own class first.
pub(super) fn split(
    degree: f64,
    sizes: &[usize],
    labels: &[u8],
    classes: usize,
    seed: u64,
) -> Result<Vec<Vec<u32>>, PartitionError> {
    let mut order: Vec<u32> = (0..labels.len() as u32).collect();
    Rng::stream(seed, Purpose::Partition, 0, 0).shuffle(&mut order);
    let particular_half = order.split_off(order.len() / 2);
    let mut common = Pool::new("the common half", order);
    let mut particular: Vec<Pool> = (0..classes)
        .map(|class| {
            let of_class = particular_half
                .iter()
                .copied()
                .filter(|&sample| usize::from(labels[sample as usize]) == class)
                .collect();
            Pool::new(format!("class {class} in the particular half"), of_class)
        })
        .collect();
    let give = |(client, &size): (usize, &usize)| {
        let own = (libm::round(degree * size as f64) as usize).min(size);
        let mut samples = particular[client % classes].take(client, own)?.to_vec();
        samples.extend(common.take(client, size - own)?);
        Ok(samples)
    };
    sizes.iter().enumerate().map(give).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition::tests::labels;

    #[test]
    fn a_share_d_is_of_the_clients_own_class_and_the_rest_of_all_classes() {
        let labels = labels(40_000);
        for degree in [0.0, 0.2, 0.4, 1.0] {
            let clients = split(degree, &[1000; 12], &labels, 10, 5).unwrap();
            for (client, samples) in clients.iter().enumerate() {
                let own = (degree * 1000.0) as usize;
                let of_class =
                    |sample: &&u32| usize::from(labels[**sample as usize]) == client % 10;
                assert_eq!(samples[..own].iter().filter(of_class).count(), own);
                let rest = samples[own..].iter().filter(of_class).count() as f64;
                let expected = (1000 - own) as f64 / 10.0;
                assert!(
                    (rest - expected).abs() <= 4.5 * expected.sqrt(),
                    "{rest} {expected}"
                );
            }
        }
    }

    #[test]
    fn errors_name_the_client_and_the_pool_that_is_too_small() {
        // 220 samples of each class, so about 110 in the particular half.
        let labels = labels(2_200);
        let refused = split(1.0, &[200], &labels, 10, 0).unwrap_err();
        assert!(matches!(
            refused,
            PartitionError::Exhausted {
                client: 0,
                wanted: 200,
                ..
            }
        ));
        let refused = split(0.0, &[800, 800], &labels, 10, 0).unwrap_err();
        let expected = PartitionError::Exhausted {
            client: 1,
            pool: "the common half".to_owned(),
            wanted: 800,
            left: 300,
            total: 1100,
        };
        assert_eq!(refused, expected);
    }
}
